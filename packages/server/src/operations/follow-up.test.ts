import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { runDeclared } from "../../test/run-declared.ts";
import type { Connector, FollowUpOutcome, FollowUpRequest } from "../connectors/connector.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import {
  decideCapture,
  decideCaptureOutcome,
  decideVoid,
  decideVoidOutcome,
} from "../decisions/payment-decisions.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import { day, laterBy } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import type { Account } from "../merchant/account.ts";
import type { Payment } from "../payment/payment.ts";
import type { Change } from "../stores/change.ts";
import { type CommitFault, createMemoryStore } from "../stores/memory/memory-store.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import { cancel } from "./cancel.ts";
import { capture } from "./capture.ts";
import type { RefundInput } from "./direct-input.ts";
import { followUpWithNewDeadline, followUpRequest } from "./follow-up.ts";
import type { Operation } from "./operation.ts";
import { cancelRefund, refund, refundOrCancel } from "./refund.ts";
import { acceptReview, rejectReview } from "./review.ts";
import { Runner } from "./runner.ts";
import { recoverPayment } from "../recovery/recover-payment.ts";

/* Operations on a payment after its authorization, with a scripted acquirer. */

const approved: FollowUpOutcome = { kind: "approved" };
const declined: FollowUpOutcome = { kind: "declined", responseCode: "12" };
const unknown: FollowUpOutcome = { kind: "unknown", cause: "timeout" };
const first = given.newPayment(1);
const selector = { hash: first.id };
const byCode = { code: first.order.code };

/** An authorization of 100.50 that is not captured. */
const authorized = given.paidNext(first, {
  state: "authorized",
  capturedAt: undefined,
  captured: 0n,
});
const captured = given.paidNext(first);
const inReview: Payment = {
  ...authorized,
  state: "in_review",
  review: "waiting",
  order: { ...first.order, manualReview: true },
};

interface Given {
  readonly payment?: Payment;
  readonly outcome?: FollowUpOutcome;
  /** The answers before it, one for each call. */
  readonly outcomes?: FollowUpOutcome[];
  readonly settings?: Partial<Account["settings"]>;
  /** Other behaviour of the acquirer; its calls are recorded in `undone`. */
  readonly connectorOf?: (
    undone: (readonly [how: string, reference: string, minor?: bigint])[],
    standard: Connector,
  ) => Partial<Connector>;
  /** Faults of the commits after the payment's own. */
  readonly faults?: readonly (CommitFault | undefined)[];
  /** Runs during the acquirer call. */
  readonly meanwhile?: (store: ReturnType<typeof createMemoryStore>) => Promise<unknown>;
  /** The installation's epoch: above 0 after an older copy of its database was restored. */
  readonly epoch?: number;
  /** Whether reads of the store fail after the acquirer has answered. */
  readonly isDown?: () => boolean;
}

async function open({
  payment = authorized,
  outcome = approved,
  outcomes = [],
  settings = {},
  faults = [],
  meanwhile,
  connectorOf,
  epoch = 0,
  isDown = () => false,
}: Given = {}) {
  const time = new StillTime();
  const random = new SeededRandom("follow-up");
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({
    ...keys,
    clock: time,
    random,
    environment: "test",
    create: true,
  });
  const left = [...faults];
  let isArmed = false;
  let hasAnswered = false;
  const store = createMemoryStore({
    commitFault: () => (isArmed ? left.shift() : undefined),
    readFails: () => hasAnswered && isDown(),
  });
  // The order never changes after the first version.
  await store.commit(given.paymentChange({ ...first, order: payment.order }));
  await store.commit(given.paymentChange(payment));
  isArmed = true;
  const requests: (readonly [what: string, request: FollowUpRequest])[] = [];
  const undone: (readonly [how: string, reference: string, minor?: bigint])[] = [];
  const answer = (what: string) => async (request: FollowUpRequest) => {
    requests.push([what, request]);
    await meanwhile?.(store);
    hasAnswered = true;
    return outcomes.shift() ?? outcome;
  };
  const simulator = createSimulator({ clock: time, scheduler: time });
  const connector: Connector = {
    ...simulator,
    capture: answer("capture"),
    void: answer("void"),
    refund: answer("refund"),
    ...connectorOf?.(undone, simulator),
  };
  const base = given.newAccount(given.merchantA);
  const account: Account = { ...base, settings: { ...base.settings, ...settings } };
  const alarms: string[] = [];
  const reported: Change[] = [];
  const runner = new Runner({
    clock: time,
    random,
    store,
    vault: createLocalVault({ keyring, environment: "test", random }),
    connectors: connectorsOf([connector]),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs: 30_000,
    epoch: () => epoch,
    endpointsOf: () => [],
    onNotificationsCommitted: (_, change) => void reported.push(change),
    alarm: ({ what }) => void alarms.push(what),
  });
  const stored = async (): Promise<Payment> => {
    const found = await store.paymentById(given.merchantA, first.id);
    assert.ok(found !== undefined);
    return found;
  };
  /** The sources of the changes after the payment's own. */
  const causes = async (): Promise<readonly string[]> => {
    const rows = await store.history(given.merchantA, first.id);
    return rows.slice(2).flatMap(({ facts }) => facts.map(({ by }) => by));
  };
  const factNames = async (): Promise<readonly string[]> => {
    const rows = await store.history(given.merchantA, first.id);
    return rows.flatMap(({ facts }) => facts.map(({ fact }) => fact));
  };
  const run = <Input, Output>(
    operation: Operation<Input, Output>,
    input: Input,
    as = account,
  ): Promise<Output> => runDeclared(runner, operation, as, input);
  return { run, runner, account, requests, stored, causes, factNames, store, alarms, undone, time };
}

