import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../test/free-port.ts";
import { until } from "../test/until.ts";

const program = fileURLToPath(new URL("../bin/cofre.js", import.meta.url));

/** The tester's own settings do not apply to the processes started here. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !name.startsWith("COFRE_") && !["FORCE_COLOR", "NO_COLOR"].includes(name),
  ),
);

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end. */
async function run(
  args: readonly string[],
  more: Record<string, string> = {},
  nodeArgs: readonly string[] = [],
): Promise<Ended> {
  const child = spawn(process.execPath, [...nodeArgs, program, ...args], {
    env: { ...environment, ...more },
  });
  const [stdout, stderr] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, "exit"),
  ]);
  return { code: child.exitCode ?? -1, stdout, stderr };
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const piece of stream.setEncoding("utf8")) text += String(piece);
  return text;
}

/** Runs the program with the reader of this output closed before anything is written. */
async function runUnread(output: "stdout" | "stderr", args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], { env: environment });
  child[output].destroy();
  const received = output === "stdout" ? child.stderr : child.stdout;
  const [text] = await Promise.all([textOf(received), once(child, "exit")]);
  return {
    code: child.exitCode ?? -1,
    stdout: "",
    stderr: "",
    [output === "stdout" ? "stderr" : "stdout"]: text,
  };
}

/** A server, started as by a user. */
class Serving {
  readonly child: ChildProcess;
  /** Standard error so far. */
  stderr = "";
  readonly #lines: AsyncIterator<string, undefined>;
  readonly #exited: Promise<unknown[]>;

  constructor(
    context: TestContext,
    args: readonly string[],
    more: Record<string, string> = {},
    through: readonly string[] = [],
  ) {
    const [command = "", ...words] = [
      ...through,
      process.execPath,
      program,
      "start",
      "--port",
      "0",
      ...args,
    ];
    const child = spawn(command, words, { env: { ...environment, ...more } });
    this.child = child;
    child.stderr.setEncoding("utf8").on("data", (piece: string) => (this.stderr += piece));
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    // `close`: exited, and all its output has been read.
    this.#exited = once(child, "close");
    context.after(() => child.kill("SIGKILL"));
  }

  /** Reads the log up to this event and returns its fields. */
  async event(name: string): Promise<Record<string, unknown>> {
    for (;;) {
      const line = (await this.#lines.next()).value;
      assert.ok(line !== undefined, `the log has an event ${name}`);
      const fields = JSON.parse(line) as Record<string, unknown>;
      if (fields["event"] === name) return fields;
    }
  }

  /** Resolves with standard error once it matches `pattern`. */
  async stderrMatch(pattern: RegExp): Promise<string> {
    await until(`standard error says ${String(pattern)}`, () => pattern.test(this.stderr));
    return this.stderr;
  }

  async exitCode(): Promise<number | null> {
    await this.#exited;
    return this.child.exitCode;
  }
}

function newFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-main-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("the program", () => {
  test("reports to an old Node what it lacks", async () => {
    const pretend = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"24.15.9"})`;
    const { code, stderr } = await run(["--version"], {}, ["--import", pretend]);
    assert.equal(code, 1);
    assert.match(stderr, /^Cofre needs Node 24\.16 or later/);
  });

  test("says its version and its help on standard output", async () => {
    assert.match((await run(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
    const help = await run(["help"]);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /Usage: cofre/);
  });

  test("refuses a word that it does not know with exit code 2", async () => {
    const { code, stdout, stderr } = await run(["strat"]);
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /^Unknown command strat\. Did you mean start\?/);
  });

  test("refuses wrong settings with exit code 2 and all that is wrong", async () => {
    const { code, stdout, stderr } = await run(["start"], {
      COFRE_PROT: "1",
      COFRE_ENVIRONMENT: "live",
    });
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /COFRE_PROT is not a setting\. Did you mean COFRE_PORT\?\n.*COFRE_ENVIRONMENT is "live"/,
    );
  });

  test("shows the settings that hold, without secrets", async () => {
    const { code, stdout } = await run(["config", "--port", "1234"], {
      COFRE_SANDBOX_INTEGRATION_KEY: "hush",
    });
    assert.equal(code, 0);
    assert.match(stdout, /COFRE_PORT, --port = 1234/);
    assert.equal(stdout.includes("hush"), false);
  });

  test("takes a reader who has gone for the end of what can be shown", async () => {
    for (const word of ["--version", "help", "config"]) {
      assert.deepEqual(
        await runUnread("stdout", [word]),
        { code: 0, stdout: "", stderr: "" },
        word,
      );
    }
    const misuse = await runUnread("stderr", ["strat"]);
    assert.deepEqual([misuse.code, misuse.stdout], [2, ""]);
  });

  test(
    "fails where what was asked for cannot be written",
    { skip: !existsSync("/dev/full") },
    async (context) => {
      const folder = newFolder(context);
      writeFileSync(join(folder, "a.txt"), "nothing");
      const full = openSync("/dev/full", "w");
      context.after(() => closeSync(full));
      for (const args of [
        ["--version"],
        ["help"],
        ["config"],
        ["scan", "--json", join(folder, "a.txt")],
      ]) {
        const child = spawn(process.execPath, [program, ...args], {
          env: environment,
          stdio: ["ignore", full, "pipe"],
        });
        assert.ok(child.stderr !== null);
        const [said] = await Promise.all([textOf(child.stderr), once(child, "exit")]);
        assert.deepEqual(
          [child.exitCode, said.split("\n").at(-2)],
          [1, "The output cannot be written: ENOSPC."],
          args.join(" "),
        );
      }
    },
  );
});

/** Starts once, waits until it is listening, and stops it. Resolves with its standard error. */
async function startAndStop(context: TestContext, args: readonly string[]): Promise<string> {
  const serving = new Serving(context, args);
  await serving.event("listening");
  serving.child.kill("SIGTERM");
  assert.equal(await serving.exitCode(), 0);
  return serving.stderr;
}

describe("a first start that failed", () => {
  test("on a taken port has lost no keys: the next one shows them", async (context) => {
    const folder = join(newFolder(context), "data");
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    context.after(() => other.close());
    const address = other.address();
    assert.ok(typeof address === "object" && address !== null);

    const { code, stderr } = await run([
      "start",
      "--data-dir",
      folder,
      "--port",
      String(address.port),
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /is in use/);
    assert.match(await startAndStop(context, ["--data-dir", folder]), /integration key +test_ik_/);
    assert.equal(
      await startAndStop(context, ["--data-dir", folder]),
      "",
      "control: they are shown once",
    );
  });

  test("because the acquirer is away has lost no keys either", async (context) => {
    const folder = join(newFolder(context), "data");
    const gone = `http://127.0.0.1:${await freePort()}`;

    const { code } = await run(["start", "--data-dir", folder, "--port", "0"], {
      COFRE_ACQUIRER_URL: gone,
    });
    assert.equal(code, 1);
    assert.match(await startAndStop(context, ["--data-dir", folder]), /integration key +test_ik_/);
  });

