import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FaultyRun, until } from "./support/faulty-run.ts";
import { plantedCopy, serverRoot } from "../../server/test/support/planted-copy.ts";
import { SmallDisk, whyNoSmallDisk } from "../../server/test/support/small-disk.ts";
import type { Received } from "../../server/test/support/wire-client.ts";

const noDisk = whyNoSmallDisk() ?? false;
const noStrace = spawnSync("strace", ["-V"]).status === 0 ? false : "strace is not installed";

/** Enough for a new database, not for the load. */
const diskMebibytes = 48;
/** Limit that is documented for operators, from the moment when space is free again. */
const backMs = 10_000;

/** Checks for a refusal in the interface's format: a JSON object with ERROR and a code. */
function assertRefusal(received: Received): void {
  assert.ok(received !== undefined, "an answer comes");
  const answer = JSON.parse(received.body) as {
    readonly status?: string;
    readonly status_code?: string;
    readonly status_message?: string;
  };
  assert.equal(answer.status, "ERROR", received.body);
  assert.match(answer.status_code ?? "", /^\S+$/);
  assert.ok((answer.status_message ?? "").length > 0);
}

test("the database's disk is full, three times", { skip: noDisk }, async (context) => {
  using disk = new SmallDisk(diskMebibytes);
  const run = await FaultyRun.start({
    root: serverRoot,
    dataDirectory: join(disk.directory, "data"),
  });
  try {
    for (let round = 0; round < 3; round += 1) {
      await run.untilAcknowledged(50);
      disk.fill();
      // A small write may still fit after a larger one failed.
      await until("the server says that it does not write, and refuses a write", async () => {
        const readiness = await run.readiness();
        if (readiness?.status !== 503) return false;
        assert.equal(
          (JSON.parse(readiness.body) as { readonly status?: string }).status,
          "not_writing",
        );
        const received = await run.tokenize();
        if (received?.status === 200 && received.body.includes('"SUCCESS"')) return false;
        assertRefusal(received);
        return true;
      });
      const acknowledged = run.promises.acknowledged;
      await sleep(1_500);
      context.diagnostic(`acknowledged while full: ${run.promises.acknowledged - acknowledged}`);
      disk.empty();
      const ms = await run.untilTokenized();
      context.diagnostic(`back after ${ms} ms`);
      assert.ok(ms < backMs, `back after ${ms} ms`);
      await until(
        "the server says that it is ready",
        async () => (await run.readiness())?.status === 200,
      );
    }
    await run.untilAcknowledged(50);
    assert.ok(run.events("store_unavailable").length >= 3);
    assert.equal(run.hasEnded, false);
    // A kill loses what was only in memory, so the check covers what is on disk.
    await run.restart();
    await run.untilAcknowledged(20);
    assert.deepEqual(await run.judge(), []);
    context.diagnostic(`acknowledged writes: ${run.promises.acknowledged}`);
  } finally {
    await run.close();
  }
});

test(
  "the log's disk is full: payments continue, and the log continues when there is space",
  { skip: noDisk },
  async (context) => {
    using disk = new SmallDisk(1);
    const dataDirectory = mkdtempSync(join(tmpdir(), "cofre-data-"));
    const run = await FaultyRun.start({
      root: serverRoot,
      dataDirectory,
      logDirectory: disk.directory,
    });
    try {
      await run.untilAcknowledged(50);
      disk.fill();
      await run.untilAcknowledged(200);
      assert.equal((await run.readiness())?.status, 200);
      disk.empty();
      const before = run.events("request").length;
      const ms = await until("lines are written again", async () => {
        await run.tokenize();
        return run.events("request").length > before;
      });
      context.diagnostic(`the log was back after ${ms} ms`);
      assert.ok(ms < backMs);
      // The disk is also full at the server's end.
      disk.fill();
      assert.deepEqual(await run.judge(), []);
    } finally {
      await run.close();
      rmSync(dataDirectory, { recursive: true, force: true });
    }
  },
);

/**
 * Makes system calls of a running process fail: all of the named ones from the nth on, or only the
 * nth.
 */
async function failCalls(
  pid: number,
  calls: string,
  error: string,
  when: string,
): Promise<ChildProcess> {
  const filter = `inject=${calls}:error=${error}:when=${when}`;
  const strace = spawn(
    "strace",
    ["-f", "-o", "/dev/null", "-e", `trace=${calls}`, "-e", filter, "-p", String(pid)],
    {
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  // strace reports on stderr that it is attached.
  await once(strace.stderr, "data");
  return strace;
}

async function letGo(strace: ChildProcess): Promise<void> {
  strace.kill("SIGINT");
  if (strace.exitCode === null && strace.signalCode === null) await once(strace, "exit");
}

interface Failure {
  readonly name: string;
  readonly calls: string;
  readonly when: string;
}

const failures: readonly Failure[] = [
  // A later fsync that succeeds does not cover what an earlier one failed to write: the system may
  // have dropped it.
  { name: "one fsync fails, and those after it work", calls: "fdatasync,fsync", when: "5" },
  { name: "every fsync fails", calls: "fdatasync,fsync", when: "5+" },
  { name: "one write fails", calls: "pwrite64", when: "15" },
  { name: "every write fails", calls: "pwrite64", when: "15+" },
];

async function runWithFailure(
  root: string,
  { calls, when }: Failure,
  check: (run: FaultyRun) => Promise<void>,
): Promise<readonly string[]> {
  const dataDirectory = mkdtempSync(join(tmpdir(), "cofre-data-"));
  const run = await FaultyRun.start({ root, dataDirectory });
  try {
    await run.untilAcknowledged(20);
    const strace = await failCalls(run.pid, calls, "EIO", when);
    try {
      await check(run);
    } finally {
      await letGo(strace);
    }
    await run.restart();
    await run.untilAcknowledged(20);
    return await run.judge();
  } finally {
    await run.close();
    rmSync(dataDirectory, { recursive: true, force: true });
  }
}

for (const failure of failures) {
  test(
    `${failure.name}: nothing is acknowledged on the strength of it, and a restart finds the rest`,
    { skip: noStrace },
    async (context) => {
      const violations = await runWithFailure(serverRoot, failure, async (run) => {
        await until(
          "the server says that it does not write",
          async () => (await run.readiness())?.status === 503,
        );
        // Requests that were in flight at the failure may still be answered from what they read;
        // new ones must not be acknowledged.
        for (let time = 0; time < 20; time += 1) assertRefusal(await run.tokenize());
        assert.equal(
          (await run.readiness())?.status,
          503,
          "writing stays off: only opening the file again can tell what is there",
        );
        assert.equal(run.hasEnded, false);
        context.diagnostic(`acknowledged writes: ${run.promises.acknowledged}`);
      });
      assert.deepEqual(violations, []);
    },
  );
}

test(
  "control: a server that continues after a failed fsync is detected",
  { skip: noStrace },
  async (context) => {
    const root = plantedCopy({
      name: "the writer goes on after a failed fsync",
      file: "stores/embedded/batch-writer.ts",
      find: 'this.#state = full ? "in_doubt" : "stopped";',
      replace: 'this.#state = "ready";',
    });
    context.after(() => rmSync(root, { recursive: true, force: true }));
    const [failure] = failures;
    assert.ok(failure !== undefined);
    let wentOn = false;
    await runWithFailure(root, failure, async (run) => {
      await until(
        "a failed write was logged",
        async () => run.events("store_unavailable").length > 0,
      );
      await run.untilTokenized();
      wentOn = true;
    });
    assert.ok(wentOn);
  },
);