const asks = [
  ["capture", "captured", "capturing"],
  ["void", "voided", "voiding"],
] as const;

/** The digest of a request under an Idempotency-Key. */
const ownName = "a".repeat(64);

function run(
  world: Awaited<ReturnType<typeof open>>,
  [what]: (typeof asks)[number],
  request?: string,
): Promise<Payment> {
  return what === "capture"
    ? world.run(capture, { selector, amount: undefined, request })
    : world.run(cancel, { ...selector, request });
}

type MemoryStore = ReturnType<typeof createMemoryStore>;

/** Another process, whose clock is wrong, ends the current attempt as not done. */
function endAsNotDone(store: MemoryStore, what: "capture" | "void"): Promise<void> {
  return end(store, what, { kind: "declined", responseCode: "not_done" });
}

async function end(
  store: MemoryStore,
  what: "capture" | "void",
  outcome: FollowUpOutcome,
): Promise<void> {
  const sent = await store.paymentById(given.merchantA, first.id);
  assert.ok(sent?.attempt !== undefined);
  const decide = what === "capture" ? decideCaptureOutcome : decideVoidOutcome;
  const ended = decide(sent, sent.attempt.number, outcome, given.start, "recovery");
  assert.ok(ended !== undefined);
  await store.commit(ended);
}

/** Then another request changes the payment. */
async function follow(store: MemoryStore, what: "capture" | "void"): Promise<void> {
  const current = await store.paymentById(given.merchantA, first.id);
  const until = laterBy(given.start, 30_000);
  const sent =
    what === "capture"
      ? decideCapture(current, undefined, { partialCapture: true }, given.start, until)
      : decideVoid(current, given.start, until);
  await store.commit(sent);
  const { next } = sent.payment;
  const decide = what === "capture" ? decideCaptureOutcome : decideVoidOutcome;
  const ended = decide(next, next.attempts, approved, given.start, "merchant");
  assert.ok(ended !== undefined);
  await store.commit(ended);
}

const found = (captured: bigint): Awaited<ReturnType<Connector["inquire"]>> => ({
  kind: "found",
  authorization: {
    kind: "approved",
    authorizationCode: "1",
    responseCode: "00",
    acquirerReference: "A",
    networkTransactionId: undefined,
  },
  captured,
  voided: false,
  refunds: [],
});

