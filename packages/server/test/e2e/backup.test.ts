import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { cleanEnvironment } from "../command.ts";
import { CofreProcess } from "../support/cofre-process.ts";
import { WireClient } from "../support/wire-client.ts";
import { directBody, integrationKey } from "../server.ts";
import { until } from "../until.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const program = join(root, "bin", "cofre.js");

describe("cofre backup", () => {
  test("copies a database under load: every payment that was answered before it began is in the copy, and keys are not", async (context) => {
    const place = new Place(context);
    const server = await place.start();
    const load = place.load(server);
    const before = await load.answered(30);

    const { code, stdout, stderr } = await place.run("backup", place.copies, "--json");
    await load.stop();

    assert.equal(code, 0, stderr);
    assert.deepEqual(readdirSync(place.copies), ["cofre.db"]);
    assert.equal(statSync(join(place.copies, "cofre.db")).mode & 0o777, 0o600);
    const copied = new Set(codesIn(join(place.copies, "cofre.db")));
    assert.deepEqual(
      before.filter((each) => !copied.has(each)),
      [],
    );
    assert.equal((JSON.parse(stdout) as { payments: number }).payments, copied.size);
    assert.ok(load.codes.length > before.length, "control: payments were made meanwhile");
    await server.cofre.end("SIGTERM");
  });

  test("says where the keys are, and refuses a directory that holds a copy", async (context) => {
    const place = new Place(context);
    await (await place.start()).cofre.end("SIGTERM");
    const first = await place.run("backup", place.copies);
    assert.equal(first.code, 0, first.stderr);
    assert.match(
      first.stdout,
      /cofre\.db: 0 payments, 0 cards, \d+ bytes; it passed the integrity check\.\n$/,
    );
    assert.match(
      first.stderr,
      /The copy has no root key.*Copy root\.key, and keys\.\*\.json and \*\.sealed if there are any/,
    );

    const again = await place.run("backup", place.copies);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /a file of this name exists, and a backup overwrites nothing/);
    assert.deepEqual(readdirSync(place.copies), ["cofre.db"]);
  });

  test("that is killed at any moment leaves no file that looks like a copy, unless it is whole", async (context) => {
    const place = new Place(context);
    const server = await place.start();
    await place.load(server).answered(200);
    await server.cofre.end("SIGKILL");
    const whole = await place.run("backup", join(place.copies, "control"), "--json");
    const { payments } = JSON.parse(whole.stdout) as { payments: number };
    let [cut, complete] = [0, 0];
    // From a moment before the copy has begun to one when it is nearly done, judged by the files.
    for (let part = 0; part < 8; part += 1) {
      const folder = join(place.copies, String(part));
      const child = spawn(process.execPath, [program, "backup", folder, "--data-dir", place.data], {
        env: { ...cleanEnvironment },
        stdio: "ignore",
      });
      const exited = once(child, "exit");
      const isReached = (): boolean => child.exitCode !== null || hasPart(folder, part * 20_000);
      await until("the copy has this part, or is complete", isReached, { everyMs: 0 });
      child.kill("SIGKILL");
      await exited;
      const copy = join(folder, "cofre.db");
      if (!existsSync(copy)) cut += 1;
      else {
        assert.equal(codesIn(copy).length, payments);
        complete += 1;
      }
      const after = await place.run("backup", join(folder, "after"), "--json");
      assert.equal(after.code, 0, after.stderr);
    }
    assert.equal(cut + complete, 8);
    assert.ok(cut > 0, "control: some were cut off");
  });

  for (const code of ["EPERM", "ENOTSUP", "EXDEV", "ENOSYS", "EINVAL"]) {
    test(`makes a copy where the file system has no hard links: ${code}`, async (context) => {
      const place = new Place(context);
      const server = await place.start();
      await place.load(server).answered(5);
      await server.cofre.end("SIGTERM");

      const { code: exit, stderr } = await place.runWith(withoutLinks(code), [
        "backup",
        place.copies,
      ]);

      assert.equal(exit, 0, stderr);
      assert.deepEqual(readdirSync(place.copies), ["cofre.db"]);
      assert.equal(statSync(join(place.copies, "cofre.db")).mode & 0o777, 0o600);
      assert.equal(
        codesIn(join(place.copies, "cofre.db")).length,
        codesIn(join(place.data, "cofre.db")).length,
      );
      assert.equal((await place.runWith(withoutLinks(code), ["backup", place.copies])).code, 1);
      const restored = await place.run("restore", place.copies, "--replace");
      assert.equal(restored.code, 0, restored.stderr);
    });
  }

  test("overwrites no file that another program makes in the last moment where the file system has no hard links", async (context) => {
    const place = new Place(context);
    await (await place.start()).cofre.end("SIGTERM");

    const { code, stderr } = await place.runWith(
      withoutLinks("EPERM", 'fs.writeFileSync(to, "of another program");'),
      ["backup", place.copies],
    );

    assert.equal(code, 1);
    assert.match(stderr, /a file of this name exists, and a backup overwrites nothing/);
    assert.deepEqual(readdirSync(place.copies), ["cofre.db"]);
    assert.equal(readFileSync(join(place.copies, "cofre.db"), "utf8"), "of another program");
  });

  for (const [what, environment, said] of [
    [
      "a database server",
      { COFRE_DATABASE_URL: "postgres://cofre:hunter2@127.0.0.1:1/cofre" },
      /names a PostgreSQL server/,
    ],
    ["memory", { COFRE_DATA_DIR: ":memory:" }, /which keeps nothing/],
  ] as const) {
    test(`refuses, with 2, what is in ${what}`, async (context) => {
      const place = new Place(context);
      const { code, stderr } = await place.runWith(environment, ["backup", place.copies]);
      assert.equal(code, 2);
      assert.match(stderr, said);
      assert.equal(existsSync(place.copies), false);
    });
  }
});

