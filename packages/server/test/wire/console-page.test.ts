import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { after, before, describe, test } from "node:test";
import { consoleEndpoints } from "../../src/http/console/console-endpoint.ts";
import { paymentFacts, paymentNotes, paymentStates } from "../../src/payment/payment-machine.ts";
import { brands } from "../../src/vault/brand.ts";
import { startWorld, type World } from "../world.ts";

/** What a browser makes of it is in test/lanes/console.lane.ts. */
const folder = fileURLToPath(new URL("../../src/http/console/page/", import.meta.url));
const textOf = (name: string): string => readFileSync(folder + name, "utf8");
const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
let world: World;

before(async () => {
  world = await startWorld();
});
after(() => world[Symbol.asyncDispose]());

describe("the console", () => {
  test("is served in the sandbox, and nowhere else", () => {
    assert.ok(consoleEndpoints("sandbox").length > 0);
    assert.deepEqual(consoleEndpoints("production"), []);
  });

  test("allows its own scripts, style and calls, no text that becomes a script, and no page around it", async () => {
    const response = await fetch(`${world.url}/`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(
      response.headers.get("content-security-policy"),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    assert.equal(response.headers.get("cross-origin-opener-policy"), "same-origin");
    assert.equal(response.headers.get("cross-origin-resource-policy"), "same-origin");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("access-control-allow-origin"), null);
    assert.doesNotMatch(await response.text(), /\son[a-z]+=|\sstyle=|<script>|javascript:|https?:/i);
  });

  test("serves each of its parts, all together less than 60 kB compressed", async () => {
    for (const name of [...scripts, "style.css"]) {
      const response = await fetch(`${world.url}/console/${name}`);
      assert.equal(await response.text(), textOf(name), `${name} is served as it is`);
      assert.equal(
        response.headers.get("content-type"),
        name.endsWith(".js") ? "text/javascript; charset=utf-8" : "text/css; charset=utf-8",
      );
      assert.equal(response.headers.get("access-control-allow-origin"), null);
    }
    const bytes = gzipSync(scripts.map(textOf).join("")).length;
    assert.ok(bytes < 60 * 1024, `${bytes} bytes`);
    for (const name of ["tsconfig.json", "..%2fconsole-endpoint.ts", "../console-endpoint.ts", "index.html"]) {
      assert.equal((await fetch(`${world.url}/console/${name}`)).status, 404, name);
    }
  });

  test("has no way to make a script, HTML or an address of somebody else's out of text", () => {
    for (const name of scripts) {
      assert.doesNotMatch(
        textOf(name),
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?:\/\/|localStorage|cookie/,
        name,
      );
    }
  });

  test("has a word for every state, brand and fact that there is", () => {
    const words = textOf("words.js");
    for (const word of [...paymentStates, ...paymentFacts, ...paymentNotes]) assert.ok(words.includes(`  ${word}: `), word);
    for (const brand of brands) assert.ok(words.includes(`"${brand}"`), brand);
  });

  test("tries the published test cards only, and says what they lead to", () => {
    const published = readFileSync(fileURLToPath(new URL("../../../../docs/wire/sandbox.md", import.meta.url)), "utf8");
    const cards = [...textOf("test-cards.js").matchAll(/\["(\d+)", "(\w+)", "(\w+)"\]/g)];
    assert.ok(cards.length >= 10);
    for (const [, number = "", brand = "", outcome = ""] of cards)
      assert.ok(published.includes(`| \`${number}\` | ${brand} | ${outcome} |`), number);
  });
});
