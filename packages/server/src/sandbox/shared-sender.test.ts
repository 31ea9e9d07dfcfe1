import assert from "node:assert/strict";
import { test } from "node:test";
import type { SendOutcome, SendRequest } from "../delivery/sender.ts";
import { SharedSender } from "./shared-sender.ts";

test("a bounded number is sent at once, those that wait in their order, and none that gave up", async () => {
  const sent: { readonly body: string; readonly end: () => void }[] = [];
  const answered: SendOutcome = { kind: "answered", status: 200, retryAfter: undefined };
  const sender = new SharedSender(
    {
      send: ({ body }) => {
        const { promise, resolve } = Promise.withResolvers<SendOutcome>();
        sent.push({ body, end: () => resolve(answered) });
        return promise;
      },
    },
    2,
  );
  const send = (body: string, signal?: AbortSignal): Promise<SendOutcome> =>
    sender.send({ url: "", headers: {}, body, timeoutMs: 1 } satisfies SendRequest, signal);
  const gone = new AbortController();
  const all = [
    send("1"),
    send("2"),
    send("3", gone.signal),
    send("4"),
    send("5", AbortSignal.abort()),
    send("6"),
  ];
  await Promise.resolve();
  const bodies = (): readonly string[] => sent.map(({ body }) => body);
  assert.deepEqual(bodies(), ["1", "2"]);
  gone.abort();
  assert.deepEqual(await all[2], { kind: "failed", cause: "aborted" });
  assert.deepEqual(await all[4], { kind: "failed", cause: "aborted" });
  sent[1]?.end();
  await new Promise(setImmediate);
  assert.deepEqual(bodies(), ["1", "2", "4"]);
  for (const index of [0, 2, 3]) {
    sent[index]?.end();
    await new Promise(setImmediate);
  }
  assert.deepEqual(bodies(), ["1", "2", "4", "6"]);
  await Promise.all(all);
  // All slots are free again.
  const more = [send("7"), send("8"), send("9")];
  await new Promise(setImmediate);
  assert.deepEqual(bodies().slice(4), ["7", "8"]);
  for (const index of [4, 5]) sent[index]?.end();
  await new Promise(setImmediate);
  sent[6]?.end();
  await Promise.all(more);
});
