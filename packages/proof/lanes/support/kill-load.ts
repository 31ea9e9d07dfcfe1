import { setTimeout as sleep } from "node:timers/promises";
import type { Chance } from "../../../server/test/support/chance.ts";
import { type Promises, reportedPaymentOf } from "./kill-promises.ts";
import type { WireClient } from "../../../server/test/support/wire-client.ts";

type Answer = Readonly<Record<string, unknown>> | undefined;

export interface LoadOptions {
  readonly client: WireClient;
  readonly chance: Chance;
  readonly promises: Promises;
  readonly integrationKey: string;
  /** Prefix of all payment codes. */
  readonly name: string;
  /** The server's current port; undefined while it is down. */
  readonly port: () => number | undefined;
}

const approved = ["4111111111111111", "5555555555554444", "378282246310005", "6062825624254001"];
const refused = ["4000000000000028", "5102026827345142", "378568775709157"];
const maxRemembered = 500;

/**
 * The server could not write, and reports that nothing was done: the client retries after a pause.
 */
const nothingDone = "COFRE-21";
const backOffMs = 50;
/** The server does not know the payment's outcome: treated as no answer. */
const notKnown = "BP-DR-119";

/**
 * Shops that send all kinds of requests at once to a server that is sometimes killed. After a
 * missing answer they do what real shops do: send the same payment again, query it, or give up.
 */
export class KillLoad {
  readonly #options: LoadOptions;
  readonly #tokens: string[] = [];
  readonly #authorized: string[] = [];
  readonly #unanswered: { readonly code: string; readonly body: unknown }[] = [];
  #codes = 0;
  #stopped = false;
  #clients: Promise<unknown> = Promise.resolve();
  /** Requests without an answer. */
  unanswered = 0;
  /** Number of error answers by code. */
  readonly refusals = new Map<string, number>();

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  start(clients: number): void {
    this.#clients = Promise.all(Array.from({ length: clients }, () => this.#shop()));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#clients;
  }

  async #shop(): Promise<void> {
    while (!this.#stopped) {
      if (this.#options.port() === undefined) await sleep(5);
      else await this.#step();
    }
  }

