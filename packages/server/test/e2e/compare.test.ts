import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import {
  compareReportAsHtml,
  compareReportAsJson,
  compareReportAsText,
} from "../../src/cli/compare-report.ts";
import { CofreClient } from "../../src/cli/cofre-client.ts";
import type { TemporaryCofre } from "../../src/cli/command.ts";
import type { ComparisonResult } from "../../src/compare/collector.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { startTemporary } from "../../src/start/temporary-cofre.ts";
import { readCaptures, send, withLiveValues } from "../clients/replay.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { type AlteredAnswer, startAlteringProxy } from "./altering-proxy.ts";
import { until } from "../until.ts";
import { httpAnswer, paymentBody, startCannedServer } from "../upstream/canned-server.ts";
import { makeAuthority } from "../upstream/test-certificates.ts";
import { startComparing } from "./comparing.ts";

/* `cofre compare` in front of a second Cofre whose answers a test changes. */

let upstream: TestServer;
let twin: TemporaryCofre;
before(async () => {
  twin = await startTemporary({ port: 0, withTls: false });
  upstream = await startTestServer({ seed: "upstream" });
});
after(async () => {
  await twin.close();
  await upstream[Symbol.asyncDispose]();
});

let codes = 0;
const newCode = (): string => `compare-${(codes += 1)}`;

type Members = Record<string, unknown>;
const paymentOf = ({ body }: AlteredAnswer): Members => (body["payment"] ?? {}) as Members;

