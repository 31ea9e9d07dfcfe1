import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import {
  describeKeyProvider,
  failsAs,
  type Fault,
  type RootKey,
} from "../../server/test/contract/key-provider.contract.ts";
import {
  awsCredentials,
  kmsProvider,
  transitProvider,
} from "../../server/test/key-services/open.ts";
import { blocksUnder, repository } from "../../server/test/clients/pages.ts";
import { Command, temporaryFolder } from "../../server/test/command.ts";
import { directBody } from "../../server/test/server.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { serverRoot } from "../../server/test/support/planted-copy.ts";
import { WireClient } from "../../server/test/support/wire-client.ts";
import { until } from "../../server/test/until.ts";
import { instant } from "../../server/src/kernel/instant.ts";
import { Secret } from "../../server/src/kernel/secret.ts";
import { signedHeaders } from "../../server/src/vault/providers/sig-v4.ts";
import {
  bao as baoProgram,
  type Kms,
  type OpenBao,
  python,
  skips,
  startLocalKms,
  startMoto,
  startOpenBao,
} from "./support/key-services.ts";
import { describeTokens } from "./support/pkcs11-tests.ts";
import { pin, softHsm, tokenSkips } from "./support/tokens.ts";
import { describeLostRoots } from "./support/two-roots-tests.ts";

/**
 * Key providers against real software: OpenBao, two implementations of AWS KMS, and SoftHSM. The same suite
 * runs in `npm test` over servers that answer like them (test/contract/key-provider.test.ts).
 */

const examples = fileURLToPath(new URL("../../../examples/key-services", import.meta.url));

let bao: OpenBao | undefined;
let keysMade = 0;

function openBao(): OpenBao {
  assert.ok(bao !== undefined, "OpenBao was started");
  return bao;
}

/** A key of its own, and a token with the policy of examples/key-services. */
async function newTransitKey(options: Readonly<Record<string, unknown>> = {}) {
  const name = `cofre${(keysMade += 1)}`;
  const { call, url } = openBao();
  await call("POST", `/v1/transit/keys/${name}`, {});
  const policy = readFileSync(join(examples, "openbao-policy.hcl"), "utf8");
  const writePolicy = (text: string) =>
    call("PUT", `/v1/sys/policies/acl/${name}`, { policy: text });
  const own = policy.replaceAll(/(crypt|keys)\/cofre/g, `$1/${name}`);
  await writePolicy(own);
  const newToken = async (more: Readonly<Record<string, unknown>> = {}): Promise<string> => {
    const { auth } = (await call("POST", "/v1/auth/token/create-orphan", {
      policies: [name],
      no_default_policy: true,
      period: "24h",
      ...options,
      ...more,
    })) as { auth: { client_token: string } };
    return auth.client_token;
  };
  return { name, url, newToken, own, writePolicy };
}

async function transitRoot(): Promise<RootKey> {
  const { call, url, ca, seal, unseal, stop, resume } = openBao();
  const { name, newToken, own, writePolicy } = await newTransitKey();
  const other = await newTransitKey();
  let token = await newToken();
  const otherToken = await other.newToken();
  let isSilent = false;
  const place = { url, ca, isSilent: () => isSilent };
  return {
    open: async () =>
      transitProvider({ ...place, key: name, read: async () => Buffer.from(token) }),
    openOther: async () =>
      transitProvider({ ...place, key: other.name, read: async () => Buffer.from(otherToken) }),
    facts: { kind: "transit", protection: "software", isExtractable: false, seal: "shamir" },
    faults: [
      {
        name: "OpenBao is sealed",
        failure: "unavailable",
        begin: seal,
        end: unseal,
      },
      {
        name: "OpenBao does not answer",
        failure: "unavailable",
        begin() {
          stop();
          isSilent = true;
        },
        end() {
          isSilent = false;
          resume();
        },
      },
      {
        name: "the token was revoked, and then replaced",
        failure: "unauthorized",
        begin: async () => void (await call("POST", "/v1/auth/token/revoke", { token })),
        end: async () => void (token = await newToken()),
      },
      {
        name: "the policy no longer allows anything",
        failure: "unauthorized",
        begin: async () => void (await writePolicy('path "none" { capabilities = ["deny"] }')),
        end: async () => void (await writePolicy(own)),
      },
      {
        name: "the version of the key may not be used any more",
        failure: "denied",
        wrapping: "ok",
        async begin() {
          const { data } = (await call("POST", `/v1/transit/keys/${name}/rotate`)) as {
            data: { latest_version: number };
          };
          await call("POST", `/v1/transit/keys/${name}/config`, {
            min_decryption_version: data.latest_version,
          });
        },
        end: async () =>
          void (await call("POST", `/v1/transit/keys/${name}/config`, {
            min_decryption_version: 1,
          })),
      },
    ],
  };
}

