import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Page } from "playwright-core";
import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import { integrationKey, startProduct } from "./product.ts";
import type { ServerProcess } from "./process.ts";
import { median } from "./statistics.ts";

/** Payments of the account. */
const payments = 100_000;
/** Between two payments: 100,000 are 69 days. */
const apartMs = 60_000;
const rounds = 5;
const scrolledRows = 2_000;
/** Of a line of the report. */
const nameWidth = 50;

const card = { card_name: "MARIA SILVA", card_due_date: "12/2060", card_cvv: "123" };
/** Of which the account's payments are copies. */
const models: readonly Readonly<Record<string, unknown>>[] = [
  { amount_total: "100.00" },
  { amount_total: "249.90", name: "João da Conceição" },
  { amount_total: "1250.00", currency_code: "USD" },
  { amount_total: "89.50", number: "5555555555554444" },
  { amount_total: "640.00", currency_code: "MXN", country: "mx" },
  { amount_total: "75.25", number: "6362970000457013" },
  { amount_total: "310.00", number: "4716909774636285" },
  { amount_total: "820.00", currency_code: "MXN", country: "mx", number: "4716909774636285" },
];

interface PaymentsPage {
  readonly payments: readonly unknown[];
  readonly next: string | null;
  readonly status: string;
}

/**
 * The console with an account of 100,000 payments: the CPU of the server for a search, and the time
 * of the browser, beside that of an account with eight payments in the same run. The rows are
 * copies of payments that the server has written, a minute apart. `checkout`: of the server; this one
 * by default.
 */
export async function longList(
  folder: string,
  report: (line: string) => void,
  checkout?: string,
): Promise<void> {
  const first = await startProduct(folder, [], checkout);
  try {
    for (const [index, changes] of models.entries())
      await post(first, "/ws/direct", bodyOf(`model-${index}`, changes));
    if (chromiumFile !== undefined)
      await inBrowser(first, (page) =>
        paint(page, `rows painted, ${models.length} payments`, report),
      );
  } finally {
    await first.stop();
  }
  copyPayments(join(folder, "cofre.db"));
  const server = await startProduct(folder, [], checkout);
  try {
    for (const [name, fields] of searches) await reportSearch(server, name, fields, report);
    if (chromiumFile === undefined) report("the browser's times: there is no Chromium");
    else await inBrowser(server, (page) => browse(page, report));
  } finally {
    await server.stop();
  }
}

function bodyOf(
  code: string,
  { number = "4111111111111111", ...changes }: Readonly<Record<string, unknown>>,
): object {
  const payment = {
    merchant_payment_code: code,
    currency_code: "BRL",
    name: "Maria Silva",
    email: "maria.silva@example.com",
    document: "853.513.468-93",
    zipcode: "61919-230",
    address: "Rua E",
    street_number: "1040",
    city: "Maracanaú",
    state: "CE",
    country: "br",
    phone_number: "8522847035",
    payment_type_code: "creditcard",
    creditcard: { ...card, card_number: number },
    ...changes,
  };
  return { integration_key: integrationKey, operation: "request", mode: "full", payment };
}

function copyPayments(file: string): void {
  const database = new DatabaseSync(file);
  try {
    const names = database
      .prepare("SELECT name FROM pragma_table_info('payment') WHERE name <> 'no'")
      .all()
      .map(({ name }) => String(name));
    const copied: Readonly<Record<string, string>> = {
      id: "unhex(printf('%08x', (created_at - n * :apart) / 1000) || printf('%04x', n & 65535) || substr(hex(id), 13))",
      code: "'order-' || (:count - n)",
      created_at: "created_at - n * :apart",
    };
    database
      .prepare(
        `WITH RECURSIVE numbers (n) AS (SELECT :count UNION ALL SELECT n - 1 FROM numbers WHERE n > 1)
        INSERT INTO payment (${names.join(", ")})
        SELECT ${names.map((name) => copied[name] ?? `model.${name}`).join(", ")}
        FROM numbers JOIN payment AS model ON model.no = (SELECT min(no) FROM payment) + n % ${models.length}`,
      )
      .run({ count: payments, apart: apartMs });
  } finally {
    database.close();
  }
}

const searches: readonly (readonly [name: string, fields: Readonly<Record<string, unknown>>])[] = [
  ["first page", {}],
  ["status:declined country:mx", { search: "status:declined country:mx" }],
  ["the oldest payment by a part of its code", { search: "order-0" }],
  ["a name that no customer has", { search: "nobody" }],
  ["João", { search: "joao" }],
  ["state=expired, none", { state: "expired" }],
  ["state=refunded, none", { state: "refunded" }],
  ["counts of the tabs", { count: "states" }],
];

