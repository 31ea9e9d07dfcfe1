import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import type { Page } from "playwright-core";
import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import { query } from "../../server/test/postgres/databases.ts";
import { BenchPostgres } from "./postgres.ts";
import type { BenchServer } from "./process.ts";
import { integrationKey, startOnPostgres, startProduct } from "./product.ts";
import { median } from "./statistics.ts";

/** Payments of the account. */
const payments = 100_000;
/** Between two payments: 100,000 are 69 days. */
const apartMs = 60_000;
const rounds = 5;
const scrolledRows = 2_000;
/** Of the code of the oldest payment alone. */
const partOfOldest = "der-0";
/** How long a user reads the opened list before typing a search. */
const readingMs = 5_000;
/** How long charges are counted. */
const chargedMs = 3_000;
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

/** The server and its database. */
interface Installation {
  start(): Promise<BenchServer>;
  /** Called while no server runs. */
  copyPayments(): Promise<void>;
  /** Part of the server's CPU time, in microseconds. */
  databaseCpuMicros(): number;
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
  const embedded = {
    start: () => startProduct(folder, [], checkout),
    copyPayments: async () => copyInFile(join(folder, "cofre.db")),
    databaseCpuMicros: () => 0,
  };
  await measure(embedded, report);
}

/** The same on PostgreSQL, whose CPU is part of the server's. */
export async function longListOnPostgres(
  folder: string,
  report: (line: string) => void,
  checkout?: string,
): Promise<void> {
  await using postgres = await BenchPostgres.start();
  const url = await postgres.create();
  const installation = {
    start: () => startOnPostgres(postgres, url, folder, 1, checkout),
    copyPayments: () => copyInDatabase(url),
    databaseCpuMicros: () => postgres.cpuMicros(),
  };
  await measure(installation, report);
}

/**
 * The time of charges, eight at a time, in the first three seconds after the start: beside the
 * reading of the texts of 100,000 payments, which begins when their list is opened, and without.
 */
export async function chargesAfterOpening(
  folder: string,
  report: (line: string) => void,
): Promise<void> {
  const first = await startProduct(folder);
  try {
    for (const [index, changes] of models.entries())
      await post(first, "/ws/direct", bodyOf(`model-${index}`, changes));
  } finally {
    await first.stop();
  }
  copyInFile(join(folder, "cofre.db"));
  const rates: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const alone = await chargesOf(folder, `alone-${round}`, false);
    const beside = await chargesOf(folder, `beside-${round}`, true);
    rates.push(beside.length / alone.length);
    report(
      `${`round ${round}`.padEnd(nameWidth)} alone ${described(alone)}; beside ${described(beside)}`,
    );
  }
  report(`charges beside, of those alone: median ${median(rates).toFixed(3)}`);
}

/** The duration of each charge, ascending, in ms. */
async function chargesOf(
  folder: string,
  name: string,
  isListed: boolean,
): Promise<readonly number[]> {
  const server = await startProduct(folder);
  try {
    for (let index = 0; index < 200; index += 1)
      await post(server, "/ws/direct", bodyOf(`${name}-first-${index}`, { amount_total: "10.00" }));
    if (isListed) await post(server, "/__cofre/payments", { integration_key: integrationKey });
    const taken: number[] = [];
    const end = performance.now() + chargedMs;
    const lane = async (number: number): Promise<void> => {
      for (let index = 0; performance.now() < end; index += 1) {
        const begin = performance.now();
        await post(
          server,
          "/ws/direct",
          bodyOf(`${name}-${number}-${index}`, { amount_total: "10.00" }),
        );
        taken.push(performance.now() - begin);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, number) => lane(number)));
    return taken.toSorted((left, right) => left - right);
  } finally {
    await server.stop();
  }
}

