import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { makeSdkTarball } from "../../../tools/sdk-package.ts";
import {
  cleanEnvironment,
  Command,
  SharedCleanup,
  temporaryFolder,
} from "../../server/test/command.ts";
import { freePort } from "../../server/test/free-port.ts";
import { type Setting, startSetting } from "./server.ts";

/* The package as users get it: its tarball, installed by npm into an empty folder. */

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const path = { PATH: [dirname(process.execPath), cleanEnvironment["PATH"] ?? ""].join(delimiter) };
const shared = new SharedCleanup();
let folder = "";
let setting: Setting;
let closedPort = "";

before(async () => {
  closedPort = String(await freePort());
  setting = await startSetting();
  const root = temporaryFolder(shared);
  const layout = join(root, "layout");
  folder = join(root, "project");
  mkdirSync(layout);
  mkdirSync(folder);
  const tarball = await makeSdkTarball(layout, root);
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const flags = ["--offline", "--no-audit", "--no-fund", "--silent", "--omit=peer"];
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  execFileSync(npm, ["install", ...flags, tarball], {
    cwd: folder,
    env: { ...cleanEnvironment, ...path },
    stdio: "inherit",
  });
});

after(async () => {
  await setting[Symbol.asyncDispose]();
  shared.endAll();
});

/** Runs a command in the project. Its world has no payments. */
async function run(
  context: TestContext,
  command: readonly [string, ...string[]],
): Promise<Command> {
  const world = await setting.server.worlds.create();
  const running = new Command(
    context,
    command,
    {
      ...path,
      COFRE_URL: setting.server.url,
      COFRE_INTEGRATION_KEY: world.integrationKey,
      DENO_NO_UPDATE_CHECK: "1",
    },
    folder,
  );
  await running.code();
  return running;
}

function blocksOf(page: string): readonly string[] {
  const text = readFileSync(join(repository, page), "utf8");
  return Array.from(text.matchAll(/```js\n([^]*?)```/g), ([, block = ""]) => block);
}

/** Programs of this name on the PATH. */
function programsOf(name: string): readonly string[] {
  return (cleanEnvironment["PATH"] ?? "")
    .split(delimiter)
    .map((place) => join(place, name))
    .filter((file) => existsSync(file));
}

function versionOf(node: string): string {
  return execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
}

interface Engine {
  readonly name: string;
  /** Undefined: this machine does not have it. */
  readonly command: readonly [string, ...string[]] | undefined;
}

const ownNode: Engine = { name: `Node ${process.version}`, command: [process.execPath] };
const otherNodes = programsOf("node")
  .filter((file) => versionOf(file) !== process.version)
  .map((file): Engine => ({ name: `Node ${versionOf(file)}`, command: [file] }));
const [bun] = programsOf("bun");
const [deno] = programsOf("deno");
const engines: readonly Engine[] = [
  ownNode,
  ...otherNodes,
  { name: "Bun", command: bun === undefined ? undefined : [bun] },
  {
    name: "Deno",
    command:
      deno === undefined
        ? undefined
        : [deno, "run", "--quiet", "--node-modules-dir=manual", "--allow-net", "--allow-env"],
  },
];

/**
 * Loses answers, refuses connections, prints a card and verifies the published notification by each
 * kind of key.
 */
const program = `
import { Card, Cofre, notifications } from "@cofre/sdk";

const [url, integrationKey] = globalThis.process
  ? [process.env.COFRE_URL, process.env.COFRE_INTEGRATION_KEY]
  : [Deno.env.get("COFRE_URL"), Deno.env.get("COFRE_INTEGRATION_KEY")];
const after = (ms, run) => {
  const timer = setTimeout(run, Math.min(ms, 1000));
  return () => clearTimeout(timer);
};
const cofre = new Cofre({ url, integrationKey });
const card = new Card({ number: "4111111111111111", holderName: "Ana Lima", expires: "12/2060", securityCode: "123" });
console.log(card, [card], JSON.stringify(card));
const customer = { name: "Rosa Quispe", email: "rosa.quispe@example.com", phoneNumber: "51987654321" };
const order = { amount: "10.00", currency: "PEN", country: "pe", card, customer };
for (const kind of ["drop_after_commit", "garbage_after_commit", "drop_before_commit"]) {
  await cofre.raw("/__cofre/faults", { add: { kind, path: "/ws/direct" } });
  const { outcome } = await cofre.charge({ ...order, code: kind });
  console.log(kind, outcome);
}
const absent = new Cofre({ url: "http://127.0.0.1:" + CLOSED, integrationKey, maxAttempts: 2, runtime: { after } });
await absent.charge({ ...order, code: "absent" }).catch(({ name, sent }) => console.log(name, sent));
const cancelling = new AbortController();
await cofre.raw("/__cofre/faults", { add: { kind: "slow", path: "/ws/direct", delay_ms: "20000" } });
setTimeout(() => cancelling.abort(), 100);
await cofre.charge({ ...order, code: "slow" }, { signal: cancelling.signal }).catch(({ sent, reason }) => console.log(sent, reason));
const { body, headers, now, keys } = MESSAGE;
for (const key of keys) console.log((await notifications.verify(body, headers, { ...key, now: () => now })).type);
`;

