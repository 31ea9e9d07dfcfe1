import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { SystemRandom } from "../../server/src/kernel/system-random.ts";
import { deriveKeyPair, hpkeOpen, hpkeSeal } from "../../server/src/vault/recovery/hpke.ts";
import type { RootKeyFailure } from "../../server/src/vault/key-provider.ts";
import { joinShares, makeShares, readShare } from "../../server/src/vault/recovery/slip39.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../server/test/server.ts";
import {
  newFolder,
  newRecoveryKey,
  recovery,
  type RecoveryKeyOfTest,
} from "../../server/test/support/recovery.ts";
import { earlier, earlierFolder } from "../../server/test/e2e/earlier-installation.ts";
import { awsCredentials } from "../../server/test/key-services/open.ts";
import { until } from "../../server/test/until.ts";
import { python, skips, startLocalKms, startOpenBao } from "./support/key-services.ts";
import { pin, Token, tokenSkips } from "./support/tokens.ts";

/**
 * Recovery with other people's software: shares of the reference implementation of SLIP-39, HPKE of
 * the package cryptography, and the program in Python of examples/recovery
 * (docs/operate/recovery.md).
 */

const support = fileURLToPath(new URL("support/", import.meta.url));
const example = fileURLToPath(new URL("../../../examples/recovery/", import.meta.url));
const program = fileURLToPath(new URL("../../server/bin/cofre.js", import.meta.url));
/** Erases what was scrolled off the screen. */
const erased = "\u001b[3J";
const random = new SystemRandom();
const isInstalled =
  existsSync(python) &&
  spawnSync(python, ["-c", "import shamir_mnemonic, cryptography.hazmat.primitives.hpke"])
    .status === 0;
const skip = isInstalled
  ? false
  : "shamir-mnemonic and cryptography are not installed: see .ci/run";

/** Of the programs in Python: each answers with one of these. */
interface Answer {
  readonly shares?: readonly string[];
  readonly opened?: string;
  readonly refused?: string;
  /** In hexadecimal. */
  readonly text?: string;
}

