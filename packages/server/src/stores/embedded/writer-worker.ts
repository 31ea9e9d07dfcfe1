import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { assert } from "../../kernel/assert.ts";
import { BatchWriter, type IdentityMessage } from "./batch-writer.ts";
import { outcomes } from "../change-message.ts";
import type { BatchAnswer, ChangeMessage } from "../change-message.ts";
import { lockFile, openForWriting, Refused } from "./open-database.ts";
import type { DatabaseOptions } from "./open-database.ts";
import type { UserMessage } from "./user-writer.ts";
import { largestBatch } from "./writer.ts";

/**
 * The writer thread. Owns the lock and the only connection that writes. While it waits for the
 * fsync of one batch, the next batch accumulates in the port's queue: batches grow with the load,
 * and nothing waits for a timer.
 */
assert(parentPort !== null, "the writer runs in a thread");
const port = parentPort;

type Message =
  | readonly ChangeMessage[]
  | UserMessage
  | IdentityMessage
  | "try"
  | "truncate"
  | "checkpoint"
  | "close";

try {
  const options = workerData as DatabaseOptions;
  const lock = lockFile(options.file);
  const database = openForWriting(options, (upgrading) => port.postMessage(upgrading));
  const writer = new BatchWriter(database);

  port.on("message", (first: Message) => {
    const batch: ChangeMessage[] = [];
    let message = first;
    while (isChanges(message)) {
      batch.push(...message);
      const waiting = batch.length < largestBatch ? receiveMessageOnPort(port) : undefined;
      if (waiting === undefined) break;
      message = waiting.message as Message;
    }
    if (batch.length > 0) {
      const result = writer.write(batch);
      port.postMessage([
        result.commits,
        ...result.outcomes.map((outcome) => outcomes.indexOf(outcome)),
      ] satisfies BatchAnswer);
    }
    if (typeof message === "object" && "users" in message)
      port.postMessage(writer.writeUsers(message));
    if (typeof message === "object" && "raise" in message)
      port.postMessage({ raised: writer.raiseIdentity(message) });
    if (message === "try") port.postMessage(writer.testWrite());
    if (message === "truncate") port.postMessage({ truncated: writer.truncateLog() });
    if (message === "checkpoint") writer.checkpoint();
    if (message === "close") {
      database.close();
      lock.close();
      port.close();
    }
  });
  port.postMessage("ready");
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  port.postMessage(error.code);
  port.close();
}

function isChanges(message: Message): message is readonly ChangeMessage[] {
  return Array.isArray(message);
}
