import { setTimeout as sleep } from "node:timers/promises";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { clockToleranceMs } from "../../../server/src/kernel/clock.ts";
import { day, hour, minute } from "../../../server/src/kernel/instant.ts";
import { systemElapsed } from "../../../server/src/kernel/system-elapsed.ts";
import { systemClock } from "../../../server/src/kernel/system-clock.ts";
import { ManualScheduler } from "../../../server/test/manual-scheduler.ts";
import {
  integrationKey,
  ManualClock,
  startTestServer,
  type TestServer,
  testEpoch,
} from "../../../server/test/server.ts";
import { Chance } from "../../../server/test/support/chance.ts";
import { canaries } from "../../../server/test/support/leak-load.ts";
import type { LeakStore } from "./leak-store.ts";

export interface DeletedCards {
  /**
   * Number of sealed rows of the expired cards in the files: before the round that deletes them,
   * and after.
   */
  readonly before: number;
  readonly after: number;
  /** The same for the cards that are kept: a control that the search finds existing rows. */
  readonly kept: number;
}

const fifteenMonths = 460 * day;
const stepMs = clockToleranceMs * 0.75;

/**
 * Stores cards, runs the job that deletes those unused for 14 months, and searches the files for
 * their sealed rows: unique byte strings, from every part of a row. A search for card numbers would
 * find none because they are sealed, but the keys are stored beside the data.
 */
export async function forgetCards({
  folder,
  store,
  each,
  ends,
}: {
  readonly folder: string;
  readonly store: LeakStore;
  readonly each: number;
  readonly ends: () => Promise<void>;
}): Promise<DeletedCards> {
  const scheduler = new ManualScheduler((ms) => ms === minute);
  const environment = { COFRE_DATA_DIR: folder, ...store.environment };
  const manual = new ManualClock(testEpoch);
  let aheadMs = 0;
  const time =
    store.age === undefined
      ? { clock: manual, elapsedMs: () => Number(manual.now()) }
      : { clock: systemClock, elapsedMs: () => systemElapsed() + aheadMs };
  const startedAt = time.elapsedMs();
  const server = await startTestServer({
    environment,
    seed: "deleted cards",
    ports: { scheduler, ...time },
  });
  try {
    const numbers = canaries(each * 2, new Chance(9));
    for (const { pan } of numbers.slice(0, each)) await keep(server, pan);
    const unused = await rowsOf(store);
    if (store.age === undefined) manual.advance(fifteenMonths);
    else await store.age(fifteenMonths);
    for (const { pan } of numbers.slice(each)) await keep(server, pan);
    const used = (await rowsOf(store)).filter((row) => !unused.some((other) => other.equals(row)));
    await store.flush();
    const folders = [folder, ...store.folders];
    const before = readable(folders, unused);
    // The job waits until the clock has agreed with monotonic time for an hour. With the database's
    // clock that hour passes in steps below the tolerance. A step after its end would count as a
    // clock that was set.
    const steps = store.age === undefined ? 0 : Math.ceil(hour / stepMs);
    for (let step = 0; step < steps && time.elapsedMs() - startedAt < hour; step += 1) {
      aheadMs += stepMs;
      scheduler.release();
      await sleep(1);
    }
    for (let round = 0; round < 600 && (await rowsOf(store)).length > each; round += 1) {
      scheduler.release();
      await sleep(50);
    }
    await settled(server);
    await ends();
    await store.flush();
    return { before, after: readable(folders, unused), kept: readable(folders, used) };
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

async function keep(server: TestServer, pan: string): Promise<void> {
  const creditcard = {
    card_number: pan,
    card_name: "Ana Lima",
    card_due_date: "12/2060",
    card_cvv: pan.startsWith("37") ? "1234" : "123",
  };
  const body = {
    integration_key: integrationKey,
    country: "pe",
    payment_type_code: "creditcard",
    creditcard,
  };
  const answer = await server.postJson("/ws/token", body);
  if (answer.body["status"] !== "SUCCESS")
    throw new Error(`a card is stored: ${JSON.stringify(answer.body)}`);
}

/** The round reports the number of deleted cards once the write-ahead log is truncated. */
async function settled(server: TestServer): Promise<void> {
  for (
    let look = 0;
    look < 600 && !server.events.some(({ event }) => event === "cards_expired");
    look += 1
  )
    await sleep(50);
}

/** The sealed rows of all stored cards. */
async function rowsOf(store: LeakStore): Promise<readonly Buffer[]> {
  return (await store.sealedCards()).map((row) => Buffer.from(row));
}

const windowBytes = 24;

/**
 * Number of rows of which a part is in a file of the folders. PostgreSQL's write-ahead log keeps
 * deleted data, as docs/operate/postgres.md says.
 */
function readable(folders: readonly string[], rows: readonly Buffer[]): number {
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes("pg_wal"))
      .map((entry) => contentOf(join(entry.parentPath, entry.name))),
  );
  const bytes = Buffer.concat(files);
  return rows.filter((row) => windowsOf(row).some((window) => bytes.includes(window))).length;
}

function windowsOf(row: Buffer): readonly Buffer[] {
  return Array.from({ length: Math.floor(row.length / windowBytes) }, (_, index) =>
    row.subarray(index * windowBytes, (index + 1) * windowBytes),
  );
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
}