function asked(script: string, request: unknown): Answer {
  const { status, stdout, stderr } = spawnSync(python, [join(support, script)], {
    input: JSON.stringify(request),
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Answer;
}

const openedThere = (shares: readonly string[]): Answer => asked("slip39.py", { shares });
const sharesFrom = (secret: Uint8Array, threshold: number, count: number): readonly string[] =>
  asked("slip39.py", { secret: hex(secret), threshold, count }).shares ?? [];
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** All ways to choose `size` items, in order. */
function choices<T>(items: readonly T[], size: number): T[][] {
  if (size === 0) return [[]];
  return items.flatMap((item, at) =>
    choices(items.slice(at + 1), size - 1).map((rest) => [item, ...rest]),
  );
}

describe("shares and the reference implementation of SLIP-39", { skip }, () => {
  test("it opens each three of our five shares, and no two", () => {
    const secret = random.bytes(32);
    const shares = makeShares({ secret, threshold: 3, count: 5, random });
    for (const chosen of choices(shares, 3))
      assert.deepEqual(openedThere(chosen), { opened: hex(secret) });
    for (const chosen of choices(shares, 2)) assert.ok(openedThere(chosen).refused !== undefined);
  });

  test("each three of its five shares open here, and no two", () => {
    const secret = random.bytes(32);
    const shares = sharesFrom(secret, 3, 5).map((share) => readShare(share));
    for (const chosen of choices(shares, 3)) assert.equal(hex(joinShares(chosen)), hex(secret));
    for (const chosen of choices(shares, 2))
      assert.throws(() => joinShares(chosen), /3 shares are needed/);
  });

  test("2 of 2, 2 of 3 and 16 of 16 open on both sides", () => {
    for (const [threshold, count] of [
      [2, 2],
      [2, 3],
      [16, 16],
    ] as const) {
      const secret = random.bytes(32);
      const ours = makeShares({ secret, threshold, count, random });
      assert.equal(openedThere(ours.slice(count - threshold)).opened, hex(secret));
      const theirs = sharesFrom(secret, threshold, count).map((share) => readShare(share));
      assert.equal(hex(joinShares(theirs.slice(count - threshold))), hex(secret));
    }
  });
});

describe("HPKE and the package cryptography", { skip }, () => {
  const info = Buffer.from("cofre recovery 1\0sandbox/epoch/1");

  test("what either seals the other opens", () => {
    for (let round = 0; round < 20; round += 1) {
      const recipient = deriveKeyPair(random.bytes(32));
      const text = random.bytes(32);
      const request = { info: hex(info), text: hex(text), public_key: hex(recipient.publicKey) };
      const theirs = Buffer.from(asked("hpke.py", request).text ?? "", "hex");
      const none = new Uint8Array(0);
      assert.equal(hex(hpkeOpen(recipient, info, none, theirs) ?? none), hex(text));

      const ours = hpkeSeal(recipient.publicKey, info, none, text, deriveKeyPair(random.bytes(66)));
      const scalar = recipient.privateKey.export({ format: "jwk" }).d ?? "";
      const opened = asked("hpke.py", {
        info: hex(info),
        text: hex(ours),
        private_key: Buffer.from(scalar, "base64url").toString("hex"),
      });
      assert.equal(opened.text, hex(text));
    }
  });
});

describe("a ceremony at a terminal", { skip }, () => {
  test("shows each share once, erases it, and its shares pass the drill", async (context) => {
    const folder = newFolder(context);
    const ceremony = (args: readonly string[]) => {
      const command = [process.execPath, program, "recovery", ...args];
      const { status, stdout, stderr } = spawnSync(
        python,
        [join(support, "ceremony.py"), ...command],
        { encoding: "utf8", timeout: 60_000 },
      );
      assert.equal(status, 0, stderr);
      return JSON.parse(stdout) as { code: number; screen: string; shares: string[] };
    };
    const made = ceremony(["init", "--shares", "3", "--threshold", "2", "--out", folder]);
    assert.equal(made.code, 0, made.screen);
    assert.equal(made.shares.length, 3);
    // What is left when it has ended, as far as a terminal can be scrolled back.
    const left = made.screen.slice(made.screen.lastIndexOf(erased));
    const words = new Set(made.shares.flatMap((share) => share.split(" ").slice(4)));
    words.delete("public");
    assert.deepEqual(
      (left.replaceAll(folder, "").match(/[a-z]+/g) ?? []).filter((word) => words.has(word)),
      [],
    );
    const record = readFileSync(join(folder, "recovery-record.json"), "utf8");
    assert.equal(record.match(/"acknowledged": "typed_back"/g)?.length, 3);
    const key = join(folder, "recovery.pub");
    const drilled = await recovery(["drill", "--recovery-key", key], {
      shares: made.shares.slice(1),
    });
    assert.equal(drilled.code, 0, drilled.problems);
    // Control: without a terminal nothing is shown.
    const piped = await recovery(["init", "--out", newFolder(context)]);
    assert.deepEqual([piped.code, piped.output], [2, ""]);
  });
});

const cardCount = 200;
const numbers = ["4111111111111111", "5555555555554444", "4111111111111111"];

interface Installation {
  readonly directory: string;
  readonly key: RecoveryKeyOfTest;
  readonly environment: Readonly<Record<string, string>>;
  readonly tokens: readonly string[];
  /** Three shares of the recovery key, made by the reference implementation. */
  readonly shares: readonly string[];
}

/** An installation with cards, stopped. `root`: the settings of a root key that is not a file. */
async function installation(
  context: TestContext,
  root: Readonly<Record<string, string>> = {},
): Promise<Installation> {
  const key = await newRecoveryKey(context);
  const directory = join(newFolder(context), "data");
  const environment = { COFRE_DATA_DIR: directory, ...key.environment };
  const server = await startTestServer({ environment: { ...environment, ...root } });
  const tokens: string[] = [];
  for (let at = 0; at < cardCount; at += 1) {
    const creditcard = { ...testCard, card_number: numbers[at % numbers.length] };
    const { body } = await server.postJson("/ws/token", {
      integration_key: integrationKey,
      payment_type_code: "creditcard",
      creditcard,
    });
    tokens.push(String(body["token"]));
  }
  await server[Symbol.asyncDispose]();
  const seed = joinShares(key.shares.slice(0, 3).map((share) => readShare(share)));
  const [, one = "", , two = "", three = ""] = sharesFrom(seed, 3, 5);
  return { directory, key, environment, tokens, shares: [one, two, three] };
}

/** Settings of a root key. `destroy` resolves with those of another one, into which shares open. */
interface Service {
  readonly root: Readonly<Record<string, string>>;
  readonly destroy: () => Promise<Readonly<Record<string, string>>>;
  /** Of a start without the root key. */
  readonly failure: RootKeyFailure;
}

function secretFile(context: TestContext, content: string): string {
  const path = join(newFolder(context), "credentials");
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

const services: Readonly<
  Record<string, { skip: string | false; open: (context: TestContext) => Promise<Service> }>
> = {
  OpenBao: {
    skip: skips.openbao,
    async open(context) {
      const { call, url, ca, end } = await startOpenBao();
      context.after(end);
      for (const name of ["first", "second"]) await call("POST", `/v1/transit/keys/${name}`, {});
      const rootOf = (name: string) => ({
        COFRE_ROOT_KEY: `transit:${url.origin}/v1/transit/${name}`,
        COFRE_ROOT_KEY_SECRET_FILE: secretFile(context, "root\n"),
        COFRE_ROOT_KEY_CA: ca,
      });
      return {
        root: rootOf("first"),
        failure: "denied",
        async destroy() {
          await call("POST", "/v1/transit/keys/first/config", { deletion_allowed: true });
          await call("DELETE", "/v1/transit/keys/first");
          return rootOf("second");
        },
      };
    },
  },
  "local-kms": {
    skip: skips.localKms,
    async open(context) {
      const { call, url, newKey, end } = await startLocalKms();
      context.after(end);
      const [first, second] = [await newKey(), await newKey()];
      const rootOf = (arn: string) => ({
        COFRE_ROOT_KEY: `aws-kms:${arn}`,
        COFRE_ROOT_KEY_SECRET_FILE: secretFile(context, awsCredentials("AKIAIOSFODNN7EXAMPLE")),
        COFRE_ROOT_KEY_ENDPOINT: url.origin,
      });
      return {
        root: rootOf(first),
        failure: "denied",
        async destroy() {
          await call("ScheduleKeyDeletion", { KeyId: first });
          return rootOf(second);
        },
      };
    },
  },
  SoftHSM: {
    skip: tokenSkips.softHsm,
    async open(context) {
      const token = new Token();
      context.after(() => token.end());
      const configuration = token.variables["SOFTHSM2_CONF"] ?? "";
      // For the module's process of servers in this process.
      process.env["SOFTHSM2_CONF"] = configuration;
      const rootOf = (object: string, id: string) => ({
        COFRE_ROOT_KEY: token.newKey(object, id),
        COFRE_ROOT_KEY_SECRET_FILE: token.pinFile,
        COFRE_PKCS11_MODULE: token.module,
        SOFTHSM2_CONF: configuration,
      });
      return {
        root: rootOf("first", "01"),
        failure: "unavailable",
        async destroy() {
          const [soPin, label] = ["so-4b1d77e0", "cofre"];
          token.run("softhsm2-util", "--delete-token", "--token", label);
          const pins = ["--so-pin", soPin, "--pin", pin];
          token.run("softhsm2-util", "--init-token", "--free", "--label", label, ...pins);
          return rootOf("second", "02");
        },
      };
    },
  },
};

async function openedCards(server: TestServer, tokens: readonly string[]): Promise<number> {
  let opened = 0;
  for (const [at, token] of tokens.entries()) {
    const body = directBody(`after ${at}`, { creditcard: { token } });
    const answer = await server.postJson("/ws/direct", body);
    if (answer.body["status"] === "SUCCESS") opened += 1;
  }
  return opened;
}

describe("an installation whose root key was destroyed", { skip }, () => {
  test(`three shares of the reference implementation open ${cardCount} of ${cardCount} cards, two none`, async (context) => {
    const { directory, environment, tokens, shares } = await installation(context);
    rmSync(join(directory, "root.key"));
    const refused = await recovery(["open", "--data-dir", directory], {
      shares: shares.slice(0, 2),
    });
    assert.equal(refused.code, 1, refused.output);
    await assert.rejects(startTestServer({ environment }), { name: "KeyringError" });

    const opened = await recovery(["open", "--data-dir", directory], { shares });
    assert.equal(opened.code, 0, opened.problems);
    await using server = await startTestServer({ environment });
    assert.equal(await openedCards(server, tokens), cardCount);
  });

  for (const [name, { skip: missing, open }] of Object.entries(services)) {
    test(
      `in ${name}: three shares open ${cardCount} of ${cardCount} cards under another key of it, two none`,
      { skip: missing },
      async (context) => {
        const { root, destroy, failure } = await open(context);
        const { directory, environment, tokens, shares } = await installation(context, root);
        const next = await destroy();
        await assert.rejects(startTestServer({ environment: { ...environment, ...root } }), {
          failure,
        });
        const { COFRE_ROOT_KEY_CA: ca, ...plain } = next;
        const settings = {
          ...plain,
          ...(ca === undefined ? {} : { COFRE_ROOT_KEY_CA_FILE: secretFile(context, ca) }),
        };
        const opening = (given: readonly string[]) =>
          recovery(["open", "--data-dir", directory], { shares: given, environment: settings });
        const refused = await opening(shares.slice(0, 2));
        assert.equal(refused.code, 1, refused.output);
        const opened = await opening(shares);
        assert.equal(opened.code, 0, opened.problems);
        await using server = await startTestServer({ environment: { ...environment, ...next } });
        assert.equal(await openedCards(server, tokens), cardCount);
      },
    );
  }

  test(`the program in Python opens ${cardCount} of ${cardCount} cards with three shares, and prints none`, async (context) => {
    const { directory, shares, key } = await installation(context);
    rmSync(join(directory, "root.key"));
    const out = join(newFolder(context), "cards");
    const decrypt = (given: readonly string[], more: readonly string[] = []) =>
      spawnSync(python, [join(example, "recover.py"), directory, ...more], {
        input: given.map((share) => `${share}\n`).join(""),
        encoding: "utf8",
      });
    const two = decrypt(shares.slice(0, 2));
    assert.deepEqual([two.status, two.stdout], [1, ""]);
    assert.match(two.stderr, /^The keys do not open: the shares are of different sets, too few/);
    const [first = "", ...others] = shares;
    const words = first.split(" ");
    const mistyped = words.with(9, words[9] === "acid" ? "acne" : "acid").join(" ");
    assert.match(decrypt([mistyped, ...others]).stderr, /a word is wrong/);
    const intruder = await newRecoveryKey(context);
    assert.equal(decrypt(intruder.shares.slice(0, 3)).status, 1);

    const three = decrypt(shares, ["--out", out]);
    assert.deepEqual(
      [three.status, three.stdout, three.stderr],
      [0, `2 keys opened\n${cardCount} cards opened, 0 not\n`, ""],
    );
    const cards = readFileSync(out, "utf8").trim().split("\n");
    assert.deepEqual(
      cards.map((line) => (JSON.parse(line) as { number: string }).number),
      Array.from({ length: cardCount }, (_, at) => numbers[at % numbers.length]),
    );
    if (process.platform !== "win32") assert.equal(statSync(out).mode & 0o777, 0o600);
    // Also with the shares that Cofre made.
    assert.equal(decrypt(key.shares.slice(2)).status, 0);
  });

  test("the program in Python opens the cards of an earlier version, whose keys are files", async (context) => {
    const directory = earlierFolder(context);
    const key = await newRecoveryKey(context);
    const server = await startTestServer({
      environment: { COFRE_DATA_DIR: directory, ...key.environment },
    });
    await until("all rows are upgraded", () =>
      server.events.some(({ event }) => event === "rows_upgraded"),
    );
    await server[Symbol.asyncDispose]();
    const { status, stdout, stderr } = spawnSync(python, [join(example, "recover.py"), directory], {
      input: key.shares.slice(0, 3).join("\n"),
      encoding: "utf8",
    });
    assert.deepEqual(
      [status, stdout, stderr],
      [0, `2 keys opened\n${earlier.tokens.length} cards opened, 0 not\n`, ""],
    );
  });

  test("the program in Python has the words of the program", () => {
    const list = new URL("../../server/src/vault/recovery/slip39-words.json", import.meta.url);
    const words = readFileSync(join(example, "slip39-words.txt"), "utf8").trim().split("\n");
    assert.deepEqual(words, JSON.parse(readFileSync(list, "utf8")));
  });
});
