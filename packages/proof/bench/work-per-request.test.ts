import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { cases } from "./cases.ts";
import { Client } from "./client.ts";
import { Loads } from "./loads.ts";
import { integrationKey, startProduct } from "./product.ts";
import { sendAll } from "./window.ts";
import type { Work } from "./work-counter.ts";
import { until } from "../../server/test/until.ts";

/**
 * Work of the main thread per request, counted instead of timed: the same on every machine. The
 * bounds are a tenth above the counts at the time they were set.
 */
const bounds: readonly {
  readonly name: string;
  readonly promises: number;
  readonly heapBytes: number;
}[] = [
  { name: "direct-token", promises: 72, heapBytes: 97_000 },
  { name: "direct-pan", promises: 59, heapBytes: 81_000 },
  { name: "capture", promises: 66, heapBytes: 68_500 },
  { name: "query", promises: 19, heapBytes: 32_000 },
  { name: "query-recent", promises: 19, heapBytes: 31_000 },
  { name: "token", promises: 36, heapBytes: 38_000 },
];

/** Counted requests, and before them those that compile the code. */
const requests = 2_000;
const outstanding = 16;

test(
  "a request makes no more promises and no more garbage than it did",
  { skip: process.platform === "win32" },
  async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "work.json");
    process.env["COUNT_WORK_FILE"] = file;
    const server = await startProduct(join(folder, "data"), [
      "--import",
      fileURLToPath(new URL("work-counter.ts", import.meta.url)),
    ]);
    delete process.env["COUNT_WORK_FILE"];
    const client = new Client(server.ports);
    context.after(async () => {
      client.close();
      await server.stop();
    });
    const counted = async (): Promise<Work> => {
      rmSync(file, { force: true });
      process.kill(server.pid, "SIGUSR2");
      await until(
        "the server has written its counts",
        () => existsSync(file) && readFileSync(file, "utf8") !== "",
      );
      return JSON.parse(readFileSync(file, "utf8")) as Work;
    };
    const loads = new Loads(integrationKey, "c0ffee", true);
    await client.ensureOpen(64);
    await sendAll(client, loads.approvedToken(), 2_000, 64);

    for (const { name, promises, heapBytes } of bounds) {
      const benchCase = cases.find((each) => each.name === name);
      assert.ok(benchCase !== undefined);
      await benchCase.prepare?.(loads, client);
      await benchCase.refill?.(loads, client, 2 * requests);
      const load = benchCase.load(loads);
      await client.ensureOpen(outstanding);
      await sendAll(client, load, requests, outstanding);
      const before = await counted();
      await client.ensureOpen(outstanding);
      await sendAll(client, load, requests, outstanding);
      const after = await counted();
      const each = (after.promises - before.promises) / requests;
      const bytes =
        after.heapBytes === undefined || before.heapBytes === undefined
          ? undefined
          : (after.heapBytes - before.heapBytes) / requests;
      context.diagnostic(`${name}: ${each.toFixed(1)} promises, ${bytes?.toFixed(0) ?? "?"} bytes`);
      assert.ok(
        each > 0 && each <= promises,
        `${name}: ${each} promises a request, at most ${promises}`,
      );
      if (bytes !== undefined)
        assert.ok(
          bytes > 0 && bytes <= heapBytes,
          `${name}: ${bytes} bytes a request, at most ${heapBytes}`,
        );
    }
  },
);