describe("a request under a key whose earlier sending the acquirer refused", () => {
  for (const each of asks) {
    const [what, , inFlight] = each;
    const refusal = what === "capture" ? "capture_declined" : "void_declined";

    test(`${what}: is refused alike, and not sent again`, async () => {
      const world = await open({ outcomes: [declined] });
      await assert.rejects(run(world, each, ownName), { code: refusal });
      await assert.rejects(run(world, each, ownName), { code: refusal });
      assert.deepEqual([world.requests.length, (await world.stored()).state], [1, "authorized"]);
    });

    test(`${what}: is refused alike when it read the payment before the earlier one was sent`, async () => {
      const world = await open({ outcomes: [declined] });
      const before = await world.stored();
      await assert.rejects(run(world, each, ownName), { code: refusal });
      // The process of the second sending was paused between its reads and its first commit.
      let staleReads = 2;
      const read = world.store.paymentById.bind(world.store);
      world.store.paymentById = async (...args) => (staleReads-- > 0 ? before : read(...args));
      await assert.rejects(run(world, each, ownName), { code: refusal });
      assert.equal(world.requests.length, 1);
    });

    test(`${what}: control: another request is sent, under a key or without one`, async () => {
      for (const other of ["b".repeat(64), undefined]) {
        const world = await open({ outcomes: [declined] });
        await assert.rejects(run(world, each, ownName), { code: refusal });
        await run(world, each, other);
        assert.equal(world.requests.length, 2);
      }
    });

    test(`${what}: is sent again when only recovery knows of the refusal, because no client received it`, async () => {
      const world = await open({ outcomes: [unknown] });
      await assert.rejects(run(world, each, ownName), { code: "outcome_unknown" });
      assert.equal((await world.stored()).state, inFlight);
      await end(world.store, what, declined);
      await run(world, each, ownName);
      assert.equal(world.requests.length, 2);
    });
  }
});