function described(taken: readonly number[]): string {
  const at = (part: number): string => (taken[Math.floor(taken.length * part)] ?? 0).toFixed(1);
  return `${taken.length} charges, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

async function measure(installation: Installation, report: (line: string) => void): Promise<void> {
  const first = await installation.start();
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
  await installation.copyPayments();
  const hasty = await installation.start();
  try {
    const { took, used, database } = await search(installation, hasty, { search: partOfOldest });
    report(
      `${"a part of the oldest code, right after the start".padEnd(nameWidth)} ${ms(took)}, CPU ${ms(used)}${ofThese(database)}`,
    );
  } finally {
    await hasty.stop();
  }
  const server = await installation.start();
  try {
    await reportOpened(installation, server, report);
    for (const [name, fields] of searches)
      await reportSearch(installation, server, name, fields, report);
    if (chromiumFile === undefined) report("the browser's times: there is no Chromium");
    else await inBrowser(server, (page) => browse(page, report));
  } finally {
    await server.stop();
  }
}

/** Reports what the server does while a user reads the opened list. */
async function reportOpened(
  installation: Installation,
  server: BenchServer,
  report: (line: string) => void,
): Promise<void> {
  const opened = await search(installation, server, {});
  const cpu = server.cpuMicros() ?? 0;
  const database = installation.databaseCpuMicros();
  await setTimeout(readingMs);
  const used = ((server.cpuMicros() ?? 0) - cpu) / 1_000;
  const ofDatabase = (installation.databaseCpuMicros() - database) / 1_000;
  report(
    `${"the list is opened, and read for five seconds".padEnd(nameWidth)} CPU ${ms(opened.used)}, then ${ms(used)}${ofThese(ofDatabase)}`,
  );
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

function copyInFile(file: string): void {
  const database = new DatabaseSync(file);
  try {
    const names = database
      .prepare("SELECT name FROM pragma_table_info('payment') WHERE name <> 'no'")
      .all()
      .map(({ name }) => String(name));
    const copied: Readonly<Record<string, string>> = {
      id: "unhex(printf('%08x', (created_at - n * :apart) / 1000) || printf('%04x', n & 65535) || substr(hex(id), 13))",
      code: "'order-' || CAST(:count - n AS INTEGER)",
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

async function copyInDatabase(url: string): Promise<void> {
  const columns = await query<{ readonly name: string }>(
    url,
    "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'payment' AND column_name <> 'no' ORDER BY ordinal_position",
  );
  const names = columns.map(({ name }) => name);
  const copied: Readonly<Record<string, string>> = {
    id: "decode(lpad(to_hex((created_at - n * $2::bigint) / 1000), 8, '0') || lpad(to_hex(n & 65535), 4, '0') || substr(encode(id, 'hex'), 13), 'hex')",
    code: "'order-' || ($1::int - n)",
    created_at: "created_at - n * $2::bigint",
  };
  await query(
    url,
    `INSERT INTO payment (${names.join(", ")})
      SELECT ${names.map((name) => copied[name] ?? `model.${name}`).join(", ")}
      FROM generate_series($1::int, 1, -1) AS n JOIN (SELECT *, row_number() OVER (ORDER BY no) - 1 AS place FROM payment) AS model ON model.place = n % ${models.length}`,
    [payments, apartMs],
  );
  await query(url, "VACUUM ANALYZE payment");
}

const searches: readonly (readonly [name: string, fields: Readonly<Record<string, unknown>>])[] = [
  ["first page", {}],
  ["status:declined country:mx", { search: "status:declined country:mx" }],
  ["the oldest payment by a part of its code", { search: partOfOldest }],
  ["a name that no customer has", { search: "nobody" }],
  ["João", { search: "joao" }],
  ["state=expired, none", { state: "expired" }],
  ["state=refunded, none", { state: "refunded" }],
  ["counts of the tabs", { count: "states" }],
];

/** Reports the first search of this kind, and its repetitions. */
async function reportSearch(
  installation: Installation,
  server: BenchServer,
  name: string,
  fields: Readonly<Record<string, unknown>>,
  report: (line: string) => void,
): Promise<void> {
  const first = await search(installation, server, fields);
  const again: Searched[] = [];
  for (let round = 0; round < rounds; round += 1)
    again.push(await search(installation, server, fields));
  const mean = (member: "took" | "used" | "database"): number =>
    again.reduce((sum, each) => sum + each[member], 0) / rounds;
  report(
    `${name.padEnd(nameWidth)} ${first.found} found, ${first.calls} calls, ${ms(first.took)}, CPU ${ms(first.used)}${ofThese(first.database)}; again ${ms(mean("took"))}, CPU ${ms(mean("used"))}${ofThese(mean("database"))} (mean of ${rounds})`,
  );
}

/** Times in ms; `used`: CPU of the server with its database. */
interface Searched {
  readonly calls: number;
  readonly found: number;
  readonly took: number;
  readonly used: number;
  readonly database: number;
}

/** A search until it has found 50 payments or read all. */
async function search(
  installation: Installation,
  server: BenchServer,
  fields: Readonly<Record<string, unknown>>,
): Promise<Searched> {
  let calls = 0;
  let found = 0;
  let before: string | undefined;
  const begin = performance.now();
  const cpu = server.cpuMicros() ?? 0;
  const ofDatabase = installation.databaseCpuMicros();
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
  const used = ((server.cpuMicros() ?? 0) - cpu) / 1_000;
  const database = (installation.databaseCpuMicros() - ofDatabase) / 1_000;
  return { calls, found, took, used, database };
}

function ofThese(database: number): string {
  return database === 0 ? "" : `, of these ${ms(database)} of the database`;
}

async function inBrowser(server: BenchServer, work: (page: Page) => Promise<void>): Promise<void> {
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
  for (const words of ["status:declined country:mx", partOfOldest]) {
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

async function post(server: BenchServer, path: string, body: object): Promise<unknown> {
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