  test("with a plain file for a data directory says so", async (context) => {
    const file = join(newFolder(context), "data");
    writeFileSync(file, "");
    const { code, stderr } = await run(["start", "--data-dir", file, "--port", "0"]);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `Cofre could not start: ${file}: this is not a directory; name one with COFRE_DATA_DIR\n`,
    );
  });
});

describe("a start", () => {
  for (const [what, lose] of [
    ["missing", (file: string) => rmSync(file)],
    ["empty", (file: string) => truncateSync(file)],
    // The file before the first checkpoint, when it is copied without its write-ahead log: 4,096
    // bytes and no table.
    ["without its tables", withoutTables],
  ] as const) {
    test(`with keys whose database is ${what} is refused with what to do, and makes nothing`, async (context) => {
      const folder = join(newFolder(context), "data");
      await startAndStop(context, ["--data-dir", folder]);
      lose(join(folder, "cofre.db"));
      const before = readdirSync(folder);
      for (let time = 0; time < 2; time += 1) {
        const { code, stderr } = await run(["start", "--data-dir", folder, "--port", "0"]);
        assert.equal(code, 1);
        assert.match(
          stderr,
          /cofre\.db: the database is missing, empty or without its tables \(.*\), but its directory has keys: restore it .* to begin a new installation\n$/,
        );
      }
      assert.deepEqual(readdirSync(folder), before);

      for (const name of readdirSync(folder))
        if (/^root\.key$|^keys\.|\.sealed$/.test(name)) rmSync(join(folder, name));
      assert.match(
        await startAndStop(context, ["--data-dir", folder]),
        /integration key +test_ik_/,
      );
    });
  }

  test("that hangs ends soon after a signal", async (context) => {
    const requested = Promise.withResolvers<void>();
    const silent = createServer(() => requested.resolve()).listen(0, "127.0.0.1");
    context.after(() => silent.close());
    await once(silent, "listening");
    const address = silent.address();
    assert.ok(typeof address === "object" && address !== null);
    const serving = new Serving(context, ["--data-dir", ":memory:"], {
      COFRE_ACQUIRER_URL: `http://127.0.0.1:${address.port}`,
    });
    await requested.promise;
    serving.child.kill("SIGTERM");
    assert.equal((await serving.event("shutdown_forced"))["reason"], "signal_during_start");
    assert.equal(await serving.exitCode(), 1);
  });

  test("reports an unknown variable, and continues", async (context) => {
    const serving = new Serving(context, ["--data-dir", ":memory:"], { COFRE_DASHBOARD_PORT: "1" });
    assert.equal((await serving.event("setting_unknown"))["name"], "COFRE_DASHBOARD_PORT");
    await serving.event("listening");
    assert.match(serving.stderr, /^Unknown setting COFRE_DASHBOARD_PORT is ignored\./);
  });

  test(
    "leaves its memory out of core dumps",
    { skip: process.platform !== "linux" },
    async (context) => {
      const serving = new Serving(context, ["--data-dir", ":memory:"]);
      await serving.event("listening");
      assert.equal(
        Number.parseInt(readFileSync(`/proc/${serving.child.pid}/coredump_filter`, "utf8"), 16),
        0,
      );
      assert.notEqual(
        Number.parseInt(readFileSync("/proc/self/coredump_filter", "utf8"), 16),
        0,
        "control: other processes have theirs",
      );
    },
  );

  test("reports an empty setting", async (context) => {
    const serving = new Serving(context, ["--data-dir", ":memory:"], { COFRE_DATABASE_URL: "" });
    assert.equal((await serving.event("setting_empty"))["name"], "COFRE_DATABASE_URL");
    await serving.event("listening");
  });

  test(
    "reports a data directory that is open to other users",
    { skip: process.platform === "win32" },
    async (context) => {
      const folder = newFolder(context);
      chmodSync(folder, 0o755);
      const serving = new Serving(context, ["--data-dir", folder]);
      assert.deepEqual((await serving.event("data_directory_permissions"))["mode"], "0755");
      await serving.event("listening");
    },
  );
});

