import assert from "node:assert/strict";
import { test } from "node:test";
import { instant, minute } from "./instant.ts";
import { JobReads, type ReadFailure, reportRead } from "./job-reads.ts";

test("a job whose reads fail is reported at once and then once a minute, with how many failed", () => {
  let now = 0;
  const reported: ReadFailure[] = [];
  const reads = new JobReads({ now: () => instant(now) }, (failure) => void reported.push(failure));
  const [recovery, notifications] = [reads.of("recovery"), reads.of("notifications")];
  for (let count = 0; count < 5; count += 1) recovery.failed("paymentsDue");
  notifications.failed("queuesDue");
  now = minute;
  recovery.failed("paymentsDue");
  assert.deepEqual(reported, [
    { job: "recovery", read: "paymentsDue", failed: 1 },
    { job: "notifications", read: "queuesDue", failed: 1 },
    { job: "recovery", read: "paymentsDue", failed: 5 },
  ]);
});

test("three failures of a read in a row make a job a failing one, until that read works", () => {
  const reads = new JobReads({ now: () => instant(0) }, () => undefined);
  const job = reads.of("recovery");
  for (const failing of [[], [], ["recovery"], ["recovery"]]) {
    job.failed("paymentsDue");
    job.succeeded("paymentsInFlight");
    assert.deepEqual(reads.failing(), failing);
  }
  job.succeeded("paymentsDue");
  assert.deepEqual(reads.failing(), []);
  job.failed("paymentsDue");
  assert.deepEqual(reads.failing(), []);
});

test("a read is reported, and what it brings is what it brought", async () => {
  const seen: string[] = [];
  const report = {
    failed: (read: string) => void seen.push(`${read} failed`),
    succeeded: (read: string) => void seen.push(`${read} succeeded`),
  };
  assert.equal(await reportRead(report, "first", Promise.resolve(7)), 7);
  await assert.rejects(reportRead(report, "second", Promise.reject(new Error("down"))), {
    message: "down",
  });
  assert.deepEqual(seen, ["first succeeded", "second failed"]);
});
