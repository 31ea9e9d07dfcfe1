import assert from "node:assert/strict";
import { request as openRequest } from "node:http";
import { test } from "node:test";
import { countryCodes, countryOf } from "../../server/src/payment/countries.ts";
import { exampleCustomers } from "../../server/src/sandbox/example-customers.ts";
import { testCards } from "../../server/src/sandbox/test-cards.ts";
import { startTemporary } from "../../server/src/start/temporary-cofre.ts";
import { startComparing } from "../../server/test/e2e/comparing.ts";
import { integrationKey, startTestServer } from "../../server/test/server.ts";
import { Chance } from "../../server/test/support/chance.ts";
import {
  chanceOf,
  codes,
  documents,
  names,
  phones,
  texts,
} from "../../server/test/vectors/ordinary-values.ts";
import { textOf } from "./purchases.ts";
import { type Fields, type WireRequest, wireRequest } from "./wire-request.ts";

/*
 * `cofre compare` in front of a second Cofre, over generated requests of every country in every
 * encoding: no difference, although hashes, tokens, keys, numbers of refunds and times differ.
 */

const requests = 2_000;
const clients = 4;

/** The more often, the more likely. */
const paths = [
  "/ws/direct",
  "/ws/direct",
  "/ws/direct",
  "/ws/query",
  "/ws/capture",
  "/ws/cancel",
  "/ws/refund",
  "/ws/refund",
  "/ws/refundOrCancel",
  "/ws/token",
  "/ws/token/setCVV",
  "/ws/verifycard",
  "/ws/exchange",
  "/ws/zipcode",
] as const;

/** One client's payments, cards and refunds, by the answers that it got. */
class Client {
  readonly #chance: Chance;
  readonly #port: number;
  readonly #name: string;
  readonly #hashes: string[] = [];
  /** Answers with success. */
  successes = 0;
  readonly #codes: string[] = [];
  readonly #tokens: string[] = [];
  readonly #refunds: string[] = [];
  #sent = 0;

  constructor(seed: number, port: number) {
    this.#chance = new Chance(seed);
    this.#port = port;
    this.#name = `c${seed}`;
  }

