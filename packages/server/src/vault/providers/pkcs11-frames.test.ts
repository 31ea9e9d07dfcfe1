import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bodyLength,
  decodeBody,
  encodeFrame,
  headerLength,
  longestFrame,
} from "./pkcs11-frames.ts";

test("a frame that is not whole, too long, or has a field that ends after it is refused", () => {
  const frame = encodeFrame(2, [Buffer.from("label"), Buffer.from([1, 2, 3])]);
  const body = frame.subarray(headerLength);
  const whole = 1 + (2 + 5);
  for (let length = 0; length < body.length; length += 1)
    assert.equal(decodeBody(body.subarray(0, length)) !== undefined, [1, whole].includes(length));
  for (const header of ["00000000", "00004001", "ffffffff"])
    assert.equal(bodyLength(Buffer.from(header, "hex")), undefined, header);
  assert.equal(bodyLength(Buffer.from("00004000", "hex")), longestFrame);
  assert.throws(() => encodeFrame(1, [Buffer.alloc(longestFrame)]), RangeError);
});

test("a frame is read as it was written, also with empty fields and none", () => {
  for (const fields of [
    [],
    [Buffer.alloc(0)],
    [Buffer.from("label"), Buffer.of(0, 255), Buffer.alloc(0)],
  ]) {
    const frame = encodeFrame(17, fields);
    assert.equal(bodyLength(frame), frame.length - headerLength);
    assert.deepEqual(decodeBody(frame.subarray(headerLength)), { kind: 17, fields });
  }
  assert.equal(encodeFrame(3, [Buffer.from("ab")]).toString("hex"), "000000050300026162");
});
