import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { describe, test } from "node:test";
import { connect as connectTls, createServer, type TlsOptions } from "node:tls";
import { paymentCodeOf } from "../../src/connectors/upstream/references.ts";
import { ManualScheduler } from "../manual-scheduler.ts";
import { directBody, integrationKey, startTestServer } from "../server.ts";
import { httpAnswer, paymentBody, startCannedServer } from "./canned-server.ts";
import { authorizeRequest, cardInHand, upstreamAt } from "./connector.ts";
import { makeAuthority } from "./test-certificates.ts";

const authority = makeAuthority("Cofre test authority");
const untrusted = { kind: "not_sent" };

async function authorizeOver(
  tls: TlsOptions,
  ca: string | undefined,
): Promise<{ outcome: unknown; received: readonly Buffer[] }> {
  await using server = await startCannedServer(tls);
  const request = authorizeRequest("p-1");
  server.say(httpAnswer(paymentBody(paymentCodeOf(request.merchantId, "p-1"))));
  const upstream = upstreamAt(`https://127.0.0.1:${server.port}`, ca);
  const outcome = await upstream.authorize(request, cardInHand());
  upstream.close();
  return { outcome, received: server.received };
}

const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;

describe("TLS to the upstream", () => {
  test("a server under the authority that is trusted is spoken to", async () => {
    const { outcome, received } = await authorizeOver(authority.issue("127.0.0.1"), authority.ca);
    assert.equal((outcome as { kind: string }).kind, "approved");
    assert.equal(received.length, 1);
  });

  const refused: readonly (readonly [what: string, tls: TlsOptions, ca: string | undefined])[] = [
    ["a server under an authority that nobody named", authority.issue("127.0.0.1"), undefined],
    ["a server under another authority", makeAuthority("Another").issue("127.0.0.1"), authority.ca],
    ["a server of another name", authority.issue("pay.example.com", "127.0.0.2"), authority.ca],
    [
      "a server that speaks TLS 1.1 at most",
      { ...authority.issue("127.0.0.1"), ...old },
      authority.ca,
    ],
  ];
  for (const [what, tls, ca] of refused) {
    test(`${what} gets nothing of the request`, async () => {
      const { outcome, received } = await authorizeOver(tls, ca);
      assert.deepEqual(outcome, untrusted);
      assert.deepEqual(received, []);
    });
  }

  test("a server that takes connections and never says a word of TLS gets nothing of the request, which may go elsewhere", async () => {
    await using server = await startCannedServer();
    const time = new ManualScheduler();
    const upstream = upstreamAt(`https://127.0.0.1:${server.port}`, authority.ca, time);
    const pending = upstream.authorize(authorizeRequest("p-1"), cardInHand());
    await server.firstBytes;
    time.release();
    assert.deepEqual(await pending, untrusted);
    const received = Buffer.concat(server.received);
    assert.ok(
      received.length > 0 && !received.includes("4111111111111111") && !received.includes("POST"),
      "a hello and nothing else",
    );
    upstream.close();
  });

  test("control: a client that is content with TLS 1.1 gets through to that server", async () => {
    await using server = await startCannedServer({ ...authority.issue("127.0.0.1"), ...old });
    const socket = connectTls({ port: server.port, host: "127.0.0.1", ca: authority.ca, ...old });
    await once(socket, "secureConnect");
    assert.equal(socket.getProtocol(), "TLSv1.1");
    socket.destroy();
  });

  test("control: TLS 1.2 is enough", async () => {
    const { outcome } = await authorizeOver(
      { ...authority.issue("127.0.0.1"), maxVersion: "TLSv1.2" },
      authority.ca,
    );
    assert.equal((outcome as { kind: string }).kind, "approved");
  });

  test("one Cofre pays through another over TLS", async () => {
    await using inner = await startTestServer();
    await using terminator = await terminateTls(authority.issue("127.0.0.1"), inner.port);
    await using outer = await startTestServer({
      seed: "outer",
      environment: {
        COFRE_UPSTREAM_URL: `https://127.0.0.1:${terminator.port}`,
        COFRE_UPSTREAM_INTEGRATION_KEY: integrationKey,
        COFRE_UPSTREAM_CA: authority.ca,
      },
    });
    const { body } = await outer.postJson("/ws/direct", directBody("over-tls"));
    const payment = body["payment"] as Record<string, unknown>;
    assert.deepEqual([payment["status"], payment["amount_ext"]], ["CO", "100.00"]);
    const code = paymentCodeOf(await merchantOf(outer), `${String(payment["hash"])}-1`);
    const there = await inner.get("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    const mirrored = there.body["payment"] as Record<string, unknown>;
    assert.deepEqual([mirrored["status"], mirrored["amount_br"]], ["CO", payment["amount_br"]]);
    assert.equal(mirrored["order_number"], String(payment["hash"]).slice(0, 40));

    // The acquirer is another server, so there is no simulator to instruct.
    const instructed = await outer.postJson("/__cofre/simulator", {
      integration_key: integrationKey,
      next: "lose_answer",
    });
    assert.equal(instructed.body["status_code"], "COFRE-35");
  });
});

/** The outer installation's only merchant, as its log identifies it. */
async function merchantOf(
  testServer: Awaited<ReturnType<typeof startTestServer>>,
): Promise<Parameters<typeof paymentCodeOf>[0]> {
  const named = testServer.events.find(
    (event) => "merchantId" in event && typeof event.merchantId === "string",
  );
  assert.ok(named !== undefined && "merchantId" in named);
  return named.merchantId as Parameters<typeof paymentCodeOf>[0];
}

async function terminateTls(
  tls: TlsOptions,
  port: number,
): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer(tls, (socket) => {
    const plain = connect({ port, host: "127.0.0.1" });
    for (const [from, to] of [
      [socket, plain],
      [plain, socket],
    ] as const) {
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroySoon());
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}
