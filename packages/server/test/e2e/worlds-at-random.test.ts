import assert from "node:assert/strict";
import { test } from "node:test";
import { hexOf } from "../../src/kernel/ids.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import {
  type Cofre,
  type SimulatorInstruction,
  startCofre,
  type World,
} from "../../src/library.ts";

type Fields = Readonly<Record<string, unknown>>;

const seed = "worlds at random";
const sequences = 25;
const stepsOfEach = 16;

const final: readonly string[] = ["captured", "voided", "declined", "expired"];
const spans = ["1s", "30s", "10min", "1h", "36h", "4d", "20d", "next", "next"] as const;
const faults = ["lose_request", "lose_answer", "late_answer", "double_request"] as const;
const kinds = ["authorize", "capture", "void", "refund", "reverse", "inquire"] as const;

/** One world, and a client that sends random requests, some of them concurrently. */
class Player {
  readonly #cofre: Cofre;
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly reported: string[] = [];
  readonly #kept = new Set<string>();
  #orders = 0;
  #refunded = 0;

  constructor(cofre: Cofre, world: World, name: string) {
    this.#cofre = cofre;
    this.#world = world;
    this.#random = new SeededRandom(name);
  }

  async play(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      const one = this.#step();
      // Sometimes two at once.
      await Promise.all(this.#chance(4) ? [one, this.#step()] : [one]);
    }
  }

  /**
   * Everything that is open ends, the books agree with it, and the acquirer has the captured
   * amount: all of it can be refunded.
   */
  async check(): Promise<void> {
    const world = this.#world;
    await world.settings.set({
      simulator: { loseRequest: 0, loseAnswer: 0, lateAnswer: 0, doubleRequest: 0 },
    });
    // Uses up instructions for messages that never came.
    for (const code of ["flush-1", "flush-2", "flush-3"]) await this.#pay(code, true);
    await world.clock.advance("40d");
    await world.clock.advance("40d");
    const { payments } = await this.#post("/__cofre/payments", { limit: "100" });
    const listed = payments as readonly { readonly hash: string; readonly state: string }[];
    for (const { hash } of listed) {
      const { state, problems } = await world.payments.explain(hash);
      assert.deepEqual(problems, [], hash);
      assert.ok(final.includes(state), `${hash} ${state}`);
      if (state !== "captured") continue;
      const { status, ...refusal } = await this.#post("/ws/refund", {
        operation: "request",
        hash,
        amount: "0.01",
        description: "a cent",
      });
      // Nothing may be left of it.
      if (status === "SUCCESS") this.#refunded += 1;
      else assert.match(String(refusal["status_code"]), /^BP-REF-/);
    }
    assert.ok(this.#refunded > 0);
    await world.clock.advance("40d");
    for (const { hash } of listed) {
      const { problems } = await world.payments.explain(hash);
      assert.deepEqual(problems, [], hash);
      const { payment } = (await this.#post("/ws/query", { hash })) as {
        readonly payment: { readonly refunds?: readonly Fields[] };
      };
      for (const { status, description } of payment.refunds ?? []) {
        // An acquirer that had not taken the money would refuse the refund.
        assert.ok(
          status === "CO" || (status === "CA" && description !== "a cent"),
          `${hash} ${String(status)}`,
        );
      }
    }
  }

  async #step(): Promise<void> {
    const world = this.#world;
    const hash = () => this.#one(this.reported) ?? "0".repeat(48);
    switch (this.#below(16)) {
      case 0:
      case 1:
      case 2:
        return this.#pay(`order-${(this.#orders += 1)}`, this.#chance(2));
      case 3:
        return void (await this.#post("/ws/capture", {
          hash: hash(),
          ...(this.#chance(2) ? { amount: String(1 + this.#below(120)) } : {}),
        }));
      case 4:
        return void (await this.#post("/ws/cancel", { hash: hash() }));
      case 5:
      case 6:
        return void (await this.#post("/ws/refund", {
          operation: "request",
          hash: hash(),
          amount: String(1 + this.#below(60)),
          description: "x",
        }));
      case 7:
        return world.simulator.next({
          next: this.#one(faults),
          message: this.#one(kinds),
        } as SimulatorInstruction);
      case 8:
        return void (await world.settings.set({
          simulator: {
            loseAnswer: this.#below(300),
            lateAnswer: this.#below(300),
            loseRequest: this.#below(200),
          },
        }));
      case 9:
      case 10:
      case 11:
        return void (await world.clock.advance(this.#one(spans) ?? "1s"));
      case 12:
        return void (await world.clock.set(
          new Date(Date.UTC(2026, this.#below(3), 1 + this.#below(28))),
        ));
      case 13: {
        const name = this.#one(["one", "other"]) ?? "";
        this.#kept.add(name);
        return world.snapshot(name);
      }
      case 14: {
        const name = this.#one([...this.#kept]);
        return name === undefined
          ? undefined
          : world.restore(name).catch((error: unknown) => assert.match(String(error), /COFRE-77/));
      }
      default:
        return this.#chance(3) ? world.reset() : undefined;
    }
  }

  async #pay(code: string, captured: boolean): Promise<void> {
    const answer = await this.#post("/ws/direct", {
      operation: "request",
      payment: {
        merchant_payment_code: code,
        amount_total: String(10 + this.#below(100)),
        currency_code: "PEN",
        country: "pe",
        name: "Ana Lima",
        email: "ana.lima@example.com",
        phone_number: "51987654321",
        payment_type_code: "creditcard",
        creditcard: {
          card_number: "4111111111111111",
          card_name: "Ana Lima",
          card_due_date: "12/2060",
          card_cvv: "123",
          auto_capture: captured,
        },
      },
    });
    const { hash } = (answer["payment"] ?? {}) as { readonly hash?: string };
    if (hash !== undefined) this.reported.push(hash);
  }

  async #post(path: string, fields: Fields): Promise<Fields> {
    const response = await fetch(this.#cofre.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ integration_key: this.#world.integrationKey, ...fields }),
    });
    const text = await response.text();
    assert.ok(response.status < 500, `${path} ${response.status} ${text}`);
    return JSON.parse(text) as Fields;
  }

  #below(end: number): number {
    const [high = 0, low = 0] = this.#random.bytes(2);
    return (high * 256 + low) % end;
  }

  #chance(outOf: number): boolean {
    return this.#below(outOf) === 0;
  }

  #one<T>(list: readonly T[]): T | undefined {
    return list[this.#below(Math.max(1, list.length))];
  }
}

test("whatever is done with a world, its books agree with its payments and its acquirer", async () => {
  const alarms: unknown[] = [];
  await using cofre = await startCofre({
    log: (event) => event.event === "alarm" && alarms.push(event),
  });
  for (let number = 0; number < sequences; number += 1) {
    const name = `${seed} ${number}`;
    const world = await cofre.worlds.create({
      seed: hexOf(new SeededRandom(name).bytes(4)),
      settings: { partialCapture: true, refundRequestedMinutes: 1 },
    });
    const player = new Player(cofre, world, name);
    try {
      await player.play(stepsOfEach);
      await player.check();
      assert.deepEqual(alarms, []);
    } catch (error) {
      throw new Error(`sequence ${name}`, { cause: error });
    }
    await world.delete();
  }
});
