import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyedMutex } from "../kernel/keyed-mutex.ts";
import { requestQueue } from "./request-queue.ts";

test("the 33rd request for a payment is refused while 32 are in its queue", async () => {
  const mutex = new KeyedMutex(requestQueue);
  const end = Promise.withResolvers<void>();
  const results = Array.from({ length: 32 }, () => mutex.runExclusive("a", () => end.promise));
  await assert.rejects(
    mutex.runExclusive("a", () => end.promise),
    { code: "payment_in_flight" },
  );
  end.resolve();
  await Promise.all(results);
});
