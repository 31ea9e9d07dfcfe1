import { Agent, request as openRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type ReportedPayment, reportedPaymentOf } from "./kill-promises.ts";

/** The result of one payment that was requested once. Times are in milliseconds of one clock. */
export interface SentRequest {
  readonly code: string;
  readonly sent: number;
  readonly ended: number;
  readonly end: "accepted" | "refused" | "wrong";
  /** The payment in the answer, if it was accepted. */
  readonly reported: ReportedPayment | undefined;
  /** What was received instead, if it was neither accepted nor refused as the interface defines. */
  readonly instead: string;
}

export interface OverloadLoadOptions {
  readonly port: number;
  readonly integrationKey: string;
  /** Prefix of all payment codes. */
  readonly name: string;
  readonly connections: number;
}

interface Answered {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/** Shops that send one sale after the other and never retry: what was refused stays refused. */
export class OverloadLoad implements Disposable {
  readonly #options: OverloadLoadOptions;
  readonly #agent: Agent;
  #codes = 0;

  constructor(options: OverloadLoadOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /**
   * Sends `perSecond` sales whether or not earlier ones were answered, as on a server with more
   * customers than it can serve. Late sales are sent at once.
   */
  async open(perSecond: number, ms: number): Promise<readonly SentRequest[]> {
    const sent: Promise<SentRequest>[] = [];
    const begin = performance.now();
    const total = Math.floor((perSecond * ms) / 1_000);
    while (sent.length < total) {
      const due = Math.min(total, Math.ceil(((performance.now() - begin) * perSecond) / 1_000));
      while (sent.length < due) sent.push(this.sale());
      await sleep(2);
    }
    return Promise.all(sent);
  }

  /**
   * Runs `shops` shops for `ms`, each of which sends its next sale as soon as the last one has
   * ended.
   */
  async closed(shops: number, ms: number): Promise<readonly SentRequest[]> {
    const sent: SentRequest[] = [];
    const until = performance.now() + ms;
    const shop = async (): Promise<void> => {
      while (performance.now() < until) sent.push(await this.sale());
    };
    await Promise.all(Array.from({ length: shops }, shop));
    return sent;
  }

  async sale(): Promise<SentRequest> {
    this.#codes += 1;
    const code = `${this.#options.name}-${this.#codes}`;
    const sent = performance.now();
    const answered = await this.#send(saleBody(this.#options.integrationKey, code));
    return { code, sent, ended: performance.now(), ...endOf(answered) };
  }

  /** Never rejects; undefined when the connection ended before the answer was complete. */
  #send(body: string): Promise<Answered | undefined> {
    return new Promise((resolve) => {
      const headers = {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      };
      const { port } = this.#options;
      const request = openRequest({
        host: "127.0.0.1",
        port,
        method: "POST",
        path: "/ws/direct",
        agent: this.#agent,
        headers,
      });
      request.on("error", () => resolve(undefined));
      request.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        response.on("error", () => resolve(undefined));
        response.on("close", () => {
          const { statusCode: status = 0, headers: reported, complete } = response;
          resolve(complete ? { status, retryAfter: reported["retry-after"], text } : undefined);
        });
      });
      request.end(body);
    });
  }
}

/** A valid sale. */
export function saleBody(integrationKey: string, code: string): string {
  return JSON.stringify({
    integration_key: integrationKey,
    operation: "request",
    payment: {
      amount_total: "12.30",
      currency_code: "PEN",
      merchant_payment_code: code,
      name: "Ana Lima",
      email: "ana.lima@example.com",
      country: "pe",
      phone_number: "51987654321",
      payment_type_code: "creditcard",
      creditcard: {
        card_number: "4111111111111111",
        card_name: "Ana Lima",
        card_due_date: "12/2060",
        card_cvv: "123",
      },
    },
  });
}

function endOf(answered: Answered | undefined): Pick<SentRequest, "end" | "reported" | "instead"> {
  if (answered === undefined) return { end: "wrong", reported: undefined, instead: "no answer" };
  const { status, retryAfter, text } = answered;
  let answer: Readonly<Record<string, unknown>> = {};
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    return { end: "wrong", reported: undefined, instead: `${status} without JSON` };
  }
  if (status === 200 && answer["status"] === "SUCCESS")
    return { end: "accepted", reported: reportedPaymentOf(answer), instead: "" };
  const says = `${status} ${String(answer["status"])} ${String(answer["status_code"])}`;
  const isRefusal = says === "503 ERROR COFRE-12" && /^[1-9]\d*$/.test(retryAfter ?? "");
  return {
    end: isRefusal ? "refused" : "wrong",
    reported: undefined,
    instead: isRefusal ? "" : `${says}, Retry-After ${retryAfter}`,
  };
}

/** The value below which this share of the values lies; 0 when there are none. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}

export function latencies(
  sent: readonly SentRequest[],
  end: SentRequest["end"],
): readonly number[] {
  return sent.filter((each) => each.end === end).map(({ sent, ended }) => ended - sent);
}
