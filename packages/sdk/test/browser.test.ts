import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { bundleSdk } from "../../../tools/sdk-package.ts";
import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import { SharedCleanup, temporaryFolder } from "../../server/test/command.ts";
import { freePort } from "../../server/test/free-port.ts";
import { order, type Setting, startSetting } from "./server.ts";

/** A page on an origin of its own, which has the browser entry. */
const page = `<!doctype html><html lang="en"><title>Shop</title><div id="card"></div><div id="other"></div>
<script type="module">
import { mountCard } from "./browser.js";

window.mount = async (place, options) => {
  try {
    const card = await mountCard(place, { country: "pe", lang: "en", ...options });
    window.card = card;
    await new Promise((resolve) => card.on("ready", resolve));
    return "mounted";
  } catch ({ name, sent, message }) {
    return { name, sent, message };
  }
};
</script></html>`;

const skip = chromiumFile === undefined ? "this machine does not have Chromium" : false;

describe("the browser entry in Chromium", { skip }, () => {
  const shared = new SharedCleanup();
  const parts = new AsyncDisposableStack();
  let setting: Setting;
  let browser: Browser;
  let shopUrl = "";

  before(async () => {
    const folder = temporaryFolder(shared);
    await bundleSdk(folder, ["browser"]);
    const script = readFileSync(join(folder, "browser.js"));
    const shop = createServer((request, response) => {
      const isScript = request.url === "/browser.js";
      response.writeHead(200, { "Content-Type": isScript ? "text/javascript" : "text/html" });
      response.end(isScript ? script : page);
    });
    shop.listen(0, "127.0.0.1");
    await once(shop, "listening");
    parts.defer(() => {
      shop.closeAllConnections();
      shop.close();
    });
    shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`;
    setting = parts.use(await startSetting());
    browser = await startChromium();
    parts.defer(() => browser.close());
  });
  after(async () => {
    await parts.disposeAsync();
    shared.endAll();
  });

  async function inShop(work: (tab: Page) => Promise<void>): Promise<void> {
    const tab = await browser.newPage();
    try {
      await tab.goto(shopUrl);
      await tab.waitForFunction("window.mount !== undefined");
      await work(tab);
    } finally {
      await tab.close();
    }
  }

  const mount = (tab: Page, options: object, place = "#card"): Promise<unknown> =>
    tab.evaluate(`window.mount(${JSON.stringify(place)}, ${JSON.stringify(options)})`);
  const own = (): { readonly url: string; readonly publicIntegrationKey: string } => ({
    url: setting.server.url,
    publicIntegrationKey: setting.server.keys.publicIntegrationKey,
  });

  test("puts the fields into the page, and their token pays", async () => {
    await inShop(async (tab) => {
      assert.equal(await mount(tab, own()), "mounted");
      const frame = tab.frameLocator("#card iframe");
      const typed = { number: "4111111111111111", expiry: "1260", code: "123", name: "Ana Lima" };
      for (const [name, text] of Object.entries(typed))
        await frame.locator(`#${name}`).pressSequentially(text);
      const stored = await tab.evaluate<{ readonly token: string }>("window.card.tokenize()");
      assert.deepEqual(
        { ...stored, token: "" },
        { token: "", brand: "visa", masked: "411111xxxxxx1111" },
      );
      const paid = await setting.client.charge(order("mounted", { card: { token: stored.token } }));
      assert.equal(paid.outcome, "paid");
    });
  });

  test("loads the script of the server once, also for several fields at the same time", async () => {
    await inShop(async (tab) => {
      const scripts: string[] = [];
      tab.on("request", (request) => {
        if (request.resourceType() === "script") scripts.push(request.url());
      });
      const options = JSON.stringify(own());
      const both = await tab.evaluate(
        `Promise.all(["#card", "#other"].map((place) => window.mount(place, ${options})))`,
      );
      assert.deepEqual(both, ["mounted", "mounted"]);
      const ofServer = scripts.filter((url) => url === `${setting.server.url}/cofre.js`);
      assert.equal(ofServer.length, 1);
    });
  });

  test("runs a pinned script, and no other one", async () => {
    const answer = await fetch(`${setting.server.url}/cofre.js.integrity`);
    const { files } = (await answer.json()) as {
      readonly files: readonly { readonly path: string; readonly integrity: string }[];
    };
    const integrity = files.find(({ path }) => path === "/cofre.js")?.integrity ?? "";
    assert.match(integrity, /^sha384-/);
    await inShop(async (tab) => {
      const altered = `sha384-${"A".repeat(64)}`;
      const refused = await mount(tab, { ...own(), integrity: altered });
      assert.match(JSON.stringify(refused), /"CofreConnectionError","sent":"no"/);
      assert.equal(await mount(tab, { ...own(), integrity }), "mounted", "it can be tried again");
    });
  });

  test("names what is wrong with the address", async () => {
    await inShop(async (tab) => {
      const absent = `http://127.0.0.1:${await freePort()}`;
      assert.match(
        JSON.stringify(await mount(tab, { ...own(), url: absent })),
        /"CofreConnectionError","sent":"no","message":"[^"]*the script was not loaded/,
      );
      assert.match(
        JSON.stringify(await mount(tab, { ...own(), url: "http://cofre.example" })),
        /"TypeError","message":"url must begin with https/,
      );
      assert.equal(await mount(tab, own()), "mounted");
      const other = setting.server.url.replace("127.0.0.1", "localhost");
      assert.match(
        JSON.stringify(await mount(tab, { ...own(), url: other }, "#other")),
        /"TypeError","message":"the page has the script of another server"/,
      );
    });
  });
});
