import assert from "node:assert/strict";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, test } from "node:test";
import "../support/session-storage.ts";

/** What a browser makes of the page is in packages/proof/lanes/support/console-list.ts. */
const folder = fileURLToPath(new URL("../../../console/src/", import.meta.url));
// The page's language is English in every environment.
Object.defineProperty(navigator, "languages", { value: ["en-US"] });

interface Entry {
  readonly at: string;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}
interface Step {
  readonly key: string;
  readonly entry: Entry;
  readonly calls: readonly Entry[];
}
const { stepsOf } = (await import(pathToFileURL(`${folder}story.js`).href)) as {
  readonly stepsOf: (entries: readonly Entry[]) => readonly Step[];
};
const { aligned } = (await import(pathToFileURL(`${folder}aligned.js`).href)) as {
  readonly aligned: (
    left: readonly Step[],
    right: readonly Step[],
  ) => readonly { readonly left: Step | undefined; readonly right: Step | undefined }[];
};

const entry = (second: number, kind: string, data: Entry["data"]): Entry => ({
  at: new Date(Date.UTC(2026, 10, 25, 18, 0, second)).toISOString(),
  kind,
  data,
});
const request = (second: number, status = "200") =>
  entry(second, "request", { path: "/ws/direct", http_status: status, duration_ms: second });
const fact = (second: number, name: string, postings: readonly object[] = []) =>
  entry(second, "fact", { fact: name, postings });
/** A call to the acquirer. */
const asked = (second: number, kind: string, outcome: object | null) =>
  entry(second, "call", { connector: "simulator", kind, outcome });
const approved = { kind: "approved" };
const lost = { kind: "unknown", cause: "timeout" };

describe("the steps of a payment's page", () => {
  const words = (entries: readonly Entry[]) =>
    stepsOf(entries).map(({ entry: { kind, data }, calls }) =>
      [kind, data["fact"], ...calls.map((each) => each.data["kind"])]
        .flatMap((word) => (typeof word === "string" ? [word] : []))
        .join(" "),
    );

  test("a call, its record and its result are one step", () => {
    const posting = { kind: "capture" };
    assert.deepEqual(
      words([
        request(0),
        fact(0, "authorization_sent"),
        asked(0, "authorize", approved),
        fact(1, "sale_approved", [posting]),
        fact(2, "refund_requested"),
        asked(3, "refund", approved),
      ]),
      ["request", "fact sale_approved authorize", "fact refund_requested", "call refund"],
    );
  });

  test("facts with ledger entries, and those that no call has caused, keep their steps", () => {
    assert.deepEqual(
      words([
        fact(0, "refund_sent", [{ kind: "refund" }]),
        asked(0, "refund", approved),
        request(1),
        fact(2, "refund_approved"),
      ]),
      ["fact refund_sent", "call refund", "request", "fact refund_approved"],
    );
    assert.deepEqual(words([fact(0, "authorization_sent"), request(1)]), [
      "fact authorization_sent",
      "request",
    ]);
  });

  test("repeated calls with one outcome are one step, whose name stays", () => {
    const before = [
      request(0),
      asked(1, "authorize", lost),
      fact(2, "attempt_unanswered"),
      asked(9, "inquire", lost),
    ];
    const entries = [
      ...before,
      asked(19, "inquire", lost),
      asked(39, "inquire", lost),
      asked(79, "inquire", { kind: "found" }),
    ];
    assert.deepEqual(words(entries), [
      "request",
      "fact attempt_unanswered authorize",
      "call inquire inquire inquire",
      "call inquire",
    ]);
    assert.equal(stepsOf(entries)[2]?.key, stepsOf(before)[2]?.key);
  });
});

describe("two payments side by side", () => {
  const words = (left: readonly Entry[], right: readonly Entry[]) =>
    aligned(stepsOf(left), stepsOf(right)).map((pair) =>
      [pair.left?.entry, pair.right?.entry]
        .map((each) => {
          const { fact: name } = each?.data ?? {};
          return typeof name === "string" ? name : (each?.kind ?? "-");
        })
        .join(" | "),
    );

  test("steps with one result are in one row, whenever they happened", () => {
    assert.deepEqual(
      words(
        [request(0), fact(1, "sale_approved"), fact(2, "refund_requested")],
        [request(7), fact(8, "sale_approved"), fact(9, "chargeback_opened")],
      ),
      [
        "request | request",
        "sale_approved | sale_approved",
        "refund_requested | -",
        "- | chargeback_opened",
      ],
    );
  });

  test("what only one has is between the others", () => {
    assert.deepEqual(
      words(
        [request(0), fact(1, "sale_approved")],
        [request(0), asked(1, "inquire", lost), request(2, "503"), fact(3, "sale_approved")],
      ),
      ["request | request", "- | call", "- | request", "sale_approved | sale_approved"],
    );
    assert.deepEqual(words([], []), []);
  });

  test("a request with another status, and a call with another result, are different", () => {
    assert.deepEqual(words([request(0)], [request(0, "503")]), ["request | -", "- | request"]);
    assert.deepEqual(words([asked(0, "capture", approved)], [asked(0, "capture", lost)]), [
      "call | -",
      "- | call",
    ]);
  });
});
