import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, test } from "node:test";
import { authenticationFaults } from "../../src/authentication/test-cards.ts";
import { faultKindNames } from "../../src/http/faults/fault-kinds.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import { ManualScheduler } from "../manual-scheduler.ts";
import {
  type Answer,
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { until } from "../until.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a client received: an answer, complete or not; without a status, nothing. */
interface Seen {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  readonly isWhole: boolean;
  readonly afterMs: number;
}

/** One request on its own connection, as from a client without retries. */
function send(
  server: TestServer,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  begins: () => void = () => undefined,
): Promise<Seen> {
  const from = performance.now();
  return new Promise((resolve) => {
    const seen = (
      status: number | undefined,
      of: Seen["headers"],
      text: string,
      isWhole: boolean,
    ): void => resolve({ status, headers: of, text, isWhole, afterMs: performance.now() - from });
    const request = httpRequest(
      { host: "127.0.0.1", port: server.port, path, method: "POST", agent: false, headers },
      (response) => {
        let text = "";
        begins();
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("error", () => undefined);
        response.on("close", () =>
          seen(response.statusCode, response.headers, text, response.complete),
        );
      },
    );
    request.on("error", () => seen(undefined, {}, "", false));
    request.end(JSON.stringify(body));
  });
}

const pay = (
  server: TestServer,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Seen> => send(server, "/ws/direct", directBody(code), headers);

const faults = (server: TestServer, fields: Fields = {}): Promise<Answer> =>
  server.postJson("/__cofre/faults", { integration_key: integrationKey, ...fields });

async function add(server: TestServer, fault: Fields): Promise<string> {
  const { body } = await faults(server, { add: fault });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return (body["fault"] as { readonly id: string }).id;
}

const query = (server: TestServer, code: string): Promise<Answer> =>
  server.get("/ws/query", { integration_key: integrationKey, merchant_payment_code: code });

async function statusOf(server: TestServer, code: string): Promise<unknown> {
  const { body } = await query(server, code);
  return (body["payment"] as Fields | undefined)?.["status"] ?? body["status_code"];
}

/**
 * The payment's state, the captured amount in the currency of the request, and whether the books
 * balance.
 */
async function booksOf(
  server: TestServer,
  code: string,
): Promise<readonly [state: unknown, captured: unknown]> {
  const { body } = await server.get("/__cofre/explain", {
    integration_key: integrationKey,
    merchant_payment_code: code,
  });
  if (body["status"] === "ERROR") return [body["status_code"], undefined];
  assert.deepEqual(body["problems"], []);
  const money = body["money"] as readonly Fields[];
  return [body["state"], money.find(({ currency }) => currency === "USD")?.["captured"] ?? "0.00"];
}

/** The number of charges, from the list of all payments. */
async function charges(server: TestServer): Promise<number> {
  const { body } = await server.postJson("/__cofre/payments", {
    integration_key: integrationKey,
    limit: 100,
  });
  return (body["payments"] as readonly Fields[]).filter(({ captured }) => Number(captured) > 0)
    .length;
}

/** Sends a charge and leaves its connection to the caller. */
function charging(server: TestServer, code: string): Socket {
  const body = JSON.stringify(directBody(code));
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(
    `POST /ws/direct HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}

/** Recovery runs once a second; the clock is moved until it has settled the payment. */
async function settled(server: TestServer, code: string, status: string): Promise<void> {
  for (let look = 0; look < 200 && (await statusOf(server, code)) === "PE"; look += 1) {
    server.clock.advance(600_000);
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
  assert.equal(await statusOf(server, code), status);
}

function envelope({ text }: Seen): Fields {
  return JSON.parse(text) as Fields;
}

function paidBy(seen: Seen): unknown {
  assert.deepEqual([seen.status, seen.isWhole], [200, true], seen.text);
  return (
    (envelope(seen)["payment"] as Fields | undefined)?.["status"] ?? envelope(seen)["status_code"]
  );
}

/**
 * A correct client with an unknown outcome: it queries first, and sends the same code again if no
 * payment exists.
 */
async function queryAndRetry(server: TestServer, code: string): Promise<void> {
  if ((await statusOf(server, code)) === "BP-QRY-2")
    assert.equal(paidBy(await pay(server, code)), "CO");
  // A client that does not query: the code is taken now, and nothing is charged.
  assert.equal(paidBy(await pay(server, code)), "BP-DR-0");
  assert.deepEqual(await booksOf(server, code), ["captured", "100.00"]);
  assert.equal(await charges(server), 1);
}

const hasMetFault = (server: TestServer): Promise<number> =>
  until("a request has met a fault", () =>
    server.events.some(({ event }) => event === "fault_injected"),
  );

const paid = ["captured", "100.00"] as const;
const nothing = ["BP-QRY-2", undefined] as const;

const kinds: Readonly<
  Record<
    string,
    {
      readonly fault?: Fields;
      readonly books: readonly unknown[];
      readonly check: (seen: Seen) => void;
    }
  >
> = {
  fail_before_commit: {
    books: nothing,
    check: (seen) =>
      assert.deepEqual([seen.status, envelope(seen)["status_code"]], [500, "COFRE-14"]),
  },
  unavailable: {
    books: nothing,
    check: (seen) => {
      assert.deepEqual(
        [seen.status, envelope(seen)["status_code"], seen.headers["retry-after"]],
        [503, "COFRE-21", "1"],
      );
    },
  },
  throttle: {
    books: nothing,
    check: (seen) => {
      assert.deepEqual(
        [seen.status, envelope(seen)["status_code"], seen.headers["retry-after"]],
        [429, "COFRE-12", "1"],
      );
    },
  },
  drop_before_commit: { books: nothing, check: (seen) => assert.equal(seen.status, undefined) },
  drop_after_commit: { books: paid, check: (seen) => assert.equal(seen.status, undefined) },
  error_after_commit: {
    books: paid,
    check: (seen) =>
      assert.deepEqual([seen.status, envelope(seen)["status_code"]], [500, "COFRE-14"]),
  },
  garbage_after_commit: {
    books: paid,
    check: (seen) => {
      assert.deepEqual(
        [seen.status, seen.headers["content-type"], seen.isWhole],
        [502, "text/html", true],
      );
      assert.match(seen.text, /^<html>/);
    },
  },
  stall_in_body: {
    fault: { delay_ms: 200 },
    books: paid,
    check: (seen) => {
      assert.deepEqual([seen.status, seen.isWhole], [200, false]);
      const promised = Number(seen.headers["content-length"]);
      assert.equal(Buffer.byteLength(seen.text), promised >> 1);
      assert.match(seen.text, /^\{"payment":/);
      assert.ok(seen.afterMs >= 195, String(seen.afterMs));
    },
  },
  late_answer: {
    fault: { delay_ms: 200 },
    books: paid,
    check: (seen) => {
      assert.equal(paidBy(seen), "CO");
      assert.ok(seen.afterMs >= 195, String(seen.afterMs));
    },
  },
  slow: {
    fault: { delay_ms: 200 },
    books: paid,
    check: (seen) => {
      assert.equal(paidBy(seen), "CO");
      assert.ok(seen.afterMs >= 195, String(seen.afterMs));
    },
  },
};

describe("a fault on the way of a charge", { timeout: 60_000 }, () => {
  for (const [kind, { fault = {}, books, check }] of Object.entries(kinds)) {
    test(`${kind}: the client sees it, the books are as documented, and sent again it is one charge`, async () => {
      await using server = await startTestServer();
      const id = await add(server, { kind, ...fault });
      const seen = await pay(server, "order-1");
      check(seen);
      assert.equal(
        seen.headers["x-cofre-fault"],
        seen.status === undefined ? undefined : `${id} ${kind}`,
      );
      assert.deepEqual(await booksOf(server, "order-1"), books);
      assert.deepEqual((await faults(server)).body["faults"], []);
      assert.equal(await statusOf(server, "order-1"), books[0] === "captured" ? "CO" : "BP-QRY-2");
      await queryAndRetry(server, "order-1");
      const reported = server.events.filter(({ event }) => event === "fault_injected");
      assert.deepEqual(
        reported.map((event) => ({ ...event, merchantId: undefined })),
        [{ event: "fault_injected", fault: id, kind, path: "/ws/direct", merchantId: undefined }],
      );
      const [first] = server.events.filter(
        (event) => event.event === "request" && event.path === "/ws/direct",
      );
      const isCut = seen.status === undefined || !seen.isWhole;
      assert.equal(first?.event === "request" && first.status, isCut ? 444 : seen.status);
    });
  }

  test("decline: the charge is CA for the reason, no money moved, and another code is charged", async () => {
    await using server = await startTestServer();
    await add(server, { kind: "decline", reason: "insufficient_funds" });
    const seen = await pay(server, "order-1");
    assert.equal(paidBy(seen), "CA");
    const { transaction_status: reported } = envelope(seen)["payment"] as {
      readonly transaction_status: Fields;
    };
    assert.deepEqual([reported["code"], reported["description"]], ["NOK", "Insufficient funds"]);
    assert.deepEqual(await booksOf(server, "order-1"), ["declined", "0.00"]);
    assert.equal(paidBy(await pay(server, "order-1")), "BP-DR-0");
    assert.equal(paidBy(await pay(server, "order-2")), "CO");
    assert.equal(await charges(server), 1);
  });

  test("acquirer_unknown_then_yes: PE, and recovery finds the approval", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "100" },
    });
    await add(server, { kind: "acquirer_unknown_then_yes" });
    assert.equal(paidBy(await pay(server, "order-1")), "PE");
    assert.deepEqual(await booksOf(server, "order-1"), ["authorizing", "0.00"]);
    // A client that does not wait receives the answer that the payment exists.
    assert.equal(paidBy(await pay(server, "order-1")), "BP-DR-0");
    await settled(server, "order-1", "CO");
    await queryAndRetry(server, "order-1");
  });

  test("acquirer_unknown_then_no: PE, and recovery makes sure that nothing is held", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "100" },
    });
    await add(server, { kind: "acquirer_unknown_then_no" });
    assert.equal(paidBy(await pay(server, "order-1")), "PE");
    await settled(server, "order-1", "CA");
    assert.deepEqual(await booksOf(server, "order-1"), ["voided", "0.00"]);
    assert.equal(paidBy(await pay(server, "order-1")), "BP-DR-0");
    assert.equal(paidBy(await pay(server, "order-1-again")), "CO");
    assert.equal(await charges(server), 1);
  });

  test("all kinds have a test here", () => {
    const tested = [
      ...Object.keys(kinds),
      "decline",
      "acquirer_unknown_then_yes",
      "acquirer_unknown_then_no",
      // In wire/three-d-secure.test.ts and the lane threeds.
      ...authenticationFaults,
    ];
    assert.deepEqual(tested.toSorted(), faultKindNames.toSorted());
  });
});

describe("a fault on the way of what follows a charge", { timeout: 60_000 }, () => {
  const hold = async (server: TestServer, code: string): Promise<string> => {
    const { body } = await server.postJson(
      "/ws/direct",
      directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
    );
    return String((body["payment"] as Fields)["hash"]);
  };

  test("meets the payment that it is for by either of its names, and no other one", async () => {
    await using server = await startTestServer();
    const [mine, other] = [await hold(server, "mine"), await hold(server, "other")];
    await add(server, {
      kind: "drop_after_commit",
      path: "/ws/capture",
      merchant_payment_code: "mine",
    });
    const capture = (hash: string): Promise<Seen> =>
      send(server, "/ws/capture", { integration_key: integrationKey, hash });
    assert.equal(paidBy(await capture(other)), "CO");
    assert.equal((await capture(mine)).status, undefined);
    assert.deepEqual(await booksOf(server, "mine"), paid);
    // A repeated request does not capture twice.
    assert.equal(paidBy(await capture(mine)), "BP-CAP-4");
    assert.deepEqual(await booksOf(server, "mine"), paid);

    await add(server, { kind: "throttle", path: "/ws/query/", merchant_payment_code: "mine" });
    assert.equal((await query(server, "other")).status, 200);
    assert.equal((await query(server, "mine")).status, 429);
  });

  test("decline: a capture is refused, and the authorization is still there", async () => {
    await using server = await startTestServer();
    const hash = await hold(server, "held");
    await add(server, { kind: "decline", reason: "expired_card", path: "/ws/capture" });
    const capture = (): Promise<Seen> =>
      send(server, "/ws/capture", { integration_key: integrationKey, hash });
    assert.equal(paidBy(await capture()), "BP-CAP-7");
    assert.deepEqual(await booksOf(server, "held"), ["authorized", "0.00"]);
    assert.equal(paidBy(await capture()), "CO");
    assert.equal(await charges(server), 1);
  });

  test("acquirer_unknown_then_yes: a capture and a cancel are open, and recovery finds them done", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "100" },
    });
    for (const [verb, state, status] of [
      ["capture", "capturing", "CO"],
      ["cancel", "voiding", "CA"],
    ] as const) {
      const hash = await hold(server, verb);
      await add(server, { kind: "acquirer_unknown_then_yes", path: `/ws/${verb}` });
      assert.equal(
        paidBy(await send(server, `/ws/${verb}`, { integration_key: integrationKey, hash })),
        "COFRE-22",
      );
      assert.equal((await booksOf(server, verb))[0], state);
      await settled(server, verb, status);
    }
  });

  test("decline: a card is refused", async () => {
    await using server = await startTestServer();
    await add(server, { kind: "decline", reason: "expired_card" });
    const verify = () =>
      server.postJson("/ws/verifycard", {
        integration_key: integrationKey,
        payment_type_code: "creditcard",
        country: "br",
        card: testCard,
      });
    const code = ({ body }: Answer): unknown =>
      (body["card_verification"] as { readonly transaction_status: Fields }).transaction_status[
        "code"
      ];
    assert.deepEqual([code(await verify()), code(await verify())], ["NOK", "OK"]);
  });
});

describe("a request with an Idempotency-Key that a fault meets", () => {
  const key = { "idempotency-key": "key-1" };

  for (const kind of ["drop_after_commit", "error_after_commit", "garbage_after_commit"]) {
    test(`${kind}: the retry gets what was committed`, async () => {
      await using server = await startTestServer();
      await add(server, { kind });
      assert.notEqual((await pay(server, "named", key)).status, 200);
      const again = await pay(server, "named", key);
      assert.deepEqual([paidBy(again), again.headers["idempotent-replayed"]], ["CO", "true"]);
      assert.equal(await charges(server), 1);
    });
  }

  for (const kind of ["fail_before_commit", "unavailable", "throttle", "drop_before_commit"]) {
    test(`${kind}: the retry runs`, async () => {
      await using server = await startTestServer();
      await add(server, { kind });
      assert.notEqual((await pay(server, "named", key)).status, 200);
      const again = await pay(server, "named", key);
      assert.deepEqual([paidBy(again), again.headers["idempotent-replayed"]], ["CO", undefined]);
      assert.equal(await charges(server), 1);
    });
  }

  test("a refund that was done and not answered is made once", async () => {
    await using server = await startTestServer();
    await pay(server, "paid");
    await add(server, { kind: "drop_after_commit", path: "/ws/refund" });
    const refund = {
      integration_key: integrationKey,
      operation: "request",
      merchant_payment_code: "paid",
      amount: "10.00",
      description: "x",
    };
    assert.equal((await send(server, "/ws/refund", refund, key)).status, undefined);
    assert.equal(
      (await send(server, "/ws/refund", refund, key)).headers["idempotent-replayed"],
      "true",
    );
    const { body } = await query(server, "paid");
    assert.equal((body["payment"] as { readonly refunds: readonly unknown[] }).refunds.length, 1);
  });
});

/** Delay of a fault that waits until the test releases it. */
const delayMs = 119_999;

/** Releases waiting faults until the promise settles, because the wait may begin a moment later. */
async function released<T>(time: ManualScheduler, ends: Promise<T>): Promise<T> {
  const wait = { isOver: false };
  const ended = ends.finally(() => (wait.isOver = true));
  await until("the fault's wait is over", () => {
    if (!wait.isOver) time.release();
    return wait.isOver;
  });
  return ended;
}

describe("a fault that waits", { timeout: 60_000 }, () => {
  test("ends when the server stops: what was done is answered, what was not is refused", async () => {
    const server = await startTestServer();
    await add(server, { kind: "late_answer", delay_ms: 120_000, merchant_payment_code: "late" });
    await add(server, { kind: "slow", delay_ms: 120_000, merchant_payment_code: "slow" });
    await add(server, {
      kind: "stall_in_body",
      delay_ms: 120_000,
      merchant_payment_code: "stalled",
    });
    const begun = Promise.withResolvers<void>();
    const stalledOne = send(server, "/ws/direct", directBody("stalled"), {}, begun.resolve);
    const sent = [pay(server, "late"), pay(server, "slow"), stalledOne];
    // All three have arrived, and the work before the wait is done.
    await begun.promise;
    await until(
      "three requests have met their faults",
      () => server.events.filter(({ event }) => event === "fault_injected").length >= 3,
    );
    await until("two payments are charged", async () => (await charges(server)) >= 2);
    const from = performance.now();
    assert.equal(await server.cofre.close(), "drained");
    assert.ok(performance.now() - from < 30_000);
    const [late, slow, stalled] = await Promise.all(sent);
    assert.ok(late !== undefined && slow !== undefined && stalled !== undefined);
    assert.equal(paidBy(late), "CO");
    assert.deepEqual([slow.status, envelope(slow)["status_code"]], [503, "COFRE-13"]);
    assert.deepEqual([stalled.status, stalled.isWhole], [200, false]);
  });

  test("holds none of the server's places while it waits", async () => {
    const time = new ManualScheduler((ms) => ms === delayMs);
    await using server = await startTestServer({
      environment: { COFRE_MAX_IN_FLIGHT: "1" },
      ports: { scheduler: time },
    });
    for (const kind of ["late_answer", "stall_in_body", "slow"]) {
      await add(server, { kind, delay_ms: delayMs, path: "/ws/direct" });
      const sent = pay(server, kind);
      await until(`a request has met ${kind}`, () =>
        server.events.some((event) => event.event === "fault_injected" && event.kind === kind),
      );
      // The only place is occupied until the wait begins.
      await until("a place is free", async () => (await query(server, kind)).status !== 503);
      await released(time, sent);
      assert.equal(await statusOf(server, kind), "CO");
    }
  });

  test("ends when its client's connection is reset", async () => {
    await using server = await startTestServer();
    await add(server, { kind: "late_answer", delay_ms: 120_000, merchant_payment_code: "reset" });
    const socket = charging(server, "reset");
    await hasMetFault(server);
    await until("the payment is paid", async () => (await statusOf(server, "reset")) === "CO");
    socket.resetAndDestroy();
    await until("the request has ended", () =>
      server.events.some((event) => event.event === "request" && event.path === "/ws/direct"),
    );
  });

  test("continues for a client that has only ended its own side, which still receives the answer", async () => {
    await using server = await startTestServer({ environment: { COFRE_MAX_IN_FLIGHT: "1" } });
    await add(server, { kind: "late_answer", delay_ms: 300, merchant_payment_code: "half" });
    const half = charging(server, "half");
    half.end();
    let text = "";
    for await (const piece of half) text += String(piece);
    assert.match(text, /^HTTP\/1\.1 200 [^]*"status":"CO"/);
  });

  test("slow: who sends the charge again meanwhile is charged once", async () => {
    const time = new ManualScheduler((ms) => ms === delayMs);
    await using server = await startTestServer({ ports: { scheduler: time } });
    await add(server, { kind: "slow", delay_ms: delayMs });
    const first = pay(server, "order-1");
    await hasMetFault(server);
    assert.equal(paidBy(await pay(server, "order-1")), "CO");
    assert.equal(paidBy(await released(time, first)), "BP-DR-0");
    assert.equal(await charges(server), 1);
  });

  test("slow: all is done, also when the client has gone", async () => {
    const time = new ManualScheduler((ms) => ms === delayMs);
    await using server = await startTestServer({ ports: { scheduler: time } });
    await add(server, { kind: "slow", delay_ms: delayMs });
    const leaving = httpRequest({
      host: "127.0.0.1",
      port: server.port,
      path: "/ws/direct",
      method: "POST",
      agent: false,
    });
    leaving.on("error", () => undefined);
    leaving.end(JSON.stringify(directBody("slow")));
    await hasMetFault(server);
    leaving.destroy();
    assert.equal(await statusOf(server, "slow"), "BP-QRY-2");
    time.release();
    await until("the payment is paid", async () => (await statusOf(server, "slow")) === "CO");
    await queryAndRetry(server, "slow");
  });
});

describe("/__cofre/faults", () => {
  test("lists what waits with how often it was injected, and clears one or all", async () => {
    await using server = await startTestServer();
    await add(server, { kind: "throttle", times: 3, path: "/WS/Query/" });
    await add(server, {
      kind: "late_answer",
      times: 0,
      delay_ms: 40,
      merchant_payment_code: "order-1",
    });
    await add(server, { kind: "decline", reason: "high_risk" });
    await query(server, "any");
    const all = [
      { id: "f1", kind: "throttle", times: 3, injected: 1, path: "/ws/query" },
      {
        id: "f2",
        kind: "late_answer",
        times: 0,
        injected: 0,
        merchant_payment_code: "order-1",
        delay_ms: 40,
      },
      { id: "f3", kind: "decline", times: 1, injected: 0, reason: "high_risk" },
    ];
    assert.deepEqual((await faults(server)).body, { faults: all, status: "SUCCESS" });
    assert.deepEqual((await faults(server, { clear: "f1" })).body, {
      cleared: 1,
      faults: all.slice(1),
      status: "SUCCESS",
    });
    assert.equal((await query(server, "any")).status, 200);
    assert.deepEqual((await faults(server, { clear: "all" })).body, {
      cleared: 2,
      faults: [],
      status: "SUCCESS",
    });
    assert.equal((await faults(server, { clear: "all" })).body["cleared"], 0);
  });

  test("takes a form too, and the secret key alone", async () => {
    await using server = await startTestServer();
    const form = new URLSearchParams({
      integration_key: integrationKey,
      "add[kind]": "slow",
      "add[delay_ms]": "1",
    });
    const { faults: listed } = (await (
      await fetch(`${server.url}/__cofre/faults`, { method: "POST", body: form })
    ).json()) as {
      readonly faults: readonly Fields[];
    };
    assert.deepEqual(listed, [{ id: "f1", kind: "slow", times: 1, injected: 0, delay_ms: 1 }]);
    for (const key of ["test_pk_world", "nobody's"])
      assert.equal((await faults(server, { integration_key: key })).body["status_code"], "BP-SA-2");
  });

  test("never meets a call of /__cofre or a request without a key", async () => {
    await using server = await startTestServer();
    await add(server, { kind: "fail_before_commit", times: 0 });
    assert.equal((await faults(server)).status, 200);
    assert.equal(
      (await server.postJson("/__cofre/settings", { integration_key: integrationKey })).status,
      200,
    );
    assert.equal(
      (await server.get("/ws/query", { integration_key: "nonsense" })).body["status_code"],
      "BP-SA-2",
    );
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    assert.equal((await query(server, "any")).status, 500);
    assert.equal(((await faults(server)).body["faults"] as readonly Fields[])[0]?.["injected"], 1);
  });

  const card = "4111111111111111";
  const hostile: readonly (readonly [fields: Fields, code: string])[] = [
    [{ add: "slow" }, "COFRE-90"],
    [{ add: ["slow"] }, "COFRE-90"],
    [{ add: {} }, "COFRE-90"],
    [{ add: { kind: ["slow"] } }, "COFRE-90"],
    [{ add: { kind: "toString" } }, "COFRE-90"],
    [{ add: { kind: card } }, "COFRE-90"],
    [{ add: { kind: "slow", times: -1 } }, "COFRE-91"],
    [{ add: { kind: "slow", times: 1_001 } }, "COFRE-91"],
    [{ add: { kind: "slow", times: 1.5 } }, "COFRE-91"],
    [{ add: { kind: "slow", times: card } }, "COFRE-91"],
    [{ add: { kind: "slow", times: { x: 1 } } }, "COFRE-91"],
    [{ add: { kind: "slow", path: "/__cofre/settings" } }, "COFRE-92"],
    [{ add: { kind: "slow", path: "/ws/nothing" } }, "COFRE-92"],
    [{ add: { kind: "slow", path: card } }, "COFRE-92"],
    [{ add: { kind: "slow", path: "x".repeat(10_000) } }, "COFRE-92"],
    [{ add: { kind: "acquirer_unknown_then_no", path: "/ws/capture" } }, "COFRE-92"],
    [{ add: { kind: "decline", reason: "high_risk", path: "/ws/refund" } }, "COFRE-92"],
    [{ add: { kind: "slow", merchant_payment_code: "x".repeat(129) } }, "COFRE-93"],
    [{ add: { kind: "slow", merchant_payment_code: card } }, "COFRE-93"],
    [{ add: { kind: "slow", merchant_payment_code: "order 4111 1111 1111 1111" } }, "COFRE-93"],
    [{ add: { kind: "slow", merchant_payment_code: "a\nb" } }, "COFRE-93"],
    [{ add: { kind: "slow", merchant_payment_code: ["order-1"] } }, "COFRE-93"],
    [{ add: { kind: "slow", delay_ms: 0 } }, "COFRE-94"],
    [{ add: { kind: "slow", delay_ms: 120_001 } }, "COFRE-94"],
    [{ add: { kind: "slow", delay_ms: card } }, "COFRE-94"],
    [{ add: { kind: "throttle", delay_ms: 10 } }, "COFRE-94"],
    [{ add: { kind: "decline" } }, "COFRE-95"],
    [{ add: { kind: "decline", reason: card } }, "COFRE-95"],
    [{ add: { kind: "slow", reason: "high_risk" } }, "COFRE-95"],
    [{ clear: "f9" }, "COFRE-97"],
    [{ clear: card }, "COFRE-97"],
    [{ clear: ["f1"] }, "COFRE-97"],
    [{ add: { kind: "slow" }, clear: "all" }, "COFRE-98"],
    [{ add: { kind: "slow", time: 3 } }, "COFRE-99"],
    [{ add: { kind: "slow", [card]: 3 } }, "COFRE-99"],
    [{ add: { kind: "slow", card_number: card } }, "COFRE-99"],
    [{ add: { kind: "slow", __proto__: null, constructor: "x" } }, "COFRE-99"],
  ];

  test("refuses what it does not understand, adds nothing, and repeats nothing of it", async () => {
    await using server = await startTestServer();
    for (const [fields, code] of hostile) {
      const { body } = await faults(server, fields);
      const text = JSON.stringify(body);
      assert.equal(body["status_code"], code, `${JSON.stringify(fields)}: ${text}`);
      assert.ok(!text.includes("1111") && !text.includes("xxx"), text);
    }
    assert.deepEqual((await faults(server)).body["faults"], []);
    assert.ok(!JSON.stringify(server.events).includes("1111"));
  });

  test("is the same in two worlds of one seed", async () => {
    const run = async (): Promise<readonly string[]> => {
      await using server = await startTestServer({ ports: { random: new SeededRandom("faults") } });
      await add(server, { kind: "error_after_commit", times: 2 });
      const seen = [
        await pay(server, "order-1"),
        await pay(server, "order-2"),
        await pay(server, "order-3"),
      ];
      return seen.map(
        ({ status, headers, text }) => `${status} ${String(headers["x-cofre-fault"])} ${text}`,
      );
    };
    assert.deepEqual(await run(), await run());
  });

  test("is refused where another server carries payments out, but for worlds", async () => {
    await using upstream = await startTestServer();
    const environment = {
      COFRE_UPSTREAM_URL: upstream.url,
      COFRE_UPSTREAM_INTEGRATION_KEY: integrationKey,
    };
    await using server = await startTestServer({ environment });
    for (const fields of [{}, { add: { kind: "throttle" } }, { clear: "all" }]) {
      assert.equal((await faults(server, fields)).body["status_code"], "COFRE-100");
    }
    assert.equal((await query(server, "any")).body["status_code"], "BP-QRY-2");
    const key = await newWorld(server);
    assert.equal(
      (await faults(server, { integration_key: key, add: { kind: "throttle" } })).body["status"],
      "SUCCESS",
    );
  });
});

describe("a fault of a world", { timeout: 60_000 }, () => {
  const payIn = (server: TestServer, key: string, code: string): Promise<Seen> =>
    send(server, "/ws/direct", { ...directBody(code), integration_key: key });
  const stateIn = async (server: TestServer, key: string, code: string): Promise<unknown> =>
    (
      await server.postJson("/__cofre/explain", {
        integration_key: key,
        merchant_payment_code: code,
      })
    ).body["state"];

  test("touches no other account, and is gone when the world is reset", async () => {
    await using server = await startTestServer();
    const [one, other] = [await newWorld(server), await newWorld(server)];
    await faults(server, {
      integration_key: one,
      add: { kind: "drop_after_commit", times: 0, merchant_payment_code: "order-1" },
    });
    assert.equal(paidBy(await payIn(server, other, "order-1")), "CO");
    assert.equal(paidBy(await pay(server, "order-1")), "CO");
    assert.equal((await payIn(server, one, "order-1")).status, undefined);
    assert.equal(await stateIn(server, one, "order-1"), "captured");
    // By its hash, which exists only in the world.
    const { body } = await server.postJson("/__cofre/explain", {
      integration_key: one,
      merchant_payment_code: "order-1",
    });
    assert.equal(
      (await send(server, "/ws/query", { integration_key: one, hash: body["hash"] })).status,
      undefined,
    );
    for (const key of [other, integrationKey]) {
      assert.deepEqual((await faults(server, { integration_key: key })).body["faults"], []);
      assert.equal(
        (await faults(server, { integration_key: key, clear: "f1" })).body["status_code"],
        "COFRE-97",
      );
    }
    assert.equal(
      (await server.postJson("/__cofre/world", { integration_key: one, action: "reset" })).body[
        "status"
      ],
      "SUCCESS",
    );
    assert.deepEqual((await faults(server, { integration_key: one })).body["faults"], []);
    assert.equal(paidBy(await payIn(server, one, "order-1")), "CO");
  });

  for (const act of [
    { action: "reset" },
    { action: "restore", name: "before" },
    { action: "delete" },
  ]) {
    test(`keeps no request for what the world is after ${act.action}`, async () => {
      await using server = await startTestServer();
      const key = await newWorld(server);
      const other = await newWorld(server);
      await server.postJson("/__cofre/world", {
        integration_key: key,
        action: "snapshot",
        name: "before",
      });
      for (const each of [key, other]) {
        await faults(server, { integration_key: each, add: { kind: "slow", delay_ms: 2_000 } });
      }
      const [slow, bystander] = [payIn(server, key, "slow"), payIn(server, other, "slow")];
      const isMet = async (of: string): Promise<boolean> =>
        ((await faults(server, { integration_key: of })).body["faults"] as readonly unknown[])
          .length === 0;
      await until(
        "both requests have met their faults",
        async () => (await isMet(key)) && (await isMet(other)),
      );
      await server.postJson("/__cofre/world", { integration_key: key, ...act });
      assert.deepEqual(
        [(await slow).status, envelope(await slow)["status_code"]],
        [503, "COFRE-21"],
      );
      assert.equal(paidBy(await bystander), "CO");
      if (act.action !== "delete") assert.equal(await stateIn(server, key, "slow"), undefined);
    });
  }

  test("of its acquirer is resolved when its clock is moved", async () => {
    await using server = await startTestServer();
    for (const [kind, state] of [
      ["acquirer_unknown_then_yes", "captured"],
      ["acquirer_unknown_then_no", "voided"],
    ] as const) {
      const key = await newWorld(server);
      await faults(server, { integration_key: key, add: { kind } });
      assert.equal(paidBy(await payIn(server, key, "order-1")), "PE");
      assert.equal(await stateIn(server, key, "order-1"), "authorizing");
      await server.postJson("/__cofre/clock", { integration_key: key, advance: "10min" });
      assert.equal(await stateIn(server, key, "order-1"), state);
    }
  });
});

async function newWorld(server: TestServer): Promise<string> {
  const { body } = await server.postJson("/__cofre/worlds", { seed: "faults" });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  const [made] = (body["worlds"] ?? [body["world"]]) as readonly Fields[];
  return String(made?.["integration_key"]);
}