describe("OpenBao", { skip: skips.openbao }, () => {
  before(async () => void (bao = await startOpenBao()));
  after(async () => await bao?.end());

  describeKeyProvider("OpenBao", transitRoot);

  test("a key that was deleted is denied", async () => {
    const { call, url, ca } = openBao();
    const { name, newToken } = await newTransitKey();
    const token = await newToken();
    const provider = transitProvider({ url, ca, key: name, read: async () => Buffer.from(token) });
    const wrapped = await provider.wrap(randomBytes(32), "sandbox/epoch/1");
    assert.equal(await provider.health(), "ok");
    await call("POST", `/v1/transit/keys/${name}/config`, { deletion_allowed: true });
    await call("DELETE", `/v1/transit/keys/${name}`);
    await failsAs("denied", provider.unwrap(wrapped, "sandbox/epoch/1"));
    // To make the key would need another permission.
    await failsAs("unauthorized", provider.wrap(randomBytes(32), "sandbox/epoch/1"));
    assert.equal(await provider.health(), "denied");
  });

  test("the example's policy does not allow a wrong name to make a key", async () => {
    const { call, url, ca } = openBao();
    const { name, newToken, own, writePolicy } = await newTransitKey();
    const token = await newToken();
    const open = (key: string) =>
      transitProvider({ url, ca, key, read: async () => Buffer.from(token) });
    await failsAs("unauthorized", open("wrong").wrap(randomBytes(32), "sandbox/epoch/1"));
    // Control: another policy does.
    await writePolicy(
      own.replaceAll('["update"]', '["create", "update"]').replaceAll(name, "wrong"),
    );
    await open("wrong").wrap(randomBytes(32), "sandbox/epoch/1");
    await call("GET", "/v1/transit/keys/wrong");
  });

  test("a token that is in use is renewed before it ends, and one that may not be renewed expires", async () => {
    const { url, ca } = openBao();
    const { name, newToken } = await newTransitKey({ period: "12s" });
    const renewed = await newToken();
    const fixed = await newToken({ period: undefined, ttl: "12s", renewable: false });
    const open = (token: string) =>
      transitProvider({ url, ca, key: name, read: async () => Buffer.from(token) });
    const [one, other] = [open(renewed), open(fixed)];
    assert.deepEqual([await one.health(), await other.health()], ["ok", "ok"]);
    const hasExpired = async (): Promise<boolean> => {
      assert.equal(await one.health(), "ok");
      return (await other.health()) === "unauthorized";
    };
    await until("the token that is not renewed has expired", hasExpired, { everyMs: 250 });
    assert.equal(await one.health(), "ok");
  });
});

/** A key in a KMS, and ways to end its use that can be undone. */
async function kmsRoot(
  kms: Kms,
  differs: NonNullable<RootKey["differs"]>,
  faults: (arn: string) => readonly Fault[] = () => [],
): Promise<RootKey> {
  const [arn, other] = [await kms.newKey(), await kms.newKey()];
  let isSilent = false;
  const open = (key: string) => async () =>
    kmsProvider({
      url: kms.url,
      arn: key,
      isSilent: () => isSilent,
      read: async () => Buffer.from(awsCredentials("AKIAIOSFODNN7EXAMPLE")),
    });
  return {
    open: open(arn),
    openOther: open(other),
    facts: { kind: "aws-kms", protection: "hardware", isExtractable: false, origin: "AWS_KMS" },
    differs,
    faults: [
      {
        name: "the service does not answer",
        failure: "unavailable",
        begin() {
          kms.stop();
          isSilent = true;
        },
        end() {
          isSilent = false;
          kms.resume();
        },
      },
      ...faults(arn),
    ],
  };
}

