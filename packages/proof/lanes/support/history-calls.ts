import { Agent, request as openRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Chance } from "../../../server/test/support/chance.ts";
import { directBody, testCard } from "../../../server/test/server.ts";
import type { Call } from "./history-checker.ts";
import { reportedPaymentOf } from "./kill-promises.ts";
import {
  type Ask,
  refundAmounts,
  refundNames,
  refundOfAll,
  capturedPart,
  shownWith,
  tokenNames,
  wordOf,
} from "./payment-model.ts";

export interface HistoryClientOptions {
  readonly port: number;
  readonly integrationKey: string;
  readonly connections: number;
  readonly chance: Chance;
  /** Thousandths of all calls whose connection the client cuts before the answer. */
  readonly cuts: number;
}

type Answer = Readonly<Record<string, unknown>>;

/**
 * A merchant whose connections sometimes break, and that then sends the same request again under
 * the same names.
 */
export class HistoryClient implements Disposable {
  readonly #options: HistoryClientOptions;
  readonly #agent: Agent;

  constructor(options: HistoryClientOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /**
   * Sends one random request about this payment; after a call without an answer mostly the same
   * again.
   */
  async call(code: string, last: Call | undefined): Promise<Call> {
    const { chance } = this.#options;
    const again = last !== undefined && last.reported === undefined && chance.happens(700);
    const ask = again ? last.ask : this.#draw();
    const key = again ? last.key : this.#keyFor(ask);
    const cutMs = chance.happens(this.#options.cuts) ? chance.below(8) : undefined;
    const began = performance.now();
    const answer = await this.#send(
      requestOf(ask, code, this.#options.integrationKey),
      key === undefined ? key : `${code}-${key}`,
      cutMs,
    );
    const reported = answer === "cut" ? undefined : reportedBy(ask, answer);
    return { ask, key, began, ended: performance.now(), reported };
  }

  #draw(): Ask {
    const { chance } = this.#options;
    const dice = chance.below(100);
    if (dice < 18) {
      const sale = chance.happens(400);
      return chance.happens(500)
        ? { kind: "direct", sale, token: chance.pick(tokenNames) }
        : { kind: "direct", sale };
    }
    if (dice < 30) return { kind: "capture", part: chance.happens(400) };
    if (dice < 34) return { kind: "cancel" };
    if (dice < 39) return { kind: "refund or cancel" };
    if (dice < 42) return { kind: "token", token: chance.pick(tokenNames) };
    if (dice < 60) return { kind: "query" };
    return { kind: dice < 85 ? "refund" : "cancel refund", refund: chance.pick(refundNames) };
  }

  /**
   * Two keys per request are in use: a repeat under the same key is one request, under the other
   * key it is another.
   */
  #keyFor(ask: Ask): string | undefined {
    const { chance } = this.#options;
    return ask.kind === "query" || ask.kind === "token" || !chance.happens(450)
      ? undefined
      : `${Object.values(ask).join("-").replaceAll(" ", "-")}-${chance.below(2)}`;
  }

  /**
   * The answer as a JSON object, empty when the server ended the connection; `cut` when this client
   * did. Never rejects.
   */
  #send(
    { path, body }: Request,
    key: string | undefined,
    cutMs: number | undefined,
  ): Promise<Answer | "cut"> {
    return new Promise((resolve) => {
      const text = JSON.stringify(body);
      const headers = {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
        ...(key === undefined ? {} : { "idempotency-key": key }),
      };
      const request = openRequest({
        host: "127.0.0.1",
        port: this.#options.port,
        method: "POST",
        path,
        agent: this.#agent,
        headers,
      });
      let isOver = false;
      const end = (answer: Answer | "cut" = {}): void => {
        isOver = true;
        resolve(answer);
      };
      const cut = (): void => {
        // Another request may use this connection by now.
        if (isOver) return;
        end("cut");
        request.destroy();
      };
      if (cutMs !== undefined) void sleep(cutMs).then(cut);
      request.on("error", () => end());
      request.on("response", (response) => {
        let answered = "";
        response.setEncoding("utf8").on("data", (piece: string) => (answered += piece));
        response.on("error", () => end());
        response.on("close", () =>
          end(response.complete ? (JSON.parse(answered) as Answer) : undefined),
        );
      });
      request.end(text);
    });
  }
}

interface Request {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

function requestOf(ask: Ask, code: string, integrationKey: string): Request {
  const named = { integration_key: integrationKey, merchant_payment_code: code };
  switch (ask.kind) {
    case "direct": {
      const creditcard = { ...testCard, card_due_date: "12/2060", auto_capture: ask.sale };
      const stored =
        ask.token === undefined ? {} : { create_token: true, token: tokenOf(code, ask.token) };
      return {
        path: "/ws/direct",
        body: { ...directBody(code, { creditcard, ...stored }), integration_key: integrationKey },
      };
    }
    case "token": {
      const card = { ...testCard, card_due_date: "12/2060" };
      const body = {
        integration_key: integrationKey,
        country: "br",
        token: tokenOf(code, ask.token),
        creditcard: card,
      };
      return { path: "/ws/token", body };
    }
    case "capture":
      return {
        path: "/ws/capture",
        body: ask.part === true ? { ...named, amount: `${capturedPart}.00` } : named,
      };
    case "refund or cancel":
      return {
        path: "/ws/refundOrCancel",
        body: { ...named, description: "x", merchant_refund_code: `${code}-${refundOfAll}` },
      };
    case "refund": {
      const amount = `${refundAmounts[ask.refund]}.00`;
      const refund = {
        operation: "request",
        amount,
        description: "x",
        merchant_refund_code: `${code}-${ask.refund}`,
      };
      return { path: "/ws/refund", body: { ...named, ...refund } };
    }
    case "cancel refund":
      return {
        path: "/ws/refund",
        body: {
          integration_key: integrationKey,
          operation: "cancel",
          merchant_refund_code: `${code}-${ask.refund}`,
        },
      };
    default:
      return { path: `/ws/${ask.kind}`, body: named };
  }
}

/** Each payment has its own tokens. */
function tokenOf(code: string, name: string): string {
  return `${code}-${name}-`.padEnd(40, "k");
}

/** The result that an answer contains, in the terms of payment-model.ts. */
function reportedBy(ask: Ask, answer: Answer): string {
  if (ask.kind === "token" && answer["status"] === "SUCCESS") return "stored";
  const payment = reportedPaymentOf(answer);
  if (payment === undefined) return String(answer["status_code"]);
  if (ask.kind === "refund" || ask.kind === "cancel refund") return "done";
  const { status, captureAvailable, preApproved, amount } = payment;
  if (status === "PE" && !captureAvailable) return preApproved ? "busy" : "authorizing";
  if (ask.kind === "refund or cancel" && answer["refund"] !== undefined) return "done";
  const word = wordOf(
    status === "CO" ? "captured" : status === "CA" ? "cancelled" : "open",
    Number(amount),
  );
  if (ask.kind === "query") return shownWith(word, refundsOf(answer));
  const { token } = answer["payment"] as { readonly token?: string };
  return ask.kind === "direct" && ask.token !== undefined && token !== undefined
    ? `${word}, token`
    : word;
}

function refundsOf(answer: Answer): Parameters<typeof shownWith>[1] {
  const { refunds = [] } = answer["payment"] as { readonly refunds?: readonly Answer[] };
  return Object.fromEntries(
    refunds.map((refund) => [
      String(refund["merchant_refund_code"]).slice(-2),
      { isCancelled: refund["status"] === "CA" },
    ]),
  );
}