describe("an approval whose attempt was taken for never done, of a payment that has ended since", () => {
  const late = async (
    ended: "capture" | "void",
    captured: bigint,
    outcome: FollowUpOutcome = approved,
    inquire: Connector["inquire"] = async () => found(captured),
    repeatsFollowUps = true,
    isDown: () => boolean = () => false,
  ) =>
    open({
      settings: { partialCapture: true },
      isDown,
      meanwhile: async (store) => {
        await endAsNotDone(store, "capture");
        await follow(store, ended);
      },
      connectorOf: (undone, { capabilities }) => ({
        capabilities: { ...capabilities, repeatsFollowUps },
        inquire,
        refund: async ({ reference, amount }) => {
          undone.push(["refund", reference, amount.minor]);
          return outcome;
        },
      }),
    });

  test("was a capture of a payment that is given up: what was captured is given back at once, with an alarm", async () => {
    const world = await late("void", 4_000n);
    await assert.rejects(world.run(capture, { selector, amount: "40" }), {
      code: "outcome_unknown",
    });
    assert.deepEqual(world.undone, [["refund", `${first.id}-2-u`, 4_000n]]);
    assert.deepEqual(world.alarms, [
      "the approval of this capture comes while its attempt is under way",
    ]);
    assert.deepEqual((await world.factNames()).slice(-3), [
      "approval_came_late",
      "attempt_repeated",
      "late_approval_undone",
    ]);
    assert.equal((await world.stored()).needsReview, false);
  });

  test("was a capture of a payment that is captured: only what the books do not have is given back", async () => {
    const world = await late("capture", 14_050n);
    await assert.rejects(world.run(capture, { selector, amount: "40" }), {
      code: "outcome_unknown",
    });
    assert.deepEqual(world.undone, [["refund", `${first.id}-2-u`, 4_000n]]);
    const { attempt, needsReview } = await world.stored();
    assert.deepEqual([attempt, needsReview], [undefined, false]);
  });

  // An inquiry that did not show the capture yet was interpreted as "nothing to give back".
  for (const [ended, books] of [
    ["void", 0n],
    ["capture", 10_050n],
  ] as const) {
    test(`is given back by recovery when the acquirer shows it later (${ended})`, async () => {
      const shown = [
        found(books),
        found(books),
        { kind: "unknown", cause: "timeout" } as const,
        found(books + 4_000n),
      ];
      const world = await late(ended, 0n, approved, async () => shown.shift() ?? found(books));
      await assert.rejects(world.run(capture, { selector, amount: "40" }), {
        code: "outcome_unknown",
      });
      const context = world.runner.contextOf(world.account);
      for (let look = 0; look < 3; look += 1) {
        assert.deepEqual(world.undone, []);
        assert.equal((await world.factNames()).includes("late_approval_undone"), false);
        await recoverPayment(context, await world.stored());
      }
      assert.deepEqual(world.undone, [["refund", `${first.id}-2-u`, 4_000n]]);
      assert.equal((await world.factNames()).at(-1), "late_approval_undone");
      const { attempt, needsReview, state } = await world.stored();
      assert.deepEqual(
        [attempt, needsReview, state],
        [undefined, false, ended === "void" ? "voided" : "captured"],
      );
    });
  }

  for (const repeats of [true, false]) {
    test(`whose refund has no answer is asked about again, and ${repeats ? "sent again" : "not sent again"}`, async () => {
      let refunds: readonly string[] = [];
      const world = await late(
        "void",
        4_000n,
        unknown,
        async () => ({ ...found(4_000n), refunds }),
        repeats,
      );
      await assert.rejects(world.run(capture, { selector, amount: "40" }), {
        code: "outcome_unknown",
      });
      const context = world.runner.contextOf(world.account);
      await recoverPayment(context, await world.stored());
      assert.equal(world.undone.length, repeats ? 2 : 1);
      assert.equal(
        new Set(world.undone.map(([, reference]) => reference)).size,
        1,
        "under one reference, however often",
      );
      assert.equal((await world.stored()).attempt?.kind, "undo");
      refunds = [`${first.id}-2-u`];
      await recoverPayment(context, await world.stored());
      assert.equal((await world.stored()).attempt, undefined);
      assert.equal(world.undone.length, repeats ? 2 : 1);
      assert.equal((await world.factNames()).at(-1), "late_approval_undone");
    });
  }

  test("that the acquirer never shows is left to people after an hour of asking", async () => {
    const world = await late("void", 0n);
    await assert.rejects(world.run(capture, { selector, amount: "40" }), {
      code: "outcome_unknown",
    });
    const context = world.runner.contextOf(world.account);
    for (let look = 0; look < 17; look += 1) await recoverPayment(context, await world.stored());
    assert.equal((await world.stored()).needsReview, false);
    await recoverPayment(context, await world.stored());
    assert.deepEqual([(await world.stored()).needsReview, world.undone], [true, []]);
  });

  test("that finds the store down is met when the store is back", async () => {
    let isDown = false;
    const world = await late("void", 4_000n, approved, undefined, true, () => isDown);
    const run = world.run(capture, { selector, amount: "40" }, world.account);
    isDown = true;
    await assert.rejects(run);
    assert.deepEqual([world.undone, world.alarms.length], [[], 0]);
    await world.runner.runDeferred();
    assert.deepEqual([world.undone, world.alarms.length], [[], 0], "nothing is known yet");
    isDown = false;
    await world.runner.runDeferred();
    assert.equal(world.alarms.length, 1);
    assert.deepEqual(world.undone, [["refund", `${first.id}-2-u`, 4_000n]]);
    assert.equal((await world.factNames()).at(-1), "late_approval_undone");
  });

  test("that waits for the store raises the alarm when the process stops before, and is not met any more", async () => {
    let isDown = false;
    const world = await late("void", 4_000n, approved, undefined, true, () => isDown);
    const run = world.run(capture, { selector, amount: "40" }, world.account);
    isDown = true;
    await assert.rejects(run);
    assert.equal(world.alarms.length, 0, "control: it waits");
    world.runner.abandonDeferred();
    assert.equal(world.alarms.length, 1);
    isDown = false;
    await world.runner.runDeferred();
    assert.deepEqual([world.undone, world.alarms.length], [[], 1]);
  });

  test("and that cannot be undone is left to people", async () => {
    const world = await late("void", 4_000n, declined);
    await assert.rejects(world.run(capture, { selector, amount: "40" }), {
      code: "outcome_unknown",
    });
    assert.equal((await world.stored()).needsReview, true);
    assert.equal(world.undone.length, 1);
    const voided = await open({
      meanwhile: async (store) => {
        await endAsNotDone(store, "void");
        await follow(store, "capture");
      },
    });
    await assert.rejects(voided.run(cancel, selector), { code: "outcome_unknown" });
    assert.equal((await voided.stored()).needsReview, true);
    assert.equal(voided.alarms.length, 1);
  });
});

