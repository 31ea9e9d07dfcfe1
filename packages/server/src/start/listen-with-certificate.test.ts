import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { connect } from "node:tls";
import { openTemporaryTls } from "../certificates/authority-files.ts";
import { readConfig } from "../config/read-config.ts";
import { minute } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import { startTestServer, type TestServer } from "../../test/server.ts";
import { until } from "../../test/until.ts";
import { plainHostOf } from "./listen-with-certificate.ts";
import { systemPorts } from "./ports.ts";

async function certificateIn(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "cofre-certificate-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const { credentials } = await openTemporaryTls(folder, systemPorts);
  return { folder, ...credentials };
}

/** The serial number of the certificate that a client is shown. */
async function serialOf({ cofre }: TestServer): Promise<string> {
  const { host, port } = cofre.tlsAddress ?? { host: "", port: 0 };
  const socket = connect({ host, port, servername: "pay.example.com", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

test("a certificate of the operator is served, and a new one within a minute", async (context) => {
  const [one, other] = [await certificateIn(context), await certificateIn(context)];
  const files = { cert: join(one.folder, "cert.pem"), key: join(one.folder, "key.pem") };
  const write = ({ cert, key }: { readonly cert: string; readonly key: string }): void => {
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key, { mode: 0o600 });
  };
  write(one);
  // A minute passes quickly; everything else keeps its time.
  const scheduler: Scheduler = {
    ...systemScheduler,
    after: (ms, run) => systemScheduler.after(ms === minute ? 5 : ms, run),
  };
  const environment = {
    COFRE_TLS_CERTIFICATE_FILE: files.cert,
    COFRE_TLS_KEY_FILE: files.key,
    COFRE_TLS_PORT: "0",
  };
  await using server = await startTestServer({ environment, ports: { scheduler } });
  const before = await serialOf(server);
  writeFileSync(files.key, other.key);
  const has = (event: string) => server.events.some((each) => each.event === event);
  await until("a key without its certificate is reported", () => has("certificate_unusable"));
  assert.equal(await serialOf(server), before);
  write(other);
  await until("the new certificate is used", async () => (await serialOf(server)) !== before);
  assert.ok(has("certificate_renewed"));
});

test("files that cannot be used prevent the start, and are named", async (context) => {
  const { folder, cert, key } = await certificateIn(context);
  const other = await certificateIn(context);
  const path = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const good = path("good.pem", cert);
  const start = (certificate: string, keyFile: string) =>
    startTestServer({
      environment: { COFRE_TLS_CERTIFICATE_FILE: certificate, COFRE_TLS_KEY_FILE: keyFile },
    });
  await assert.rejects(
    start(join(folder, "none"), good),
    /none of COFRE_TLS_CERTIFICATE_FILE cannot be read \(ENOENT\)/,
  );
  await assert.rejects(
    start(path("text", "no"), path("k", key)),
    /text of COFRE_TLS_CERTIFICATE_FILE has no certificate/,
  );
  await assert.rejects(
    start(good, path("text", "no")),
    /text of COFRE_TLS_KEY_FILE has no private key/,
  );
  await assert.rejects(
    start(good, path("other.key", other.key)),
    /does not belong to the certificate/,
  );
});

test("with a certificate, plain HTTP is served to this machine and to a proxy", () => {
  const hostOf = (settings: Readonly<Record<string, string>>): string => {
    const reading = readConfig({
      environment: settings,
      flags: new Map(),
      readFile: () => ({ problem: "is not read" }),
    });
    assert.ok("config" in reading, JSON.stringify(reading));
    return plainHostOf(reading.config);
  };
  const tls = { COFRE_TLS_CERTIFICATE_FILE: "c", COFRE_TLS_KEY_FILE: "k" };
  assert.equal(hostOf({ COFRE_HOST: "0.0.0.0" }), "0.0.0.0");
  assert.equal(hostOf({ COFRE_HOST: "0.0.0.0", ...tls }), "127.0.0.1");
  assert.equal(hostOf({ COFRE_HOST: "::1", ...tls }), "::1");
  assert.equal(
    hostOf({ COFRE_HOST: "0.0.0.0", ...tls, COFRE_BEHIND_PROXY: "10.1.2.3/32" }),
    "0.0.0.0",
  );
});