describe("an upstream that answers like Cofre", () => {
  test("has no difference over the recorded requests of all public clients", async () => {
    await using comparing = await startComparing(upstream.url, twin);
    const answers = new Map<string, string>();
    const captures = readCaptures();
    for (const capture of captures) {
      const live = new Map([
        ["test_ik_loopbackAAAAAAAAAA", integrationKey],
        ["test_pk_loopback", publicIntegrationKey],
      ]);
      for (const { value, fromCapture, jsonPath } of capture.refs) {
        const now = valueAt(answers.get(fromCapture), jsonPath);
        if (now !== undefined) live.set(value, now);
      }
      const { text } = await send(withLiveValues(capture, live), comparing.port);
      answers.set(capture.name, text);
    }
    const { totals, kinds } = await comparing.finish();
    assert.deepEqual(kinds, []);
    assert.deepEqual(
      { ...totals },
      { requests: captures.length, equal: captures.length, known: 0, unknown: 0, not_compared: 0 },
    );
  });

  test("gets each request once and unchanged, and the client its answer byte for byte", async () => {
    await using proxied = await startAlteringProxy(upstream.url);
    await using comparing = await startComparing(proxied.url, twin);
    const code = newCode();
    const sent = JSON.stringify(directBody(code));
    const { text, body } = await comparing.post("/ws/direct?x=%7B", sent);
    const query = `/ws/query?integration_key=${integrationKey}&hash=${String(body.payment?.["hash"])}&note={a}`;
    const asked = await fetch(comparing.url + query);
    assert.equal(
      ((await asked.json()) as { payment: Members }).payment["merchant_payment_code"],
      code,
    );
    await comparing.finish();
    assert.deepEqual(proxied.received, [
      { line: "POST /ws/direct?x=%7B", body: Buffer.from(sent).toString("latin1") },
      { line: `GET ${query}`, body: "" },
    ]);
    assert.equal(text, JSON.stringify(body));
  });

  test("keeps identifiers apart: hashes, tokens, refunds, mandates", async () => {
    await using comparing = await startComparing(upstream.url, twin);
    const { post } = comparing;
    const key = { integration_key: integrationKey };
    const stored = await post("/ws/token", {
      ...key,
      payment_type_code: "creditcard",
      country: "br",
      creditcard: testCard,
    });
    const { token } = stored.body;
    const initial = await post(
      "/ws/direct",
      directBody(newCode(), {
        creditcard: { token, card_cvv: "123" },
        cof_info: { cof_type: "initial", initiator: "CIT", trans_type: "SCHEDULED_RECURRING" },
      }),
    );
    const info = initial.body.payment?.["cof_info"] as Members | undefined;
    const mandate = info?.["mandate_id"];
    await post(
      "/ws/direct",
      directBody(newCode(), {
        creditcard: { token },
        cof_info: {
          cof_type: "stored",
          initiator: "MIT",
          trans_type: "SCHEDULED_RECURRING",
          mandate_id: mandate,
        },
      }),
    );
    const hash = initial.body.payment?.["hash"];
    const refund = await post("/ws/refund", {
      ...key,
      operation: "request",
      hash,
      amount: "10.00",
      description: "a",
    });
    await post("/ws/refund", {
      ...key,
      operation: "request",
      hash,
      amount: "20.00",
      description: "b",
    });
    const { id } = refund.body["refund"] as { id: string };
    const cancelled = await post(
      "/ws/refund",
      `integration_key=${integrationKey}&operation=cancel&refund_id=${id}`,
    );
    assert.equal((cancelled.body["refund"] as Members)["status"], "CA");
    await post("/ws/query", { ...key, hash });
    const { totals, kinds } = await comparing.finish();
    assert.deepEqual([totals.equal, kinds], [7, []]);
  });

  test("notifies the client's receiver alone", async () => {
    let received = 0;
    const receiver = createServer((incoming, outgoing) => {
      received += 1;
      incoming.resume();
      outgoing.end();
    });
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const { port } = receiver.address() as AddressInfo;
    const canned = await startCannedServer();
    canned.say(httpAnswer(paymentBody("notified")));
    await using comparing = await startComparing(`http://127.0.0.1:${canned.port}`, twin);
    const notification_url = `http://127.0.0.1:${port}/`;
    await comparing.post("/ws/direct", directBody("notified", { notification_url }));
    await comparing.finish();
    const own = new CofreClient(
      `http://127.0.0.1:${twin.port}`,
      twin.integrationKey,
      systemScheduler,
    );
    await until("Cofre has dropped its notification", async () =>
      JSON.stringify(await own.notifications(0)).includes('"outcome":"dropped"'),
    );
    assert.equal(received, 0);
    await canned[Symbol.asyncDispose]();
    receiver.close();
    await once(receiver, "close");
  });

  test("is refused alike: wrong keys, unknown payments, repeated codes, wrong fields", async () => {
    await using comparing = await startComparing(upstream.url, twin);
    const { post } = comparing;
    const code = newCode();
    await post("/ws/direct", { ...directBody(code), integration_key: "wrong-key-of-somebody" });
    await post("/ws/direct", directBody(code));
    await post("/ws/direct", directBody(code));
    await post("/ws/direct", directBody(newCode(), { email: "no address" }));
    await post("/ws/query", { integration_key: integrationKey, hash: "ab".repeat(24) });
    await post("/ws/capture", { integration_key: integrationKey, merchant_payment_code: code });
    await post("/ws/direct", "not a request");
    await post("/ws/nothing", {});
    const { totals, kinds } = await comparing.finish();
    assert.deepEqual([totals.equal, kinds], [8, []]);
  });
});

function valueAt(text: string | undefined, path: string): string | undefined {
  if (text === undefined) return undefined;
  let value: unknown = JSON.parse(text);
  for (const name of path
    .replace(/^\$\.?/, "")
    .split(/[.[\]]+/)
    .filter((part) => part !== ""))
    value = (value as Members | undefined)?.[name];
  return typeof value === "string"
    ? value
    : value === undefined
      ? undefined
      : JSON.stringify(value);
}

