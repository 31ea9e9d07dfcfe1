import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cardOf } from "../../../test/vectors/cards.ts";
import { StillTime } from "../../../test/contract/connector-harness.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { laterBy } from "../../kernel/instant.ts";
import type { SimulatorSettings } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import type { AuthorizeOutcome, AuthorizeRequest } from "../connector.ts";
import { createSimulator } from "./simulator-connector.ts";

const merchantId = "0000000a" as MerchantId;
const calm: SimulatorSettings = {
  seed: "one",
  latencyMs: 0,
  loseAnswer: 0,
  loseRequest: 0,
  lateAnswer: 0,
  doubleRequest: 0,
};
const deadlineMs = 10_000;

function given() {
  const time = new StillTime();
  const simulator = createSimulator({ clock: time, scheduler: time });
  const answered: AuthorizeOutcome[] = [];
  const card = cardOf("4111111111111111");

  /** Sends; the outcome is in `answered` once there is one. */
  function send(
    settings: SimulatorSettings = calm,
    change: Partial<AuthorizeRequest> = {},
  ): Promise<void> {
    const request: AuthorizeRequest = {
      merchantId,
      reference: "a-1",
      deadline: laterBy(time.now(), deadlineMs),
      settings: { ...defaultAccountSettings(), simulator: settings },
      amount: { minor: 100_00n, currency: "BRL" },
      capture: false,
      instalments: 1,
      country: "br",
      descriptor: "SHOP",
      card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
      storedCredential: undefined,
      threeDSecure: undefined,
      ...change,
    };
    return simulator
      .authorize(request, { card, cvv: undefined, cryptogram: undefined })
      .then((outcome) => void answered.push(outcome));
  }

  const held = () => simulator.books().merchants[0]?.money[0]?.held ?? 0n;
  return { time, simulator, answered, card, send, held };
}

describe("the simulator's connector", () => {
  test("answers in the same turn and waits for nothing when there is neither latency nor a fault", async () => {
    const { time, answered, send } = given();
    const sent = send();
    assert.equal(time.waiting, 0);
    await sent;
    assert.equal(answered[0]?.kind, "approved");
  });

  test("answers after the account's latency, not before", async () => {
    const { time, answered, send } = given();
    const sent = send({ ...calm, latencyMs: 300 });
    await time.pass(299);
    assert.equal(answered.length, 0);
    await time.pass(1);
    await sent;
    assert.equal(answered[0]?.kind, "approved");
  });

  test("an answer at the deadline counts, one after it is unknown although the work is done", async () => {
    const punctual = given();
    const inTime = punctual.send({ ...calm, latencyMs: deadlineMs });
    await punctual.time.pass(deadlineMs);
    await inTime;
    assert.equal(punctual.answered[0]?.kind, "approved");

    const tardy = given();
    const tooLate = tardy.send({ ...calm, latencyMs: deadlineMs + 1 });
    await tardy.time.pass(deadlineMs);
    await tooLate;
    assert.deepEqual(tardy.answered, [{ kind: "unknown", cause: "timeout" }]);
    assert.equal(tardy.held(), 100_00n);
  });

  for (const next of ["lose_request", "lose_answer", "late_answer"] as const) {
    test(`${next}: unknown at the deadline, not before`, async () => {
      const { time, simulator, answered, send, held } = given();
      simulator.instruct(merchantId, { next, times: 1 });
      const sent = send();
      await time.pass(deadlineMs - 1);
      assert.equal(answered.length, 0);
      assert.equal(held(), next === "lose_answer" ? 100_00n : 0n);
      await time.pass(1);
      await sent;
      assert.deepEqual(answered, [{ kind: "unknown", cause: "timeout" }]);
    });
  }

  test("a late request arrives although its sender has wiped the card, and is not reported", async () => {
    const { time, simulator, answered, card, send, held } = given();
    simulator.instruct(merchantId, { next: "late_answer", times: 1 });
    const sent = send();
    card.pan.wipe();
    await time.pass(deadlineMs - 1);
    assert.equal(held(), 0n);
    await time.pass(simulator.capabilities.lateArrivalMs);
    await sent;
    assert.equal(held(), 100_00n);
    assert.deepEqual(answered, [{ kind: "unknown", cause: "timeout" }]);
    assert.equal(time.waiting, 0);
  });

  test("declines debit payments as the account's rules say", async () => {
    const { answered, send } = given();
    const settings = { ...defaultAccountSettings(), requireDebitThreeDSecure: true };
    await send(calm, { settings, country: "br", paymentType: "debit" });
    const [outcome] = answered;
    assert.ok(outcome?.kind === "declined" && outcome.reason === "three_d_secure_required");
  });

  test("reads the card and keeps nothing of it but the mask", async () => {
    const { simulator, send } = given();
    await send();
    const books = JSON.stringify(simulator.books(), (_, member: unknown) =>
      typeof member === "bigint" ? String(member) : member,
    );
    assert.ok(books.includes("411111xxxxxx1111"));
    assert.ok(!books.includes("4111111111111111"));
  });
});