describe("cofre restore", () => {
  test("is refused while a server runs, and where a database is, unless that may be replaced", async (context) => {
    const place = new Place(context);
    const server = await place.start();
    const load = place.load(server);
    const [kept = ""] = await load.answered(5);
    await load.stop();
    await place.run("backup", place.copies);
    const running = await place.run("restore", place.copies);
    assert.equal(running.code, 1);
    assert.match(
      running.stderr,
      /the database is in use by another process, or by another store of this one/,
    );
    const later = place.load(server);
    await later.answered(5);
    await later.stop();
    await server.cofre.end("SIGKILL");

    const occupied = await place.run("restore", place.copies);
    assert.equal(occupied.code, 1);
    assert.match(occupied.stderr, /there is a database in the data directory/);
    const replaced = await place.run("restore", place.copies, "--replace");
    assert.equal(replaced.code, 0, replaced.stderr);
    assert.ok(
      readdirSync(place.data).some((name) => /^cofre\.db\.replaced-[0-9a-f]{8}$/.test(name)),
    );
    // The previous database's write-ahead log would damage it.
    assert.equal(existsSync(join(place.data, "cofre.db-wal")), false);
    const again = await place.start();
    assert.ok(await place.knows(again, kept));
    assert.equal(await place.knows(again, later.codes[0] ?? ""), false);
    await again.cofre.end("SIGTERM");
  });

  test("refuses what is not a copy, and a damaged copy", async (context) => {
    const place = new Place(context);
    const server = await place.start();
    await place.load(server).answered(50);
    await server.cofre.end("SIGKILL");
    const raw = join(place.folder, "raw");
    cpSync(place.data, raw, { recursive: true });
    const damaged = join(place.folder, "damaged");
    await place.run("backup", damaged);
    const zeros = Buffer.alloc(8_192);
    const file = join(damaged, "cofre.db");
    const content = readFileSync(file);
    content.set(zeros, 16_384);
    writeFileSync(file, content);
    for (const [from, said] of [
      [raw, /not a copy that cofre backup made/],
      [damaged, /not a copy that cofre backup made|damaged/],
      [join(place.folder, "nothing"), /there is no database here/],
    ] as const) {
      const { code, stderr } = await place.run("restore", from, "--replace");
      assert.equal(code, 1);
      assert.match(stderr, said);
    }
    await (await place.start()).cofre.end("SIGTERM");
  });

  test("by hand beside the log of another database is refused at the start, and names what to remove", async (context) => {
    const place = new Place(context);
    const server = await place.start();
    await place.load(server).answered(5);
    await place.run("backup", place.copies);
    await server.cofre.end("SIGKILL");
    assert.ok(statSync(join(place.data, "cofre.db-wal")).size > 0, "control: there is a log");
    cpSync(join(place.copies, "cofre.db"), join(place.data, "cofre.db"));

    const refused = place.spawned();
    assert.equal(await refused.listening(), undefined);
    assert.match(place.stderrOf(refused), /remove cofre\.db-wal and cofre\.db-shm/);
    for (const end of ["-wal", "-shm"]) rmSync(join(place.data, `cofre.db${end}`));
    await (await place.start()).cofre.end("SIGTERM");
  });
});

