import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import type { OpenApi } from "../../src/api-docs/types.ts";
import { documentedErrors } from "../../src/wire/errors/error-reference.ts";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";

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

/** The texts of the page's elements with this id, without tags. */
function sectionOf(html: string, id: string): string {
  const start = html.indexOf(`<section id="${id}">`);
  assert.ok(start >= 0, `no section ${id}`);
  return html.slice(start, html.indexOf("</section>", start)).replaceAll(/<[^>]+>/g, " ");
}

const helpOf = ({ headers }: Response): string => headers.get("link") ?? "";

describe("/docs", () => {
  test("is a page, with or without a slash at the end", async () => {
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(page, /^<!doctype html>/);
    assert.equal(await (await fetch(`${server.url}/docs/`)).text(), page);
  });

  test("allows its own style and script, and nothing else", () => {
    const policy = response.headers.get("content-security-policy") ?? "";
    const [style = "", ...others] = all(/<style>([^<]*)<\/style>/g);
    const [script = "", ...otherScripts] = all(/<script>([^]*?)<\/script>/g);
    assert.deepEqual([others, otherScripts], [[], []]);
    const digestOf = (text: string) => createHash("sha256").update(text).digest("base64");
    assert.ok(policy.startsWith("default-src 'none'; "));
    assert.ok(
      policy.includes(
        `style-src 'sha256-${digestOf(style)}'; script-src 'sha256-${digestOf(script)}'; `,
      ),
      "the browser would not take the style or the script",
    );
  });

  test("asks for nothing", () => {
    assert.deepEqual(
      all(/(<script |\ssrc=|\sstyle=|\son[a-z]+=|@import|url\(|fetch\(|innerHTML)/gi),
      [],
    );
    const links = all(/href="([^"]*)"/g);
    assert.deepEqual(
      [...new Set(links.filter((link) => !/^(?:\/docs\/errors)?#/.test(link)))].toSorted(),
      ["/", "/docs", "/docs#test-cards", "/docs/errors", "/openapi.json"],
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

describe("/docs/errors", () => {
  let errorsPage: string;
  before(async () => {
    errorsPage = await (await fetch(`${server.url}/docs/errors`)).text();
  });

  test("has a section for each code that is sent, with cause, remedy and example", () => {
    const sent = documentedErrors.filter(({ tested }) => tested !== "never sent");
    const sections = [...errorsPage.matchAll(/<section id="([^"]*)"/g)].map(([, id]) => id);
    assert.deepEqual(new Set(sections), new Set(sent.map(({ code }) => code)));
    for (const { code } of sent)
      assert.match(
        sectionOf(errorsPage, code),
        /Cause\s+(?!Https?:)[^\s/][^]*\.\s+Remedy\s+[A-Z][^]*\.\s+Example\s+HTTP \d{3}/,
        code,
      );
  });

  test("names the operations that send a code, and its links lead somewhere", () => {
    assert.match(sectionOf(errorsPage, "BP-CAP-4"), /Sent by\s+\/ws\/capture/);
    for (const [, place = "", id = ""] of errorsPage.matchAll(/href="([^"#]*)#([^"]*)"/g))
      assert.ok((place === "/docs" ? page : errorsPage).includes(` id="${id}"`), `${place}#${id}`);
  });

  test("is the help link of an error answer", async () => {
    const refused = await fetch(`${server.url}/ws/query?integration_key=${integrationKey}`);
    assert.equal(helpOf(refused), '</docs/errors#BP-QRY-1>; rel="help"');
    const unknown = await fetch(`${server.url}/nothing`);
    assert.equal(helpOf(unknown), '</docs/errors#COFRE-11>; rel="help"');
    const malformed = await rawAnswer(server.url, "GET / HTTP/1.1\r\n\r\n");
    assert.match(
      malformed,
      /^HTTP\/1\.1 400 .*\r\nLink: <\/docs\/errors#COFRE-136>; rel="help"\r\n/s,
    );
    const help = async (): Promise<string> =>
      helpOf(
        await fetch(`${server.url}/ws/refund`, {
          method: "POST",
          headers: { "Idempotency-Key": "one-refusal" },
          body: new URLSearchParams({ integration_key: integrationKey, operation: "request" }),
        }),
      );
    const first = await help();
    assert.match(first, /^<\/docs\/errors#BP-REF-\d+>; rel="help"$/);
    assert.equal(await help(), first);
  });

  test("is not the help link of an answer without an error", async () => {
    assert.equal(helpOf(response), "");
    const paid = await fetch(`${server.url}/ws/direct`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ integration_key: integrationKey, ...directBody("order-help") }),
    });
    assert.equal(paid.status, 200);
    assert.equal(helpOf(paid), "");
  });
});

/** What the server sends on a connection of its own until it closes it. */
async function rawAnswer(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.end(request);
  return text(socket);
}
