import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzPan, secretDigits } from "./corpus.ts";
import {
  answerOf,
  assertNoDigits,
  exchange,
  keptBodies,
  keptFramings,
  requestOf,
} from "./kept-inputs.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  type TestServer,
} from "../../server/test/server.ts";

async function goesOn(server: TestServer): Promise<void> {
  assert.equal(
    (await server.postJson("/ws/direct", directBody("after the kept inputs"))).body["status"],
    "SUCCESS",
  );
  const failures = server.events.filter(
    ({ event }) => event === "alarm" || event === "request_failed" || event === "process_failed",
  );
  assert.deepEqual(failures, []);
}

test("control: digits of the card are found in an answer, but for what a payment draws", () => {
  const [fields, hidden] = [
    { token: "0".repeat(128), pin: "052023335", authcode: "398825" },
    secretDigits,
  ];
  const drawn = {
    hash: `6b0725480000b5${hidden}98fcab50e163668961e3cd892c00`,
    ...fields,
    pin: `1${hidden}23`,
    authcode: hidden,
  };
  assertNoDigits(JSON.stringify(drawn), "drawn");
  for (const response of [
    { ...fields, name: hidden },
    { ...fields, token: `${hidden}1`, hash: null },
    { card: { pin: fuzzPan } },
  ]) {
    assert.throws(() => assertNoDigits(JSON.stringify(response), "response"), /no card digits/);
  }
});

test("kept framings: each connection is answered as it was, and then closed", async () => {
  await using server = await startTestServer();
  for (const { why, bytes, answers, orFewer } of keptFramings(integrationKey)) {
    const { response, statuses } = await exchange(server.port, [bytes]);
    assert.deepEqual(statuses, orFewer ? answers.slice(0, statuses.length) : answers, why);
    assertNoDigits(response, why);
  }
  await goesOn(server);
});

test("kept bodies: each is answered as it was", async () => {
  await using server = await startTestServer();
  for (const input of keptBodies(integrationKey)) {
    const { response, statuses } = await exchange(server.port, [requestOf(input)]);
    assert.deepEqual(statuses, ["200"], input.why);
    assert.equal(answerOf(response), input.answer, input.why);
    assertNoDigits(response, input.why);
  }
  await goesOn(server);
});