describe("local-kms", { skip: skips.localKms }, () => {
  let kms: Kms | undefined;
  before(async () => void (kms = await startLocalKms()));
  after(async () => await kms?.end());

  describeKeyProvider("local-kms", async () => {
    const running = kms;
    assert.ok(running !== undefined);
    return await kmsRoot(running, { ignoresHeader: true }, (arn) => [
      {
        name: "the key is disabled",
        failure: "denied",
        begin: async () => void (await running.call("DisableKey", { KeyId: arn })),
        end: async () => void (await running.call("EnableKey", { KeyId: arn })),
      },
      {
        name: "the key will be deleted",
        failure: "denied",
        begin: async () =>
          void (await running.call("ScheduleKeyDeletion", { KeyId: arn, PendingWindowInDays: 7 })),
        async end() {
          await running.call("CancelKeyDeletion", { KeyId: arn });
          await running.call("EnableKey", { KeyId: arn });
        },
      },
    ]);
  });
});

describe("moto", { skip: skips.moto }, () => {
  let kms: Kms | undefined;
  before(async () => void (kms = await startMoto()));
  after(async () => await kms?.end());

  describeKeyProvider("moto", async () => {
    assert.ok(kms !== undefined);
    return await kmsRoot(kms, { foreign: "unauthorized" });
  });
});

describeTokens();
describeLostRoots();

test("200 requests are signed as botocore signs them", { skip: skips.botocore }, () => {
  const requests = Array.from({ length: 200 }, (_, index) => ({
    host: index % 3 === 0 ? "127.0.0.1:4599" : `kms.eu-west-${index % 9}.amazonaws.com`,
    region: `eu-west-${index % 9}`,
    target: `TrentService.${["Encrypt", "Decrypt", "DescribeKey"][index % 3]}`,
    body: randomBytes(index).toString("base64"),
    token: index % 2 === 0 ? null : randomBytes(1 + index).toString("base64"),
    seconds: 1_700_000_000 + index * 1_234_567,
  }));
  const theirs = JSON.parse(
    execFileSync(
      python,
      [fileURLToPath(new URL("support/sign-with-botocore.py", import.meta.url))],
      {
        input: JSON.stringify(requests),
        encoding: "utf8",
      },
    ),
  ) as string[];
  const ours = (shiftSeconds: number): string[] =>
    requests.map(({ host, region, target, body, token, seconds }) => {
      const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": target };
      const at = instant((seconds + shiftSeconds) * 1_000);
      const signed = signedHeaders(
        { host, headers, body: Buffer.from(body), at, region, service: "kms" },
        {
          accessKeyId: "AKIAIOSFODNN7EXAMPLE",
          secretAccessKey: new Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
          sessionToken: token === null ? undefined : new Secret(token),
        },
      );
      return signed["authorization"] ?? "";
    });
  assert.deepEqual(ours(0), theirs);
  // Control: another second has another signature.
  assert.equal(
    ours(1).some((signature, index) => signature === theirs[index]),
    false,
  );
});

