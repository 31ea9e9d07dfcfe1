import { assert } from "../../kernel/assert.ts";
import { outcomes } from "../change-message.ts";
import type { ChangeMessage, Outcome } from "../change-message.ts";
import { StoreError, type StoreStats } from "../store.ts";
import { batchMessageOf, type BatchMessage, batchOf } from "./batch-message.ts";
import { type Connection, readOnly, StatementError } from "./connection.ts";

interface Waiting {
  readonly message: BatchMessage;
  readonly resolve: (outcome: Outcome) => void;
}

export interface LaneOptions {
  /** Makes a session for writing. Rejects when there is none to be had. */
  readonly connect: () => Promise<Connection>;
  /** How many changes may wait for their answers; more are refused as `overloaded`. */
  readonly maxQueued: number;
  /** Called when writing begins to fail, and when it works again. */
  readonly onWriting: (works: boolean) => void;
}

/** Most changes of one batch: what is locked for it is locked until its commit. */
const maxBatch = 512;

/**
 * Batches that are under way at once on the lane's session, so that the server works while this process hears what it said before. The second
 * may wait for the first one's locks and then for its own, which together must stay below the time after which a silent session is given up (connection.ts).
 */
const mostBatches = 2;

/** So many changes are worth a batch of their own behind another: a batch costs the server as much as ten changes (docs/performance.md). */
const worthSending = 16;

/** More than these are sent as two batches, for otherwise all who ask would be answered at once and nothing be left to be sent meanwhile. */
const wholeBatch = 32;

function batchSize(waiting: number): number {
  return waiting <= wholeBatch ? waiting : Math.min(maxBatch, Math.max(wholeBatch, Math.ceil(waiting / 2)));
}

/** Serialization failures and deadlocks: nothing was written, and the next time goes better. */
const passing = /^40/;

/** A batch is tried so often when it meets those. */
const maxTries = 5;

/** Lock time-outs and cancelled statements: somebody holds what belongs to one of the merchants. */
const blocked = /^(?:55P03|57014)/;

/**
 * Group commit: while batches commit the next gathers, so that a commit is as large as the server is slow. A batch is one statement,
 * one transaction. Changes are written in the order in which they came, but for those of a batch that has to be tried again.
 *
 * When the server refuses a batch, nothing of it was written, and its parts are tried one by one: the one that is at fault fails alone.
 * Parts are merchants when somebody holds a lock, so that only what belongs to the merchant is refused, and changes otherwise; they go
 * one after the other, so that the lane waits once more for each merchant whose rows are held. When the session breaks before the server
 * has answered, nobody knows: each change under way is answered `commit_unknown`, and the next batch makes a new session. A warning on the way means the same: a server that stops waiting for
 * its synchronous standby says so in one, and reports success.
 */
export class BatchLane {
  readonly #options: LaneOptions;
  readonly #whenDrained: (() => void)[] = [];
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #waiting: Waiting[] = [];
  #underWay = 0;
  /** Batches under way. */
  #batches = 0;
  #isFilling = false;
  #isWriting = true;
  #commits = 0;
  #changes = 0;
  #largestBatch = 0;