describe("what the acquirer is asked after the authorization", () => {
  for (const each of asks) {
    const [what, state, inFlight] = each;

    test(`${what}: once, about the authorization, with what was committed before; its success is recorded`, async () => {
      const world = await open();
      const sentAt = world.time.now();
      const payment = await run(world, each);
      assert.deepEqual([payment.state, (await world.stored()).state], [state, state]);
      assert.deepEqual(await world.causes(), ["merchant", "merchant"]);
      assert.deepEqual(world.requests, [
        [
          what,
          {
            merchantId: given.merchantA,
            reference: `${first.id}-2`,
            deadline: laterBy(sentAt, 30_000),
            settings: world.account.settings,
            original: {
              reference: `${first.id}-1`,
              amount: first.order.amount,
              authorizationCode: "123456",
              acquirerReference: "SIM-000000000001",
              maskedPan: "411111xxxxxx1111",
            },
            amount: first.order.amount,
            attemptNumber: 2,
          },
        ],
      ]);
    });

    test(`${what}: its no is announced, and the payment is as before`, async () => {
      const world = await open({ outcome: declined });
      await assert.rejects(run(world, each), {
        code: what === "capture" ? "capture_declined" : "void_declined",
      });
      assert.equal((await world.stored()).state, "authorized");
    });

    test(`${what}: without an answer the payment stays in flight, and so says the answer`, async () => {
      const world = await open({ outcome: unknown });
      await assert.rejects(run(world, each), { code: "outcome_unknown" });
      assert.equal((await world.stored()).state, inFlight);
    });

    test(`${what}: a yes that cannot be recorded, or may not be, is unknown; it is asked once all the same`, async () => {
      for (const fault of [
        "unavailable",
        "commit_unknown_not_applied",
        "commit_unknown_applied",
      ] as const) {
        const world = await open({ faults: [undefined, fault] });
        await assert.rejects(run(world, each), { code: "outcome_unknown" });
        assert.equal(world.requests.length, 1);
        assert.equal(
          (await world.stored()).state,
          fault === "commit_unknown_applied" ? state : inFlight,
        );
      }
    });

    test(`${what}: nothing is asked when what is about to be sent was not recorded, or may not be`, async () => {
      for (const [fault, code] of [
        ["unavailable", "store_unavailable"],
        ["commit_unknown_not_applied", "outcome_unknown"],
        ["commit_unknown_applied", "outcome_unknown"],
      ] as const) {
        const world = await open({ faults: [fault] });
        await assert.rejects(run(world, each), { code });
        assert.deepEqual(world.requests, []);
      }
    });

    test(`${what}: a yes whose attempt recovery took for never done is taken into the books, with an alarm`, async () => {
      const world = await open({ meanwhile: (store) => endAsNotDone(store, what) });
      const payment = await run(world, each);
      assert.deepEqual(
        [payment.state, (await world.stored()).state, payment.needsReview],
        [state, state, false],
      );
      assert.deepEqual(world.alarms, [
        `the approval of this ${what} comes while its attempt is under way`,
      ]);
      assert.equal((await world.factNames()).includes("approval_came_late"), true);
    });

    test(`${what}: a success that recovery recorded first is not recorded twice`, async () => {
      const world = await open({ meanwhile: (store) => end(store, what, approved) });
      assert.equal((await run(world, each)).state, state);
      assert.deepEqual(world.alarms, []);
      assert.equal((await world.stored()).version, 4);
    });

    // The number of attempts was that of the epoch, so the attempt that had ended the payment did
    // not count as its last one.
    for (const isCheckedBefore of [false, true]) {
      test(`${what}: that an older copy has under way raises no alarm when it is found done twice, ${isCheckedBefore ? "later" : "at once"}`, async () => {
        const attempt = {
          ...given.newAttempt(),
          kind: what,
          number: 2,
          amount: authorized.authorized,
        };
        const state = what === "capture" ? "capturing" : "voiding";
        const silent: Awaited<ReturnType<Connector["inquire"]>> = {
          kind: "unknown",
          cause: "timeout",
        };
        const done = {
          ...found(what === "capture" ? authorized.authorized : 0n),
          voided: what === "void",
        };
        const answers = [...(isCheckedBefore ? [silent] : []), done];
        const world = await open({
          payment: { ...authorized, state, attempts: 2, attempt },
          epoch: 1_000,
          connectorOf: () => ({
            inquire: async () => {
              const answer = answers.shift() ?? done;
              if (answer === done && (await world.stored()).attempt !== undefined)
                await end(world.store, what, approved);
              return answer;
            },
          }),
        });
        const context = world.runner.contextOf(world.account);
        if (isCheckedBefore)
          assert.equal((await recoverPayment(context, await world.stored())).attempt?.checks, 1);
        const { attempts } = await recoverPayment(context, await world.stored());
        assert.deepEqual([(await world.stored()).state, attempts, world.alarms], [each[1], 2, []]);
        assert.equal((await world.factNames()).includes("approval_came_late"), false);
      });
    }

    test(`${what}: the first attempt after a restore is numbered above all that were made before it`, async () => {
      const world = await open({ epoch: 1_000 });
      assert.equal((await run(world, each)).attempts, 1_001);
      assert.deepEqual(
        world.requests.map(([, { reference }]) => reference),
        [`${first.id}-1001`],
      );
    });
  }

  for (const each of asks) {
    const [what, state] = each;
    test(`${what}: under a key it is answered again when its answer was not kept, and another key's is refused`, async () => {
      const world = await open();
      assert.equal((await run(world, each, ownName)).state, state);
      assert.equal((await run(world, each, ownName)).state, state);
      const refusal = what === "capture" ? "payment_already_captured" : "payment_not_voidable";
      await assert.rejects(run(world, each, "b".repeat(64)), { code: refusal });
      assert.equal(world.requests.length, 1);
    });

    test(`${what}: under a key whose first sending the acquirer refused, another request's is not returned as its own`, async () => {
      const world = await open({ outcomes: [declined, approved] });
      await assert.rejects(run(world, each, ownName), {
        code: what === "capture" ? "capture_declined" : "void_declined",
      });
      assert.equal((await run(world, each)).state, state);
      await assert.rejects(run(world, each, ownName), {
        code: what === "capture" ? "payment_already_captured" : "payment_not_voidable",
      });
    });
  }

  test("capture: what another request captured after recovery had ended this one is not returned as this one's", async () => {
    const world = await open({
      settings: { partialCapture: true },
      outcome: unknown,
      meanwhile: async (store) => {
        await endAsNotDone(store, "capture");
        await follow(store, "capture");
      },
    });
    await assert.rejects(world.run(capture, { selector, amount: "40" }), {
      code: "outcome_unknown",
    });
    assert.equal((await world.stored()).captured, 10_050n);
  });

  test("twice at once is asked once: the second waits, and gets the result of the first", async () => {
    const world = await open();
    const [one, other] = [run(world, asks[0]), run(world, asks[0])];
    await assert.rejects(other, { code: "payment_already_captured" });
    assert.equal((await one).state, "captured");
    assert.equal(world.requests.length, 1);
  });

  test("is a part of what is held where the account may, by either name of the payment", async () => {
    const world = await open({ settings: { partialCapture: true } });
    const payment = await world.run(capture, { selector: byCode, amount: "40" });
    assert.deepEqual(
      [payment.captured, world.requests[0]?.[1].amount],
      [4_000n, { minor: 4_000n, currency: "USD" }],
    );
    const strict = await open();
    await assert.rejects(strict.run(capture, { selector: byCode, amount: "40" }), {
      code: "partial_capture_disabled",
    });
    assert.deepEqual(strict.requests, []);
  });

  test("is nothing of a payment that is not there", async () => {
    const world = await open();
    for (const unknown of [
      { hash: given.paymentId(9) },
      { hash: "no hash" },
      { code: "no code" },
    ]) {
      const refused = { code: "payment_not_found" };
      await assert.rejects(world.run(capture, { selector: unknown, amount: undefined }), refused);
      await assert.rejects(world.run(cancel, unknown), refused);
      const input = { selector: unknown, amount: undefined, description: "d", code: undefined };
      await assert.rejects(world.run(refund, input), refused);
      await assert.rejects(world.run(refundOrCancel, input), refused);
    }
    const other = { ...world.account, id: given.merchantB };
    await assert.rejects(world.run(cancel, selector, other), { code: "payment_not_found" });
  });
});

