import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { OpenApi } from "../../src/api-docs/types.ts";
import { startTestServer, type TestServer } from "../server.ts";

/** The page in a browser is tested in packages/proof/lanes/browser.lane.ts. */
let server: TestServer;
let response: Response;
let page: string;

before(async () => {
  server = await startTestServer();
  response = await fetch(`${server.url}/docs`);
  page = await response.text();
});
after(() => server[Symbol.asyncDispose]());

const all = (pattern: RegExp): string[] =>
  [...page.matchAll(pattern)].map(([, found]) => found ?? "");

describe("/docs", () => {
  test("is a page, with or without a slash at the end", async () => {
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(page, /^<!doctype html>/);
    assert.equal(await (await fetch(`${server.url}/docs/`)).text(), page);
  });

  test("allows its own style and nothing else", () => {
    const policy = response.headers.get("content-security-policy") ?? "";
    const [style = "", ...others] = all(/<style>([^<]*)<\/style>/g);
    assert.deepEqual(others, []);
    const digest = createHash("sha256").update(style).digest("base64");
    assert.ok(policy.startsWith("default-src 'none'; "));
    assert.ok(
      policy.includes(`style-src 'sha256-${digest}'`),
      "the browser would not take the style",
    );
  });

  test("asks for nothing and runs nothing", () => {
    assert.deepEqual(all(/(<script|\ssrc=|\sstyle=|\son[a-z]+=|@import|url\()/gi), []);
    const links = all(/href="([^"]*)"/g);
    assert.deepEqual(
      links.filter((link) => !link.startsWith("#")),
      ["/openapi.json"],
    );
  });

  test("shows every operation, and its links lead somewhere", async () => {
    const api = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi;
    const ids = all(/\sid="([^"]*)"/g);
    assert.equal(new Set(ids).size, ids.length);
    for (const [path, { get, post }] of Object.entries(api.paths)) {
      assert.ok(ids.includes((post ?? get)?.operationId ?? ""), path);
      assert.ok(page.includes(`<code>${path}</code>`), path);
    }
    for (const link of all(/href="#([^"]*)"/g)) assert.ok(ids.includes(link), link);
  });
});