  constructor(connection: Connection, options: LaneOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  submit(message: ChangeMessage): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length + this.#underWay >= this.#options.maxQueued) {
        reject(new StoreError("overloaded"));
        return;
      }
      this.#waiting.push({ message: batchMessageOf(message), resolve });
      this.#fillSoon();
    });
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Writes what changes nothing, which needs a session that may write, and a commit that is on the disk and at the standby. */
  async tryWriting(): Promise<boolean> {
    try {
      const connection = await this.#connected();
      const { warnings } = connection;
      await connection.rows("probe", probe, [batchOf([])]);
      this.#found(connection.warnings === warnings);
    } catch {
      this.#found(false);
    }
    return this.#isWriting;
  }

  stats(): StoreStats {
    const queued = this.#waiting.length + this.#underWay;
    return { commits: this.#commits, changes: this.#changes, largestBatch: this.#largestBatch, queued };
  }

  /** Resolves when everything submitted has been answered. */
  async drained(): Promise<void> {
    if (!this.#isIdle) await new Promise<void>((resolve) => void this.#whenDrained.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#waiting.length + this.#underWay === 0;
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  /** At the end of this turn of the event loop, so that what the turn brings goes together. */
  #fillSoon(): void {
    if (this.#isFilling || this.#batches === mostBatches) return;
    this.#isFilling = true;
    setImmediate(() => {
      this.#isFilling = false;
      this.#fill();
    });
  }

  #fill(): void {
    while (this.#batches < mostBatches && this.#waiting.length >= (this.#batches === 0 ? 1 : worthSending)) {
      void this.#run(this.#waiting.splice(0, batchSize(this.#waiting.length)));
    }
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    this.#batches += 1;
    this.#underWay += batch.length;
    const answers = await this.#write(batch);
    this.#batches -= 1;
    this.#underWay -= batch.length;
    this.#changes += batch.length;
    this.#largestBatch = Math.max(this.#largestBatch, batch.length);
    for (const [index, { resolve }] of batch.entries()) {
      const outcome = answers[index];
      assert(outcome !== undefined, "each change of a batch is answered");
      if (outcome === "unavailable" || outcome === "commit_unknown") this.#found(false);
      else if (outcome === "committed") this.#found(true);
      resolve(outcome);
    }
    this.#fill();
    if (this.#isIdle) for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  async #write(batch: readonly Waiting[]): Promise<readonly Outcome[]> {
    const together = await this.#try(batch);
    if (typeof together !== "string") return together;
    if (together === "lost") return batch.map(() => "commit_unknown");
    if (together === "unreachable") return batch.map(() => "unavailable");
    const parts = blocked.test(together) ? Map.groupBy(batch, ({ message }) => message.merchant) : Map.groupBy(batch, (change) => change);
    if (parts.size === 1) {
      // Values that do not fit (22) and constraints (23) are the change's own fault, and stay so.
      return batch.map(() => (/^2[23]/.test(together) ? "broken" : "unavailable"));
    }
    const answers = new Map<Waiting, Outcome>();
    for (const part of parts.values()) {
      // The session went with a part before: of the rest nothing was sent, and each would wait for a session of its own.
      if (this.#connection?.isOpen !== true) break;
      const outcomesOfPart = await this.#write(part);
      for (const [index, change] of part.entries()) answers.set(change, outcomesOfPart[index] ?? "unavailable");
    }
    return batch.map((change) => answers.get(change) ?? "unavailable");
  }

  async #try(batch: readonly Waiting[]): Promise<readonly Outcome[] | string> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#send(batch);
      if (typeof answer !== "string" || tries === maxTries || !passing.test(answer)) return answer;
    }
  }

  /** Answers the outcomes; or `unreachable` when nothing was sent, `lost` when there was no answer, or the SQLSTATE of the refusal. */
  async #send(batch: readonly Waiting[]): Promise<Outcome[] | string> {
    let connection: Connection;
    try {
      connection = await this.#connected();
    } catch {
      return "unreachable";
    }
    const warnings = connection.warnings;
    try {
      const json = batchOf(batch.map(({ message }) => message));
      const [row] = await connection.rows<{ readonly answer: string }>("write_batch", writeBatch, [json]);
      const answers = (row?.answer ?? "").split(" ").map(outcomeOf);
      assert(answers.length === batch.length, "a batch has an answer for each change");
      if (connection.warnings > warnings) return "lost";
      if (answers.includes("committed")) this.#commits += 1;
      return answers;
    } catch (error) {
      if (!(error instanceof StatementError)) throw error;
      if (error.refusal === undefined || error.refusal === readOnly) await this.#drop(connection);
      return error.refusal ?? "lost";
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isOpen === true) return this.#connection;
    // Those who come while a session is made wait for the same one: another would stay open for nobody.
    this.#connecting ??= this.#options.connect().finally(() => {
      this.#connecting = undefined;
    });
    this.#connection = await this.#connecting;
    return this.#connection;
  }

  async #drop(connection: Connection): Promise<void> {
    if (this.#connection === connection) this.#connection = undefined;
    await connection.close();
  }

  #found(works: boolean): void {
    if (works === this.#isWriting) return;
    this.#isWriting = works;
    this.#options.onWriting(works);
  }
}

const writeBatch = "SELECT write_batch_1($1) AS answer";
/** An empty batch alone leaves nothing to be waited for. */
const probe = "SELECT write_batch_1($1) AS answer, pg_logical_emit_message(true, 'cofre', '') AS position";

const knownOutcomes: ReadonlySet<string> = new Set(outcomes);

function outcomeOf(word: string): Outcome {
  assert(knownOutcomes.has(word), "the writer answers each change with an outcome");
  return word as Outcome;
}