describe("a planted difference is found and named", () => {
  const plants: readonly (readonly [
    what: string,
    plant: (answer: AlteredAnswer) => void,
    kind: string,
  ])[] = [
    ["a missing member", (answer) => delete paymentOf(answer)["pin"], "added payment.pin"],
    ["a further member", (answer) => (paymentOf(answer)["score"] = 7), "missing payment.score"],
    [
      "another type",
      (answer) => (paymentOf(answer)["instalments"] = 1),
      "type payment.instalments",
    ],
    [
      "another status word",
      (answer) => (paymentOf(answer)["capture_available"] = true),
      "value payment.capture_available",
    ],
    ["another HTTP status", (answer) => (answer.status = 201), "http_status"],
    ["a further header", (answer) => answer.headers.push(["X-Checkout", "1"]), "header x-checkout"],
    [
      "another content type",
      (answer) => (answer.headers[0] = ["Content-Type", "text/html"]),
      "header content-type",
    ],
    [
      "another order",
      (answer) => {
        const { hash, ...others } = paymentOf(answer);
        answer.body["payment"] = { ...others, hash };
      },
      "order payment",
    ],
    [
      "another form of time",
      (answer) => (paymentOf(answer)["open_date"] = "2026-11-25T18:13:28Z"),
      "format payment.open_date",
    ],
    [
      "another rate",
      (answer) =>
        Object.assign(paymentOf(answer), { currency_rate: "5.9000", amount_br: "590.00" }),
      "value payment.currency_rate [sandbox-rates]",
    ],
    [
      "risk members",
      (answer) => (paymentOf(answer)["risk_analysis"] = { score: 1 }),
      "missing payment.risk_analysis [risk-members]",
    ],
    ["no envelope", (answer) => (answer.body = {}), "added payment"],
  ];
  for (const [what, plant, kind] of plants) {
    test(what, async () => {
      await using proxied = await startAlteringProxy(upstream.url, plant);
      await using comparing = await startComparing(proxied.url, twin);
      await comparing.post("/ws/direct", directBody(newCode()));
      const kinds = await comparing.kinds();
      assert.ok(kinds.includes(`/ws/direct ${kind}`), kinds.join("\n"));
      assert.equal(
        kinds.length,
        ["another rate", "no envelope"].includes(what) ? 2 : 1,
        kinds.join("\n"),
      );
    });
  }

  test("another code, and another message of the same code", async () => {
    await using proxied = await startAlteringProxy(upstream.url, ({ body }) => {
      if (body["status_code"] === "BP-DR-17") body["status_code"] = "BP-DR-999";
      if (body["status_code"] === "BP-DR-15") body["status_message"] = "E-mail!";
    });
    await using comparing = await startComparing(proxied.url, twin);
    await comparing.post("/ws/direct", directBody(newCode(), { email: "no address" }));
    await comparing.post("/ws/direct", directBody(newCode(), { email: "" }));
    assert.deepEqual(await comparing.kinds(), [
      "/ws/direct code status_code",
      "/ws/direct value status_message",
    ]);
  });

  test("each kind is reported once, with its count and its first example", async () => {
    await using proxied = await startAlteringProxy(
      upstream.url,
      (answer) => delete paymentOf(answer)["pin"],
    );
    await using comparing = await startComparing(proxied.url, twin);
    const first = newCode();
    for (const code of [first, newCode(), newCode()])
      await comparing.post("/ws/direct", directBody(code));
    const { kinds, totals } = await comparing.finish();
    assert.deepEqual([kinds.length, kinds[0]?.count, totals.unknown], [1, 3, 3]);
    const shown = JSON.stringify(kinds[0]?.first);
    assert.ok(shown.includes(`"merchant_payment_code":"${first}"`));
    assert.ok(shown.includes("411111xxxxxx1111"));
    assertMasked(shown);
  });
});

function assertMasked(text: string): void {
  for (const secret of [testCard.card_number, integrationKey, '"card_cvv"', "12/2060"])
    assert.ok(!text.includes(secret), secret);
}

