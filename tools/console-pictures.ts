import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startCofre } from "@cofre/server";
import type { Page } from "playwright-core";
import { startChromium } from "../packages/server/test/browser/chromium.ts";

/**
 * Generates the pictures of README.md and docs/console.md: `npm exec -- node
 * tools/console-pictures.ts`. That of the README shows a payment whose acquirer's answer was lost:
 * recovery resolved it, and it was captured and refunded in part. Needs Chromium.
 */
const root = join(import.meta.dirname, "..");
const fileOf = (name: string): string => join(root, "docs", "images", `${name}.png`);
const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};

/** A shop that refuses every fifth notification. */
let received = 0;
const receiver = createServer((request, response) => {
  received += 1;
  const isRefused = received % 5 === 0;
  request.resume().on("end", () => {
    response.writeHead(isRefused ? 500 : 200, { "Content-Type": "application/json" });
    response.end(isRefused ? '{"error":"database is locked"}' : '{"received":true}');
  });
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const { port } = receiver.address() as AddressInfo;

await using cofre = await startCofre();
const world = await cofre.worlds.create({
  name: "Test shop",
  seed: "picture",
  settings: {
    partialCapture: true,
    notificationEndpoints: [{ id: "shop", url: `http://127.0.0.1:${port}/webhooks` }],
  },
});

async function ask(path: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  const body = JSON.stringify({ integration_key: world.integrationKey, ...fields });
  const answer = await fetch(cofre.url + path, { method: "POST", body });
  const text = await answer.text();
  if (!text.includes('"status":"SUCCESS"')) throw new Error(`${path}: ${text}`);
}

/** Makes payments of all kinds, by `cofre seed`. */
async function seed(count: number, prefix: string): Promise<void> {
  const command = join(root, "packages", "server", "bin", "cofre.js");
  const { hostname, port: own } = new URL(cofre.url);
  const child = spawn(
    process.execPath,
    [command, "seed", "--count", `${count}`, "--prefix", prefix],
    {
      stdio: ["ignore", "ignore", "ignore"],
      env: {
        ...process.env,
        COFRE_HOST: hostname,
        COFRE_PORT: own,
        COFRE_SANDBOX_INTEGRATION_KEY: world.integrationKey,
      },
    },
  );
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`cofre seed exited with ${code}`);
}

for (const [day, count] of [14, 19, 11, 23, 17, 26].entries()) {
  await seed(count, `shop-${day + 1}`);
  await world.clock.advance("1d");
}

const order = { merchant_payment_code: "order-1042" };
await world.simulator.next({ next: "lose_answer", message: "authorize" });
await ask("/ws/direct", {
  operation: "request",
  payment: {
    ...order,
    amount_total: "120.00",
    currency_code: "USD",
    country: "br",
    name: "Ana Lima",
    email: "ana.lima@example.com",
    document: "853.513.468-93",
    zipcode: "80230-010",
    address: "Rua E",
    street_number: "1040",
    city: "Curitiba",
    state: "PR",
    birth_date: "12/04/1979",
    phone_number: "5541999999999",
    payment_type_code: "creditcard",
    creditcard: { ...card, auto_capture: false },
  },
});
await world.clock.advance("1min");
await world.clock.advance("1d");
await ask("/ws/capture", { ...order, amount: "90.00" });
await world.clock.advance("2d");
await ask("/ws/refund", {
  ...order,
  operation: "request",
  amount: "30.00",
  description: "one of three cups",
});
await world.clock.advance("1h");

/** Requests that are refused, for the list of requests. */
for (const fields of [
  { operation: "request", payment: { merchant_payment_code: "order-1043", amount_total: "ten" } },
  { operation: "request", payment: { merchant_payment_code: "order-1044", currency_code: "XAU" } },
])
  await fetch(`${cofre.url}/ws/direct`, {
    method: "POST",
    body: JSON.stringify({ integration_key: world.integrationKey, ...fields }),
  });
await ask("/__cofre/faults", { add: { kind: "drop_after_commit", path: "/ws/capture" } });
await ask("/__cofre/faults", { add: { kind: "decline", reason: "insufficient_funds", times: 3 } });
const { hash } = await world.payments.explain("order-1042");

/** The pictures of docs/console.md: the address after `#`, and what opens on the page first. */
const pictures: Readonly<Record<string, readonly [view: string, open?: string]>> = {
  payments: ["payments"],
  payment: [`payment/${hash}`],
  new: ["new"],
  webhooks: ["webhooks"],
  webhook: ["webhooks", "main tbody a"],
  requests: ["requests"],
  request: ["requests", "main a.code"],
  tokens: ["tokens"],
  insights: ["insights?period=30d"],
  worlds: ["worlds"],
  faults: ["faults"],
  cards: ["cards"],
  settings: ["settings"],
};

async function take(page: Page, name: string, height: number): Promise<void> {
  await page.setViewportSize({ width: 1_100, height });
  // Data, bars and fonts.
  await page.waitForTimeout(1_000);
  await page.screenshot({ path: fileOf(name) });
}

const browser = await startChromium();
try {
  const page = await browser.newPage({
    locale: "en-US",
    timezoneId: "UTC",
    viewport: { width: 1_100, height: 720 },
    colorScheme: "light",
  });
  await page.goto(`${cofre.url}/#key=${world.integrationKey}`);
  await page.getByRole("heading", { name: "Payments" }).waitFor();
  await page.goto(`${cofre.url}/#/payment/${hash}`);
  await page.getByText("Timeline").waitFor();
  await take(page, "console", 1_120);
  for (const [name, [view, open]] of Object.entries(pictures)) {
    await page.goto(`${cofre.url}/#/${view}`);
    await page.locator("main h1").waitFor();
    if (open !== undefined) await page.locator(open).first().click();
    await take(page, `console-${name}`, 720);
  }
} finally {
  await browser.close();
  receiver.close();
}