test(
  "a Cofre with its root key in OpenBao charges through an outage and opens its cards after a restart, by TLS",
  { skip: skips.openbao, timeout: 240_000 },
  async () => {
    const own = await startOpenBao();
    const folder = mkdtempSync(join(tmpdir(), "cofre-custody-"));
    const client = new WireClient(1);
    const nodes: CofreProcess[] = [];
    try {
      await own.call("POST", "/v1/transit/keys/cofre", {});
      const policy = readFileSync(join(examples, "openbao-policy.hcl"), "utf8");
      await own.call("PUT", "/v1/sys/policies/acl/cofre", { policy });
      const { auth } = (await own.call("POST", "/v1/auth/token/create-orphan", {
        policies: ["cofre"],
        no_default_policy: true,
        period: "24h",
      })) as { auth: { client_token: string } };
      const tokenFile = join(folder, "token");
      writeFileSync(tokenFile, `${auth.client_token}\n`, { mode: 0o600 });
      const key = "custody_lane_key_1";
      const start = (name: string, more: Readonly<Record<string, string>> = {}): CofreProcess => {
        const node = CofreProcess.spawn({
          root: serverRoot,
          dataDirectory: join(folder, "data"),
          logDirectory: folder,
          name,
          environment: {
            COFRE_SANDBOX_INTEGRATION_KEY: key,
            COFRE_ROOT_KEY: `transit:${own.url.origin}/v1/transit/cofre`,
            COFRE_ROOT_KEY_SECRET_FILE: tokenFile,
            COFRE_ROOT_KEY_CA_FILE: own.caFile,
            ...more,
          },
        });
        nodes.push(node);
        return node;
      };
      const charge = async (port: number, code: string, changes = {}): Promise<string> => {
        const body = { ...directBody(code, changes), integration_key: key };
        const answer = await client.ask(port, "/ws/direct", body);
        assert.equal(answer?.["status"], "SUCCESS", JSON.stringify(answer));
        return String((answer["payment"] as Record<string, unknown>)["token"]);
      };
      const refused = async (node: CofreProcess, expected: RegExp): Promise<void> => {
        assert.equal(await node.listening(), undefined);
        assert.match(readFileSync(node.stderrFile, "utf8"), expected);
      };

      const first = start("first");
      const port = await first.listening();
      assert.ok(port !== undefined, readFileSync(first.stderrFile, "utf8"));
      const token = await charge(port, "before", { create_token: true });
      await own.seal();
      const stored = { creditcard: { token, card_cvv: "123" } };
      for (let count = 0; count < 50; count += 1) await charge(port, `during ${count}`, stored);
      await charge(port, "a new card", { create_token: true });
      await first.end("SIGTERM");
      await refused(start("sealed"), /could not start: the key service .* is sealed/);

      await own.unseal();
      await refused(
        start("no authority", { COFRE_ROOT_KEY_CA_FILE: "" }),
        /could not start: the key service .* could not be reached: check .*certificate/,
      );
      const again = start("again");
      const next = await again.listening();
      assert.ok(next !== undefined, readFileSync(again.stderrFile, "utf8"));
      await charge(next, "after", stored);
    } finally {
      client.close();
      for (const node of nodes) await node.end("SIGTERM");
      await own.end();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

describe("the commands of docs/operate/key-services.md, as printed", () => {
  const page = "docs/operate/key-services.md";

  /** Runs a block and then a Cofre, in one shell. `/etc/cofre` is `folder`. */
  async function startsWith(
    context: TestContext,
    block: string,
    folder: string,
    environment: Readonly<Record<string, string>>,
  ): Promise<void> {
    const script = `${block.replaceAll("/etc/cofre", folder)}\nexec "${process.execPath}" ${serverRoot}/bin/cofre.js start`;
    const server = new Command(
      context,
      ["sh", "-ec", script],
      {
        COFRE_DATA_DIR: join(folder, "data"),
        COFRE_PORT: "0",
        COFRE_LOG_FORMAT: "json",
        ...environment,
      },
      repository,
    );
    await server.event("listening");
    assert.ok(!existsSync(join(folder, "data/root.key")), "the root key is in the service");
    server.child.kill("SIGTERM");
    await server.exited;
  }

  test("prepare OpenBao, and Cofre starts with it", { skip: skips.openbao }, async (context) => {
    await using parts = new AsyncDisposableStack();
    const own = await startOpenBao({ isEmpty: true });
    parts.defer(() => own.end());
    const folder = temporaryFolder(context);
    copyFileSync(own.caFile, join(folder, "bao-ca.pem"));
    const [block = ""] = blocksUnder(page, "## OpenBao or Vault");
    assert.ok(block.includes("https://bao.example.com:8200"));
    await startsWith(
      context,
      block.replace("https://bao.example.com:8200", own.url.origin),
      folder,
      {
        PATH: [dirname(baoProgram ?? ""), process.env["PATH"]].join(delimiter),
        BAO_ADDR: own.url.origin,
        BAO_TOKEN: "root",
        BAO_CACERT: own.caFile,
        HOME: folder,
      },
    );
  });

  test(
    "make a key in SoftHSM, and Cofre starts with it",
    { skip: tokenSkips.softHsm },
    async (context) => {
      const folder = temporaryFolder(context);
      const configuration = join(folder, "softhsm2.conf");
      mkdirSync(join(folder, "tokens"));
      writeFileSync(configuration, `directories.tokendir = ${join(folder, "tokens")}\n`);
      writeFileSync(join(folder, "pin"), pin, { mode: 0o600 });
      const [block = ""] = blocksUnder(page, "## HSM by PKCS#11");
      const [serial = ""] = /(?<=serial=)\w+/.exec(block) ?? [];
      assert.notEqual(serial, "");
      // At a terminal the first program asks for the PINs; the serial number is the own one of the token.
      const script = block
        .replace("--label cofre", `--label cofre --so-pin so-4b1d77e0 --pin ${pin}`)
        .replaceAll("/usr/lib/softhsm/libsofthsm2.so", softHsm ?? "")
        .replace(/^node (.*)$/m, `address=$("${process.execPath}" $1)`)
        .replace(
          `serial=${serial};`,
          "serial='\"$(printf %s \"$address\" | sed -n 's/.*serial=\\([0-9a-f]*\\).*/\\1/p' | head -1)\"';",
        );
      await startsWith(context, script, folder, { SOFTHSM2_CONF: configuration });
    },
  );
});