describe("a review", () => {
  test("that accepts takes what was to be paid at once; what is only held stays held, and no acquirer is asked", async () => {
    const paid = await open({ payment: inReview });
    assert.equal((await paid.run(acceptReview, selector)).state, "captured");
    assert.deepEqual(
      paid.requests.map(([what]) => what),
      ["capture"],
    );
    assert.deepEqual(new Set(await paid.causes()), new Set(["operator"]));
    const held = await open({
      payment: { ...inReview, order: { ...inReview.order, autoCapture: false } },
    });
    assert.equal((await held.run(acceptReview, byCode)).state, "authorized");
    assert.deepEqual(held.requests, []);
  });

  test("that refuses gives up what is held", async () => {
    const world = await open({ payment: inReview });
    assert.equal((await world.run(rejectReview, selector)).state, "voided");
    assert.deepEqual(
      world.requests.map(([what]) => what),
      ["void"],
    );
    assert.deepEqual(new Set(await world.causes()), new Set(["operator"]));
    for (const operation of [acceptReview, rejectReview]) {
      await assert.rejects(world.run(operation, selector), { code: "payment_not_in_review" });
      await assert.rejects(world.run(operation, { code: "no code" }), {
        code: "payment_not_found",
      });
    }
  });

  test("without an answer of the acquirer leaves the payment in flight", async () => {
    const world = await open({ payment: inReview, outcome: unknown });
    assert.equal((await world.run(rejectReview, selector)).state, "voiding");
    const other = await open({ payment: inReview, outcome: unknown });
    assert.equal((await other.run(acceptReview, selector)).state, "capturing");
  });
});

