import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * An upstream that executes each request and puts the card into every text of its answers, as a
 * wrongly mapped field does. It remembers the card of each payment, so that its answers to queries,
 * captures and refunds repeat the card too. Card numbers of `declines` are declined.
 */
export interface EchoingServer extends AsyncDisposable {
  readonly port: number;
  readonly answers: number;
}

interface Kept {
  readonly echo: (place: number) => string;
  readonly amount: string;
  readonly currency: string;
  readonly mark: unknown;
  status: "CO" | "PE" | "CA";
  readonly declined: boolean;
  readonly refunds: Readonly<Record<string, unknown>>[];
}

type Fields = Readonly<Record<string, unknown>>;

export interface EchoOptions {
  /** Prefixes of card numbers that are declined. */
  readonly declines?: readonly string[];
  /** Suffixes of card numbers whose authorization is never answered. */
  readonly silentFor?: readonly string[];
}

export async function startEchoingServer({
  declines = [],
  silentFor = [],
}: EchoOptions = {}): Promise<EchoingServer> {
  const payments = new Map<string, Kept>();
  let answers = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    // A request whose client was killed has no end.
    request.on("end", () => {
      const body = answerTo(request.url, Buffer.concat(chunks).toString());
      if (body === undefined) return;
      answers += 1;
      const text = JSON.stringify(body);
      response
        .writeHead(200, {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(text),
        })
        .end(text);
    });
  });

  function answerTo(path: string | undefined, text: string): Fields | undefined {
    const body = JSON.parse(text) as Fields;
    if (path === "/ws/verifycard") return verification(fieldsOf(body["card"]));
    if (path === "/ws/direct") return direct(fieldsOf(body["payment"]));
    const code = String(body["merchant_payment_code"]);
    const kept = payments.get(code);
    if (kept === undefined)
      return { status: "ERROR", status_code: "BP-QRY-2", status_message: "Payment not found" };
    if (path === "/ws/capture") kept.status = "CO";
    if (path === "/ws/cancel") kept.status = "CA";
    if (path === "/ws/refund") {
      const { merchant_refund_code, amount } = body;
      kept.refunds.push({
        merchant_refund_code,
        amount_ext: amount,
        status: "CO",
        id: kept.echo(3),
        description: kept.echo(4),
      });
    }
    return shown(code, kept);
  }

  function direct(payment: Fields): Fields | undefined {
    const card = fieldsOf(payment["creditcard"]);
    const pan = panOf(card);
    const code = String(payment["merchant_payment_code"]);
    const declined = declines.some((digits) => pan.startsWith(digits));
    const kept: Kept = {
      echo: echoOf(pan, cvvOf(card), payments.size),
      amount: String(payment["amount_total"]),
      currency: String(payment["currency_code"]),
      mark: payment["user_value_1"],
      status: declined ? "CA" : card["auto_capture"] === false ? "PE" : "CO",
      declined,
      refunds: [],
    };
    payments.set(code, kept);
    return silentFor.some((digits) => pan.endsWith(digits)) ? undefined : shown(code, kept);
  }

  function verification(card: Fields): Fields {
    const echo = echoOf(panOf(card), cvvOf(card), answers);
    const declined = declines.some((digits) => panOf(card).startsWith(digits));
    return {
      status: "SUCCESS",
      card_verification: {
        transaction_status: {
          code: declined ? "NOK" : "OK",
          description: echo(0),
          iso_code: echo(1),
          mac_code: echo(2),
        },
        transaction_type: echo(5),
        mandate_id: echo(3),
      },
    };
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get answers() {
      return answers;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function shown(
  code: string,
  { echo, amount, currency, mark, status, declined, refunds }: Kept,
): Fields {
  const payment = {
    hash: echo(3),
    pin: echo(0),
    merchant_payment_code: code,
    status,
    amount_ext: amount,
    currency_ext: currency,
    transaction_status: {
      acquirer: echo(4),
      code: declined ? "NOK" : "OK",
      description: declined ? echo(4) : "Accepted",
      authcode: echo(0),
      iso_code: echo(1),
      mac_code: echo(2),
    },
    capture_available: status === "PE",
    user_value_1: mark,
    cof_info: { mandate_id: echo(5) },
    note: echo(4),
    refunds,
  };
  return { status: "SUCCESS", payment, message: echo(4) };
}

/** A spelling of the card for each place of an answer; other spellings for each card. */
function echoOf(pan: string, cvv: string, turn: number): (place: number) => string {
  // Without a code, a text that names a code would repeat nothing.
  const withCode = (spelling: string): string => (cvv === "" ? pan : spelling);
  const spellings = [
    withCode(cvv),
    pan,
    withCode(`${pan} cvv ${cvv}`),
    (pan.match(/\d{1,4}/g) ?? []).join("-"),
    withCode(`card ${pan} ${cvv}`),
    withCode(`cvv${cvv}`),
    pan.slice(0, 8),
    pan.slice(-8),
    Buffer.from(pan).toString("hex"),
    Buffer.from(pan).toString("base64url"),
    withCode(`${pan}-${cvv}`),
  ];
  return (place) => spellings[(place + turn) % spellings.length] ?? pan;
}

function panOf(card: Fields): string {
  return textOf(card["card_number"] ?? card["network_token_pan"]);
}

function cvvOf(card: Fields): string {
  return textOf(card["card_cvv"]);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
