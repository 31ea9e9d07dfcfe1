import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { WireClient } from "../support/wire-client.ts";
import { directBody, integrationKey, testCard } from "../server.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Two simulated acquirers, so that a payment may go to the second. */
export const fullEnvironment = {
  COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
  COFRE_CONNECTORS: JSON.stringify(["main", "backup"].map((name) => ({ name, kind: "simulator" }))),
  // Long enough that no request times out before the process is killed, and short enough for
  // recovery.
  COFRE_ACQUIRER_TIMEOUT_MS: "10000",
};

export const ownToken = "t".repeat(128);
/** A payment whose request to the acquirer has no answer yet. */
export const inFlight = "in-flight";

/** A receiver on loopback that leaves notifications unanswered until `isWilling` is set. */
export class MoodyReceiver implements AsyncDisposable {
  isWilling = false;
  /** Bodies of accepted notifications. */
  readonly taken: string[] = [];
  ignored = 0;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (!this.isWilling) {
        this.ignored += 1;
        return;
      }
      this.taken.push(Buffer.concat(chunks).toString());
      response.writeHead(200).end();
    });
  });

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/notify`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

/** A server's answers to queries about everything that `fill` has made. */
export async function answersOf(
  client: WireClient,
  port: number,
): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  const ask = async (path: string, body: Fields): Promise<void> => {
    const text = JSON.stringify({ integration_key: integrationKey, ...body });
    const received = await client.send({ port, path, body: text });
    assert.ok(received !== undefined, path);
    answers.set(`${path} ${text}`, `${received.status} ${received.body}`);
  };
  for (const merchant_payment_code of codes) {
    await ask("/ws/query", { merchant_payment_code });
    await ask("/__cofre/explain", { merchant_payment_code });
  }
  await ask("/__cofre/settings", {});
  const named = await client.send({
    port,
    path: "/ws/direct",
    headers: { "idempotency-key": "key-1" },
    body: JSON.stringify(directBody("named")),
  });
  answers.set("named", `${named?.status} ${named?.body}`);
  return answers;
}

const codes = [
  "token-1",
  "sale",
  "held",
  "captured",
  "voided",
  "declined",
  "refunded",
  "disputed",
  "review",
  "initial",
  "stored",
  "rerouted",
  "named",
];

/**
 * Creates, over HTTP, payments in every settled state, and waiting deliveries; at last a payment
 * that stays in flight.
 */
export class Filling {
  readonly #client: WireClient;
  readonly #port: number;

  constructor(client: WireClient, port: number) {
    this.#client = client;
    this.#port = port;
  }

  async fill(notificationUrl: string): Promise<void> {
    const routes = [{ connectors: ["main", "backup"] }];
    const still = { refundRequestedMinutes: 100_000, refundPendingMinutes: 100_000 };
    await this.#done("/__cofre/settings", {
      settings: { ...still, routes, notificationUrl, reviewAboveUsd: 500 },
    });
    await this.#done("/ws/token", {
      payment_type_code: "visa",
      country: "br",
      token: ownToken,
      creditcard: testCard,
    });
    await this.#pay("token-1", { creditcard: { token: ownToken, card_cvv: "123" } });
    await this.#pay("sale", {
      currency_code: "BRL",
      create_token: true,
      user_value_1: 'ção \u2028 "x"',
    });
    await this.#pay("held", { creditcard: { ...testCard, auto_capture: false } });
    await this.#pay("captured", {
      creditcard: { ...testCard, auto_capture: false },
      instalments: 3,
    });
    await this.#done("/ws/capture", { merchant_payment_code: "captured" });
    await this.#pay("voided", { creditcard: { ...testCard, auto_capture: false } });
    await this.#done("/ws/cancel", { merchant_payment_code: "voided" });
    await this.#pay("declined", { creditcard: { ...testCard, card_number: "4000000000000028" } });
    await this.#pay("refunded");
    const refund = {
      operation: "request",
      merchant_payment_code: "refunded",
      description: "too large",
    };
    await this.#done("/ws/refund", { ...refund, amount: "10.00", merchant_refund_code: "back-1" });
    await this.#done("/ws/refund", { ...refund, amount: "20.00" });
    await this.#done("/ws/refund", { operation: "cancel", merchant_refund_code: "back-1" });
    await this.#pay("disputed");
    await this.#done("/__cofre/payment", {
      merchant_payment_code: "disputed",
      action: "chargeback",
      description: "not mine",
    });
    await this.#pay("review", { amount_total: "501.00" });
    const initial = await this.#pay("initial", {
      cof_info: { cof_type: "initial", initiator: "CIT" },
    });
    const { mandate_id } = initial["cof_info"] as { readonly mandate_id: string };
    await this.#pay("stored", { cof_info: { cof_type: "stored", initiator: "MIT", mandate_id } });
    await this.#done("/__cofre/simulator", {
      connector: "main",
      next: "decline",
      reason: "no_acquirer_response",
      message: "authorize",
    });
    await this.#pay("rerouted");
    await this.#client.send({
      port: this.#port,
      path: "/ws/direct",
      headers: { "idempotency-key": "key-1" },
      body: JSON.stringify(directBody("named")),
    });
  }

  /** Not awaited: it has no answer while the server lives. */
  async leaveInFlight(isThere: () => boolean): Promise<void> {
    await this.#done("/__cofre/simulator", {
      connector: "main",
      next: "lose_answer",
      message: "authorize",
    });
    void this.#client.send({
      port: this.#port,
      path: "/ws/direct",
      body: JSON.stringify(directBody(inFlight)),
    });
    for (let tries = 0; tries < 1_500 && !isThere(); tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(isThere(), "a payment is in flight");
  }

  async #pay(code: string, changes: Fields = {}): Promise<Fields> {
    const answer = await this.#done("/ws/direct", directBody(code, changes));
    return answer["payment"] as Fields;
  }

  async #done(path: string, body: Fields): Promise<Fields> {
    const answer = await this.#client.ask(this.#port, path, {
      integration_key: integrationKey,
      ...body,
    });
    assert.equal(
      answer?.["status"],
      "SUCCESS",
      `${path} ${JSON.stringify(body)}: ${JSON.stringify(answer)}`,
    );
    return answer;
  }
}
