import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { reportAsHtml, reportAsText, type RunReport } from "./run-report.ts";

const hostile = `<img src=x onerror=alert(1)>"'&\u001b[31m`;

const timeline = {
  hash: "0".repeat(48),
  merchant_payment_code: hostile,
  state: "captured",
  recording: { since: null, complete: false, omitted: 0 },
  entries: [
    { at: "2026-01-31T12:00:00.000Z", kind: "request", text: hostile, data: { name: hostile } },
  ],
  problems: [hostile],
  payment: { amount_ext: "100.00", currency_ext: "PEN" },
};
const report: RunReport = {
  what: `${hostile} exited with 1`,
  at: "2026-01-31 12:00:00",
  accounts: [
    { world: undefined, timelines: [], isComplete: true, refusals: [] },
    {
      world: hostile,
      timelines: [timeline],
      isComplete: false,
      refusals: [
        {
          at: "2026-01-31T12:00:00.000Z",
          path: "/ws/direct",
          status_code: "BP-DR-3",
          response: { status_message: hostile },
          merchant_payment_code: null,
        },
      ],
    },
  ],
  proxyLines: [hostile],
};

describe("the report of a run", () => {
  test("is one page that needs nothing else, in which hostile text stays text", () => {
    const page = reportAsHtml(report);
    assert.ok(!page.includes("<img"), page);
    assert.doesNotMatch(page, /<script|<link|\bsrc="|href=|url\(/);
    assert.match(page, /default-src 'none'/);
    assert.match(page, /&lt;img src=x onerror=alert\(1\)&gt;&quot;&#39;&amp;/);
  });

  test("has each payment, refused requests and what the proxy refused, as text", () => {
    const text = reportAsText({ ...report, proxyLines: ["refused: example.com:443"] });
    assert.match(
      text,
      / exited with 1, 2026-01-31 12:00:00 UTC\nproxy: refused: example\.com:443\n/,
    );
    assert.match(text, /\nthe account: 0 payments\n/);
    assert.match(text, /\nworld .*: the newest 1 payment\n/);
    assert.match(text, /\nrefused requests\n {2}\/ws\/direct was answered with BP-DR-3 /);
    assert.ok(!text.includes("\u001b"));
  });
});
