import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mayBeCrossSite } from "../../server/src/http/cross-site.ts";
import { sendRaw } from "../../server/test/support/trivial-server.ts";
import {
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  type TestServer,
} from "../../server/test/server.ts";

/*
 * Endpoints without a key can be called by an open page in the user's browser: a page of another
 * site, or one whose name was switched to this address after loading (DNS rebinding), so that the
 * browser lets it read the answer. The list of worlds contains their secret keys.
 */

const worldKey = "test_ik_of_a_world";

function ask(
  { port }: TestServer,
  head: string,
  key = "",
  method: "GET" | "POST" = "GET",
): Promise<string> {
  const body = key === "" ? "" : `integration_key=${key}`;
  const request = `${method} /__cofre/worlds HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
  return sendRaw(port, Buffer.from(request, "latin1"));
}

const foreignHeads = [
  "Host: shop.attacker.example.com",
  "Host: shop.attacker.example.com:8787",
  "Host: 127.0.0.1.attacker.example.com:8787",
  "Host: localhost.attacker.example.com",
  "Host: attacker.example.com.:8787",
  "Host: LOCALHOST.EXAMPLE.COM",
  "Host: someone;localhost",
  "Host: 127.0.0.1\r\nOrigin: https://attacker.example.com",
  "Host: 127.0.0.1\r\nOrigin: null",
  "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1:3000",
  "Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site",
  "Host: 127.0.0.1\r\nSec-Fetch-Site: same-site",
  "Host: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site",
];
const ownHeads = [
  "Host: 127.0.0.1",
  "Host: 127.0.0.1:8787",
  "Host: 10.0.0.7:8787",
  "Host: [::1]:8787",
  "Host: localhost:8787",
  "Host: LocalHost.",
  "Host: host.docker.internal:8787",
  "Host: sandbox.ebanx.com",
  "Host: 127.0.0.1:8787\r\nOrigin: http://127.0.0.1:8787\r\nSec-Fetch-Site: same-origin",
  "Host: 127.0.0.1:8787\r\nSec-Fetch-Site: none",
];

describe("a page that is not this server's", () => {
  test("is shown no world's keys and makes no world; with the account's secret key it may", async () => {
    await using server = await startTestServer();
    await server.postJson("/__cofre/worlds", { new_integration_key: worldKey });
    for (const head of foreignHeads) {
      for (const key of ["", worldKey, publicIntegrationKey, "unknown"]) {
        for (const method of ["GET", "POST"] as const) {
          const answer = await ask(server, head, key, method);
          assert.match(answer, /"status_code":"COFRE-150"/, head);
          assert.ok(!answer.includes(worldKey), head);
        }
      }
      assert.match(await ask(server, head, integrationKey), /"worlds":\[\{"id":/, head);
    }
    const { body } = await server.get("/__cofre/worlds");
    assert.equal((body["worlds"] as readonly unknown[]).length, 1, "none was made");
  });

  test("names one host: two are refused whatever they are, and so is what is none", async () => {
    await using server = await startTestServer();
    const twice = [
      "Host: localhost\r\nHost: localhost",
      "Host: localhost\r\nHost: attacker.example.com",
      "Host: attacker.example.com\r\nHost: localhost",
    ];
    for (const head of [
      ...twice,
      "Host: someone@localhost",
      "Host: attacker.example.com/localhost",
    ]) {
      for (const key of ["", integrationKey])
        assert.match(
          await ask(server, head, key),
          /^HTTP\/1\.1 400 [^]*"status_code":"COFRE-160"/,
          head,
        );
    }
  });

  test("control: programs and this server's own page need no key", async () => {
    await using server = await startTestServer();
    await server.postJson("/__cofre/worlds", { new_integration_key: worldKey });
    for (const head of ownHeads) assert.ok((await ask(server, head)).includes(worldKey), head);
    assert.ok(
      (await sendRaw(server.port, Buffer.from("GET /__cofre/worlds HTTP/1.0\r\n\r\n"))).includes(
        worldKey,
      ),
    );
  });

  test("is one under a name that others in a private network can give away, unless it is set as the server's own", async () => {
    const names = [
      "cofre",
      "cofre.shop.svc.cluster.local",
      "cofre.internal",
      "cofre.local",
      "cofre.test",
    ];
    await using server = await startTestServer();
    await using reported = await startTestServer({
      environment: { COFRE_OWN_NAMES: names.join(", ") },
    });
    for (const name of names) {
      assert.match(await ask(server, `Host: ${name}:8787`), /"status_code":"COFRE-150"/, name);
      assert.match(await ask(reported, `Host: ${name}:8787`), /"worlds":\[\]/, name);
      assert.match(
        await ask(reported, `Host: evil.${name}:8787`),
        /"status_code":"COFRE-150"/,
        name,
      );
    }
  });

  test("is not one under a name that this server is given", () => {
    const head = ["Host", "Cofre.Example.com:8787"];
    assert.ok(mayBeCrossSite(head, new Set()));
    assert.ok(!mayBeCrossSite(head, new Set(["cofre.example.com"])));
  });
});
