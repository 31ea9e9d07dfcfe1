import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import { instant } from "../../kernel/instant.ts";
import type { SimulatorBehaviour } from "../../merchant/account.ts";
import { networkFaults } from "./network.ts";
import type { Instruction, NetworkFault } from "./network.ts";
import { buildAcquirer, defaultPersonality } from "./personality.ts";

const merchantId = "0000000a" as MerchantId;
const amount = { minor: 100_00n, currency: "BRL" };
const calm: SimulatorBehaviour = {
  seed: "one",
  latencyMs: 0,
  loseAnswer: 0,
  loseRequest: 0,
  lateAnswer: 0,
  doubleRequest: 0,
};

/** A network whose late requests wait in `late` until a test delivers them. */
function networkWith(lateArrivalMs = defaultPersonality.lateArrivalMs) {
  const late: { readonly ms: number; readonly arrive: () => void }[] = [];
  const scheduler = {
    sleep: () => Promise.reject(new Error("the network does not sleep")),
    after: (ms: number, arrive: () => void) => {
      late.push({ ms, arrive });
      return () => undefined;
    },
  };
  const clock = { now: () => instant(0) };
  return {
    ...buildAcquirer(
      { clock, scheduler },
      { ...defaultPersonality, rememberedReferences: 4, dedupes: false, lateArrivalMs },
    ),
    late,
  };
}

type World = ReturnType<typeof networkWith>;

function authorize({ network }: World, reference: string, simulator = calm, merchant = merchantId) {
  const card = { maskedPan: "411111xxxxxx1111" };
  return network.authorize(
    {
      merchantId: merchant,
      reference,
      settings: { simulator },
      amount,
      capture: false,
      card,
      storedCredential: undefined,
      threeDSecure: undefined,
    },
    undefined,
  );
}

function inquire({ network }: World, reference: string, simulator = calm) {
  const original = {
    reference,
    amount,
    authorizationCode: undefined,
    acquirerReference: undefined,
  };
  return network.inquire({
    merchantId,
    reference: `${reference}-i`,
    settings: { simulator },
    original,
  });
}

function approvals({ acquirer }: World, reference: string): number {
  const booked = acquirer.books().merchants.flatMap(({ authorizations }) => authorizations);
  return booked.find((authorization) => authorization.reference === reference)?.approvals ?? 0;
}

/** The fault that the network applied to a message, by the answer and the acquirer's books. */
function seen(
  world: World,
  reference: string,
  simulator: SimulatorBehaviour,
): NetworkFault | undefined {
  const waitingBefore = world.late.length;
  const received = authorize(world, reference, simulator) !== undefined;
  if (world.late.length > waitingBefore) return "late_answer";
  const times = approvals(world, reference);
  if (received) return times === 2 ? "double_request" : undefined;
  return times === 0 ? "lose_request" : "lose_answer";
}

describe("chances of an account", () => {
  const stormy = { ...calm, loseRequest: 100, loseAnswer: 200, lateAnswer: 150, doubleRequest: 50 };
  const references = Array.from({ length: 2_000 }, (_, number) => `p-${number}`);
  const run = (simulator: SimulatorBehaviour) => {
    const world = networkWith();
    return references.map((reference) => seen(world, reference, simulator));
  };
  const faults = run(stormy);

  test("come as often as they are set", () => {
    const expected = { lose_request: 200, lose_answer: 400, late_answer: 300, double_request: 100 };
    // Five standard deviations of the rarest fault are 49; the draws are fixed by the seed, so the
    // result is stable.
    for (const fault of networkFaults) {
      const times = faults.filter((other) => other === fault).length;
      assert.ok(Math.abs(times - expected[fault]) < 80, `${fault}: ${times}`);
    }
  });

  test("repeat with the seed, and differ with another", () => {
    assert.deepEqual(run(stormy), faults);
    assert.notDeepEqual(run({ ...stormy, seed: "two" }), faults);
  });

  test("without chances nothing happens", () => {
    assert.deepEqual(new Set(run(calm)), new Set([undefined]));
  });

  test("a thousand in a thousand is always", () => {
    assert.deepEqual(new Set(run({ ...calm, loseAnswer: 1_000 })), new Set(["lose_answer"]));
  });

  test("a message that is sent again is drawn for again: no inquiry is lost each time", () => {
    const world = networkWith();
    const half = { ...calm, loseRequest: 500 };
    const received = Array.from({ length: 40 }, () => inquire(world, "p-1", half) !== undefined);
    assert.deepEqual(new Set(received), new Set([true, false]));
  });
});

test("a request's own fault happens before any instruction and any chance, and leaves the instructions waiting", () => {
  const world = networkWith();
  world.network.instruct(merchantId, { next: "double_request", times: 1 });
  assert.equal(
    seen(world, "a", { ...calm, loseAnswer: 1_000, fault: "lose_request" }),
    "lose_request",
  );
  assert.equal(
    seen(world, "b", { ...calm, loseRequest: 1_000, fault: "lose_answer" }),
    "lose_answer",
  );
  const declined = authorize(world, "c", { ...calm, fault: { decline: "high_risk" } });
  assert.ok(declined?.kind === "declined" && declined.reason === "high_risk");
  assert.equal(seen(world, "d", calm), "double_request");
});