test("cofre.db holds what was written soon after the last commit, without a stop", async (context) => {
  // The database file was empty until the log reached 32 MB: a copy of the file alone was an empty
  // database.
  const place = new Place(context);
  const server = await place.start();
  const load = place.load(server);
  await load.answered(20);
  await load.stop();
  const alone = join(place.folder, "alone.db");
  const until = Date.now() + 30_000;
  for (let codes: readonly string[] = []; codes.length < load.codes.length;) {
    assert.ok(Date.now() < until, "the file holds everything in the end");
    cpSync(join(place.data, "cofre.db"), alone);
    codes = codesIn(alone);
  }
  await server.cofre.end("SIGKILL");
});

interface Server {
  readonly cofre: CofreProcess;
  readonly port: number;
}

/** A separate installation, and the folder of its copies. */
class Place {
  readonly folder = mkdtempSync(join(tmpdir(), "cofre-backup-"));
  readonly data = join(this.folder, "data");
  readonly copies = join(this.folder, "copies");
  readonly #context: TestContext;
  readonly #client = new WireClient(4);
  #started = 0;

  constructor(context: TestContext) {
    this.#context = context;
    context.after(() => {
      this.#client.close();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  spawned(): CofreProcess {
    const cofre = CofreProcess.spawn({
      root,
      dataDirectory: this.data,
      logDirectory: this.folder,
      name: `cofre-${(this.#started += 1)}`,
      environment: { COFRE_SANDBOX_INTEGRATION_KEY: integrationKey },
    });
    this.#context.after(() => cofre.end("SIGKILL"));
    return cofre;
  }

  async start(): Promise<Server> {
    const cofre = this.spawned();
    const port = await cofre.listening();
    assert.ok(port !== undefined, this.stderrOf(cofre));
    return { cofre, port };
  }

  stderrOf({ stderrFile }: CofreProcess): string {
    return readFileSync(stderrFile, "utf8");
  }

  load({ port }: Server): Load {
    return new Load(this.#client, port);
  }

  async knows({ port }: Server, code: string): Promise<boolean> {
    const received = await this.#client.send({
      port,
      path: "/ws/query",
      body: JSON.stringify({ integration_key: integrationKey, merchant_payment_code: code }),
    });
    return received?.body.includes(`"${code}"`) === true && received.body.includes('"hash"');
  }

  run(...args: readonly string[]): ReturnType<Place["runWith"]> {
    return this.runWith({}, args);
  }

  async runWith(
    environment: Readonly<Record<string, string>>,
    args: readonly string[],
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...cleanEnvironment, COFRE_DATA_DIR: this.data, ...environment },
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    await once(child, "close");
    return { code: child.exitCode, stdout, stderr };
  }
}

/** Charges one payment after the other until it is stopped. */
class Load {
  /** Codes of payments that were answered. */
  readonly codes: string[] = [];
  #stopped = false;
  readonly #ended: Promise<void>;

  constructor(client: WireClient, port: number) {
    const prefix = `load-${port}-${Math.floor(performance.now())}`;
    this.#ended = (async () => {
      for (let number = 0; !this.#stopped; number += 1) {
        const code = `${prefix}-${number}`;
        const received = await client.send({
          port,
          path: "/ws/direct",
          body: JSON.stringify(directBody(code)),
        });
        if (received === undefined) return;
        if (received.body.includes('"status":"CO"')) this.codes.push(code);
      }
    })();
  }

  async answered(count: number): Promise<readonly string[]> {
    await until(`${count} payments are answered`, () => this.codes.length >= count);
    return [...this.codes];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#ended;
  }
}

/**
 * The environment of a process in which each hard link fails with this code, as on exFAT, SMB
 * shares or FUSE mounts.
 */
function withoutLinks(code: string, before = ""): Readonly<Record<string, string>> {
  const source = `import fs from "node:fs"; import { syncBuiltinESMExports } from "node:module";
    fs.linkSync = (from, to) => { ${before} throw Object.assign(new Error("link"), { code: "${code}", syscall: "link" }); };
    syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(source)}` };
}

function codesIn(file: string): readonly string[] {
  const database = new DatabaseSync(file);
  try {
    return database
      .prepare("SELECT code FROM payment")
      .all()
      .map((row) => String(row["code"]));
  } catch {
    return [];
  } finally {
    database.close();
  }
}

function hasPart(folder: string, bytes: number): boolean {
  try {
    return readdirSync(folder).some(
      (name) => name.endsWith(".part") && statSync(join(folder, name)).size >= bytes,
    );
  } catch {
    return false;
  }
}
