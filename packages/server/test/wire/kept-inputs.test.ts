import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, assertNoDigits, exchange, keptBodies, keptFramings, requestOf } from "../fuzz/kept-inputs.ts";
import { directBody, integrationKey, startWorld, type World } from "../world.ts";

async function goesOn(world: World): Promise<void> {
  assert.equal((await world.postJson("/ws/direct", directBody("after the kept inputs"))).body["status"], "SUCCESS");
  const failures = world.events.filter(({ event }) => event === "alarm" || event === "request_failed" || event === "process_failed");
  assert.deepEqual(failures, []);
}

test("kept framings: each connection is answered as it was, and then closed", async () => {
  await using world = await startWorld();
  for (const { why, bytes, answers, orFewer } of keptFramings(integrationKey)) {
    const { told, statuses } = await exchange(world.port, [bytes]);
    assert.deepEqual(statuses, orFewer ? answers.slice(0, statuses.length) : answers, why);
    assertNoDigits(told, why);
  }
  await goesOn(world);
});

test("kept bodies: each is answered as it was", async () => {
  await using world = await startWorld();
  for (const input of keptBodies(integrationKey)) {
    const { told, statuses } = await exchange(world.port, [requestOf(input)]);
    assert.deepEqual(statuses, ["200"], input.why);
    assert.equal(answerOf(told), input.answer, input.why);
    assertNoDigits(told, input.why);
  }
  await goesOn(world);
});