describe("another outcome", () => {
  const declined = (answer: AlteredAnswer, path: string): void => {
    if (path !== "/ws/direct" && path !== "/ws/query") return;
    const payment = paymentOf(answer);
    Object.assign(payment, {
      status: "CA",
      confirm_date: null,
      pre_approved: false,
      capture_available: false,
      transaction_status: { acquirer: "EBANX", code: "NOK", description: "Insufficient funds" },
    });
  };

  test("is said once when the upstream declines, and the twin follows", async () => {
    await using proxied = await startAlteringProxy(upstream.url, declined);
    await using comparing = await startComparing(proxied.url, twin);
    const code = newCode();
    await comparing.post("/ws/direct", directBody(code), { "Idempotency-Key": code });
    await comparing.post("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    const { totals } = await comparing.finish();
    assert.deepEqual(await comparing.kinds(), ["/ws/direct outcome"]);
    assert.deepEqual([totals.equal, totals.unknown], [1, 1]);
  });

  test("is said once when the twin declines, and the twin follows with another card", async () => {
    await using strict = await startTestServer({ seed: "approving" });
    // The upstream approves what Cofre's test card declines: the card is exchanged on the way.
    await using proxied = await startExchanging(
      strict.url,
      "4716909774636285",
      testCard.card_number,
    );
    await using comparing = await startComparing(proxied.url, twin);
    const code = newCode();
    const card = { ...testCard, card_number: "4716909774636285", auto_capture: false };
    await comparing.post("/ws/direct", directBody(code, { creditcard: card }));
    const key = { integration_key: integrationKey, merchant_payment_code: code };
    const captured = await comparing.post("/ws/capture", key);
    assert.equal(captured.body.payment?.["status"], "CO");
    const { totals } = await comparing.finish();
    assert.deepEqual(await comparing.kinds(), ["/ws/direct outcome"]);
    assert.deepEqual([totals.equal, totals.unknown], [1, 1]);
  });

  test("of a card outside the published test cards is the issuer's decision", async () => {
    await using proxied = await startExchanging(
      upstream.url,
      "4242424242424242",
      testCard.card_number,
    );
    await using comparing = await startComparing(proxied.url, twin);
    const card = { ...testCard, card_number: "4242424242424242" };
    await comparing.post("/ws/direct", directBody(newCode(), { creditcard: card }));
    assert.deepEqual(await comparing.kinds(), ["/ws/direct outcome [issuer-decisions]"]);
  });

  test("that the twin cannot follow makes later differences consequences", async () => {
    // Uncaptured at the upstream, captured at Cofre.
    await using proxied = await startAlteringProxy(upstream.url, (answer, path) => {
      if (path !== "/ws/direct" && path !== "/ws/query") return;
      Object.assign(paymentOf(answer), {
        status: "PE",
        confirm_date: null,
        capture_available: false,
      });
    });
    await using comparing = await startComparing(proxied.url, twin);
    const code = newCode();
    await comparing.post("/ws/direct", directBody(code));
    await comparing.post("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    assert.deepEqual(await comparing.kinds(), [
      "/ws/direct outcome",
      "/ws/query outcome (consequence)",
    ]);
    assert.equal((await comparing.finish()).totals.known, 1);
  });

  test("when the upstream refuses a payment that Cofre makes, the code is free again", async () => {
    let refuses = true;
    await using proxied = await startAlteringProxy(upstream.url, (answer) => {
      if (refuses)
        answer.body = { status: "ERROR", status_code: "BP-DR-84", status_message: "Duplicate" };
      refuses = false;
    });
    await using comparing = await startComparing(proxied.url, twin);
    const code = newCode();
    await comparing.post("/ws/direct", directBody(code));
    // The planted refusal was carried out at the second Cofre, which therefore refuses this one.
    const again = await comparing.post("/ws/direct", directBody(`${code}b`));
    assert.equal(again.body.payment?.["status"], "CO");
    assert.deepEqual(await comparing.kinds(), ["/ws/direct outcome [duplicate-period]"]);
  });

  test("of two equal requests at once is none, whichever is answered first", async () => {
    // The answer of the payment comes after the refusal of its repetition.
    const refused = Promise.withResolvers<void>();
    await using proxied = await startAlteringProxy(upstream.url, ({ body }) => {
      if (body["status"] === "ERROR") refused.resolve();
      return body["status"] === "ERROR" ? undefined : refused.promise;
    });
    await using comparing = await startComparing(proxied.url, twin);
    const body = directBody(newCode());
    const [one, other] = await Promise.all([
      comparing.post("/ws/direct", body),
      comparing.post("/ws/direct", body),
    ]);
    const words = new Set([one.body["status"], other.body["status"]]);
    assert.deepEqual(words, new Set(["ERROR", "SUCCESS"]));
    const { totals, kinds } = await comparing.finish();
    assert.deepEqual([totals.equal, kinds], [2, []]);
  });

  test("of a card that was stored before is none: Cofre stores one of its brand", async () => {
    const key = { integration_key: integrationKey };
    const amex = { ...testCard, card_number: "378282246310005", card_cvv: "1234" };
    const stored = await upstream.postJson("/ws/token", {
      ...key,
      country: "br",
      creditcard: amex,
    });
    const { token } = stored.body;
    await using comparing = await startComparing(upstream.url, twin);
    const code = newCode();
    await comparing.post("/ws/direct", directBody(code, { creditcard: { token } }));
    await comparing.post("/ws/direct", directBody(newCode(), { creditcard: { token } }));
    await comparing.post("/ws/query", { ...key, merchant_payment_code: code });
    const { totals, kinds } = await comparing.finish();
    assert.deepEqual([totals.equal, kinds], [3, []]);
  });

  test("of a payment that was made before is not compared, by its code neither", async () => {
    const code = newCode();
    await upstream.postJson("/ws/direct", directBody(code));
    await using comparing = await startComparing(upstream.url, twin);
    await comparing.post("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    await comparing.post("/ws/direct", directBody(code));
    const { totals, notCompared, kinds } = await comparing.finish();
    assert.deepEqual([totals.not_compared, notCompared, kinds], [2, { made_before: 2 }, []]);
  });

  test("of a payment that was made before is not compared", async () => {
    const { body } = await upstream.postJson("/ws/direct", directBody(newCode()));
    await using comparing = await startComparing(upstream.url, twin);
    const { hash } = body["payment"] as Members;
    await comparing.post("/ws/query", { integration_key: integrationKey, hash });
    const { totals, notCompared } = await comparing.finish();
    assert.deepEqual([totals.not_compared, notCompared], [1, { made_before: 1 }]);
  });
});

/** A server in front of another one that exchanges a text of requests. */
async function startExchanging(target: string, from: string, to: string) {
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      let text = "";
      for await (const piece of incoming as AsyncIterable<Buffer>) text += piece.toString("latin1");
      const answer = await fetch(target + (incoming.url ?? ""), {
        method: "POST",
        body: Buffer.from(text.replaceAll(from, to), "latin1"),
      });
      outgoing
        .writeHead(answer.status, { "Content-Type": answer.headers.get("content-type") ?? "" })
        .end(await answer.text());
    })().catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("a hostile upstream", () => {
  /** Answers the bytes to every request; undefined: never. */
  async function startRaw(answer: string | Buffer | undefined, { cut = false } = {}) {
    let requests = 0;
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        requests += 1;
        if (answer === undefined) return;
        socket.write(answer, () => (cut ? socket.resetAndDestroy() : socket.end()));
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}`,
      requests: () => requests,
      [Symbol.asyncDispose]: async () => void server.close(),
    };
  }
  const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

  test("that is silent, closes, or answers no HTTP gets one request, and the client an error", async () => {
    for (const [answer, status, text] of [
      [undefined, 504, /has not answered within 0\.3 seconds. It may have carried/],
      ["", 502, /has closed the connection without an answer. It may have carried/],
      ["SSH-2.0-OpenSSH\r\n", 502, /answers something that is not HTTP. It may/],
    ] as const) {
      await using raw = await startRaw(answer);
      await using comparing = await startComparing(raw.url, twin, 300);
      const got = await comparing.post("/ws/direct", directBody(newCode()));
      assert.equal(got.status, status);
      assert.equal(got.body["status_code"], `COMPARE-${status}`);
      assert.match(String(got.body["status_message"]), text);
      const { notCompared, totals } = await comparing.finish();
      assert.deepEqual(
        [raw.requests(), notCompared, totals.unknown],
        [1, { upstream_failed: 1 }, 0],
      );
    }
  });

  test("that throttles or fails is not compared, and the repeated request is", async () => {
    let refusals = 0;
    await using proxied = await startAlteringProxy(upstream.url, (answer, path) => {
      if (path !== "/ws/direct") return;
      refusals += 1;
      if (refusals > 2) return;
      answer.status = refusals === 1 ? 429 : 503;
      answer.body = { status: "ERROR", status_code: "LATER", status_message: "Later" };
    });
    await using comparing = await startComparing(proxied.url, twin);
    const code = newCode();
    for (const suffix of ["a", "b", "c"])
      await comparing.post("/ws/direct", directBody(code + suffix));
    const query = { integration_key: integrationKey, merchant_payment_code: `${code}c` };
    await comparing.post("/ws/query", query);
    const { totals, kinds, notCompared } = await comparing.finish();
    assert.deepEqual([totals.equal, kinds, notCompared], [2, [], { upstream_failed: 2 }]);
  });

  test("that is down gets nothing, and the client learns it", async () => {
    const raw = await startRaw("");
    await raw[Symbol.asyncDispose]();
    await using comparing = await startComparing(raw.url, twin);
    const got = await comparing.post("/ws/direct", directBody(newCode()));
    assert.equal(got.body["status_message"], "The upstream refuses connections. Nothing was sent.");
  });

  test("that closes within its answer: the client gets what came, and its end", async () => {
    await using raw = await startRaw(`${head}Content-Length: 100\r\n\r\n{"status":`, { cut: true });
    await using comparing = await startComparing(raw.url, twin);
    const response = await fetch(`${comparing.url}/ws/direct`, {
      method: "POST",
      body: JSON.stringify(directBody(newCode())),
    });
    assert.equal(response.status, 200);
    await assert.rejects(response.text());
    assert.deepEqual((await comparing.finish()).notCompared, { answer_cut: 1 });
  });

  test("that answers an HTML page with 200 is a difference, with 500 it is not compared", async () => {
    for (const [status, expected] of [
      [200, ["/ws/direct header content-type", "/ws/direct body"]],
      [500, []],
    ] as const) {
      const page = "<html>No</html>";
      await using raw = await startRaw(
        `HTTP/1.1 ${status} X\r\nContent-Type: text/html\r\nContent-Length: ${page.length}\r\n\r\n${page}`,
      );
      await using comparing = await startComparing(raw.url, twin);
      const got = await comparing.post("/ws/direct", directBody(newCode()));
      assert.deepEqual([got.status, got.text], [status, page]);
      assert.deepEqual(await comparing.kinds(), expected);
    }
  });

  test("that compresses or sends chunks: the client gets the same bytes, and they are compared", async () => {
    const wrongKey = { ...directBody("x"), integration_key: "wrong-key-of-somebody" };
    const { body } = await upstream.postJson("/ws/direct", wrongKey);
    const text = JSON.stringify(body);
    const full = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n";
    for (const [encoding, bytes] of [
      ["gzip", gzipSync(text)],
      ["br", brotliCompressSync(text)],
    ] as const) {
      await using raw = await startRaw(
        Buffer.concat([
          Buffer.from(
            `${full}Content-Encoding: ${encoding}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
          ),
          bytes,
        ]),
      );
      await using comparing = await startComparing(raw.url, twin);
      const got = await comparing.post("/ws/direct", wrongKey);
      assert.equal(got.text, text);
      assert.deepEqual(await comparing.kinds(), []);
    }
    const chunks = Array.from(text, (letter) => `1\r\n${letter}\r\n`).join("");
    await using raw = await startRaw(`${full}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    await using comparing = await startComparing(raw.url, twin);
    assert.equal((await comparing.post("/ws/direct", wrongKey)).text, text);
    assert.deepEqual(await comparing.kinds(), []);
  });

  test("that sends megabytes: the client gets them all, and nothing is compared", async () => {
    const long = `"${"x".repeat(3_000_000)}"`;
    await using raw = await startRaw(`${head}Content-Length: ${long.length}\r\n\r\n${long}`);
    await using comparing = await startComparing(raw.url, twin);
    assert.equal((await comparing.post("/ws/direct", directBody(newCode()))).text, long);
    assert.deepEqual((await comparing.finish()).notCompared, { answer_too_long: 1 });
  });

  test("that repeats card data, keys and tokens anywhere: the report has none of it", async () => {
    const token = "f0".repeat(64);
    const echoed = {
      status: "SUCCESS",
      card: {
        card_number: testCard.card_number,
        cvv: "987",
        nested: ["987", `a ${testCard.card_number} b`],
      },
      [`m${testCard.card_number}`]: 4111111111111111,
      odd: "987",
      key: integrationKey,
      text: `the key is ${integrationKey}`,
      token,
      other: token,
      expiry: { card_due_date: "12/2060" },
    };
    const text = JSON.stringify(echoed);
    await using raw = await startRaw(`${head}Content-Length: ${text.length}\r\n\r\n${text}`);
    await using comparing = await startComparing(raw.url, twin);
    const card = { ...testCard, card_cvv: "987" };
    assert.equal(
      (await comparing.post("/ws/direct", directBody(newCode(), { creditcard: card }))).text,
      text,
    );
    for (const report of reportsOf(await comparing.finish())) {
      assertMasked(report);
      assert.ok(!report.includes("987"), "the security code");
      assert.ok(!report.includes(token), "the token");
      assert.ok(!report.includes("4111111111111111"));
    }
  });

  test("whose certificate is not trusted gets nothing", async () => {
    await using server = await startCannedServer(makeAuthority("Compared").issue("127.0.0.1"));
    await using comparing = await startComparing(`https://127.0.0.1:${server.port}`, twin);
    const got = await comparing.post("/ws/direct", directBody(newCode()));
    assert.equal(
      got.body["status_message"],
      "The upstream offers no TLS that this machine trusts. Nothing was sent.",
    );
    assert.equal(Buffer.concat(server.received).length, 0);
  });

  test("gets nothing of a request whose client leaves before its end, and all of one whose client leaves later", async () => {
    await using raw = await startRaw(`${head}Content-Length: 2\r\n\r\n{}`);
    await using comparing = await startComparing(raw.url, twin);
    const body = JSON.stringify(directBody(newCode()));
    const start = `POST /ws/direct HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
    const early = connect(comparing.port, "127.0.0.1");
    early.end(start + body.slice(0, 20));
    await once(early.resume(), "close");
    assert.equal(raw.requests(), 0);
    const late = connect(comparing.port, "127.0.0.1");
    late.write(start + body, () => late.destroy());
    await once(late, "close");
    await until("the upstream has it", () => raw.requests() === 1);
    assert.equal((await comparing.finish()).totals.requests, 1);
  });

  test("a request that is too long for the proxy is refused and not sent", async () => {
    await using raw = await startRaw("");
    await using comparing = await startComparing(raw.url, twin);
    const got = await comparing.post("/ws/direct", "x".repeat(1_100_000));
    assert.deepEqual([got.status, raw.requests()], [413, 0]);
  });
});

function reportsOf(result: ComparisonResult): readonly string[] {
  const report = { upstream: "https://sandbox.example", startedAt: "a", endedAt: "b", result };
  return [
    compareReportAsHtml(report),
    compareReportAsJson(report),
    compareReportAsText(report).join("\n"),
  ];
}