  async run(count: number): Promise<void> {
    while (this.#sent < count) await this.#one();
  }

  #one(): Promise<void> {
    const chance = this.#chance;
    const path = chance.pick(paths);
    switch (path) {
      case "/ws/direct":
        return this.#send(path, this.#payment(), true);
      case "/ws/token":
        return this.#send(
          path,
          { country: chance.pick(countryCodes), creditcard: this.#card() },
          true,
        );
      case "/ws/verifycard":
        return this.#send(
          path,
          { country: "br", payment_type_code: "creditcard", card: this.#cardOrToken() },
          true,
        );
      case "/ws/token/setCVV":
        return this.#send(path, { token: this.#tokens.at(-1), card_cvv: "123" }, true);
      case "/ws/exchange":
        return this.#send(path, { currency_code: chance.pick(["USD", "EUR", "BRL", "XXX"]) });
      case "/ws/zipcode":
        return this.#send(path, { zipcode: chance.pick(["01310-100", "x", "80230180"]) });
      case "/ws/refund":
        if (this.#refunds.length > 0 && chance.happens(300))
          return this.#send(path, { operation: "cancel", refund_id: chance.pick(this.#refunds) });
        return this.#send(path, {
          ...this.#selector(),
          operation: "request",
          amount: textOf(BigInt(chance.between(50, 900))),
          description: this.#text(texts),
        });
      case "/ws/refundOrCancel":
        return this.#send(path, { ...this.#selector(), description: this.#text(texts) });
      default:
        return this.#send(path, this.#selector());
    }
  }

  #text(
    kinds: readonly { readonly make: (chance: ReturnType<typeof chanceOf>) => string }[],
  ): string {
    return this.#chance.pick(kinds).make(chanceOf(this.#chance.next()));
  }

  #selector(): Fields {
    const chance = this.#chance;
    if (this.#hashes.length === 0 || chance.happens(50)) return { merchant_payment_code: "none" };
    return chance.happens(500)
      ? { hash: chance.pick(this.#hashes) }
      : { merchant_payment_code: chance.pick(this.#codes) };
  }

  #card(): Fields {
    const { digits, brand } = this.#chance.pick(testCards);
    return {
      card_number: digits,
      card_name: "ANA LIMA",
      card_due_date: this.#chance.pick(["12/2040", "1/2039", "13/2030", "01/2020"]),
      card_cvv: brand === "amex" ? "1234" : "123",
    };
  }

  #cardOrToken(): Fields {
    return this.#tokens.length > 0 && this.#chance.happens(300)
      ? { token: this.#chance.pick(this.#tokens) }
      : this.#card();
  }

  #payment(): Fields {
    const chance = this.#chance;
    const country = chance.pick(countryCodes);
    const { email, ...customer } = exampleCustomers[country] ?? { email: "" };
    const code =
      this.#codes.length > 0 && chance.happens(50)
        ? chance.pick(this.#codes)
        : `${this.#name}-${this.#sent}-${this.#text(codes)}`.slice(0, 40);
    const own = documents.filter((each) => each.country === country);
    const isPlain = chance.happens(500);
    return {
      operation: "request",
      mode: "full",
      payment: {
        ...customer,
        merchant_payment_code: code,
        order_number: isPlain ? undefined : this.#text(codes).slice(0, 40),
        amount_total: textOf(BigInt(chance.between(100, 300_000))),
        currency_code: chance.pick(["USD", "EUR", countryOf(country)?.currency ?? "USD"]),
        country: chance.happens(500) ? country : country.toUpperCase(),
        instalments: String(chance.pick([1, 1, 1, 3, 12, 99])),
        payment_type_code: chance.pick(["creditcard", "creditcard", "visa", "debitcard"]),
        email: chance.happens(50) ? "no address" : email,
        ...(isPlain
          ? {}
          : {
              name: this.#text(names),
              phone_number: this.#text(phones),
              note: this.#text(texts),
              user_value_1: this.#text(texts).slice(0, 20),
              ...(own.length === 0 ? {} : { document: this.#text(own) }),
            }),
        create_token: chance.happens(150) ? true : undefined,
        creditcard: { ...this.#cardOrToken(), auto_capture: chance.happens(500) },
      },
    };
  }

  async #send(path: string, fields: Fields, hasCard = false): Promise<void> {
    this.#sent += 1;
    const sent = wireRequest(this.#chance, path, fields, integrationKey, { hasCard });
    const answer = JSON.parse(await textFrom(this.#port, sent)) as Answer;
    const { payment, token, refund, status } = answer;
    if (status === "SUCCESS") this.successes += 1;
    if (payment?.hash !== undefined && !this.#hashes.includes(payment.hash)) {
      this.#hashes.push(payment.hash);
      this.#codes.push(payment.merchant_payment_code);
    }
    const stored = token ?? payment?.token;
    if (stored !== undefined) this.#tokens.push(stored);
    if (refund?.id !== undefined) this.#refunds.push(refund.id);
  }
}

interface Answer {
  readonly status: string;
  readonly payment?: {
    readonly hash: string;
    readonly merchant_payment_code: string;
    readonly token?: string;
  };
  readonly token?: string;
  readonly refund?: { readonly id: string };
}

function textFrom(port: number, { method, target, headers, body }: WireRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = openRequest({ port, host: "127.0.0.1", method, path: target, headers });
    request.on("error", reject).on("response", (response) => {
      let text = "";
      response
        .setEncoding("utf8")
        .on("data", (piece: string) => (text += piece))
        .on("end", () => resolve(text))
        .on("error", reject);
    });
    request.end(body);
  });
}

test("no difference from a second Cofre over generated requests of every country", async () => {
  await using upstream = await startTestServer({ seed: "compared requests" });
  const twin = await startTemporary({ port: 0, withTls: false });
  try {
    await using comparing = await startComparing(upstream.url, twin);
    const all = Array.from(
      { length: clients },
      (_, index) => new Client(index + 1, comparing.port),
    );
    await Promise.all(all.map((client) => client.run(requests / clients)));
    const { kinds, totals, endpoints } = await comparing.finish();
    assert.deepEqual(
      kinds.map(({ first, ...kind }) => ({ ...kind, ...first })),
      [],
    );
    assert.deepEqual([totals.equal, totals.not_compared], [requests, 0]);
    assert.ok(Object.keys(endpoints).length > 10, "every kind of request was sent");
    const successes = all.reduce((sum, client) => sum + client.successes, 0);
    assert.ok(requests * 0.3 < successes && successes < requests * 0.9, String(successes));
  } finally {
    await twin.close();
  }
});
