import assert from "node:assert/strict";
import { test } from "node:test";
import { day, instant, laterBy } from "../kernel/instant.ts";
import {
  browserOfDeviceCookie,
  type DeviceCookie,
  deviceCookieText,
  userOfDeviceCookie,
} from "./device-cookie.ts";
import { mayDo, type UserId, roles } from "../user/user.ts";

const secret = new Uint8Array(20).fill(7);
const issuedAt = instant(Date.UTC(2026, 10, 28));
const deviceCookie: DeviceCookie = {
  user: "0123456789abcdef" as UserId,
  browser: "ab".repeat(12),
  issuedAt,
};
const other = "fedcba9876543210" as UserId;

test("a mark names its person's browser for 90 days", () => {
  const text = deviceCookieText(secret, deviceCookie);
  assert.equal(userOfDeviceCookie(text), deviceCookie.user);
  const at = (ms: number) =>
    browserOfDeviceCookie(secret, deviceCookie.user, text, laterBy(issuedAt, ms));
  assert.equal(at(0), deviceCookie.browser);
  assert.equal(at(90 * day - 1), deviceCookie.browser);
  assert.equal(at(90 * day), undefined);
});

test("a mark of another person, under another secret, altered, or with anything around it is none", () => {
  const text = deviceCookieText(secret, deviceCookie);
  const read = (given: string, by = secret, user = deviceCookie.user) =>
    browserOfDeviceCookie(by, user, given, issuedAt);
  assert.equal(read(text, new Uint8Array(20)), undefined);
  assert.equal(read(text, secret, other), undefined);
  assert.equal(read(text.replace(deviceCookie.user, other), secret, other), undefined);
  assert.equal(read(text.replace(String(issuedAt), String(issuedAt + 1))), undefined);
  assert.equal(read(text.replace(/^(.{17})a/, "$1b")), undefined);
  for (const given of [
    "",
    `0${text}`,
    `x${text}`,
    `${text}x`,
    `${text}\n`,
    text.slice(0, -1),
    text.toUpperCase(),
  ]) {
    assert.equal(userOfDeviceCookie(given), undefined, given);
    assert.equal(read(given), undefined, given);
  }
});

test("each role may do what the one before it may, and more", () => {
  assert.deepEqual(roles, ["viewer", "operator", "admin"]);
  assert.deepEqual(
    roles.map((role) => roles.filter((needed) => mayDo(role, needed)).length),
    [1, 2, 3],
  );
});
