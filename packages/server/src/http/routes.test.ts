import assert from "node:assert/strict";
import { test } from "node:test";
import { isInterfacePath, pathOf, Routes } from "./routes.ts";
import type { Endpoint } from "../wire/endpoint.ts";

const endpoint = (path: string): Endpoint => ({
  path,
  doc: "page",
  key: "none",
  family: "json",
  cors: false,
  handle: async () => ({ status: 200, body: path }),
});
const setCvv = endpoint("/ws/token/setCVV");
const routes = new Routes([setCvv, endpoint("/ws/token")]);

test("a path is found in any letter case and with a slash at its end", () => {
  for (const path of [
    "/ws/token/setCVV",
    "/ws/token/setCvv",
    "/WS/TOKEN/SETCVV/",
    "/ws/token/setcvv/",
  ])
    assert.equal(routes.match(path), setCvv, path);
});

test("other spellings are other paths", () => {
  for (const path of [
    "/ws/token/setCVV//",
    "//ws/token/setCVV",
    "/ws/token/set%43VV",
    "/ws/token/setCVV/x",
    "/ws/setCvv",
    "",
    "/",
    "/ws/token/../token",
  ]) {
    assert.equal(routes.match(path), undefined, path);
  }
  assert.equal(routes.match("__proto__"), undefined);
});

test("two endpoints cannot have one path", () => {
  assert.throws(() => new Routes([endpoint("/ws/x"), endpoint("/WS/X/")]), {
    name: "BrokenInvariant",
  });
});

test("several slashes in a row are one, as of a client whose base address ends in a slash", () => {
  for (const target of [
    "//ws/query",
    "///ws//query?a=//b",
    "/ws///query",
    "http://127.0.0.1:1//ws/query?a=b",
    "http://127.0.0.1//ws//query",
  ])
    assert.equal(pathOf(target), "/ws/query", target);
  assert.equal(pathOf("//"), "/");
});

test("the path is cut out of whole addresses and off queries", () => {
  assert.equal(pathOf("/ws/query?a=/b?c"), "/ws/query");
  assert.equal(pathOf("http://127.0.0.1:1/ws/query/?a=b"), "/ws/query/");
  assert.equal(pathOf("http://127.0.0.1"), "/");
  assert.equal(pathOf("*"), "/");
});

test("paths of the interface are distinguished from all others", () => {
  assert.deepEqual(["/ws", "/WS/x", "/ws/"].map(isInterfacePath), [true, true, true]);
  assert.deepEqual(["/", "/wsx", "/healthz", "/x/ws/"].map(isInterfacePath), [
    false,
    false,
    false,
    false,
  ]);
});
