import assert from "node:assert/strict";
import { test } from "node:test";
import { AnswerFramer, memberAfter, saysSuccess, type Answer } from "./framing.ts";

const body = '{"payment":{"hash":"aa11"},"status":"SUCCESS"}';
const wire = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
);

function bodiesOf(pieces: readonly Buffer[]): string[] {
  const framer = new AnswerFramer();
  const bodies: string[] = [];
  for (const piece of pieces)
    framer.push(piece, (answer) =>
      bodies.push(answer.bytes.toString("latin1", answer.bodyStart, answer.bodyEnd)),
    );
  return bodies;
}

test("an answer is found wherever it is cut in two, in its head too", () => {
  for (let cut = 1; cut < wire.length; cut++) {
    assert.deepEqual(
      bodiesOf([wire.subarray(0, cut), wire.subarray(cut)]),
      [body],
      `cut after ${String(cut)} bytes`,
    );
  }
});

test("an answer that comes byte by byte is found once", () => {
  assert.deepEqual(bodiesOf(Array.from(wire, (_, at) => wire.subarray(at, at + 1))), [body]);
});

test("two answers in one read are two answers", () => {
  assert.deepEqual(bodiesOf([Buffer.concat([wire, wire])]), [body, body]);
});

test("an answer without a length is an error, not a guess", () => {
  assert.throws(
    () => bodiesOf([Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")]),
    /not an answer with a length/,
  );
});

test("success is distinguished from an error envelope and from another status", () => {
  const answerOf = (status: number, text: string): Answer => ({
    status,
    bytes: Buffer.from(text),
    bodyStart: 0,
    bodyEnd: text.length,
  });
  assert.equal(saysSuccess(answerOf(200, body)), true);
  assert.equal(saysSuccess(answerOf(200, '{"status":"SUCCESS","payment_type_code":"visa"}')), true);
  assert.equal(saysSuccess(answerOf(200, '{"status":"ERROR","status_code":"BP-DR-1"}')), false);
  assert.equal(saysSuccess(answerOf(503, body)), false);
});

test("a member is read from its own answer and not from the next one", () => {
  const two = Buffer.from('{"a":"1"}{"hash":"zz"}');
  const opening = Buffer.from('"hash":"');
  assert.equal(
    memberAfter({ status: 200, bytes: two, bodyStart: 0, bodyEnd: 9 }, opening),
    undefined,
  );
  assert.equal(
    memberAfter({ status: 200, bytes: two, bodyStart: 9, bodyEnd: two.length }, opening),
    "zz",
  );
});
