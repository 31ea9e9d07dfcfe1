import assert from "node:assert/strict";
import { type Cofre as Server, startCofre, type World } from "@cofre/server";
import { Chance } from "../../server/test/support/chance.ts";
import {
  type Charge,
  type ChargeOutcome,
  Cofre,
  CofreConnectionError,
  CofreRequestError,
  type Country,
} from "../src/index.ts";
import { currencies, customers } from "../src/generated/test-data.ts";
import { testCard } from "../src/testing.ts";

/**
 * Shops that charge, capture, cancel and refund orders in every country while answers are lost,
 * requests are refused and the shops themselves stop in the middle of a call and begin again. After
 * each call the books of the server are compared with what the SDK returned.
 */
const worlds = 4;

const kinds = [
  "fail_before_commit",
  "unavailable",
  "throttle",
  "drop_before_commit",
  "drop_after_commit",
  "drop_after_commit",
  "error_after_commit",
  "garbage_after_commit",
] as const;
const countries = Object.keys(customers) as Country[];

interface Books {
  readonly state: string;
  readonly authorizations: number;
  readonly captures: number;
  readonly refunds: readonly string[];
}

const absent: Books = { state: "absent", authorizations: 0, captures: 0, refunds: [] };

class Shop {
  readonly #server: Server;
  readonly #world: World;
  readonly #chance: Chance;
  readonly ends = new Map<string, number>();
  /** The books before the next call, if nothing has changed them since. */
  #known: Books | undefined;

  constructor(server: Server, world: World, chance: Chance) {
    this.#server = server;
    this.#world = world;
    this.#chance = chance;
  }