  async #step(): Promise<void> {
    const { chance } = this.#options;
    const dice = chance.below(100);
    if (dice < 10) await this.#resolveUnanswered();
    else if (dice < 25) await this.#tokenize();
    else if (dice < 40) await this.#pay(this.#panCard(), true);
    else if (dice < 50) await this.#pay(this.#tokenCard(), true);
    else if (dice < 65) await this.#pay(this.#tokenCard(), false);
    else if (dice < 72) await this.#payTwice();
    else if (dice < 90) await this.#followUp();
    else await this.#query();
  }

  async #ask(path: string, fields: object): Promise<Answer> {
    const port = this.#options.port();
    if (port === undefined) return undefined;
    const answer = await this.#options.client.ask(port, path, {
      integration_key: this.#options.integrationKey,
      ...fields,
    });
    if (answer === undefined) this.unanswered += 1;
    const code = answer?.["status_code"];
    if (typeof code === "string") this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
    if (code === nothingDone) await sleep(backOffMs);
    return answer;
  }

  async #tokenize(): Promise<void> {
    const answer = await this.#ask("/ws/token", {
      country: "pe",
      payment_type_code: "creditcard",
      creditcard: this.#panCard(),
    });
    this.#keepToken(answer?.["token"], answer?.["masked_card_number"]);
  }

  #keepToken(token: unknown, masked: unknown): void {
    if (typeof token !== "string") return;
    const { promises } = this.#options;
    promises.acknowledged += 1;
    promises.tokens.set(token, String(masked));
    this.#tokens.push(token);
    if (this.#tokens.length > maxRemembered) this.#tokens.shift();
  }

  #panCard(): object {
    const { chance } = this.#options;
    const card_number = chance.happens(150) ? chance.pick(refused) : chance.pick(approved);
    return { card_number, card_name: "Ana Lima", card_due_date: "12/2060", card_cvv: "123" };
  }

  #tokenCard(): object {
    return this.#tokens.length === 0
      ? this.#panCard()
      : { token: this.#options.chance.pick(this.#tokens) };
  }

  #payment(code: string, creditcard: object, autoCapture: boolean): object {
    const { chance } = this.#options;
    return {
      operation: "request",
      payment: {
        amount_total: `${chance.between(10, 900)}.${String(chance.below(100)).padStart(2, "0")}`,
        currency_code: "PEN",
        merchant_payment_code: code,
        name: "Ana Lima",
        email: "ana.lima@example.com",
        country: "pe",
        phone_number: "51987654321",
        payment_type_code: "creditcard",
        ...("card_number" in creditcard && chance.happens(200) ? { create_token: true } : {}),
        creditcard: { ...creditcard, auto_capture: autoCapture },
      },
    };
  }

  #newCode(): string {
    this.#codes += 1;
    return `${this.#options.name}-${this.#codes}`;
  }

  async #pay(creditcard: object, autoCapture: boolean): Promise<void> {
    const code = this.#newCode();
    await this.#sendPayment(code, this.#payment(code, creditcard, autoCapture));
  }

  async #sendPayment(code: string, body: object): Promise<void> {
    const { promises } = this.#options;
    promises.sent(code);
    const answer = await this.#ask("/ws/direct", body);
    if (answer?.["status_code"] === nothingDone) promises.reportedNothingDone(code);
    if (answer === undefined || answer["status_code"] === notKnown) {
      this.#unanswered.push({ code, body });
      if (this.#unanswered.length > maxRemembered) this.#unanswered.shift();
      return;
    }
    this.#received(answer);
  }

  /** Two requests with one code, the second with another amount and card: one of them wins. */
  async #payTwice(): Promise<void> {
    const code = this.#newCode();
    const autoCapture = this.#options.chance.happens(500);
    await Promise.all([
      this.#sendPayment(code, this.#payment(code, this.#panCard(), autoCapture)),
      this.#sendPayment(code, this.#payment(code, this.#tokenCard(), !autoCapture)),
    ]);
  }

  /** Captures, cancels, or both at once. */
  async #followUp(): Promise<void> {
    const { chance } = this.#options;
    const code = this.#authorized.shift();
    if (code === undefined) return this.#pay(this.#tokenCard(), false);
    const dice = chance.below(10);
    const calls =
      dice < 5
        ? ["capture"]
        : dice < 7
          ? ["cancel"]
          : dice < 9
            ? ["capture", "cancel"]
            : ["capture", "capture"];
    await Promise.all(calls.map((operation) => this.#followUpBy(operation, code)));
  }

  async #followUpBy(operation: string, code: string): Promise<void> {
    if (operation === "cancel") this.#options.promises.cancelled.add(code);
    this.#received(await this.#ask(`/ws/${operation}`, { merchant_payment_code: code }));
  }

  #received(answer: Answer): void {
    const payment = reportedPaymentOf(answer);
    if (payment === undefined) return;
    const { promises } = this.#options;
    promises.acknowledged += 1;
    promises.reported(payment);
    if (payment.captureAvailable && !promises.cancelled.has(payment.code))
      this.#authorized.push(payment.code);
    if (this.#authorized.length > maxRemembered) this.#authorized.shift();
    const node = (answer?.["payment"] ?? {}) as Readonly<Record<string, unknown>>;
    this.#keepToken(node["token"], node["masked_card_number"]);
  }

  async #query(): Promise<void> {
    const { promises, chance } = this.#options;
    const codes = promises.codes;
    if (codes.length === 0) return;
    const payment = reportedPaymentOf(
      await this.#ask("/ws/query", { merchant_payment_code: chance.pick(codes) }),
    );
    if (payment !== undefined) promises.reported(payment);
  }

  async #resolveUnanswered(): Promise<void> {
    const { chance, promises } = this.#options;
    const lost = this.#unanswered.pop();
    if (lost === undefined || chance.happens(200)) return this.#pay(this.#panCard(), true);
    if (chance.happens(600)) return this.#sendPayment(lost.code, lost.body as object);
    const payment = reportedPaymentOf(
      await this.#ask("/ws/query", { merchant_payment_code: lost.code }),
    );
    if (payment !== undefined) promises.reported(payment);
  }
}
