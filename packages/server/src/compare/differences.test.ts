import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { describe, test } from "node:test";
import { differencesOf } from "./differences.ts";
import { seenAnswerOf } from "./seen-answer.ts";

function answer(body: unknown, { status = 200, headers = [] as string[] } = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return seenAnswerOf({ status, headers, body: Buffer.from(text) });
}

const listed = (upstream: unknown, cofre: unknown) =>
  differencesOf(answer(upstream), answer(cofre)).map(
    ({ aspect, path, upstream: theirs, cofre: ours }) => [aspect, path, theirs, ours].join(" | "),
  );

describe("differences of two answers", () => {
  test("has none for generated values and times of the same form", () => {
    const payment = (hash: string, date: string, authcode: string) => ({
      payment: {
        hash,
        open_date: date,
        transaction_status: { authcode },
        refunds: [{ id: authcode }],
      },
    });
    assert.deepEqual(
      listed(
        payment("a1".repeat(24), "2026-01-02 03:04:05", "48213"),
        payment("0f".repeat(24), "2031-11-30 23:59:59", "913"),
      ),
      [],
    );
  });

  for (const [what, upstream, cofre, expected] of [
    [
      "a member that only the upstream has",
      { a: 1, b: "x" },
      { a: 1 },
      "missing | b | string | none",
    ],
    ["a member that only Cofre has", {}, { a: null }, "added | a | none | null"],
    ["another type", { a: "1" }, { a: 1 }, "type | a | string | number"],
    ["null in place of a text", { a: null }, { a: "x" }, "type | a | null | string"],
    [
      "another status word",
      { payment: { status: "CO" } },
      { payment: { status: "PE" } },
      "value | payment.status | CO | PE",
    ],
    ["another order", { a: 1, b: 2 }, { b: 2, a: 1 }, "order |  | a, b | b, a"],
    ["a longer list", { a: [1, 2] }, { a: [1] }, "length | a | 2 | 1"],
    ["a member in a list", { a: [{ b: "1" }] }, { a: [{ b: "2" }] }, "value | a[].b | 1 | 2"],
    [
      "another form of a hash",
      { hash: "a1".repeat(24) },
      { hash: "a1".repeat(20) },
      "format | hash | 48 hex | 40 hex",
    ],
    [
      "a date with a T",
      { open_date: "2026-01-02T03:04:05Z" },
      { open_date: "2026-01-02 03:04:05" },
      "format | open_date | 9999-99-99T99:99:99Z | 9999-99-99 99:99:99",
    ],
    ["HTML", "<html></html>", { a: 1 }, "body |  | text | json"],
    ["XML", "<?xml version='1.0'?><a/>", { a: 1 }, "body |  | xml | json"],
    ["nothing", "", { a: 1 }, "body |  | empty | json"],
  ] as const) {
    test(`names ${what}`, () => {
      assert.deepEqual(listed(upstream, cofre), [expected]);
    });
  }

  test("names the HTTP status, the content type and further headers, not those of the connection", () => {
    const [json, html] = ["application/json; charset=utf-8", "text/html"];
    const differences = differencesOf(
      answer(
        {},
        {
          status: 201,
          headers: ["Content-Type", html, "X-New", "1", "Date", "x", "Connection", "close"],
        },
      ),
      answer({}, { headers: ["content-type", json, "X-Cofre-Warning", "w"] }),
    );
    assert.deepEqual(
      differences.map(({ aspect, path }) => [aspect, path]),
      [
        ["http_status", ""],
        ["header", "content-type"],
        ["header", "x-new"],
      ],
    );
    const [one, other] = ["application/json;charset=UTF-8", json].map((type) =>
      answer({}, { headers: ["Content-Type", type] }),
    );
    assert.ok(one !== undefined && other !== undefined);
    assert.deepEqual(differencesOf(one, other), []);
  });

  test("reads a compressed body, and says that a broken or huge one is unreadable", () => {
    const gzip = (body: Buffer) =>
      seenAnswerOf({ status: 200, headers: ["Content-Encoding", "gzip"], body });
    assert.deepEqual(gzip(gzipSync('{"a":1}')).body, { kind: "json", value: { a: 1 } });
    assert.deepEqual(gzip(Buffer.from("{}")).body, { kind: "unreadable" });
    assert.deepEqual(gzip(gzipSync(Buffer.alloc(2_000_000))).body, { kind: "unreadable" });
  });

  test("has a bound for an answer with any number of members", () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`m${index}`, 1]));
    assert.equal(listed(many, {}).length, 200);
    assert.deepEqual(
      listed("[".repeat(400) + "]".repeat(400), "[".repeat(400) + "1" + "]".repeat(400)),
      [],
      "deeper members are not compared",
    );
  });
});