  /** A client as a new process of the shop has it. */
  #client(): Cofre {
    return new Cofre({
      url: this.#server.url,
      integrationKey: this.#world.integrationKey,
      maxAttempts: 3,
      runtime: {
        after(ms, run) {
          const timer = setTimeout(run, ms < 31_000 ? 0 : ms);
          return () => clearTimeout(timer);
        },
      },
    });
  }

  async books(code: string): Promise<Books> {
    return (this.#known = await this.#readBooks(code));
  }

  async #readBooks(code: string): Promise<Books> {
    const explained = await this.#world.payments.explain(code).catch(() => undefined);
    if (explained === undefined) return absent;
    assert.deepEqual(explained.problems, [], code);
    const count = (name: string): number =>
      explained.facts.filter(({ fact }) => fact === name).length;
    const { payment } = await this.#client().query({ code });
    return {
      state: explained.state,
      authorizations: count("authorization_sent"),
      captures: count("capture_approved"),
      refunds: (payment.refunds ?? []).map(
        ({ merchantRefundCode, amountExt }) => `${merchantRefundCode} ${amountExt}`,
      ),
    };
  }

  /**
   * Makes a call until it has an outcome or is refused, each time perhaps with faults, and perhaps
   * stopped in the middle. Undefined after a refusal.
   */
  async #untilDone<Outcome>(
    code: string,
    path: string,
    call: (client: Cofre, signal: AbortSignal) => Promise<Outcome>,
  ): Promise<Outcome | undefined> {
    for (let time = 0; time < 12; time += 1) {
      const isLast = time > 8;
      const chance = this.#chance;
      const isFaulty = !isLast && chance.happens(500);
      if (isFaulty)
        await this.#world.faults.add({
          kind: chance.pick(kinds),
          path,
          times: 1 + chance.below(4),
        });
      const before = this.#known ?? (await this.books(code));
      this.#known = undefined;
      const process = new AbortController();
      if (!isLast && chance.happens(150)) setTimeout(() => process.abort(), chance.below(8));
      try {
        return await call(this.#client(), process.signal);
      } catch (error) {
        this.#count(
          error instanceof CofreConnectionError ? `${path} ${error.sent}` : `${path} refused`,
        );
        if (error instanceof CofreConnectionError && error.sent === "maybe") continue;
        assert.deepEqual(
          await this.books(code),
          before,
          `${code}: ${String(error)}, and books changed`,
        );
        if (error instanceof CofreConnectionError) continue;
        assert.ok(error instanceof CofreRequestError, String(error));
        return undefined;
      } finally {
        if (isFaulty) await this.#world.faults.clear();
      }
    }
    throw new Error(`${code}: ${path} has no outcome`);
  }

  #count(end: string): void {
    this.ends.set(end, (this.ends.get(end) ?? 0) + 1);
  }

  async play(code: string): Promise<void> {
    this.#known = absent;
    const chance = this.#chance;
    const country = chance.pick(countries);
    const isHeld = chance.happens(500);
    const order: Charge = {
      code,
      amount: `${20 + chance.below(60)}.00`,
      currency: currencies[country],
      country,
      card: testCard(),
      customer: customers[country],
      capture: !isHeld,
    };
    const declines = chance.happens(100);
    if (declines)
      await this.#world.simulator.next({ next: "decline", reason: "insufficient_funds" });
    const charged = await this.#untilDone<ChargeOutcome>(code, "/ws/direct", (client, signal) =>
      client.charge(order, { signal }),
    );
    assert.ok(charged !== undefined, `${code}: the order is valid, and was refused`);
    const expected = declines ? "declined" : isHeld ? "authorized" : "paid";
    assert.equal(charged.outcome, expected, code);
    this.#count(`${charged.outcome}${charged.existing ? " existing" : ""}`);
    const books = await this.books(code);
    assert.equal(books.authorizations, 1, `${code}: authorizations`);
    assert.equal(
      books.state,
      { authorized: "authorized", paid: "captured", declined: "declined" }[expected],
    );
    if (expected === "authorized") await this.#finish(code);
    if (expected !== "declined") await this.#refund(code);
  }

  async #finish(code: string): Promise<void> {
    const cancels = this.#chance.happens(300);
    const path = cancels ? "/ws/cancel" : "/ws/capture";
    const ended = await this.#untilDone(code, path, (client, signal) =>
      cancels ? client.cancel({ code }, { signal }) : client.capture({ code }, { signal }),
    );
    const { state, captures } = await this.books(code);
    assert.equal(ended?.outcome, cancels ? "cancelled" : "paid", code);
    assert.equal(state, cancels ? "voided" : "captured", code);
    assert.equal(captures, cancels ? 0 : 1, `${code}: captures`);
  }

  async #refund(code: string): Promise<void> {
    for (const number of [1, 2, 3].slice(0, this.#chance.below(4))) {
      const refundCode = `${code}-r${number}`;
      const amount = `${5 + this.#chance.below(9)}.00`;
      const refunded = await this.#untilDone(code, "/ws/refund", (client, signal) =>
        client.refund({ code, amount, refundCode }, { signal }),
      );
      const { refunds } = await this.books(code);
      const made = refunds.filter((refund) => refund.startsWith(`${refundCode} `));
      assert.deepEqual(made, refunded === undefined ? [] : [`${refundCode} ${amount}`]);
      this.#count(refunded === undefined ? "refund refused" : "refunded");
    }
  }
}

/** Plays orders in a few worlds at once. Resolves with the number of times that each end happened. */
export async function playOrders(
  seed: number,
  orders: number,
): Promise<ReadonlyMap<string, number>> {
  const server = await startCofre({ acquirerTimeoutMs: 1_000 });
  try {
    const ends = new Map<string, number>();
    await Promise.all(
      Array.from({ length: worlds }, async (_, index) => {
        const world = await server.worlds.create({ seed: `orders-${seed}-${index}` });
        const shop = new Shop(server, world, new Chance(seed * 1_000 + index));
        for (let order = 0; order < orders / worlds; order += 1)
          await shop.play(`order-${index}-${order}`);
        for (const [end, times] of shop.ends) ends.set(end, (ends.get(end) ?? 0) + times);
      }),
    );
    return ends;
  } finally {
    await server.close();
  }
}