/** Reports the first search since the start of the server, and its repetitions. */
async function reportSearch(
  server: ServerProcess,
  name: string,
  fields: Readonly<Record<string, unknown>>,
  report: (line: string) => void,
): Promise<void> {
  const first = await search(server, fields);
  const begin = performance.now();
  const cpu = server.cpuMicros() ?? 0;
  for (let round = 0; round < rounds; round += 1) await search(server, fields);
  const took = (performance.now() - begin) / rounds;
  const used = ((server.cpuMicros() ?? 0) - cpu) / 1_000 / rounds;
  report(
    `${name.padEnd(nameWidth)} ${first.found} found, ${first.calls} calls, ${ms(first.took)}, CPU of the server ${ms(first.used)}; again ${ms(took)}, CPU ${ms(used)} (mean of ${rounds})`,
  );
}

/** A search until it has found 50 payments or read all; times in ms. */
async function search(
  server: ServerProcess,
  fields: Readonly<Record<string, unknown>>,
): Promise<{
  readonly calls: number;
  readonly found: number;
  readonly took: number;
  readonly used: number;
}> {
  let calls = 0;
  let found = 0;
  let before: string | undefined;
  const begin = performance.now();
  const cpu = server.cpuMicros() ?? 0;
  do {
    const page = (await post(server, "/__cofre/payments", {
      integration_key: integrationKey,
      ...fields,
      ...(before === undefined ? {} : { before }),
    })) as PaymentsPage;
    calls += 1;
    found += page.payments.length;
    before = page.next ?? undefined;
  } while (before !== undefined && found < 50);
  const took = performance.now() - begin;
  return { calls, found, took, used: ((server.cpuMicros() ?? 0) - cpu) / 1_000 };
}

async function inBrowser(
  server: ServerProcess,
  work: (page: Page) => Promise<void>,
): Promise<void> {
  const browser = await startChromium();
  try {
    const page = await (await browser.newContext()).newPage();
    await page.addInitScript(noteRows);
    await page.goto(`http://127.0.0.1:${server.ports[0]}/#key=${integrationKey}`);
    await page.locator("tr[data-row]").first().waitFor();
    await work(page);
  } finally {
    await browser.close();
  }
}

/** In the page: when the first rows were painted, in ms since the navigation. */
const noteRows = `globalThis.rowsAt = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector("tr[data-row]") === null) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  }).observe(document, { childList: true, subtree: true });
})`;

async function paint(page: Page, name: string, report: (line: string) => void): Promise<void> {
  await times(name, report, async () => {
    await page.reload();
    return page.evaluate<number>("globalThis.rowsAt");
  });
}

async function browse(page: Page, report: (line: string) => void): Promise<void> {
  await paint(page, `rows painted, ${payments} payments`, report);
  for (const words of ["status:declined country:mx", "order-0"]) {
    const begin = performance.now();
    await page.getByRole("searchbox").fill(words);
    await page.keyboard.press("Enter");
    await page.waitForURL(/search=/);
    await page.locator("tr[data-row]").first().waitFor();
    report(
      `${`first row of the search ${words}`.padEnd(nameWidth)} ${ms(performance.now() - begin)}`,
    );
  }
  await page.goto(page.url().replace(/#.*$/, "#/payments"));
  await page.locator("tr[data-row]").first().waitFor();
  const scrolled = performance.now();
  await page.evaluate(scrollToRow);
  report(
    `${`scroll to row ${scrolledRows}`.padEnd(nameWidth)} ${ms(performance.now() - scrolled)}`,
  );
  await times("Back from a payment to that row", report, async () => {
    await page.locator("tr[data-row] a.code").last().click();
    await page.locator(".headline").waitFor();
    return page.evaluate<number>(goBack);
  });
}

/** In the page: scrolls to the end of the list until the row is rendered. */
const scrollToRow = `new Promise((resolve) => {
  const look = () => {
    if (document.querySelector("tr[aria-rowindex='${scrolledRows}']") !== null) return resolve();
    scrollTo(0, document.body.scrollHeight);
    requestAnimationFrame(look);
  };
  look();
})`;

/** In the page: ms until the list is painted where it was. */
const goBack = `new Promise((resolve) => {
  const begin = performance.now();
  const look = () =>
    document.querySelector("tr[data-row]") !== null && scrollY > 0
      ? requestAnimationFrame(() => resolve(performance.now() - begin))
      : requestAnimationFrame(look);
  history.back();
  look();
})`;

async function times(
  name: string,
  report: (line: string) => void,
  work: () => Promise<number>,
): Promise<void> {
  const taken: number[] = [];
  for (let round = 0; round < rounds; round += 1) taken.push(await work());
  report(`${name.padEnd(nameWidth)} ${ms(median(taken))} (median of ${rounds})`);
}

async function post(server: ServerProcess, path: string, body: object): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${server.ports[0]}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  const said = (await answer.json()) as { readonly status?: string };
  if (said.status !== "SUCCESS") throw new Error(JSON.stringify(said));
  return said;
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}
