import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { OutboxRow } from "../../src/stores/store.ts";
import { merchantA } from "../contract/store-fixtures.ts";
import { Chance } from "../support/chance.ts";
import { until } from "../until.ts";

const child = fileURLToPath(new URL("sender-child.ts", import.meta.url));
const kills = 4;
const paymentsPerLife = 20;

interface Received {
  readonly numbers: readonly number[];
  readonly id: string;
  readonly hashes: readonly string[];
}

test("a real sender that is killed again and again, with a receiver that fails 30 % of the time, delivers all that it committed", async (context) => {
  await killedAgainAndAgain(context, () => 1);
});

test("so does one that sends several payments in a message, each time the same ones, whatever its limit is in each life", async (context) => {
  const received = await killedAgainAndAgain(context, (life) => [5, 2, 9, 1, 7][life % 5] ?? 1);
  assert.ok(
    received.some(({ numbers }) => numbers.length > 1),
    "control: some went together",
  );
});

/** `hashesPerCall`: one for each process. Resolves with the received messages. */
async function killedAgainAndAgain(
  context: TestContext,
  hashesPerCall: (life: number) => number,
): Promise<readonly Received[]> {
  const directory = mkdtempSync(join(tmpdir(), "cofre-sender-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "cofre.db");
  const chance = new Chance(11);
  const epoch = Date.now();
  const received: Received[] = [];
  const delivered = new Set<number>();
  /** The process is killed after this number of messages: often in the middle of an answer. */
  let endsAfter = Number.POSITIVE_INFINITY;
  let life: ChildProcess | undefined;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const numbers = String(request.headers["x-cofre-sequence"]).split(",").map(Number);
      const hashes = (new URLSearchParams(body).get("hash_codes") ?? "").split(",");
      received.push({ numbers, id: String(request.headers["webhook-id"]), hashes });
      const dies = received.length >= endsAfter;
      if (dies && chance.happens(500)) life?.kill("SIGKILL");
      if (chance.happens(300)) {
        if (chance.happens(500)) response.writeHead(500).end();
        else response.socket?.resetAndDestroy();
      } else {
        for (const number of numbers) delivered.add(number);
        response.end("OK");
      }
      if (dies) life?.kill("SIGKILL");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(async () => {
    life?.kill("SIGKILL");
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

  const begin = (first: number, count: number, hashes: number): ChildProcess => {
    const options = [
      "--file",
      file,
      "--url",
      url,
      "--first",
      String(first),
      "--count",
      String(count),
      "--epoch",
      String(epoch),
    ];
    return spawn(process.execPath, [child, ...options, "--hashes", String(hashes)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
  };
  for (let lives = 0; lives < kills; lives += 1) {
    endsAfter = received.length + chance.between(5, 60);
    life = begin(lives * paymentsPerLife + 1, paymentsPerLife, hashesPerCall(lives));
    const [, signal] = (await once(life, "exit")) as [number | null, string | null];
    assert.equal(signal, "SIGKILL");
  }
  endsAfter = Number.POSITIVE_INFINITY;
  const left = await rowsIn(file);
  const last = begin(1, 0, hashesPerCall(kills));
  life = last;
  assert.ok(last.stdout !== null);
  const lines = createInterface({ input: last.stdout });
  const words: string[] = [];
  lines.on("line", (line) => words.push(line));
  await until("everything that was left is delivered", () => delivered.size >= left.length);
  last.kill("SIGKILL");
  await once(last, "exit");

  const rows = await rowsIn(file);
  assert.deepEqual(
    rows.map(({ number }) => number),
    rows.map((_, index) => index + 1),
  );
  assert.deepEqual(
    [...delivered].toSorted((a, b) => a - b),
    rows.map(({ number }) => number),
  );
  const ids = new Map<number, string>();
  const contents = new Map<string, string>();
  const latest = new Map<string, number>();
  for (const { numbers, id, hashes } of received) {
    assert.equal(contents.get(id) ?? String(numbers), String(numbers), "a repeat tells the same");
    contents.set(id, String(numbers));
    for (const [index, number] of numbers.entries()) {
      const hash = hashes[index] ?? "";
      assert.equal(rows[number - 1]?.paymentId, hash, "what was heard had been committed");
      assert.equal(ids.get(number) ?? id, id, "a repeat has the same id");
      ids.set(number, id);
      assert.ok(number >= (latest.get(hash) ?? 0), "a payment's notifications come in order");
      latest.set(hash, number);
    }
  }
  assert.equal(new Set(ids.values()).size, contents.size);
  assert.ok(received.length > contents.size, "control: there were repeats");
  assert.ok(rows.length > 50, `control: ${rows.length} notifications`);
  assert.deepEqual(
    words.filter((word) => word.startsWith("alarm")),
    [],
  );
  return received;
}

async function rowsIn(file: string): Promise<readonly OutboxRow[]> {
  const store = await openEmbeddedStore({ file });
  try {
    return await store.notificationsOf(merchantA, 0, 100_000);
  } finally {
    await store.close();
  }
}
