import { join } from "node:path";
import { startCofre } from "cofre";
import { startChromium } from "../packages/server/test/browser/chromium.ts";

/**
 * Generates the picture of the README: `npm exec -- node tools/readme-picture.ts`. It shows a
 * payment of a world in the console: the acquirer's answer was lost, recovery resolved it, and it
 * was captured and refunded in part. Needs Chromium.
 */
const file = join(import.meta.dirname, "..", "docs", "images", "console.png");
const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};

await using cofre = await startCofre();
const world = await cofre.worlds.create({
  name: "A lost answer",
  seed: "picture",
  settings: { partialCapture: true },
});

async function ask(path: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  const body = JSON.stringify({ integration_key: world.integrationKey, ...fields });
  const answer = await fetch(cofre.url + path, { method: "POST", body });
  const text = await answer.text();
  if (!text.includes('"status":"SUCCESS"')) throw new Error(`${path}: ${text}`);
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
const { hash } = await world.payments.explain("order-1042");

const browser = await startChromium();
try {
  const page = await browser.newPage({
    locale: "en-US",
    viewport: { width: 1_100, height: 1_120 },
    colorScheme: "light",
  });
  await page.goto(`${cofre.url}/#key=${world.integrationKey}`);
  await page.getByRole("heading", { name: "Payments" }).waitFor();
  await page.goto(`${cofre.url}/#/payment/${hash}`);
  await page.getByText("Timeline").waitFor();
  await page.waitForTimeout(500);
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