describe("a started server", () => {
  test("shows keys and commands at its first start only; the commands work as they are; SIGTERM ends it with 0", async (context) => {
    const folder = join(newFolder(context), "data");
    const first = new Serving(context, ["--data-dir", folder]);
    const { port } = await first.event("listening");
    const banner = await first.stderrMatch(/\/ws\/capture .*\n/);
    assert.ok(banner.includes(`http://127.0.0.1:${String(port)}`));

    const commands = banner.split("\n").filter((line) => /^(?:TOKEN=|HASH=|curl )/.test(line));
    assert.equal(commands.length, 3);
    const { stdout } = await promisify(execFile)("sh", ["-c", commands.join("\n")]);
    const [token, hash, answer] = stdout.split("\n");
    assert.match(token ?? "", /^[0-9a-f]{128}$/);
    assert.match(hash ?? "", /^[0-9a-f]{48}$/);
    assert.match(answer ?? "", /"status":"CO".*"status":"SUCCESS"\}$/);

    first.child.kill("SIGTERM");
    await first.event("stopped");
    assert.equal(await first.exitCode(), 0);

    const second = new Serving(context, ["--data-dir", folder]);
    await second.event("listening");
    second.child.kill("SIGINT");
    assert.equal(await second.exitCode(), 0);
    assert.equal(second.stderr, "");
  });

  test("continues to serve when its standard error is closed", async (context) => {
    const server = new Serving(context, ["--data-dir", ":memory:"]);
    server.child.stderr?.destroy();
    await server.event("listening");
    server.child.kill("SIGTERM");
    assert.equal(await server.exitCode(), 0);
  });

  test(
    "opens no debugger on SIGUSR1, and serves on",
    { skip: process.platform === "win32" },
    async (context) => {
      // Another user of the machine could read the root key through it.
      const server = new Serving(context, ["--data-dir", ":memory:"]);
      const { port } = await server.event("listening");
      for (let times = 0; times < 3; times += 1) {
        server.child.kill("SIGUSR1");
        assert.equal((await fetch(`http://127.0.0.1:${String(port)}/healthz`)).status, 200);
      }
      server.child.kill("SIGTERM");
      assert.equal(await server.exitCode(), 0);
      assert.doesNotMatch(server.stderr, /debugger/i);

      // Control: without a signal handler Node opens the inspector.
      const bare = spawn(process.execPath, [
        "--inspect-port=0",
        "-e",
        "setInterval(() => {}, 1000); console.log('up')",
      ]);
      context.after(() => bare.kill("SIGKILL"));
      await once(bare.stdout, "data");
      bare.kill("SIGUSR1");
      assert.match(String((await once(bare.stderr, "data"))[0]), /Debugger listening/);
    },
  );

  test("does not print keys that were chosen", async (context) => {
    const keys = {
      COFRE_SANDBOX_INTEGRATION_KEY: "chosen-secret-key",
      COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY: "chosen-public-key",
    };
    const serving = new Serving(context, ["--data-dir", ":memory:"], keys);
    await serving.event("listening");
    serving.child.kill("SIGTERM");
    assert.equal(await serving.exitCode(), 0);
    assert.equal(serving.stderr.includes("chosen-"), false);
    assert.match(serving.stderr, /It has the keys that you chose/);
  });

  test("says in words that its port is taken, and ends with 1", async (context) => {
    const serving = new Serving(context, ["--data-dir", ":memory:"]);
    const { port } = await serving.event("listening");
    const { code, stdout, stderr } = await run([
      "start",
      "--data-dir",
      ":memory:",
      "--port",
      String(port),
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /^Cofre could not start: port \d+ of 127\.0\.0\.1 is in use/);
    assert.match(stdout, /"event":"start_failed","errorName":"Error","errorCode":"EADDRINUSE"/);
  });

  test("says what to do when another Cofre has its directory", async (context) => {
    const folder = join(newFolder(context), "data");
    const serving = new Serving(context, ["--data-dir", folder]);
    await serving.event("listening");
    const { code, stderr } = await run(["start", "--data-dir", folder, "--port", "0"]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /the database is in use by .*\. Is a Cofre running with the directory .*data\? A second one needs its own --data-dir D and --port N/,
    );
  });

  test(
    "that can no longer write says so once, and is not ready",
    { skip: process.platform === "linux" ? false : "files cannot be kept from growing here" },
    async (context) => {
      const folder = join(newFolder(context), "data");
      const keys = { COFRE_SANDBOX_INTEGRATION_KEY: "full" };
      // A limit of 640 KiB for the largest file: enough for the start and some stored
      // cards.
      const limited = `ulimit -f 1280; exec "$0" "$@"`;
      const serving = new Serving(context, ["--data-dir", folder], keys, ["sh", "-c", limited]);
      const { port } = await serving.event("listening");
      const url = `http://127.0.0.1:${String(port)}`;
      assert.equal((await fetch(`${url}/readyz`)).status, 200);

      const card = {
        card_number: "4111111111111111",
        card_name: "Ana Lima",
        card_due_date: "12/2060",
        card_cvv: "123",
      };
      const body = JSON.stringify({
        integration_key: "full",
        country: "br",
        payment_type_code: "creditcard",
        creditcard: card,
      });
      let stored = 0;
      const isRefused = async (): Promise<boolean> => {
        if (
          !(await (await fetch(`${url}/ws/token`, { method: "POST", body })).text()).includes(
            "SUCCESS",
          )
        )
          return true;
        stored += 1;
        return false;
      };
      await until("the disk is full", isRefused, { everyMs: 0 });
      assert.ok(stored > 10, "control: it wrote before");
      await serving.event("store_unavailable");
      const ready = await fetch(`${url}/readyz`);
      assert.deepEqual(
        [ready.status, ((await ready.json()) as { status: string }).status],
        [503, "not_writing"],
      );
      assert.equal((await fetch(`${url}/healthz`)).status, 200);
    },
  );

  test("waits for a request under way at the first signal and ends at once at the second", async (context) => {
    const serving = new Serving(context, ["--data-dir", ":memory:"]);
    const { port } = await serving.event("listening");
    const client = connect(Number(port), "127.0.0.1");
    context.after(() => client.destroy());
    client.on("error", () => undefined);
    // A body that is announced but never sent: the server's 100 Continue shows that the request is
    // in flight.
    client.write(
      "POST /ws/token HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    );
    await once(client, "data");

    serving.child.kill("SIGTERM");
    await serving.event("stopping");
    serving.child.kill("SIGTERM");
    assert.deepEqual((await serving.event("shutdown_forced"))["reason"], "second_signal");
    assert.equal(await serving.exitCode(), 1);
  });

  test("says so when the grace runs out on a request under way", async (context) => {
    const serving = new Serving(context, ["--data-dir", ":memory:"], {
      COFRE_SHUTDOWN_TIMEOUT_MS: "200",
    });
    const { port } = await serving.event("listening");
    const client = connect(Number(port), "127.0.0.1");
    context.after(() => client.destroy());
    client.on("error", () => undefined);
    client.write(
      "POST /ws/token HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    );
    await once(client, "data");

    serving.child.kill("SIGTERM");
    assert.deepEqual((await serving.event("shutdown_forced"))["reason"], "grace_over");
    assert.equal(await serving.exitCode(), 1);
  });

  test(
    "started by npm, it ends with the shell that npm signals and that passes nothing on",
    { skip: process.platform === "win32" },
    async (context) => {
      const shell = ["sh", "-c", `"$0" "$@"; exit $?`];
      const serving = new Serving(
        context,
        ["--data-dir", ":memory:"],
        { npm_lifecycle_event: "start" },
        shell,
      );
      await serving.event("listening");
      serving.child.kill("SIGTERM");
      assert.equal((await serving.event("stopping"))["signal"], "parent_gone");
      await serving.event("stopped");
    },
  );
});

function withoutTables(file: string): void {
  rmSync(file);
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode = WAL");
  database.close();
}