const printed = `[card] [ [card] ] "[card]"
drop_after_commit paid
garbage_after_commit paid
drop_before_commit paid
CofreConnectionError no
maybe cancelled
update
update
update
`;

function programText(): string {
  const vector = JSON.parse(
    readFileSync(join(repository, "packages/server/test/vectors/notification.json"), "utf8"),
  ) as {
    readonly secret: string;
    readonly timestamp: number;
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
  };
  const page = readFileSync(join(repository, "docs/concepts/notifications.md"), "utf8");
  const [certificate] =
    /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/.exec(page) ?? [];
  const [publicKey] = /whpk_[\w+/]+=*/.exec(page) ?? [];
  const message = {
    body: vector.body,
    headers: vector.headers,
    now: vector.timestamp * 1_000,
    keys: [{ secret: vector.secret }, { publicKey }, { certificate }],
  };
  return program.replace("MESSAGE", JSON.stringify(message)).replace("CLOSED", closedPort);
}

describe("the package of the SDK, installed into an empty folder", () => {
  const installed = (): string => join(folder, "node_modules/@cofre/sdk");

  test("is the only package, with code, declarations and texts", () => {
    assert.deepEqual(readdirSync(join(folder, "node_modules/@cofre")), ["sdk"]);
    const files = readdirSync(installed(), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);
    assert.deepEqual(files.filter((name) => !name.endsWith(".d.ts")).toSorted(), [
      "LICENSE",
      "README.md",
      "browser.js",
      "cofre.js",
      "index.js",
      "own-fields.js",
      "package.json",
      "testing.js",
    ]);
  });

  test("has a server entry of 12 kB compressed at most, and a browser entry of 2 kB", () => {
    const sizeOf = (names: readonly string[]): number =>
      names.reduce(
        (sum, name) => sum + gzipSync(readFileSync(join(installed(), "dist", name))).length,
        0,
      );
    const server = sizeOf(["index.js", "cofre.js"]);
    const browser = sizeOf(["browser.js"]);
    assert.ok(server > 5_000 && server <= 12_000, `${server} bytes`);
    assert.ok(browser > 500 && browser <= 2_000, `${browser} bytes`);
    const ownFields = sizeOf(["own-fields.js"]);
    assert.ok(ownFields > 2_000 && ownFields <= 4_000, `${ownFields} bytes`);
  });

  for (const { name, command } of engines) {
    const skip = command === undefined ? `this machine does not have ${name}` : false;
    test(`plays the quick start of docs/sdk.md on ${name}`, { skip }, async (context) => {
      const [quickStart = ""] = blocksOf("docs/sdk.md");
      writeFileSync(join(folder, "quick-start.mjs"), quickStart);
      const { stdout, stderr } = await run(context, [...(command ?? ["none"]), "quick-start.mjs"]);
      assert.deepEqual([stdout, stderr], ["paid 100.00\n", ""]);
    });

    test(`finds lost payments and verifies messages on ${name}`, { skip }, async (context) => {
      writeFileSync(join(folder, "program.mjs"), programText());
      const { stdout, stderr } = await run(context, [...(command ?? ["none"]), "program.mjs"]);
      assert.equal(stdout.replaceAll(/\[\s*\[card\]\s*\]/g, "[ [card] ]"), printed, stderr);
    });
  }

  test("plays the program of its README, and can be had by require", async (context) => {
    const [readme = ""] = blocksOf("packages/sdk/README.md");
    const url = JSON.stringify(setting.server.url);
    writeFileSync(join(folder, "readme.mjs"), readme.replace(/"http:[^"]*"/, url));
    assert.match((await run(context, [process.execPath, "readme.mjs"])).stdout, /^\d+\.\d+\n$/);
    const required = 'console.log(typeof require("@cofre/sdk").Cofre);';
    writeFileSync(join(folder, "required.cjs"), required);
    assert.equal((await run(context, [process.execPath, "required.cjs"])).stdout, "function\n");
  });

  test("starts a sandbox in a test, as docs/sdk.md shows", async (context) => {
    const example = blocksOf("docs/sdk.md").find((block) => block.includes("@cofre/sdk/testing"));
    const beside = join(folder, "node_modules/@cofre/server");
    symlinkSync(join(repository, "packages/server"), beside, "junction");
    context.after(() => unlinkSync(beside));
    writeFileSync(join(folder, "shop.test.mjs"), example ?? "");
    const { stdout, child } = await run(context, [process.execPath, "--test", "shop.test.mjs"]);
    assert.equal(child.exitCode, 0, stdout);
    assert.match(stdout, /pass 2/);
  });

  test("is typed without any other types, and a missing outcome is an error", async (context) => {
    const options = {
      strict: true,
      module: "nodenext",
      target: "es2022",
      types: [],
      noEmit: true,
      exactOptionalPropertyTypes: true,
    };
    const configuration = { compilerOptions: options, files: ["typed.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(configuration));
    const typed = (outcome: string): string => `
      import { Card, Cofre, type ChargeOutcome, notifications } from "@cofre/sdk";
      import { type CardFields, mountCard } from "@cofre/sdk/browser";
      import { CofreBrowser } from "@cofre/sdk/own-fields";

      const cofre = new Cofre({ url: "https://cofre.example", integrationKey: "key", maxAttempts: 3 });
      const card = new Card({ token: "token" });
      const customer = { name: "Ana", email: "ana@example.com", phoneNumber: "51987654321" };
      const charged: ChargeOutcome = await cofre.charge({ code: "1", amount: "1.00", currency: "PEN", country: "pe", card, customer });
      export function textOf(charged: ChargeOutcome): string {
        switch (charged.outcome) {
          case "paid": return charged.payment.amountExt;
          case "authorized": return charged.payment.hash;
          case "declined": return charged.reason;
          case "${outcome}": return "";
          case "pending": return String(charged.approved);
        }
      }
      const verified = await notifications.verify("", {}, { secret: "whsec_" });
      export const hashes: readonly string[] = verified.hashes;
      export const browser = new CofreBrowser({ url: "https://cofre.example", publicIntegrationKey: "key" });
      export const fields: Promise<CardFields> = mountCard("#card", {
        url: "https://cofre.example",
        publicIntegrationKey: "key",
        country: "br",
        theme: { accent: "#1b5fd0" },
      });
      export { charged };
    `;
    const handler = `
      import { Cofre, notifications } from "@cofre/sdk";

      const receive = notifications.receiver({ secret: "whsec_", onNotification: ({ hashes }) => void hashes });
      export const handle = async (request: Request): Promise<Response> =>
        new Response(null, { status: await receive(request) });
      export const cofre = new Cofre({ url: "https://cofre.example", integrationKey: "key", runtime: { fetch } });
      export const queried = cofre.query({ code: "1" }, { signal: AbortSignal.timeout(5) });
    `;
    writeFileSync(join(folder, "fetch.ts"), handler);
    const withFetch = {
      compilerOptions: { ...options, lib: ["es2022", "dom"] },
      files: ["fetch.ts"],
    };
    writeFileSync(join(folder, "fetch.json"), JSON.stringify(withFetch));
    const compilers = [
      join(repository, "node_modules/typescript/bin/tsc"),
      // Another version, when it is on the PATH.
      ...programsOf("tsc"),
    ];
    for (const compiler of compilers) {
      const check = (): Promise<Command> =>
        run(context, [process.execPath, compiler, "-p", "tsconfig.json"]);
      writeFileSync(join(folder, "typed.ts"), typed("cancelled"));
      const checked = await check();
      assert.equal(checked.child.exitCode, 0, checked.stdout);
      const { child, stdout } = await run(context, [
        process.execPath,
        compiler,
        "-p",
        "fetch.json",
      ]);
      assert.equal(child.exitCode, 0, stdout);
      writeFileSync(join(folder, "typed.ts"), typed("refunded"));
      assert.match((await check()).stdout, /typed\.ts.*not comparable/s);
    }
  });
});
