import assert from "node:assert/strict";
import { test } from "node:test";
import { framingErrors } from "../../src/wire/decode/framing-errors.ts";
import { refusedFramings, soundFramings } from "../support/framing-corpus.ts";
import { sendRaw, startTrivialServer } from "../support/trivial-server.ts";

const codes: ReadonlySet<string> = new Set(Object.values(framingErrors));
const statuses = (answer: string): string[] =>
  Array.from(answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm), ([, status]) => status ?? "");

for (const { name, bytes } of refusedFramings) {
  test(`is refused and never two requests: ${name}`, async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const answer = await sendRaw(port, Buffer.from(bytes, "latin1"));
    assert.ok(
      statuses(answer).every((status) => status.startsWith("4")),
      answer.slice(0, 200),
    );
    assert.equal(statuses(answer).length, 1, "one answer");
    const { status_code: code } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))) as {
      readonly status_code: string;
    };
    assert.ok(codes.has(code), `${code} says what is wrong`);
    assert.deepEqual(calls, []);
  });
}

for (const { name, bytes } of soundFramings) {
  test(`control: is one request: ${name}`, async (t) => {
    const { port, calls } = await startTrivialServer(t);
    assert.deepEqual(statuses(await sendRaw(port, Buffer.from(bytes, "latin1"))), ["200"]);
    assert.equal(calls.length, 1);
  });
}
