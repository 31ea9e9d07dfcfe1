import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { recordingBounds } from "../../sandbox/recording/recorder.ts";
import {
  type Answer,
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../../test/server.ts";
import { until } from "../../../test/until.ts";

interface Listed {
  readonly number: number;
  readonly path: string;
  readonly outcome: string;
  readonly status_code?: string | null;
  readonly field?: string | null;
  readonly message?: string | null;
  readonly fault?: string | null;
  readonly replayed?: boolean;
  readonly hash: string | null;
  readonly parameters?: unknown;
  readonly response?: unknown;
}

interface Page {
  readonly requests: readonly Listed[];
  readonly next: number | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly paths: readonly string[];
  readonly older: number | null;
  readonly newer: number | null;
}

const keyed = { integration_key: integrationKey };

async function list(server: TestServer, asked: Readonly<Record<string, string>>): Promise<Page> {
  const { body } = await server.get("/__cofre/requests", { ...keyed, ...asked });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return body as object as Page;
}

const newest = (server: TestServer, asked: Readonly<Record<string, string>> = {}) =>
  list(server, { order: "newest", ...asked });

const numbers = ({ requests }: Page): readonly number[] => requests.map(({ number }) => number);

const direct = (
  server: TestServer,
  code: string,
  changes: Readonly<Record<string, unknown>> = {},
) => server.postJson("/ws/direct", directBody(code, changes));

const declinedCard = { ...testCard, card_number: "4716909774636285" };

describe("requests from the newest down", () => {
  let server: TestServer;
  let hash: string;

  before(async () => {
    server = await startTestServer();
    const { body } = await direct(server, "first");
    ({ hash } = body["payment"] as { readonly hash: string });
    await direct(server, "declined", { creditcard: declinedCard });
    await direct(server, "second", { email: "nobody" });
    await server.get("/ws/query", { ...keyed, hash });
    await server.postJson("/__cofre/faults", { ...keyed, add: { kind: "drop_before_commit" } });
    await assert.rejects(direct(server, "third"));
    await server.postJson("/__cofre/faults", { ...keyed, add: { kind: "unavailable" } });
    await direct(server, "fourth");
    await server.get("/ws/zipcode", { ...keyed, zipcode: "1" });
  });
  after(() => server[Symbol.asyncDispose]());

  test("are summaries with what each came to, and counted by outcome", async () => {
    const { requests, counts, next, paths } = await newest(server);
    assert.deepEqual(
      requests.map(({ number, path, outcome, status_code: code, field, fault }) => [
        number,
        path,
        outcome,
        code,
        field,
        fault,
      ]),
      [
        [9, "/ws/zipcode", "refused", "BP-ZIP-2", "zipcode", null],
        [8, "/ws/direct", "failed", "COFRE-21", null, "unavailable"],
        [7, "/__cofre/faults", "succeeded", null, null, null],
        [6, "/ws/direct", "failed", null, null, "drop_before_commit"],
        [5, "/__cofre/faults", "succeeded", null, null, null],
        [4, "/ws/query", "succeeded", null, null, null],
        [3, "/ws/direct", "refused", "BP-DR-17", "payment.email", null],
        [2, "/ws/direct", "declined", null, null, null],
        [1, "/ws/direct", "succeeded", null, null, null],
      ],
    );
    assert.equal(requests[6]?.message, "Field payment.email is invalid");
    assert.deepEqual(counts, { succeeded: 4, declined: 1, refused: 2, failed: 2, in_flight: 0 });
    assert.equal(next, null);
    assert.deepEqual(paths, ["/__cofre/faults", "/ws/direct", "/ws/query", "/ws/zipcode"]);
    assert.ok(requests.every((each) => !("parameters" in each) && !("response" in each)));
  });

  test("do not contain what only reads the clock or the faults", async () => {
    for (const path of ["/__cofre/clock", "/__cofre/faults", "/__cofre/stats"])
      await server.get(path, keyed);
    assert.equal((await newest(server)).requests[0]?.number, 9);
  });

  test("follow one another page by page", async () => {
    const first = await newest(server, { limit: "4" });
    assert.deepEqual([numbers(first), first.next], [[9, 8, 7, 6], 6]);
    const second = await newest(server, { limit: "5", before: "6" });
    assert.deepEqual([numbers(second), second.next], [[5, 4, 3, 2, 1], null]);
  });

  test("are selected by outcome, path, payment and words, and counted without the outcome", async () => {
    const cases: readonly (readonly [Readonly<Record<string, string>>, readonly number[]])[] = [
      [{ outcome: "refused" }, [9, 3]],
      [{ outcome: "failed" }, [8, 6]],
      [{ outcome: "in_flight" }, []],
      [{ path: "/ws/direct" }, [8, 6, 3, 2, 1]],
      [{ path: "/ws/direct", outcome: "refused" }, [3]],
      [{ path: "/ws/Direct/" }, []],
      [{ hash }, [4, 1]],
      [{ merchant_payment_code: "second" }, [3]],
      [{ search: "bp-dr-17" }, [3]],
      [{ search: "EMAIL direct" }, [3]],
      [{ search: "email query" }, []],
      [{ search: hash }, [4, 1]],
      [{ search: "faults" }, [7, 5]],
      [{ search: "thi" }, [6]],
    ];
    for (const [asked, found] of cases)
      assert.deepEqual(numbers(await newest(server, asked)), found, JSON.stringify(asked));
    const { counts } = await newest(server, { path: "/ws/direct", outcome: "refused" });
    assert.deepEqual(counts, { succeeded: 1, declined: 1, refused: 1, failed: 2, in_flight: 0 });
    assert.deepEqual(numbers(await list(server, { outcome: "refused" })), [3, 9], "oldest first");
  });

  test("are read one by one with the whole request, between the neighbours that match", async () => {
    const { requests, older, newer } = await list(server, { number: "3" });
    assert.deepEqual([requests.length, older, newer], [1, 2, 4]);
    assert.ok(JSON.stringify(requests[0]?.parameters).includes('"email":"nobody"'));
    assert.ok(JSON.stringify(requests[0]?.response).includes("BP-DR-17"));
    const refused = await list(server, { number: "3", outcome: "refused" });
    assert.deepEqual([refused.older, refused.newer], [null, 9]);
    const between = await list(server, { number: "5", outcome: "refused" });
    assert.deepEqual([numbers(between), between.older, between.newer], [[5], 3, 9]);
    assert.deepEqual(numbers(await list(server, { number: "10" })), []);
  });

  test("are refused when they are asked for in another way", async () => {
    const codeOf = async (asked: Readonly<Record<string, string>>): Promise<unknown> => {
      const { body }: Answer = await server.get("/__cofre/requests", { ...keyed, ...asked });
      return body["status_code"];
    };
    assert.equal(await codeOf({ order: "oldest" }), "COFRE-86");
    assert.equal(await codeOf({ order: "newest", outcome: "lost" }), "COFRE-86");
    assert.equal(await codeOf({ hash: "1" }), "COFRE-85");
    for (const wrong of [{ limit: "0" }, { limit: "101" }, { before: "x" }, { number: "0" }])
      assert.equal(await codeOf({ order: "newest", ...wrong }), "COFRE-61");
  });
});

test("a request without an answer is in flight, and so is its entry", async () => {
  await using server = await startTestServer();
  const add = { kind: "late_answer", delay_ms: 60_000, path: "/ws/query" };
  await server.postJson("/__cofre/faults", { ...keyed, add });
  const gone = new AbortController();
  const lost = fetch(`${server.url}/ws/query?integration_key=${integrationKey}&hash=1`, {
    signal: gone.signal,
  });
  let page = await newest(server);
  await until("the request is recorded", async () => {
    page = await newest(server, { path: "/ws/query" });
    return page.requests.length > 0;
  });
  assert.deepEqual([page.requests[0]?.outcome, page.counts["in_flight"]], ["in_flight", 1]);
  assert.ok(!("http_status" in (page.requests[0] ?? {})));
  gone.abort();
  await assert.rejects(lost);
});

test("a replayed refusal is refused, with its code", async () => {
  await using server = await startTestServer();
  const { body } = await direct(server, "once");
  const { hash } = body["payment"] as { readonly hash: string };
  const request = {
    method: "POST",
    headers: { "Idempotency-Key": "capture-once" },
    body: JSON.stringify({ ...keyed, hash }),
  };
  for (let count = 0; count < 2; count += 1)
    assert.equal((await fetch(`${server.url}/ws/capture`, request)).status, 200);
  const { requests } = await newest(server, { path: "/ws/capture" });
  assert.deepEqual(
    requests.map(({ outcome, status_code: code, replayed }) => [outcome, code, replayed]),
    [
      ["refused", "BP-CAP-4", true],
      ["refused", "BP-CAP-4", false],
    ],
  );
});

test("no card number, code or whole token is found in a list, nor searched for", async () => {
  await using server = await startTestServer();
  const pan = testCard.card_number;
  const token = "0123456789abcdef".repeat(4);
  await direct(server, "stored", { create_token: true, token });
  await direct(server, `x${"9".repeat(10_000)}`, {
    name: `card ${pan}`,
    email: `${pan}@example.com`,
  });
  await server.get("/ws/query", { ...keyed, merchant_payment_code: pan });
  const texts = await Promise.all(
    [newest(server), list(server, { number: "1" }), list(server, { number: "2" })].map(
      async (page) => JSON.stringify(await page),
    ),
  );
  for (const text of texts) {
    assert.ok(!text.includes(pan) && !text.includes(token), text);
    assert.ok(text.length < 4 * recordingBounds.answerCharacters, String(text.length));
  }
  // The word is masked as the recorded text was.
  assert.deepEqual(numbers(await newest(server, { search: pan })), [3]);
  assert.deepEqual(numbers(await newest(server, { search: "411111xxxxxx1111" })), [3]);
});
