import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../server/src/kernel/seeded-random.ts";
import { integrationKey, publicIntegrationKey, startTestServer } from "../../server/test/server.ts";

/*
 * Row 2 of the attack table: guessing keys. Keys are looked up by their SHA-256, so the time of a
 * lookup does not depend on how much of a guess is right; and the answer to every wrong guess is
 * the same, byte for byte. A key that Cofre makes has 128 random bits. Guesses are not counted or
 * slowed down: packages/proof/docs/attacks.md says so.
 */

test("every wrong key gets one answer, however near it is", async (context) => {
  await using server = await startTestServer();
  const random = new SeededRandom("guesses");
  const near = [
    ...Array.from(integrationKey, (_, index) => integrationKey.slice(0, index)).slice(1),
    ...Array.from(
      integrationKey,
      (_, index) => `${integrationKey.slice(0, index)}X${integrationKey.slice(index + 1)}`,
    ),
    `${integrationKey} x`,
    `x ${integrationKey}`,
    integrationKey.replace("_", " _"),
    `${integrationKey}\u0000`,
    integrationKey.toUpperCase(),
    publicIntegrationKey,
    "' OR 1=1 --",
    "%",
    "*",
    "null",
    "undefined",
  ];
  const guesses = [
    ...near,
    ...Array.from(
      { length: 500 },
      () => `test_ik_${Buffer.from(random.bytes(16)).toString("hex")}`,
    ),
  ];
  for (const [path, code] of [
    ["/ws/query", "BP-SA-2"],
    ["/ws/direct", "DA-1"],
    ["/__cofre/explain", "BP-SA-2"],
  ] as const) {
    const answers = new Set<string>();
    for (const guess of guesses) {
      const response = await fetch(server.url + path, {
        method: "POST",
        body: JSON.stringify({ integration_key: guess, hash: "x" }),
      });
      answers.add(`${response.status} ${await response.text()}`);
    }
    assert.equal(answers.size, 1, [...answers].join("\n"));
    for (const answer of answers) assert.ok(answer.includes(`"status_code":"${code}"`));
  }
  context.diagnostic(`${guesses.length} guesses at 3 operations`);
  // The control: the key itself gets another answer.
  assert.notEqual(
    (await server.postJson("/ws/query", { integration_key: integrationKey, hash: "x" })).body[
      "status_code"
    ],
    "BP-SA-2",
  );
});
