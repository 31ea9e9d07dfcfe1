import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { bundleSdk } from "../../../tools/sdk-package.ts";
import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import { temporaryFolder } from "../../server/test/command.ts";
import { freePort } from "../../server/test/free-port.ts";
import { order, startSetting } from "./server.ts";

/** A page on an origin of its own, which has the browser entry. */
const page = `<!doctype html><html lang="en"><title>Shop</title><script type="module">
import { Card, CofreBrowser } from "./own-fields.js";

window.tokenize = async (url, publicIntegrationKey, number) => {
  const cofre = new CofreBrowser({ url, publicIntegrationKey });
  const card = new Card({ number, holderName: "Ana Lima", expires: "12/2060", securityCode: "123" });
  try {
    const stored = await cofre.tokenize({ card, country: "pe" });
    await cofre.setCvv(stored.token, "123");
    return { ...stored, shown: String(card) };
  } catch ({ name, code, sent, message }) {
    return { name, code, sent, message };
  }
};
</script></html>`;

const skip = chromiumFile === undefined ? "this machine does not have Chromium" : false;

test("a page in Chromium stores a card with the public key", { skip }, async (context) => {
  const folder = temporaryFolder(context);
  await bundleSdk(folder, ["own-fields"]);
  const shop = createServer((request, response) => {
    const isScript = request.url === "/own-fields.js";
    response.writeHead(200, { "Content-Type": isScript ? "text/javascript" : "text/html" });
    response.end(isScript ? readFileSync(join(folder, "own-fields.js")) : page);
  });
  shop.listen(0, "127.0.0.1");
  await once(shop, "listening");
  const { port } = shop.address() as AddressInfo;
  await using setting = await startSetting();
  const { server, client } = setting;
  const browser = await startChromium();
  try {
    const tab = await browser.newPage();
    const requests: string[] = [];
    tab.on("request", (request) => requests.push(`${request.method()} ${request.url()}`));
    await tab.goto(`http://127.0.0.1:${port}/`);
    await tab.waitForFunction("window.tokenize !== undefined");
    const tokenize = (url: string, key: string, number: string): Promise<unknown> =>
      tab.evaluate(
        `window.tokenize(${JSON.stringify(url)}, ${JSON.stringify(key)}, ${JSON.stringify(number)})`,
      );
    const { publicIntegrationKey } = server.keys;
    requests.length = 0;
    const stored = (await tokenize(server.url, publicIntegrationKey, "4111 1111 1111 1111")) as {
      readonly token: string;
    };
    assert.deepEqual(stored, {
      token: stored.token,
      maskedCardNumber: "411111xxxxxx1111",
      shown: "[card]",
    });
    assert.deepEqual(requests, [
      `POST ${server.url}/ws/token`,
      `POST ${server.url}/ws/token/setCVV`,
    ]);
    const paid = await client.charge(order("browser", { card: { token: stored.token } }));
    assert.equal(paid.outcome, "paid");

    const refused = await tokenize(server.url, publicIntegrationKey, "4111111111111112");
    assert.match(JSON.stringify(refused), /"CofreRequestError","code":"BP-DR-75"/);
    assert.doesNotMatch(JSON.stringify(refused), /4111/);
    const wrongKey = await tokenize(server.url, server.integrationKey.slice(1), "4111111111111111");
    assert.match(JSON.stringify(wrongKey), /"code":"DA-1"/);
    const absent = `http://127.0.0.1:${await freePort()}`;
    assert.match(
      JSON.stringify(await tokenize(absent, publicIntegrationKey, "4111111111111111")),
      /"CofreConnectionError","sent":"maybe"/,
    );
  } finally {
    await browser.close();
    shop.closeAllConnections();
    shop.close();
  }
});
