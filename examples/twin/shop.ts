/**
 * Shared by the scripts in this folder: a Cofre in this process with one world, and the few calls
 * of a shop. In your own tests use your client library instead, with the world's key.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Cofre, startCofre, type World, type WorldOptions } from "@cofre/server";

export type Fields = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: "SUCCESS" | "ERROR";
  readonly status_code?: string;
  readonly [field: string]: unknown;
}

export interface Payment {
  readonly hash: string;
  /** CO: paid. PE: pending. CA: not paid, final. */
  readonly status: "CO" | "PE" | "CA";
  /** In the local currency, tax included. */
  readonly amount_br: string;
  readonly amount_iof: string;
  readonly currency_rate: string;
  readonly [field: string]: unknown;
}

export const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};

export class Shop {
  readonly cofre: Cofre;
  readonly world: World;

  private constructor(cofre: Cofre, world: World) {
    this.cofre = cofre;
    this.world = world;
  }

  /**
   * Starts a Cofre with one world, whose clock is set to the beginning of 2026 and does not run.
   */
  static async open(options: WorldOptions = {}): Promise<Shop> {
    const cofre = await startCofre();
    return new Shop(cofre, await cofre.worlds.create({ seed: "example", ...options }));
  }

  /** Sends a POST request and returns the answer, errors too. */
  async ask(
    path: string,
    fields: Fields,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const body = JSON.stringify({ integration_key: this.world.integrationKey, ...fields });
    const answer = await fetch(this.cofre.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body,
    });
    return (await answer.json()) as Answer;
  }

  /** Sends a request and returns the payment in the answer. */
  async payment(path: string, fields: Fields): Promise<Payment> {
    const { payment, ...rest } = await this.ask(path, fields);
    assert.ok(payment !== undefined, JSON.stringify(rest));
    return payment as Payment;
  }

  /** Charges 100.00 PEN unless `more` has another amount or currency. */
  pay(code: string, creditcard: Fields = {}, more: Fields = {}): Promise<Payment> {
    return this.payment("/ws/direct", order(code, creditcard, more));
  }

  query(code: string): Promise<Payment> {
    return this.payment("/ws/query", { merchant_payment_code: code });
  }

  /** Stores the card and returns its token. */
  async store(creditcard: Fields = {}): Promise<string> {
    const { token } = await this.ask("/ws/token", {
      country: "pe",
      payment_type_code: "creditcard",
      creditcard: { ...card, ...creditcard },
    });
    assert.ok(typeof token === "string");
    return token;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cofre.close();
  }
}

/** The body of a charge. Undefined members are omitted. */
export function order(code: string, creditcard: Fields = {}, more: Fields = {}): Fields {
  const customer = {
    name: "Ana Lima",
    email: "ana.lima@example.com",
    country: "pe",
    phone_number: "51987654321",
  };
  const amount = { amount_total: "100.00", currency_code: "PEN" };
  const payment = {
    merchant_payment_code: code,
    ...amount,
    ...customer,
    payment_type_code: "creditcard",
    creditcard: { ...card, ...creditcard },
  };
  return { operation: "request", payment: { ...payment, ...more } };
}

/** A received notification: the payment with this hash changed. */
export interface Notification {
  readonly hash: string;
  /** The same id for each delivery of the same notification. */
  readonly id: string;
}

/** A shop's receiver of notifications, on a free port. It answers each with `status`. */
export class Receiver {
  readonly received: Notification[] = [];
  /** Called for each notification before it is answered. */
  onReceived: ((notification: Notification) => void) | undefined;
  status = 204;
  readonly #server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const hash = new URLSearchParams(Buffer.concat(pieces).toString()).get("hash_codes") ?? "";
      const notification = { hash, id: String(request.headers["webhook-id"]) };
      this.received.push(notification);
      this.onReceived?.(notification);
      response.writeHead(this.status).end();
    });
  });

  static async open(): Promise<Receiver> {
    const receiver = new Receiver();
    await once(receiver.#server.listen(0, "127.0.0.1"), "listening");
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** For the account's settings. */
  get endpoints(): readonly { readonly id: string; readonly url: string }[] {
    return [{ id: "shop", url: this.url }];
  }

  /** Resolves when `count` notifications have arrived. */
  async waitFor(count: number): Promise<void> {
    for (let looks = 0; looks < 1_000 && this.received.length < count; looks += 1)
      await new Promise((resolve) => void setTimeout(resolve, 10));
    assert.ok(this.received.length >= count, `${this.received.length} of ${count} were received`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Prints a line of the story. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
