import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { directBody } from "../../../server/test/server.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { serverRoot } from "../../../server/test/support/planted-copy.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";
import { skips, startOpenBao } from "./key-services.ts";
import { Token, tokenSkips } from "./tokens.ts";

const policyFile = fileURLToPath(
  new URL("../../../../examples/key-services/openbao-policy.hcl", import.meta.url),
);
/** From the order to add a root key until the server is killed, in milliseconds. */
const killedAfterMs = [0, 5, 10, 20, 40, 80, 160, 320];

/** Two root keys in real software, one of which is destroyed for good. */
export function describeLostRoots(): void {
  const skip = skips.openbao === false ? tokenSkips.softHsm : skips.openbao;
  test(
    "an installation gets a second root key, whenever the server is killed, and outlives the loss of either",
    { skip, timeout: 400_000 },
    async () => {
      const key = "custody_lane_key_1";
      const client = new WireClient(1);
      const nodes: CofreProcess[] = [];
      const tokens: Token[] = [];
      const bao = await startOpenBao();
      try {
        const policy = readFileSync(policyFile, "utf8");
        const settings = async (name: string, token: Token) => {
          await bao.call("POST", `/v1/transit/keys/${name}`, {});
          await bao.call("PUT", `/v1/sys/policies/acl/${name}`, {
            policy: policy.replaceAll(/(crypt|keys)\/cofre/g, `$1/${name}`),
          });
          const { auth } = (await bao.call("POST", "/v1/auth/token/create-orphan", {
            policies: [name],
            no_default_policy: true,
            period: "24h",
          })) as { auth: { client_token: string } };
          const tokenFile = join(token.folder, `${name}.token`);
          writeFileSync(tokenFile, `${auth.client_token}\n`, { mode: 0o600 });
          return {
            first: {
              ...token.variables,
              COFRE_SANDBOX_INTEGRATION_KEY: key,
              COFRE_ROOT_KEY: `transit:${bao.url.origin}/v1/transit/${name}`,
              COFRE_ROOT_KEY_SECRET_FILE: tokenFile,
              COFRE_ROOT_KEY_CA_FILE: bao.caFile,
            },
            next: {
              COFRE_ROOT_KEY_NEXT: token.newKey("cofre-root-1", "01"),
              COFRE_ROOT_KEY_NEXT_SECRET_FILE: token.pinFile,
              COFRE_ROOT_KEY_NEXT_PKCS11_MODULE: token.module,
            },
          };
        };
        const start = async (token: Token, environment: Readonly<Record<string, string>>) => {
          const dataDirectory = join(token.folder, "data");
          const name = `two-roots-${nodes.length}`;
          const place = { root: serverRoot, dataDirectory, logDirectory: token.folder };
          const node = CofreProcess.spawn({ ...place, name, environment });
          nodes.push(node);
          return { node, port: await node.listening() };
        };
        const charge = async (port: number | undefined, code: string, changes = {}) => {
          const body = { ...directBody(code, changes), integration_key: key };
          const answer = await client.ask(port ?? 0, "/ws/direct", body);
          assert.equal(answer?.["status"], "SUCCESS", JSON.stringify(answer));
          return String((answer["payment"] as Record<string, unknown>)["token"]);
        };
        const add = async (port: number | undefined) =>
          client.ask(port ?? 0, "/__cofre/keys", {
            integration_key: key,
            act: "add-root",
            root: "pkcs11:cofre-root-1/01",
            reason: "lane",
          });

        let code = 0;
        const lose = async (
          name: string,
          kills: readonly number[],
          losses: readonly ((token: Token) => Promise<void>)[],
        ): Promise<void> => {
          const token = new Token();
          tokens.push(token);
          const { first, next } = await settings(name, token);
          const [destroy, destroyOther] = losses;
          const both = { ...first, ...next };
          const begun = await start(token, first);
          const stored = await charge(begun.port, `first ${name}`, { create_token: true });
          const card = { creditcard: { token: stored, card_cvv: "123" } };
          await begun.node.end("SIGTERM");
          for (const afterMs of kills) {
            const { node, port } = await start(token, both);
            await charge(port, `${name} ${(code += 1)}`, card);
            const answer = add(port).catch(() => undefined);
            await wait(afterMs);
            await node.end("SIGKILL");
            await answer;
          }
          const { node, port } = await start(token, both);
          const report = await add(port);
          assert.match(String(report?.["state"]), /^(changed|unchanged)$/, JSON.stringify(report));
          await node.end("SIGTERM");

          await destroy?.(token);
          const survivor = await start(token, both);
          await charge(survivor.port, `${name} survives`, card);
          await charge(survivor.port, `${name} new card`, { create_token: true });
          await survivor.node.end("SIGTERM");
          // Control: without the other one, nothing opens the keys.
          await destroyOther?.(token);
          const lost = await start(token, both);
          assert.equal(lost.port, undefined);
          assert.match(readFileSync(lost.node.stderrFile, "utf8"), /no root key opens the keys/);
        };
        const inBao = (name: string) => async () => {
          await bao.call("POST", `/v1/transit/keys/${name}/config`, { deletion_allowed: true });
          await bao.call("DELETE", `/v1/transit/keys/${name}`);
        };
        // The key itself is not destroyable with the user's PIN, as the example makes it.
        const inToken = async (token: Token) =>
          void token.run("softhsm2-util", "--delete-token", "--token", "cofre");
        await lose("one", killedAfterMs, [inBao("one"), inToken]);
        await lose("two", [], [inToken, inBao("two")]);
      } finally {
        client.close();
        for (const node of nodes) await node.end("SIGKILL");
        await bao.end();
        for (const { folder } of tokens) rmSync(folder, { recursive: true, force: true });
      }
    },
  );
}