describe("a refund", () => {
  const input = { selector, amount: "10", description: "too large", code: "refund-1" } as const;

  test("is asked for, and nothing is sent yet", async () => {
    const world = await open({ payment: captured });
    const { payment, refund: requested } = await world.run(refund, input);
    assert.deepEqual(
      [requested.amount, requested.code, requested.description, requested.state],
      [1_000n, "refund-1", "too large", "requested"],
    );
    assert.ok(requested.id >= 1 && requested.id < 2 ** 31);
    assert.deepEqual(payment.refunds, [requested]);
    assert.deepEqual(await world.stored(), payment);
    assert.deepEqual(world.requests, []);
  });

  test("that its request has asked for already is that one", async () => {
    const world = await open({ payment: captured });
    const named = { ...input, request: "ab".repeat(32) };
    const one = await world.run(refund, named);
    const again = await world.run(refund, { ...named, code: undefined });
    assert.deepEqual(again, one);
    assert.equal((await world.stored()).refunds.length, 1);
  });

  test("has a number of 31 bits, drawn again when it is taken", async () => {
    const ids = new Map<string, number>([
      ["00000000", 1],
      ["ffffffff", 2 ** 31 - 1],
      ["81020304", 0x01020304],
      ["00000100", 0x100],
      ["00010000", 0x10000],
    ]);
    for (const [bytes, id] of ids) {
      const { account, store, runner } = await open({ payment: captured });
      const context = Object.assign(runner.contextOf(account), {
        random: { bytes: () => Uint8Array.from(Buffer.from(bytes, "hex")) },
      });
      assert.equal((await refund.run(context, { ...input, code: bytes })).refund.id, id);
      assert.ok((await store.paymentByRefund(given.merchantA, { id })) !== undefined);
    }
  });

  test("is taken back by its number or its code while it is not sent, and then no more", async () => {
    for (const by of ["id", "code"] as const) {
      const world = await open({ payment: captured });
      await world.run(refund, { ...input, code: "another" });
      const { refund: requested } = await world.run(refund, input);
      const chosen = by === "id" ? { id: requested.id } : { code: "refund-1" };
      const { payment, refund: taken } = await world.run(cancelRefund, chosen);
      assert.deepEqual(
        [taken.id, taken.state, payment.refunded],
        [requested.id, "cancelled", 1_000n],
      );
      await assert.rejects(world.run(cancelRefund, chosen), { code: "refund_not_cancellable" });
      // With a key the answer is repeated if this request cancelled the refund.
      const { refund: more } = await world.run(refund, { ...input, code: "more", amount: "1" });
      for (let time = 0; time < 2; time += 1) {
        assert.equal(
          (await world.run(cancelRefund, { id: more.id, request: ownName })).refund.state,
          "cancelled",
        );
      }
      await assert.rejects(world.run(cancelRefund, { id: more.id, request: "b".repeat(64) }), {
        code: "refund_not_cancellable",
      });
    }
    const world = await open({ payment: captured });
    for (const unknown of [{ id: 5 }, { code: "nobody" }]) {
      await assert.rejects(world.run(cancelRefund, unknown), { code: "refund_not_found" });
    }
  });

  test("is refused for what the payment, its window or its amount does not allow, and so is a cancellation", async () => {
    const refusals: readonly (readonly [
      code: string,
      payment: Payment,
      over?: Partial<RefundInput>,
      settings?: Given["settings"],
    ])[] = [
      [
        "payment_not_refundable",
        given.paidNext(first, {
          state: "declined",
          capturedAt: undefined,
          captured: 0n,
          authorized: 0n,
        }),
      ],
      ["payment_charged_back", { ...captured, chargeback: given.dispute }],
      [
        "refund_window_over",
        { ...captured, capturedAt: laterBy(given.start, -2 * day) },
        {},
        { refundWindowDays: 1 },
      ],
      ["refund_amount_invalid", captured, { amount: "0" }],
      ["refund_amount_too_high", captured, { amount: "100.51" }],
      [
        "payment_already_refunded",
        given.refundedNext({ ...captured, version: 1 }, [
          given.newRefund(1, { amount: 10_050n, code: "another" }),
        ]),
      ],
      [
        "refund_code_taken",
        given.refundedNext({ ...captured, version: 1 }, [given.newRefund(1, { code: "refund-1" })]),
      ],
      // Takes precedence over refusals that became possible after that refund.
      [
        "refund_code_taken",
        given.refundedNext({ ...captured, version: 1 }, [
          given.newRefund(1, { code: "refund-1", amount: 10_050n }),
        ]),
      ],
    ];
    for (const [code, payment, over = {}, settings = {}] of refusals) {
      const world = await open({ payment, settings });
      await assert.rejects(world.run(refund, { ...input, ...over }), { code });
      if (payment.state === "captured")
        await assert.rejects(world.run(refundOrCancel, { ...input, ...over }), { code });
    }
    const over = await open({
      payment: given.paidNext(first, {
        state: "declined",
        capturedAt: undefined,
        captured: 0n,
        authorized: 0n,
      }),
    });
    await assert.rejects(over.run(refundOrCancel, input), { code: "payment_not_voidable" });
    await assert.rejects(over.run(cancel, selector), { code: "payment_not_voidable" });
    await assert.rejects(over.run(capture, { selector, amount: undefined }), {
      code: "payment_cancelled",
    });
    const held = await open();
    await assert.rejects(held.run(capture, { selector, amount: "100.51" }), {
      code: "capture_amount_invalid",
    });
    const reviewed = await open({ payment: inReview });
    await assert.rejects(reviewed.run(capture, { selector, amount: undefined }), {
      code: "payment_not_capturable",
    });
    const many = Array.from({ length: 100 }, (_, index) =>
      given.newRefund(index + 1, { amount: 1n }),
    );
    const full = await open({ payment: given.refundedNext({ ...captured, version: 1 }, many) });
    await assert.rejects(full.run(refund, { ...input, code: "another" }), {
      code: "refund_limit_reached",
    });
  });

  test("or a cancellation is what the payment's state asks for", async () => {
    const paid = await open({ payment: captured });
    const returned = await paid.run(refundOrCancel, input);
    assert.deepEqual([returned.refund?.amount, returned.payment.state], [1_000n, "captured"]);
    const held = await open();
    const voided = await held.run(refundOrCancel, input);
    assert.deepEqual([voided.refund, voided.payment.state], [undefined, "voided"]);
  });
});

test("what may be asked at any time has a deadline of its own", async () => {
  const { runner, account, time } = await open();
  const context = runner.contextOf(account);
  const sent: Payment = {
    ...authorized,
    verdict: undefined,
    attempt: given.newAttempt({ number: 2, kind: "reverse" }),
  };
  const request = followUpRequest(account, sent);
  assert.deepEqual(request.original, {
    reference: `${first.id}-1`,
    amount: first.order.amount,
    authorizationCode: undefined,
    acquirerReference: undefined,
    maskedPan: "411111xxxxxx1111",
  });
  await time.pass(1_000);
  assert.notEqual(request.deadline, laterBy(time.now(), 30_000));
  assert.deepEqual(followUpWithNewDeadline(context, sent), {
    ...request,
    deadline: laterBy(time.now(), 30_000),
  });
  assert.throws(
    () => followUpRequest(account, authorized),
    new BrokenInvariant("a payment in flight holds its attempt"),
  );
});
