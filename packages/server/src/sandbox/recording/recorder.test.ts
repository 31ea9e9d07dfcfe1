import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import { instant } from "../../kernel/instant.ts";
import type { EndpointId } from "../../notification/events.ts";
import {
  type AnswerFacts,
  type CallFacts,
  Recorder,
  recordingBounds,
  type RecordingBounds,
  type RequestFacts,
} from "./recorder.ts";
import { RingBuffer } from "./ring-buffer.ts";

const merchant = (number: number) => String(number).padStart(8, "0") as MerchantId;
const payment = "a".repeat(48) as PaymentId;
const one = merchant(1);

function requested(text = ""): RequestFacts {
  return {
    method: "POST",
    path: "/ws/query",
    key: "secret",
    parameters: ["x", text],
    characters: text.length,
    leftOut: 0,
  };
}

function answer(body = "{}"): AnswerFacts {
  return {
    status: 200,
    body,
    code: undefined,
    field: undefined,
    fault: undefined,
    isCut: false,
    isReplayed: false,
    tokenDigest: undefined,
  };
}

const call: CallFacts = {
  connector: "simulator",
  kind: "capture",
  reference: `${payment}-2`,
  originalReference: `${payment}-1`,
  amount: "1.00",
  currency: "USD",
  capture: undefined,
  brand: undefined,
  maskedPan: undefined,
  paymentId: payment,
};

function recorderWith(bounds: Partial<RecordingBounds> = {}): {
  readonly recorder: Recorder;
  readonly elapse: (ms: number) => void;
} {
  let elapsed = 0;
  const recorder = new Recorder({
    elapsedMs: () => elapsed,
    bounds: { ...recordingBounds, ...bounds },
  });
  return { recorder, elapse: (ms) => void (elapsed += ms) };
}

describe("a ring", () => {
  test("holds the newest, oldest first, and gives back what had to go", () => {
    const ring = new RingBuffer<number>(3);
    assert.deepEqual(ring.items(), []);
    const gone = [1, 2, 3, 4, 5, 6, 7].map((item) => ring.add(item));
    assert.deepEqual(gone, [undefined, undefined, undefined, 1, 2, 3, 4]);
    assert.deepEqual([ring.items(), ring.size], [[5, 6, 7], 3]);
  });
});

describe("a recorder", () => {
  test("keeps a request from when it comes, and its answer and how long it took when there is one", () => {
    const { recorder, elapse } = recorderWith();
    const answered = recorder.request(one, instant(5), requested("h"));
    assert.deepEqual(
      recorder
        .of(one)
        .requests.map(({ number, at, parameters, answer: none }) => [number, at, parameters, none]),
      [[1, 5, ["x", "h"], undefined]],
    );
    elapse(12.5);
    answered(answer('{"status":"SUCCESS"}'));
    const [request] = recorder.of(one).requests;
    assert.deepEqual(
      [request?.answer, request?.durationMs],
      [answer('{"status":"SUCCESS"}'), 12.5],
    );
  });

  test("counts what happens of all kinds in one order", () => {
    const { recorder } = recorderWith();
    recorder.request(one, instant(1), requested());
    recorder.committed(one, instant(1), payment, 1);
    recorder.call(one, instant(1), call)({ kind: "approved" }, instant(3));
    recorder.committed(one, instant(1), payment, 2);
    const { requests, calls, commitsOf } = recorder.of(one);
    const commits = commitsOf(payment);
    const order = [requests[0]?.sequence, commits.get(1), calls[0]?.sequence, commits.get(2)];
    assert.deepEqual(order, [1, 2, 3, 4]);
    assert.deepEqual(calls[0]?.answered?.outcome, { kind: "approved" });
    assert.equal(calls[0]?.answered?.at, 3);
    assert.equal(commitsOf("b".repeat(48) as PaymentId).size, 0);
  });

  test("keeps the newest thousand of ten thousand requests, calls and attempts, and says since when nothing is missing", () => {
    const { recorder } = recorderWith();
    for (let count = 1; count <= 10_000; count += 1) {
      recorder.request(one, instant(count), requested("x".repeat(100)))(answer("y".repeat(50)));
      recorder.call(one, instant(count), call);
      recorder.committed(one, instant(count), payment, count);
      recorder.attempt(one, instant(count), {
        paymentId: payment,
        endpoint: "shop" as EndpointId,
        url: "http://127.0.0.1/",
        number: count,
        notificationType: "update",
        attempt: 1,
        outcome: "200",
        verdict: "delivered",
        exchange: undefined,
        dueAt: undefined,
      });
    }
    const { requests, calls, attempts, since, commitsOf } = recorder.of(one);
    assert.deepEqual([requests.length, calls.length, attempts.length], [1_000, 1_000, 1_000]);
    assert.deepEqual([requests[0]?.number, requests.at(-1)?.number, since], [9_001, 10_000, 9_000]);
    assert.equal(commitsOf(payment).size, 4_000);
    assert.deepEqual(recorder.size, { accounts: 1, characters: 150_000 });
  });

  test("counts the characters of messages, and no longer those of attempts that were dropped", () => {
    const { recorder } = recorderWith({ attempts: 2 });
    const exchange = {
      headers: {},
      body: "b",
      durationMs: 1,
      response: undefined,
      characters: 100,
    };
    for (let count = 1; count <= 5; count += 1)
      recorder.attempt(one, instant(count), {
        paymentId: payment,
        endpoint: "shop" as EndpointId,
        url: "http://127.0.0.1/",
        number: count,
        notificationType: "update",
        attempt: 1,
        outcome: "200",
        verdict: "delivered",
        dueAt: undefined,
        exchange,
      });
    assert.deepEqual(recorder.size, { accounts: 1, characters: 200 });
  });

  test("forgets the account of which nothing was recorded for longest when there are too many, or all hold too much", () => {
    const { recorder } = recorderWith({ accounts: 3 });
    for (const number of [1, 2, 3, 1, 4])
      recorder.request(merchant(number), instant(0), requested());
    assert.deepEqual(
      [1, 2, 3, 4].map((number) => recorder.of(merchant(number)).requests.length),
      [2, 0, 1, 1],
    );

    const { recorder: full } = recorderWith({ characters: 1_000 });
    for (let number = 1; number <= 20; number += 1)
      full.request(
        merchant(number),
        instant(0),
        requested("x".repeat(150)),
      )(answer("y".repeat(50)));
    assert.deepEqual(full.size, { accounts: 5, characters: 1_000 });
    assert.equal(full.of(merchant(20)).requests.length, 1);
    assert.equal(full.of(merchant(15)).requests.length, 0);
  });

  test("shows an account nothing of another's, and nothing at all of one that was forgotten", () => {
    const { recorder } = recorderWith();
    const late = recorder.request(one, instant(0), requested("1234"));
    recorder.request(merchant(2), instant(0), requested("12"));
    assert.deepEqual(
      recorder.of(merchant(2)).requests.map(({ parameters }) => parameters),
      [["x", "12"]],
    );
    recorder.clear(one);
    late(answer("an answer that comes afterwards"));
    assert.deepEqual([recorder.of(one).requests, recorder.of(one).since], [[], undefined]);
    assert.deepEqual(recorder.size, { accounts: 1, characters: 2 });
  });

  test("an answer to a request that is not kept any more is not counted", () => {
    const { recorder } = recorderWith({ requests: 2 });
    const first = recorder.request(one, instant(0), requested("12"));
    for (let count = 0; count < 2; count += 1) recorder.request(one, instant(0), requested("12"));
    first(answer("an answer that comes afterwards"));
    assert.equal(recorder.size.characters, 4);
  });
});
