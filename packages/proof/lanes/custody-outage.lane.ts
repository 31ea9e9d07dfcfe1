import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { directBody } from "../../server/test/server.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { serverRoot } from "../../server/test/support/planted-copy.ts";
import { WireClient } from "../../server/test/support/wire-client.ts";
import { until } from "../../server/test/until.ts";
import { skips, startOpenBao } from "./support/key-services.ts";

/**
 * What happens to cards when the holder of the root key fails, with OpenBao and under load: nothing
 * when it does not answer or no longer accepts the token, and a stop when it states that the key is
 * disabled. The times are those of the product: a check a minute, each ten seconds after a failure,
 * and two minutes until a denial counts.
 */

const policyFile = fileURLToPath(
  new URL("../../../examples/key-services/openbao-policy.hcl", import.meta.url),
);
const key = "custody_outage_key_1";
/** More than the lane takes. */
const mostCharges = 1_000_000;
const pauseMs = 20;

/** Charges with a stored card, one after the other, and what they were answered. */
class Load {
  readonly #client = new WireClient(1);
  readonly #port: number;
  readonly #token: string;
  #number = 0;
  #isEnding = false;
  #running: Promise<void> | undefined;
  #charged = 0;
  #refused: string[] = [];

  constructor(port: number, token: string) {
    this.#port = port;
    this.#token = token;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** What was answered since the last call. */
  taken(): { readonly charged: number; readonly refused: readonly string[] } {
    const taken = { charged: this.#charged, refused: this.#refused };
    this.#charged = 0;
    this.#refused = [];
    return taken;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
    this.#client.close();
  }

  async #run(): Promise<void> {
    for (let left = mostCharges; left > 0 && !this.#isEnding; left -= 1) {
      const changes = { creditcard: { token: this.#token, card_cvv: "123" } };
      const body = { ...directBody(`load-${(this.#number += 1)}`, changes), integration_key: key };
      const answer = await this.#client.ask(this.#port, "/ws/direct", body);
      if (answer?.["status"] === "SUCCESS") this.#charged += 1;
      else {
        const code = answer?.["status_code"];
        this.#refused.push(typeof code === "string" ? code : "no answer");
      }
      await sleep(pauseMs);
    }
  }
}

function tokenOf(answer: Readonly<Record<string, unknown>> | undefined): string {
  assert.ok(answer !== undefined);
  const { token } = answer["payment"] as { readonly token?: unknown };
  assert.ok(typeof token === "string", JSON.stringify(answer));
  return token;
}

test(
  "an outage and an expired token fail no charge; a disabled key stops cards only, and they return with it",
  { skip: skips.openbao, timeout: 900_000 },
  async (context) => {
    const bao = await startOpenBao();
    context.after(() => bao.end());
    const folder = mkdtempSync(join(tmpdir(), "cofre-outage-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    await bao.call("POST", "/v1/transit/keys/cofre", {});
    const policy = readFileSync(policyFile, "utf8");
    await bao.call("PUT", "/v1/sys/policies/acl/cofre", { policy });
    const tokenFile = join(folder, "token");
    const newToken = async (): Promise<string> => {
      const { auth } = (await bao.call("POST", "/v1/auth/token/create-orphan", {
        policies: ["cofre"],
        no_default_policy: true,
        period: "24h",
      })) as { readonly auth: { readonly client_token: string } };
      writeFileSync(tokenFile, `${auth.client_token}\n`, { mode: 0o600 });
      return auth.client_token;
    };
    const first = await newToken();
    const node = CofreProcess.spawn({
      root: serverRoot,
      dataDirectory: join(folder, "data"),
      logDirectory: folder,
      name: "node",
      environment: {
        COFRE_SANDBOX_INTEGRATION_KEY: key,
        COFRE_ROOT_KEY: `transit:${bao.url.origin}/v1/transit/cofre`,
        COFRE_ROOT_KEY_SECRET_FILE: tokenFile,
        COFRE_ROOT_KEY_CA_FILE: bao.caFile,
      },
    });
    context.after(() => node.end("SIGTERM"));
    const port = await node.listening();
    assert.ok(port !== undefined, readFileSync(node.stderrFile, "utf8"));
    const client = new WireClient(1);
    context.after(() => client.close());
    const ask = (path: string, fields: object) =>
      client.ask(port, path, { integration_key: key, ...fields });
    const made = await ask("/ws/direct", {
      ...directBody("first", { create_token: true }),
      integration_key: key,
    });
    const token = tokenOf(made);

    const logged = async (failure: string): Promise<void> =>
      void (await until(
        `the log has ${failure}`,
        () => node.events("root_key_unusable").at(-1)?.["failure"] === failure,
        { maxMs: 120_000, everyMs: 500 },
      ));
    const load = new Load(port, token);
    load.start();
    context.after(() => load.end());

    // The control: the load notices when cards are stopped.
    await sleep(1_000);
    assert.deepEqual(load.taken().refused, []);
    await ask("/__cofre/keys", { act: "stop", reason: "control" });
    await sleep(1_000);
    await ask("/__cofre/keys", { act: "resume", reason: "control" });
    const control = load.taken();
    assert.ok(control.refused.length > 10, "control: refused charges are seen");
    assert.deepEqual([...new Set(control.refused)], ["COFRE-21"]);

    await bao.seal();
    await logged("unavailable");
    await sleep(5_000);
    const outage = load.taken();
    assert.deepEqual(outage.refused, [], "OpenBao is sealed");
    await bao.unseal();
    await bao.call("POST", "/v1/auth/token/revoke", { token: first });
    await logged("unauthorized");
    await sleep(5_000);
    const expired = load.taken();
    assert.deepEqual(expired.refused, [], "the token was revoked");
    await newToken();
    await until("a new token is used", () => node.events("root_key_usable").length > 0, {
      maxMs: 120_000,
      everyMs: 500,
    });
    assert.deepEqual(load.taken().refused, [], "the token was replaced");

    await bao.call("POST", "/v1/transit/keys/cofre/rotate", {});
    await bao.call("POST", "/v1/transit/keys/cofre/config", { min_decryption_version: 2 });
    await logged("denied");
    const stops = () => node.events("cards_stopped").filter(({ cause }) => cause === "root_denied");
    const deniedMs = await until("cards are stopped", () => stops().length > 0, {
      maxMs: 240_000,
      everyMs: 100,
    });
    await sleep(1_000);
    load.taken();
    await sleep(10_000);
    const denied = load.taken();
    assert.equal(denied.charged, 0, "no card is opened");
    assert.deepEqual([...new Set(denied.refused)], ["COFRE-21"]);
    const plain = await client.ask(port, "/ws/direct", {
      ...directBody("plain"),
      integration_key: key,
    });
    assert.equal(plain?.["status"], "SUCCESS", "a charge that uses no key");
    const ready = await client.send({ port, method: "GET", path: "/readyz" });
    assert.deepEqual(JSON.parse(ready?.body ?? ""), { status: "ready", cards: "stopped" });

    await bao.call("POST", "/v1/transit/keys/cofre/config", { min_decryption_version: 1 });
    const resumed = node.events("cards_resumed").length;
    const okMs = await until(
      "cards are served again",
      () => node.events("cards_resumed").length > resumed,
      { maxMs: 300_000, everyMs: 100 },
    );
    load.taken();
    await sleep(2_000);
    const after = load.taken();
    assert.deepEqual(after.refused, []);
    assert.ok(after.charged > 10);
    const seconds = (ms: number): string => `${(ms / 1_000).toFixed(0)} s`;
    context.diagnostic(
      `${outage.charged} charges while sealed, ${expired.charged} with a revoked token, 0 failed; ` +
        `stopped ${seconds(deniedMs)} after the first denial, 0 of ${denied.refused.length} opened; served ${seconds(okMs)} after the key returned`,
    );

    // A start in an outage is refused, and says why.
    await load.end();
    await node.end("SIGTERM");
    await bao.seal();
    const again = CofreProcess.spawn({
      root: serverRoot,
      dataDirectory: join(folder, "data"),
      logDirectory: folder,
      name: "again",
      environment: {
        COFRE_ROOT_KEY: `transit:${bao.url.origin}/v1/transit/cofre`,
        COFRE_ROOT_KEY_SECRET_FILE: tokenFile,
        COFRE_ROOT_KEY_CA_FILE: bao.caFile,
      },
    });
    assert.equal(await again.listening(), undefined);
    assert.match(readFileSync(again.stderrFile, "utf8"), /could not start: .* is sealed/);
  },
);
