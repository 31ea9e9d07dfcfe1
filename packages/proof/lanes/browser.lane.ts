import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import { listen } from "../../server/test/browser/listen.ts";
import { type Shop, startShop } from "../../server/test/browser/shop.ts";
import { violations } from "../../server/test/browser/violations.ts";
import {
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../server/test/server.ts";

/** Folder for screenshots of the documentation, for review by a person; none are taken if unset. */
const pictures = process.env["COFRE_SCREENSHOTS"];
const noBrowser =
  chromiumFile === undefined
    ? "there is no Chromium: apt-get install chromium, or name one in COFRE_CHROMIUM"
    : false;

/** Does not need a browser. */
test("what pages call may be read by pages of any origin, and nothing else", async () => {
  await using server = await startTestServer();
  const allowed = async (path: string): Promise<string | null> =>
    (await fetch(server.url + path)).headers.get("access-control-allow-origin");
  const check = "/ws/merchantIntegrationProperties/isValidPublicIntegrationKey";
  for (const path of [
    "/ws/token",
    "/ws/token/setCVV",
    check,
    "/fingerprint/",
    "/fingerprint/provider",
    "/fingerprint/error",
  ]) {
    assert.equal(await allowed(path), "*", path);
  }
  for (const path of ["/ws/query", "/ws/direct", "/ws/refund", "/__cofre/settings", "/docs"])
    assert.equal(await allowed(path), null, path);
});

describe("in a real browser", { skip: noBrowser }, () => {
  let server: TestServer;
  let shop: Shop;
  let browser: Browser;

  const parts = new AsyncDisposableStack();
  before(async () => {
    server = parts.use(await startTestServer());
    shop = parts.use(await startShop());
    browser = parts.use(await startChromium());
  });
  // Also closes what was started before a later part failed to start: an open server keeps the
  // process running.
  after(() => parts.disposeAsync());

  /** Runs `name(argument)` in a page of the shop. */
  async function inShop(
    name: "pay" | "look",
    argument: Readonly<Record<string, unknown>>,
  ): Promise<unknown> {
    const page = await browser.newPage();
    try {
      await page.goto(shop.url);
      return await page.evaluate(`${name}(${JSON.stringify(argument)})`);
    } finally {
      await page.close();
    }
  }

  const preflights = (): number =>
    server.events.filter((event) => event.event === "request" && event.method === "OPTIONS").length;

  for (const way of ["fetch", "xhr"]) {
    test(`a page of another origin stores a card with ${way}, without a preflight request`, async () => {
      const before = preflights();
      const card = { ...testCard, card_number: 4_111_111_111_111_111, card_cvv: 123 };
      const said = (await inShop("pay", {
        way,
        cofre: server.url,
        key: publicIntegrationKey,
        card,
        country: "br",
      })) as {
        readonly check: unknown;
        readonly token: {
          readonly status: number;
          readonly body: {
            readonly status: string;
            readonly token: string;
            readonly masked_card_number: string;
          };
        };
        readonly device: {
          readonly body: {
            readonly ebanx_session_id: string;
            readonly providers: readonly unknown[];
          };
        };
        readonly provider: unknown;
      };
      const operation = {
        resource: "merchantIntegrationProperties",
        operation: "isValidPublicIntegrationKey",
      };
      assert.deepEqual(said.check, {
        status: 200,
        body: { status: "SUCCESS", success: true, ...operation, body: [] },
      });
      assert.equal(said.token.status, 200);
      assert.equal(said.token.body.status, "SUCCESS");
      assert.match(said.token.body.token, /^[0-9a-f]{128}$/);
      assert.equal(said.token.body.masked_card_number, "411111xxxxxx1111");
      assert.match(said.device.body.ebanx_session_id, /^[0-9a-f]{32}$/);
      assert.deepEqual(said.device.body.providers, []);
      assert.deepEqual(said.provider, { status: 200, body: {} });
      assert.equal(preflights(), before);
    });

    test(`a page of another origin reads with ${way} why a key is refused`, async () => {
      const said = await inShop("pay", {
        way,
        cofre: server.url,
        key: "nonsense",
        card: testCard,
        country: "br",
      });
      const body = {
        status: "CONFLICT",
        success: false,
        resource: "merchantIntegrationProperties",
        operation: "isValidPublicIntegrationKey",
        body: { error: "Invalid public_integration_key" },
      };
      assert.deepEqual(said, { check: { status: 409, body } });
    });

    test(`control: with ${way} it reads nothing of the operations that are not for browsers`, async () => {
      const error = await inShop("look", {
        way,
        method: "GET",
        url: `${server.url}/ws/query?integration_key=nonsense`,
      });
      assert.equal(error, "TypeError");
    });
  }

  test("a page that says that it sends JSON is given permission", async () => {
    const before = preflights();
    const headers = { "Content-Type": "application/json" };
    assert.equal(
      await inShop("look", { method: "POST", url: `${server.url}/ws/token`, headers }),
      "ERROR",
    );
    assert.equal(preflights(), before + 1);
  });

  const looks: Readonly<Record<string, BrowserContextOptions>> = {
    light: { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
    dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
    telephone: { viewport: { width: 360, height: 740 }, isMobile: true, deviceScaleFactor: 2 },
  };
  const papers: string[] = [];

  for (const [name, options] of Object.entries(looks)) {
    test(`the documentation shows itself, ${name}, without an error and without a request to anywhere else`, async () => {
      const context = await browser.newContext(options);
      try {
        const page = await context.newPage();
        const { errors, requests } = listen(page);
        await page.goto(`${server.url}/docs`, { waitUntil: "networkidle" });
        await page.click('a[href="#direct"]');
        assert.equal(await page.evaluate("location.hash"), "#direct");
        await page.click("#direct summary");
        assert.equal(await page.evaluate("document.querySelector('#direct details').open"), true);
        assert.deepEqual(errors, []);
        assert.deepEqual(
          requests.filter((url) => new URL(url).origin !== server.url),
          [],
        );
        // The page's style sheet applies: if the policy blocked it, the font would be Times and the
        // background white.
        assert.equal(
          await page.evaluate("getComputedStyle(document.querySelector('.page')).maxWidth"),
          "1184px",
        );
        papers.push(String(await page.evaluate("getComputedStyle(document.body).backgroundColor")));
        assert.equal(
          await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          true,
          "it is wider than the screen",
        );
        if (pictures !== undefined) await take(page, name);
      } finally {
        await context.close();
      }
    });
  }

  test("the documentation is light or dark as the reader's system is", () => {
    const [light, dark, telephone] = papers;
    assert.notEqual(light, dark);
    assert.equal(telephone, light);
  });

  test("the documentation is searched, and a link to a hidden section shows it", async () => {
    const page = await browser.newPage();
    try {
      const { errors } = listen(page);
      await page.goto(`${server.url}/docs/errors`);
      const shown = () => page.locator("main section:visible h3").allTextContents();
      const all = (await shown()).length;
      await page.keyboard.press("/");
      await page.keyboard.type("refund twice");
      assert.deepEqual(await shown(), []);
      await page.getByRole("searchbox").fill("retry-after IN progress");
      assert.deepEqual(await shown(), ["COFRE-12", "COFRE-165"]);
      assert.equal(await page.getByRole("status").textContent(), `2 of ${all}`);
      assert.equal(await page.locator("main h2:visible").allTextContents().then(String), "COFRE");
      await page.evaluate("location.hash = '#BP-CAP-4'");
      await page.getByRole("heading", { name: "BP-CAP-4" }).waitFor();
      assert.equal((await shown()).length, all);
      assert.deepEqual(errors, []);
      assert.deepEqual(await violations(page), []);
    } finally {
      await page.close();
    }
  });

  test("control: a page with a foreign script or picture is detected", async () => {
    const page = await browser.newPage();
    const { errors, requests } = listen(page);
    await page.goto(`${server.url}/docs`);
    await page.evaluate(
      `document.body.append(Object.assign(new Image(), { src: "${shop.url}/picture" }))`,
    );
    await page.goto(shop.url);
    await page.evaluate(
      `new Promise((done) => { const i = new Image(); i.onerror = done; i.src = "${shop.url}/picture"; })`,
    );
    assert.ok(errors.some((text) => text.includes("Content Security Policy")));
    assert.ok(requests.some((url) => new URL(url).origin !== server.url));
    await page.close();
  });
});

async function take(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `docs-${name}-direct.png`) });
  await page.evaluate("scrollTo(0, 0)");
  await page.screenshot({ path: join(pictures, `docs-${name}.png`) });
}
