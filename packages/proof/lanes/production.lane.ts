import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:https";
import { once } from "node:events";
import { delimiter, dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { openTemporaryTls } from "../../server/src/certificates/authority-files.ts";
import { systemPorts } from "../../server/src/start/ports.ts";
import { blocksUnder, repository } from "../../server/test/clients/pages.ts";
import { Command, temporaryFolder } from "../../server/test/command.ts";
import { freePort } from "../../server/test/free-port.ts";
import { postgresBinaries } from "../../server/test/postgres/cluster.ts";
import { query } from "../../server/test/postgres/databases.ts";
import { directBody, testCard } from "../../server/test/server.ts";
import {
  grantRoles,
  initializeAt,
  makePlace,
  pinsOf,
  startAt,
  startDurableCluster,
} from "../../server/test/production/installation.ts";
import { totp } from "../../server/test/server-with-users.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { serverRoot } from "../../server/test/support/planted-copy.ts";
import { until } from "../../server/test/until.ts";
import { bao as baoProgram, skips, startOpenBao } from "./support/key-services.ts";
import { PostgresPair } from "./support/postgres-pair.ts";

/**
 * docs/operate/production.md as an operator follows it: its commands as printed, in a clone of the
 * repository, with OpenBao, PostgreSQL with a standby, TLS and an upstream server as the acquirer.
 */

const page = "docs/operate/production.md";
const acquirerKey = "test_ik_acquirer_of_the_lane";
const skip =
  skips.openbao !== false
    ? skips.openbao
    : postgresBinaries() === undefined
      ? "PostgreSQL is not installed"
      : false;

/** How much later each run of cofre init is killed than the one before, in milliseconds. */
const killStepMs = 40;
const longestRunMs = 60_000;
const leastKills = 5;

type Json = Readonly<Record<string, unknown>>;

/** The block under a heading of the page. */
function printed(heading: string): string {
  const [block = ""] = blocksUnder(page, heading);
  assert.notEqual(block, "", heading);
  return block;
}

/** What was committed, without caches and data, and with the packages of this checkout. */
function cleanClone(folder: string): string {
  const clone = join(folder, "clone");
  execFileSync("git", ["clone", "-q", "--no-hardlinks", repository, clone]);
  symlinkSync(join(repository, "node_modules"), join(clone, "node_modules"));
  return clone;
}

/** Machines of the page on this one, and an operator's shell. */
class Operator {
  readonly folder: string;
  readonly clone: string;
  readonly #context: TestContext;
  readonly #environment: Readonly<Record<string, string>>;
  /** Texts of the page, and what replaces each here. */
  readonly replaced = new Map<string, string>();

  constructor(context: TestContext, environment: Readonly<Record<string, string>>) {
    this.#context = context;
    this.folder = temporaryFolder(context);
    this.clone = cleanClone(this.folder);
    const programs = join(this.folder, "bin");
    mkdirSync(programs);
    const cofre = join(programs, "cofre");
    writeFileSync(
      cofre,
      `#!/bin/sh\nexec "${process.execPath}" "${this.clone}/packages/server/bin/cofre.js" "$@"\n`,
    );
    chmodSync(cofre, 0o755);
    this.#environment = {
      ...environment,
      HOME: this.folder,
      PATH: [
        programs,
        dirname(baoProgram ?? ""),
        postgresBinaries() ?? "",
        process.env["PATH"],
      ].join(delimiter),
    };
    mkdirSync(this.path("etc"), { mode: 0o700 });
    mkdirSync(this.path("lib"), { mode: 0o700 });
    this.replaced.set("/etc/cofre", this.path("etc")).set("/var/lib/cofre", this.path("lib"));
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  /** A file of /etc/cofre. */
  write(name: string, text: string): void {
    writeFileSync(this.path("etc", name), text, { mode: 0o600 });
  }

  here(text: string): string {
    return [...this.replaced].reduce((done, [from, to]) => done.replaceAll(from, to), text);
  }

  start(block: string): Command {
    return new Command(
      this.#context,
      ["sh", "-ec", this.here(block)],
      this.#environment,
      this.clone,
    );
  }

  /** Runs a block to its end; `code` is the expected exit code. */
  async run(block: string, code = 0): Promise<Command> {
    const command = this.start(block);
    assert.equal(await command.code(), code, `${block}\n${command.stdout}${command.stderr}`);
    return command;
  }
}

/** A client over TLS, which trusts the authority of the certificate only. */
class Client {
  readonly #port: number;
  readonly #ca: string;

  constructor(port: number, ca: string) {
    this.#port = port;
    this.#ca = ca;
  }

  async call(
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly text: string; readonly body: Json }> {
    const sent = request({
      host: "127.0.0.1",
      port: this.#port,
      path,
      method: body === undefined ? "GET" : "POST",
      ca: this.#ca,
      agent: false,
      headers,
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, "response")) as [
      NodeJS.ReadableStream & { statusCode: number },
    ];
    const pieces: Buffer[] = [];
    for await (const piece of response) pieces.push(Buffer.from(piece));
    const text = Buffer.concat(pieces).toString();
    return {
      status: response.statusCode,
      text,
      body: text.startsWith("{") ? (JSON.parse(text) as Json) : {},
    };
  }

  async done(path: string, body: unknown, headers?: Readonly<Record<string, string>>) {
    const answer = await this.call(path, body, headers);
    assert.equal(answer.body["status"], "SUCCESS", `${path}: ${answer.text}`);
    return answer.body;
  }

  async enrol(invitation: string, password: string): Promise<void> {
    const headers = { "X-Cofre-CSRF": "none" };
    const { secret } = await this.done("/__cofre/enrolment", { invitation }, headers);
    const code = totp(String(secret), Date.now());
    await this.done("/__cofre/enrolment", { invitation, password, code }, headers);
  }
}

test("the page leads from an empty machine to payments", { skip }, async (context) => {
  await using parts = new AsyncDisposableStack();
  const bao = await startOpenBao({ isEmpty: true });
  parts.defer(() => bao.end());
  const pair = parts.use(await PostgresPair.start({ synchronous: true }));
  const operator = new Operator(context, {
    BAO_ADDR: bao.url.origin,
    BAO_TOKEN: "root",
    BAO_CACERT: bao.caFile,
    DATABASE_OF_A_SUPERUSER: pair.urlOf("postgres"),
    COFRE_LOG_FORMAT: "json",
  });
  const acquirer = CofreProcess.spawn({
    root: serverRoot,
    dataDirectory: operator.path("acquirer"),
    logDirectory: operator.folder,
    name: "acquirer",
    environment: { COFRE_SANDBOX_INTEGRATION_KEY: acquirerKey },
  });
  parts.defer(() => acquirer.end("SIGKILL"));
  const acquirerPort = await acquirer.listening();

  // 1: the shares are shown to people; here they are printed at once.
  const ceremony = await operator.run(`${printed("### 1. Ways to recover")} --json`);
  const { recovery_key: recoveryKey } = JSON.parse(ceremony.stdout) as { recovery_key: string };

  // 2
  await operator.run(printed("### 2. The root key"));
  copyFileSync(bao.caFile, operator.path("etc", "bao-ca.pem"));

  // 3: the servers of this lane trust logins of this machine, so there are no passwords.
  await operator.run(printed("### 3. The database"));
  operator.write("database", `postgres://cofre_app@127.0.0.1:${pair.port}/cofre\n`);
  operator.write("database-owner", `postgres://cofre_owner@127.0.0.1:${pair.port}/cofre\n`);

  // 4
  const { credentials, files } = await openTemporaryTls(operator.folder, systemPorts);
  operator.write("certificate.pem", credentials.byAddress.cert);
  operator.write("certificate.key", credentials.byAddress.key);
  operator.write("acquirer", acquirerKey);
  const [port, tlsPort] = [await freePort(), await freePort()];
  operator.replaced
    .set("https://bao.example.com:8200", bao.url.origin)
    .set(`sha256:${"0".repeat(64)}`, recoveryKey)
    .set("https://acquirer.example.com", `http://127.0.0.1:${acquirerPort}`)
    .set("COFRE_HOST=0.0.0.0", "COFRE_HOST=127.0.0.1")
    .set("COFRE_OWN_NAMES=pay.example.com", "COFRE_OWN_NAMES=127.0.0.1")
    .set("COFRE_PORT=8787", `COFRE_PORT=${port}`)
    .set("COFRE_TLS_PORT=8443", `COFRE_TLS_PORT=${tlsPort}`);
  const settings = readFileSync(join(operator.clone, "examples/production/cofre.env"), "utf8");
  operator.write("cofre.env", operator.here(settings));
  const config = await operator.run(printed("### 4. The settings"));
  assert.match(config.stdout, /^COFRE_ENVIRONMENT = production$/m);

  // Control: without what cofre init makes, no server starts.
  const starts = printed("### 6. The server").replace("cofre start", "exec cofre start");
  const early = await operator.run(starts, 1);
  assert.match(early.stderr, /installation_id: COFRE_INSTALLATION_ID is not set\./);

  // 5
  const [init = "", doctor = ""] = blocksUnder(page, "### 5. The installation");
  // Control: the credentials of a server make no key.
  const refused = await operator.run(init.replace("token-init", "token"), 1);
  assert.match(refused.stderr, /not complete: .*(?:permission|unauthorized|allowed|accept)/i);
  const made = (await operator.run(init)).stdout;
  const valueOf = (pattern: RegExp): string => {
    const [, value] = pattern.exec(made) ?? [];
    assert.ok(value !== undefined, `${pattern.source} is in ${made}`);
    return value;
  };
  const pins = ["COFRE_INSTALLATION_ID", "COFRE_ROOT_KEYS_FINGERPRINT"].map((name) => {
    const value = valueOf(new RegExp(`${name}=(\\S+)`));
    return `${name}=${value}\n`;
  });
  operator.write("cofre.env", operator.here(settings) + pins.join(""));
  const key = valueOf(/ {2}integration key +(\S+)/);
  const links = [...made.matchAll(/^ {4}(\S+)#invite=(\S+)$/gm)];
  assert.deepEqual(
    links.map(([, url]) => url),
    Array.from({ length: 2 }, () => `https://127.0.0.1:${tlsPort}/`),
  );
  const checks = await operator.run(doctor);
  assert.doesNotMatch(checks.stdout, /^refuses/m);
  assert.match(checks.stdout, /^ok +database_login: /m);
  assert.match(checks.stdout, /^alarm +admins: Admins who can sign in: 0\./m);

  // Control: a login that owns the tables serves no requests.
  const asOwner = await operator.run(
    starts.replace("exec", "COFRE_DATABASE_URL_FILE=/etc/cofre/database-owner exec"),
    1,
  );
  assert.match(asOwner.stderr, /database_login: The login of COFRE_DATABASE_URL .*owns tables/);

  // 6
  const server = operator.start(starts);
  await server.event("listening");
  const client = new Client(tlsPort, readFileSync(files.authority, "utf8"));
  for (const [index, [, , invitation = ""]] of links.entries())
    await client.enrol(invitation, `correct horse ${index} battery`);

  const { token } = await client.done("/ws/token", {
    integration_key: key,
    payment_type_code: "creditcard",
    country: "br",
    creditcard: testCard,
  });
  const pay = async (code: string, autoCapture: boolean): Promise<string> => {
    const creditcard = { token, card_cvv: "123", auto_capture: autoCapture };
    const { payment } = await client.done("/ws/direct", {
      ...directBody(code, { creditcard }),
      integration_key: key,
    });
    return String((payment as Json)["hash"]);
  };
  const charged = await pay("charged", true);
  const held = await pay("held", false);
  // By its own user: the parent of no other process.
  process.kill(server.child.pid ?? 0, "SIGKILL");
  await server.exited;

  const again = operator.start(starts);
  await again.event("listening");
  await client.done("/ws/capture", { integration_key: key, hash: held });
  await client.done("/ws/refund", {
    integration_key: key,
    operation: "request",
    hash: charged,
    amount: "100.00",
    description: "returned",
  });
  await pay("after", true);
  const ready = await client.call("/readyz");
  assert.deepEqual(
    [ready.status, ready.body],
    [200, { status: "ready", alarms: ["backup"] }],
    "what the page leaves to do is the backup",
  );

  // Nothing of a sandbox is there.
  const answerTo = async (path: string) => {
    const { status, text } = await client.call(`${path}?integration_key=${key}`);
    return { status, text };
  };
  const unknown = await answerTo("/__cofre/of-no-version");
  assert.equal(unknown.status, 404);
  for (const path of ["worlds", "world", "clock", "faults", "simulator", "test-cards", "requests"])
    assert.deepEqual(await answerTo(`/__cofre/${path}`), unknown, path);

  // The acquirer has the payments, and the database no card number.
  const rows = await query<{ readonly cards: number }>(
    pair.urlOf("cofre"),
    "SELECT count(*)::integer AS cards FROM card",
  );
  assert.equal(rows[0]?.cards, 1);
  again.child.kill("SIGTERM");
  assert.equal(await again.code(), 0, again.stderr);
});

test(
  "cofre init is killed at any point, and the next run completes the installation",
  { skip },
  async (context) => {
    await using cluster = await startDurableCluster();
    await using place = await makePlace(cluster);
    const environment = { ...place.environment, ...place.owner };
    const shown: string[] = [];
    const installations = new Set<string>();
    let kills = 0;
    for (let delayMs = 100; delayMs < longestRunMs; delayMs += killStepMs) {
      const init = Command.cofre(context, ["init", "--admins", "ana,bruno", "--json"], environment);
      const timer = setTimeout(() => init.child.kill("SIGKILL"), delayMs);
      const code = await init.code();
      clearTimeout(timer);
      for (const line of init.stdout.split("\n").filter((text) => text.endsWith("}"))) {
        const made = JSON.parse(line) as Readonly<Record<string, string>>;
        installations.add(made["installation_id"] ?? "");
        if (made["integration_key"] !== undefined) shown.push(made["integration_key"]);
      }
      if (code === 0) break;
      assert.equal(code, null, init.stderr);
      kills += 1;
      // The next run would wait for the lease of this one, and be killed in its wait.
      await query(place.database, "DELETE FROM node").catch(() => undefined);
    }
    context.diagnostic(`${kills} runs were killed, ${shown.length} showed keys`);
    assert.ok(kills >= leastKills, `${kills} runs were killed`);
    assert.equal(installations.size, 1, "all runs continue one installation");
    await grantRoles(place);
    const made = await initializeAt(place);
    await using server = await startAt({ ...place.environment, ...pinsOf(made) });
    const store = async (key: string) =>
      (
        await server.call("/ws/token", {
          integration_key: key,
          payment_type_code: "creditcard",
          country: "br",
          creditcard: testCard,
        })
      ).body["status"];
    const last = shown.at(-1);
    assert.ok(last !== undefined && made.keys === undefined, "one run has shown the keys");
    assert.equal(await store(last), "SUCCESS");
    // Control: keys that a killed run has shown, and not committed, open nothing.
    for (const key of shown.slice(0, -1)) assert.equal(await store(key), "ERROR");
  },
);

test("cofre init waits for the lease of a run that was killed", { skip }, async (context) => {
  await using cluster = await startDurableCluster();
  await using place = await makePlace(cluster);
  const environment = { ...place.environment, ...place.owner };
  const killed = Command.cofre(context, ["init", "--json"], environment);
  await until("the run has a lease", async () => {
    const rows = await query(place.database, "SELECT 1 FROM node").catch(() => []);
    return rows.length > 0;
  });
  killed.child.kill("SIGKILL");
  await killed.exited;
  const left = await query(place.database, "SELECT 1 FROM node");
  assert.deepEqual([killed.stdout, left.length], ["", 1], "it has not ended before");
  const init = Command.cofre(context, ["init", "--json"], environment);
  assert.equal(await init.code(), 0, init.stderr);
  assert.match(init.stdout, /"integration_key":"live_ik_/);
});