describe("instructions", () => {
  test("happen in the order in which they were queued, each as often as it says", () => {
    const world = networkWith();
    world.network.instruct(merchantId, { next: "lose_answer", times: 2 });
    world.network.instruct(merchantId, { next: "double_request", times: 1 });

    assert.deepEqual(
      ["a", "b", "c", "d"].map((reference) => seen(world, reference, calm)),
      ["lose_answer", "lose_answer", "double_request", undefined],
    );
  });

  test("are for one merchant", () => {
    const world = networkWith();
    world.network.instruct(merchantId, { next: "lose_answer", times: 1 });
    assert.notEqual(authorize(world, "a", calm, "0000000b" as MerchantId), undefined);
    assert.equal(authorize(world, "a"), undefined);
  });

  test("go before chances", () => {
    const world = networkWith();
    world.network.instruct(merchantId, { next: "double_request", times: 1 });
    assert.equal(seen(world, "a", { ...calm, loseRequest: 1_000 }), "double_request");
    assert.equal(seen(world, "b", { ...calm, loseRequest: 1_000 }), "lose_request");
  });

  test("can be for one kind of message and wait for it", () => {
    const world = networkWith();
    world.network.instruct(merchantId, { next: "lose_request", times: 1, message: "inquire" });
    assert.equal(seen(world, "a", calm), undefined);
    assert.equal(inquire(world, "a"), undefined);
    assert.notEqual(inquire(world, "a"), undefined);
  });

  test("a decline passes over inquiries and meets the next authorization or follow-up", () => {
    const world = networkWith();
    world.network.instruct(merchantId, { next: { decline: "high_risk" }, times: 2 });
    assert.deepEqual(inquire(world, "a"), { kind: "not_found" });

    const declined = authorize(world, "a");
    assert.ok(
      declined?.kind === "declined" &&
        declined.reason === "high_risk" &&
        declined.responseCode === "59",
    );
    const approved = { next: "double_request", times: 1, message: "void" } as const;
    world.network.instruct(merchantId, approved);
    const original = {
      reference: "a",
      amount,
      authorizationCode: undefined,
      acquirerReference: undefined,
    };
    assert.deepEqual(
      world.network.capture({
        merchantId,
        reference: "a-2",
        settings: { simulator: calm },
        original,
        amount,
      }),
      {
        kind: "declined",
        responseCode: "59",
      },
    );
    assert.equal(authorize(world, "b")?.kind, "approved");
  });

  test("that make no sense, or are too many, are refused", () => {
    const { network } = networkWith();
    const nonsense: readonly Instruction[] = [
      { next: "lose_answer", times: 0 },
      { next: "lose_answer", times: 1.5 },
      { next: "lose_answer", times: 10_001 },
      { next: { decline: "high_risk" }, times: 1, message: "inquire" },
      { next: { decline: "high_risk" }, times: 1, message: "reverse" },
    ];
    for (const instruction of nonsense)
      assert.throws(() => network.instruct(merchantId, instruction), {
        name: "InstructionRefused",
      });

    for (let number = 0; number < 100; number += 1)
      network.instruct(merchantId, { next: "lose_answer", times: 1 });
    assert.throws(() => network.instruct(merchantId, { next: "lose_answer", times: 1 }), {
      name: "InstructionRefused",
    });
    network.instruct("0000000b" as MerchantId, { next: "lose_answer", times: 1 });
  });
});

describe("a late request", () => {
  test("arrives in the second half of the longest time of arrival, never after it", () => {
    const world = networkWith(10_000);
    world.network.instruct(merchantId, { next: "late_answer", times: 200 });
    for (let number = 0; number < 200; number += 1) authorize(world, `p-${number}`);

    const times = world.late.map(({ ms }) => ms);
    assert.equal(times.length, 200);
    assert.ok(times.every((ms) => ms >= 5_000 && ms <= 10_000));
    assert.ok(new Set(times).size > 150);
  });

  test("is worked on when it arrives", () => {
    const world = networkWith();
    world.network.instruct(merchantId, { next: "late_answer", times: 1 });
    assert.equal(authorize(world, "a"), undefined);
    assert.equal(approvals(world, "a"), 0);
    world.late[0]?.arrive();
    assert.equal(approvals(world, "a"), 1);
  });

  test("arrives at once where requests are never late: only the answer is", () => {
    const world = networkWith(0);
    world.network.instruct(merchantId, { next: "late_answer", times: 1 });
    assert.equal(authorize(world, "a"), undefined);
    assert.equal(approvals(world, "a"), 1);
    assert.equal(world.late.length, 0);
  });
});
