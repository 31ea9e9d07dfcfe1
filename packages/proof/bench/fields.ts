import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync } from "node:zlib";
import { startChromium } from "../../server/test/browser/chromium.ts";
import { publicIntegrationKey, startTestServer } from "../../server/test/server.ts";
import { median } from "./statistics.ts";

/**
 * Card fields in a shop's page: `npm exec -- node packages/proof/bench/fields.ts`. From the call
 * that puts them into the page to `ready`, beside an empty frame of the same server from the same
 * page; the bytes that a browser loads; and a stored card beside the same request of the page's own
 * script.
 */
const pages = 25;
const cards = 25;
const number = "4111111111111111";

const page = (cofre: string): string => `<!doctype html><html lang="en"><title>Shop</title>
<div id="card"></div><script src="${cofre}/cofre.js"></script><script>
const key = "${publicIntegrationKey}";
const emptyFrame = () => new Promise((resolve) => {
  const begun = performance.now();
  const frame = document.createElement("iframe");
  frame.onload = () => { frame.remove(); resolve(performance.now() - begun); };
  frame.src = "${cofre}/readyz";
  document.body.append(frame);
});
const mount = () => new Promise((resolve) => {
  const begun = performance.now();
  window.card = Cofre.fields("#card", { key, lang: "en", country: "br" });
  card.on("ready", () => resolve(performance.now() - begun));
});
const timed = async (work) => {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
};
const request = (path, fields) => fetch("${cofre}" + path, {
  method: "POST",
  headers: { "Content-Type": "text/plain" },
  body: JSON.stringify({ public_integration_key: key, ...fields }),
}).then((answer) => answer.json());
const direct = () => timed(async () => {
  const { token } = await request("/ws/token", { payment_type_code: "creditcard", country: "br",
    creditcard: { card_number: "${number}", card_name: "Ana Lima", card_due_date: "12/2060", card_cvv: "123" } });
  await request("/ws/token/setCVV", { token, card_cvv: "123" });
});
</script></html>`;

await using server = await startTestServer();
const shop = createServer((_, response) =>
  response.writeHead(200, { "Content-Type": "text/html" }).end(page(server.url)),
);
shop.listen(0, "127.0.0.1");
await once(shop, "listening");
const browser = await startChromium();
try {
  const [ready, empty, byFields, byPage]: [number[], number[], number[], number[]] = [
    [],
    [],
    [],
    [],
  ];
  const bytes = new Map<string, number>();
  for (let each = 0; each < pages; each += 1) {
    // A context of its own has an empty cache.
    const context = await browser.newContext();
    const tab = await context.newPage();
    const isLast = each === pages - 1;
    const sizes: Promise<void>[] = [];
    tab.on("response", (response) => {
      const { origin, pathname: path } = new URL(response.url());
      if (!isLast || origin !== server.url || bytes.has(path)) return;
      if (!/^\/(?:cofre|fields)/.test(path)) return;
      bytes.set(path, 0);
      sizes.push(
        response.body().then((body) => void bytes.set(path, brotliCompressSync(body).length)),
      );
    });
    await tab.goto(`http://127.0.0.1:${(shop.address() as AddressInfo).port}/`);
    empty.push(await tab.evaluate<number>("emptyFrame()"));
    ready.push(await tab.evaluate<number>("mount()"));
    if (!isLast) {
      await context.close();
      continue;
    }
    const frame = tab.frameLocator("#card iframe");
    for (let card = 0; card < cards; card += 1) {
      const typed = { number, expiry: "1260", code: "123", name: "Ana Lima" };
      for (const [name, text] of Object.entries(typed)) await frame.locator(`#${name}`).fill(text);
      byFields.push(await tab.evaluate<number>("timed(() => card.tokenize())"));
      byPage.push(await tab.evaluate<number>("direct()"));
    }
    await Promise.all(sizes);
    await context.close();
  }
  const ms = (values: readonly number[]): string =>
    `${median(values).toFixed(1)} ms, at most ${Math.max(...values).toFixed(1)}`;
  const total = [...bytes.values()].reduce((sum, each) => sum + each, 0);
  for (const line of [
    `fields ready after the call   ${ms(ready)} (empty cache, ${pages} pages)`,
    `an empty frame                ${ms(empty)}`,
    `a card stored by the fields   ${ms(byFields)}`,
    `by the page's own script      ${ms(byPage)}`,
    `compressed                    ${total} bytes: ${[...bytes].map(([path, size]) => `${path} ${size}`).join(", ")}`,
  ])
    process.stdout.write(`${line}\n`);
} finally {
  await browser.close();
  shop.closeAllConnections();
  shop.close();
}
