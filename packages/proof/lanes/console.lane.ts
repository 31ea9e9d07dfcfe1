import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import { hostile, poisoned } from "../../server/test/browser/hostile.ts";
import { type Shop, startShop } from "../../server/test/browser/shop.ts";
import { violations } from "../../server/test/browser/violations.ts";
import { inPage } from "../../server/test/browser/window.ts";
import { listTests } from "./support/console-list.ts";
import { loginTests } from "./support/console-logins.ts";
import { insightsTests } from "./support/console-insights.ts";
import { newPaymentTests } from "./support/console-new-payment.ts";
import { requestTests } from "./support/console-requests.ts";
import { savedViewTests } from "./support/console-saved-views.ts";
import { selectionTests } from "./support/console-selection.ts";
import { look, viewTests } from "./support/console-views.ts";
import { zoneTests } from "./support/console-zone.ts";
import { webhookTests } from "./support/console-webhooks.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../server/test/server.ts";
import { until } from "../../server/test/until.ts";

/** Folder for screenshots of the console, for review by a person; none are taken if unset. */
const pictures = process.env["COFRE_SCREENSHOTS"];
const noBrowser =
  chromiumFile === undefined
    ? "there is no Chromium: apt-get install chromium, or name one in COFRE_CHROMIUM"
    : false;

describe("the console in a real browser", { skip: noBrowser, timeout: 600_000 }, () => {
  let testServer: TestServer;
  let shop: Shop;
  let browser: Browser;
  let receiver: Receiver;
  let numbers = 0;

  const parts = new AsyncDisposableStack();
  before(async () => {
    testServer = parts.use(await startTestServer());
    shop = parts.use(await startShop());
    receiver = parts.adopt(await startReceiver(), (one) => one.close());
    browser = parts.use(await startChromium());
    await testServer.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { notificationUrl: receiver.url, partialCapture: true },
    });
  });
  // Also closes what was started before a later part failed to start: an open server keeps the
  // process running.
  after(() => parts.disposeAsync());

  /** Makes a payment, newer than all others; returns its code and hash. */
  async function made(
    changes: Readonly<Record<string, unknown>> = {},
  ): Promise<{ readonly code: string; readonly hash: string }> {
    testServer.clock.advance(1_000);
    const code =
      typeof changes["merchant_payment_code"] === "string"
        ? changes["merchant_payment_code"]
        : `seen-${(numbers += 1)}`;
    const { body } = await testServer.postJson("/ws/direct", directBody(code, changes));
    const { hash } = (body["payment"] ?? {}) as { readonly hash?: string };
    assert.ok(hash !== undefined, JSON.stringify(body));
    return { code, hash };
  }
  const held = () => made({ creditcard: { ...testCard, auto_capture: false } });

  async function wireStatus(hash: string): Promise<unknown> {
    const { body } = await testServer.get("/ws/query", { integration_key: integrationKey, hash });
    return (body["payment"] as Record<string, unknown>)["status"];
  }

  /**
   * A browser window with the key entered, at an address behind the `#`. Checks at the end that
   * there was no error, except for `expected`, and no request to another origin.
   */
  async function inConsole(
    address: string,
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
    expected?: RegExp,
  ): Promise<void> {
    await inWindow(
      async (page) => {
        await page.goto(`${testServer.url}/#key=${integrationKey}`);
        await page.getByRole("heading", { name: "Payments" }).waitFor();
        await page.goto(`${testServer.url}/${address}`);
        await work(page);
      },
      options,
      expected,
    );
  }

  async function inWindow(
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
    expected?: RegExp,
  ): Promise<void> {
    const requests = await inPage(browser, testServer.url, work, options, expected);
    assert.ok(
      !requests.some((url) => url.includes(integrationKey)),
      "no requested address has the key",
    );
  }

  /** The section of a payment's page with this heading. */
  const part = (page: Page, heading: string) =>
    page
      .locator("section")
      .filter({ has: page.getByRole("heading", { name: heading, exact: true, level: 2 }) });

  async function picture(page: Page, name: string): Promise<void> {
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, `console-${name}.png`), fullPage: true });
  }

  test("asks for the secret key, refuses others, keeps it in the tabs alone and forgets it on request", async () => {
    await made();
    await inWindow(async (page) => {
      await page.goto(testServer.url);
      const field = page.getByLabel("Secret integration key");
      for (const wrong of ["nonsense", publicIntegrationKey]) {
        await field.fill(wrong);
        await page.keyboard.press("Enter");
        await page.getByRole("alert").filter({ hasText: "Invalid integration key" }).waitFor();
      }
      await field.fill(integrationKey);
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByRole("heading", { name: "Payments" }).waitFor();
      assert.ok(!page.url().includes(integrationKey));
      assert.deepEqual(await page.context().cookies(), []);
      assert.equal(await page.evaluate("localStorage.length"), 0);
      // Another tab of the same browser gets the key from this one, and removes it independently.
      const other = await page.context().newPage();
      await other.goto(testServer.url);
      await other.getByRole("heading", { name: "Payments" }).waitFor();
      await other.getByRole("button", { name: "Remove key" }).click();
      await other.getByLabel("Secret integration key").waitFor();
      await page.getByRole("button", { name: "Remove key" }).click();
      await page.getByLabel("Secret integration key").waitFor();
      const last = await page.context().newPage();
      await last.goto(testServer.url);
      await last.getByLabel("Secret integration key").fill("kept");
      await last.waitForTimeout(1_000);
      assert.equal(
        await last.getByLabel("Secret integration key").inputValue(),
        "kept",
        "no tab has it any more",
      );
      assert.equal(await page.evaluate("sessionStorage.length"), 0);
    });
  });

  test("a link with the key behind the # opens it, and the key leaves the address", async () => {
    await inConsole("#/payments", async (page) => {
      await page.getByRole("table", { name: "Payments, newest first" }).waitFor();
      assert.equal(await page.evaluate("location.href"), `${testServer.url}/#/payments`);
      await page.goBack().catch(() => undefined);
      assert.ok(!page.url().includes(integrationKey));
    });
    const logged = JSON.stringify(testServer.events);
    assert.ok(!logged.includes(integrationKey), "the log does not know it either");
    assert.ok(logged.includes('"path":"/"'), "control: the page was asked for");
  });

  test("a key that a link has opened is removed from its tab while another tab has it", async () => {
    const { code } = await made();
    await inConsole("#/payments", async (page) => {
      const row = (one: Page) => one.getByRole("link", { name: code, exact: true });
      await row(page).waitFor();
      const other = await page.context().newPage();
      await other.goto(testServer.url);
      await row(other).waitFor();
      await page.getByRole("button", { name: "Remove key" }).click();
      await page.getByLabel("Secret integration key").waitFor();
      // A tab that asks the other one has its answer by now.
      const third = await page.context().newPage();
      await third.goto(testServer.url);
      await row(third).waitFor();
      assert.equal(await page.getByLabel("Secret integration key").count(), 1);
      assert.equal(await page.evaluate("sessionStorage.length"), 0);
    });
  });

  test("a page of another origin reads nothing of it, nor has it in a frame", async () => {
    const page = await browser.newPage();
    await page.goto(shop.url);
    const body = JSON.stringify({ integration_key: integrationKey });
    const failed = await page.evaluate(
      `look({ way: "fetch", method: "POST", url: "${testServer.url}/__cofre/payments", headers: { "Content-Type": "application/json" } })`,
    );
    assert.equal(failed, "TypeError", body);
    assert.equal(
      await page.evaluate(`look({ way: "fetch", method: "GET", url: "${testServer.url}/" })`),
      "TypeError",
    );
    await page.evaluate(
      `new Promise((done) => { const frame = document.createElement("iframe"); frame.onload = done; frame.src = "${testServer.url}/"; document.body.append(frame); })`,
    );
    const frame = page.frames().find((each) => each !== page.mainFrame());
    assert.notEqual(
      frame?.url().startsWith(testServer.url),
      true,
      "the browser shows its own refusal in its place",
    );
    await page.close();
  });

  test("payments are found, and what was asked for stays in the address", async () => {
    const special = await made({ name: "João Cão", email: "joao@example.com" });
    const declined = await made({ creditcard: { ...testCard, card_number: "4716909774636285" } });
    await inConsole("#/payments", async (page) => {
      const row = (code: string) =>
        page.getByRole("row").filter({ has: page.getByRole("link", { name: code, exact: true }) });
      await row(special.code).waitFor();
      assert.match(
        await row(special.code).innerText(),
        /Captured[^]*100\.00 USD[^]*João Cão BR[^]*visa\s*•••• 1111/i,
      );
      assert.match(
        await row(declined.code).innerText(),
        /Declined · insufficient funds/,
        "the reason stands beside it",
      );
      await page
        .getByLabel("Search by code, hash, customer, card, amount, currency or country")
        .fill("joao cao");
      await page.keyboard.press("Enter");
      await page.getByText("1 payment", { exact: true }).waitFor();
      assert.equal(new URL(page.url()).hash, "#/payments?search=joao+cao");
      await page
        .getByLabel("Search by code, hash, customer, card, amount, currency or country")
        .fill("");
      await page.keyboard.press("Enter");
      await row(declined.code).waitFor();
      const tab = (name: RegExp) =>
        page.getByRole("navigation", { name: "States" }).getByRole("link", { name });
      await tab(/^Declined \d+$/).focus();
      await page.keyboard.press("Enter");
      await row(special.code).waitFor({ state: "detached" });
      await row(declined.code).waitFor();
      assert.equal(
        await page.evaluate("document.activeElement.name"),
        "tab-Declined",
        "the focus stays where the choice was made",
      );
      assert.equal(await row(special.code).count(), 0);
      await page.reload();
      await row(declined.code).waitFor();
      assert.equal(await tab(/^Declined/).getAttribute("aria-current"), "page");
      assert.equal(await row(special.code).count(), 0);
      await page.goto(`${testServer.url}/#/payments?brand=amex`);
      await page.getByText("0 payments", { exact: true }).waitFor();
      // A full card number is masked before it is shown anywhere.
      await page
        .getByLabel("Search by code, hash, customer, card, amount, currency or country")
        .fill("4716 9097 7463 6285");
      await page.getByLabel("Brand").selectOption("");
      await row(declined.code).waitFor();
      assert.equal(new URL(page.url()).hash, "#/payments?search=471690xxxxxx6285");
      await page.goto(`${testServer.url}/#/payments?search=4716.9097.7463.6285&state=declined`);
      await page.waitForURL(`${testServer.url}/#/payments?search=471690xxxxxx6285&state=declined`);
      await row(declined.code).waitFor();
      assert.equal(
        await page
          .getByLabel("Search by code, hash, customer, card, amount, currency or country")
          .inputValue(),
        "471690xxxxxx6285",
      );
    });
  });

  test("more than a page is shown when it is asked for", async () => {
    const { hash } = await made({ email: "many@example.com" });
    for (let count = 0; count < 51; count += 1) await made({ email: "many@example.com" });
    await inConsole("#/payments?search=many%40example.com", async (page) => {
      await page.getByText("50 payments so far").waitFor();
      await page.mouse.move(600, 600);
      await page.mouse.wheel(0, 5_000);
      await page.getByText("52 payments", { exact: true }).waitFor();
      assert.equal(await page.locator(`a[href="#/payment/${hash}"]`).count(), 1);
      assert.equal(await page.getByRole("button", { name: "Show more" }).isVisible(), false);
    });
  });

  test("a long list renders only the rows near the window, and reads on at its end", async () => {
    const total = 1_000;
    await made();
    await inConsole("#/new", async (page) => {
      const { body } = await testServer.postJson("/__cofre/payments", {
        integration_key: integrationKey,
        limit: 1,
      });
      const [sample] = body["payments"] as Readonly<Record<string, unknown>>[];
      const hashOf = (place: number) => String(total - place).padStart(48, "0");
      await page.route("**/__cofre/payments", async (route) => {
        const { before, limit, count } = route.request().postDataJSON() as {
          readonly before?: string;
          readonly limit?: number;
          readonly count?: string;
        };
        if (count !== undefined) return route.fulfill({ response: await route.fetch() });
        const from = before === undefined ? 0 : total - Number(before) + 1;
        const to = Math.min(total, from + (limit ?? 50));
        const payments = Array.from({ length: to - from }, (_, place) => ({
          ...sample,
          hash: hashOf(from + place),
          merchant_payment_code: `many-${from + place}`,
        }));
        const next = to === total ? null : hashOf(to - 1);
        return route.fulfill({ json: { payments, next, status: "SUCCESS" } });
      });
      await page.goto(`${testServer.url}/#/payments?search=many`);
      await page.getByText("50 payments so far").waitFor();
      const rendered = () => page.locator("tbody tr[data-row]").count();
      await until("the whole list is read", async () => {
        await page.evaluate("scrollTo(0, document.body.scrollHeight)");
        assert.ok((await rendered()) < 250, "most rows are not in the document");
        return (await page.getByText("1,000 payments", { exact: true }).count()) === 1;
      });
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      await page.getByRole("link", { name: `many-${total - 1}`, exact: true }).waitFor();
      assert.equal(await page.getByRole("link", { name: "many-0", exact: true }).count(), 0);
      const height = await page.evaluate<number>(
        "document.querySelector('tr[data-row]').getBoundingClientRect().height",
      );
      assert.ok(Math.abs(height - 34) <= 1, `a row has ${height} pixels`);
      await page.evaluate("scrollTo(0, 0)");
      await page.getByRole("link", { name: "many-0", exact: true }).waitFor();
    });
  });

  test("a list is searched by operators and period, shows the chosen columns, and is exported", async () => {
    const formula = await made({ name: "=1+1 Lima", email: "export@example.com" });
    await made({ email: "export@example.com", amount_total: "250.50" });
    await inConsole("#/payments", async (page) => {
      const search = page.getByRole("searchbox");
      await search.fill("export@example.com amount:<200,00 currency:usd");
      await page.keyboard.press("Enter");
      await page.getByText("1 payment", { exact: true }).waitFor();
      await page.getByRole("link", { name: formula.code, exact: true }).waitFor();
      await page.getByLabel("Period").selectOption("Last 24 hours");
      await page.waitForURL(/&period=24h$/);
      await page.getByRole("link", { name: formula.code, exact: true }).waitFor();
      assert.equal(await page.getByRole("columnheader", { name: "E-mail" }).count(), 0);
      await page.getByText("Columns", { exact: true }).click();
      await page.getByLabel("E-mail").check();
      await page.getByRole("columnheader", { name: "E-mail" }).waitFor();
      await page.reload();
      await page.getByRole("cell", { name: "export@example.com" }).waitFor();
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export CSV" }).click(),
      ]);
      assert.equal(file.suggestedFilename(), "payments.csv");
      const lines = readFileSync(await file.path(), "utf8").split("\r\n");
      assert.equal(lines.length, 3);
      assert.equal(
        lines[0],
        '\ufeff"State","Amount","Code","Customer","Card","Notified","Opened (UTC)","E-mail","Local amount","Instalments","Hash"',
      );
      assert.match(lines[1] ?? "", /,"'=1\+1 Lima",/, "no cell is a formula");
      await page.getByRole("status").filter({ hasText: "Exported: 1 payment." }).waitFor();
      await page.evaluate("location.hash = '#/payments?search=amount%3A%3E99999999'");
      await page.getByText("No entries match.").waitFor();
    });
  });

  test("changes made elsewhere appear, and the focused row keeps the focus", async () => {
    const { code, hash } = await held();
    await inConsole("#/payments", async (page) => {
      const link = page.getByRole("link", { name: code, exact: true });
      const row = page.getByRole("row").filter({ has: link });
      await link.focus();
      assert.match(await row.innerText(), /Authorized/);
      const later = await made();
      await page.getByRole("link", { name: later.code, exact: true }).waitFor();
      await testServer.get("/ws/capture", { integration_key: integrationKey, hash });
      await row.filter({ hasText: "Captured" }).waitFor();
      assert.equal(await page.evaluate("document.activeElement.textContent"), code);
    });
  });

  test("more than a page of new payments leaves none out, though no page was open", async () => {
    const email = "gap@example.com";
    for (const address of ["#/payments", "#/payments?search=gap%40example.com"]) {
      const { code } = await made({ email });
      await inConsole(address, async (page) => {
        await page.getByRole("link", { name: code, exact: true }).waitFor();
        await page.evaluate(
          "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })",
        );
        const codes: string[] = [];
        for (let count = 0; count < 53; count += 1) codes.push((await made({ email })).code);
        await page.evaluate("delete document.hidden");
        await look(page);
        await page.getByRole("link", { name: codes.at(-1) ?? "", exact: true }).waitFor();
        const more = page.getByRole("button", { name: "Show more" });
        if (await more.isVisible()) await more.dispatchEvent("click");
        await page.getByRole("link", { name: codes[0] ?? "", exact: true }).waitFor();
        const seen = await page.locator("tbody tr a").allTextContents();
        assert.deepEqual(seen.slice(0, 53), codes.toReversed(), address);
      });
    }
  });

  test("what is older than a fresh look went stays, and what it went through and does not hold is gone", async () => {
    const older = await made({ email: "looked@example.com" });
    const end = await made();
    const newer = await made({ email: "looked@example.com" });
    await inConsole("#/new", async (page) => {
      let isFresh = false;
      await page.route("**/__cofre/payments", async (route) => {
        const response = await route.fetch();
        const { before, count } = route.request().postDataJSON() as {
          readonly before?: string;
          readonly count?: string;
        };
        // As if a call had scanned as many payments as it may without a match.
        if (isFresh && before === undefined && count === undefined)
          await route.fulfill({ json: { payments: [], next: end.hash, status: "SUCCESS" } });
        else await route.fulfill({ response });
      });
      await page.goto(`${testServer.url}/#/payments?search=looked%40example.com`);
      await page.getByText("2 payments", { exact: true }).waitFor();
      isFresh = true;
      await look(page);
      await page.getByText("1 payment", { exact: true }).waitFor();
      assert.equal(await page.getByRole("link", { name: older.code, exact: true }).count(), 1);
      assert.equal(await page.getByRole("link", { name: newer.code, exact: true }).count(), 0);
    });
  });

  test("a key that is refused later is said, and nothing old is shown as new", async () => {
    const { body } = await testServer.postJson("/__cofre/worlds", { name: "ended", seed: "ended" });
    const { integration_key: key } = body["world"] as { readonly integration_key: string };
    await testServer.postJson("/ws/direct", { ...directBody("ended-1"), integration_key: key });
    await inWindow(async (page) => {
      await page.goto(`${testServer.url}/#key=${key}`);
      await page.getByRole("link", { name: "ended-1", exact: true }).waitFor();
      await testServer.postJson("/__cofre/world", { integration_key: key, action: "delete" });
      await look(page);
      await page.getByRole("status").filter({ hasText: "no longer accepts this key" }).waitFor();
      await page.getByRole("button", { name: "Remove key" }).click();
      await page.getByLabel("Secret integration key").waitFor();
    });
  });

  test("while card operations are stopped the side bar says so, in the page's language", async () => {
    const order = (act: string) =>
      testServer.postJson("/__cofre/keys", {
        integration_key: integrationKey,
        act,
        reason: "test",
      });
    await inConsole("#/payments", async (page) => {
      const notice = page.getByRole("alert");
      assert.equal(await notice.count(), 0, "control: served");
      await order("stop");
      await notice.filter({ hasText: "Card operations are stopped." }).waitFor();
      assert.deepEqual(await violations(page), []);
      await order("resume");
      await notice.waitFor({ state: "detached" });
    });
    await order("stop");
    try {
      await inWindow(
        async (page) => {
          await page.goto(`${testServer.url}/#key=${integrationKey}`);
          await page.getByRole("alert").filter({ hasText: "están detenidas" }).waitFor();
        },
        { locale: "es" },
      );
    } finally {
      await order("resume");
    }
  });

  test("a payment is captured in part, refunded in part, and its page shows all of it", async () => {
    const { code, hash } = await held();
    await inConsole(`#/payment/${hash}`, async (page) => {
      await page.getByText(code, { exact: true }).waitFor();
      await page
        .getByRole("img", { name: "Authorized 100.00, captured 0.00, refunded 0.00 USD" })
        .waitFor();
      await page.getByRole("button", { name: "Capture…" }).click();
      await page.getByLabel("Amount in USD, up to 100.00").fill("80,00");
      await page.getByRole("dialog").getByRole("button", { name: "Capture" }).click();
      await page.getByRole("img", { name: /captured 80\.00, refunded 0\.00 USD/ }).waitFor();
      await page.getByRole("button", { name: "Refund…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Amount in USD, up to 80.00").fill("80.01");
      await dialog.getByRole("button", { name: "Refund" }).click();
      await dialog
        .getByRole("alert")
        .filter({ hasText: "The amount can be at most 80.00 USD." })
        .waitFor();
      assert.equal(
        await dialog.getByLabel("Amount in USD, up to 80.00").getAttribute("aria-invalid"),
        "true",
      );
      await dialog.getByLabel("Amount in USD, up to 80.00").fill("30.50");
      await dialog.getByLabel("Reason").fill("one of two");
      await dialog.getByRole("button", { name: "Refund" }).click();
      await page.getByRole("img", { name: /captured 80\.00, refunded 30\.50 USD/ }).waitFor();
      assert.match(await part(page, "Money").innerText(), /30\.50 USD[^]*requested[^]*one of two/);
      const history = await part(page, "Timeline").innerText();
      assert.match(
        history,
        /\/ws\/direct[^]*asked to authorize[^]*the amount is held[^]*asked to capture 80\.00 USD[^]*\/ws\/refund[^]*A refund was requested/,
      );
      const request = page.getByRole("listitem").filter({ hasText: "POST /ws/direct" });
      await request.getByText("Request and response").click();
      assert.match(
        await request.locator("pre").innerText(),
        /"card_number": "411111xxxxxx1111",\n/,
      );
      await page.getByText("100.00 USD at a rate of 5.8300 are 583.00 BRL").waitFor();
      await page.getByText(/^80\.00 USD at a rate of 5\.8300 are 466\.40 BRL/).waitFor();
      await page.getByText(/postings$/).click();
      await page
        .getByRole("table", { name: "Postings" })
        .getByText("merchant payable")
        .first()
        .waitFor();
      await picture(page, "payment");
    });
    assert.equal(await wireStatus(hash), "CO");
  });

  test("a question about money closes with the payment that it is about, and says which one that is", async () => {
    const [first, second] = [await made(), await made()];
    await inConsole(`#/payment/${first.hash}`, async (page) => {
      await page.getByText(first.code, { exact: true }).waitFor();
      await page.goto(`${testServer.url}/#/payment/${second.hash}`);
      await page.getByText(second.code, { exact: true }).first().waitFor();
      await page.getByRole("button", { name: "Refund…" }).click();
      const dialog = page.getByRole("dialog");
      const words = await dialog.innerText();
      for (const word of [second.code, testCard.card_number.slice(-4), "100.00 USD"])
        assert.ok(words.includes(word), `${word} in ${words}`);
      // Earlier the dialog stayed open over the payment that Back returned to, and its button
      // refunded the other one.
      await page.goBack();
      await dialog.waitFor({ state: "detached" });
      await page.getByText(first.code, { exact: true }).first().waitFor();
      await page.getByRole("button", { name: "Refund…" }).waitFor();
    });
    for (const { hash } of [first, second]) {
      const { body } = await testServer.get("/ws/query", { integration_key: integrationKey, hash });
      assert.equal((body["payment"] as Record<string, unknown>)["refunds"], undefined);
    }
  });

  test("a refunded payment is not shown as captured, and is found as refunded", async () => {
    const { code, hash } = await made();
    const refund = (amount: string) =>
      testServer.postJson("/ws/refund", {
        integration_key: integrationKey,
        hash,
        operation: "request",
        amount,
      });
    await refund("40.00");
    await inConsole(`#/payments?search=${code}`, async (page) => {
      await page
        .getByRole("row", { name: new RegExp(code) })
        .getByText("Partly refunded")
        .waitFor();
      await refund("60.00");
      await page
        .getByRole("row", { name: new RegExp(code) })
        .getByText("Refunded", { exact: true })
        .waitFor();
      await page.evaluate("location.hash = '#/payments?state=refunded'");
      await page.waitForURL(/state=refunded/);
      await page.getByRole("row", { name: new RegExp(code) }).waitFor();
      await page.getByRole("link", { name: code }).click();
      await page.getByText("Refunded", { exact: true }).first().waitFor();
      assert.equal(await page.getByText("Captured", { exact: true }).count(), 0);
    });
  });

  test("Back leads to the same rows at the same place", async () => {
    const hashes: string[] = [];
    for (let count = 0; count < 70; count += 1)
      hashes.push((await made({ email: "place@example.com" })).hash);
    const [oldest = ""] = hashes;
    await inConsole("#/payments?search=place%40example.com", async (page) => {
      await page.getByText("50 payments so far").waitFor();
      await page.getByRole("button", { name: "Show more" }).dispatchEvent("click");
      await page.getByText("70 payments", { exact: true }).waitFor();
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      await until(
        "70 rows are shown",
        async () => (await page.evaluate("history.state?.rows")) === 70,
      );
      const y = await page.evaluate("scrollY");
      await page.locator(`a[href="#/payment/${oldest}"]`).click();
      await page.getByRole("button", { name: "Refund…" }).waitFor();
      await page.goBack();
      await page.getByText("70 payments", { exact: true }).waitFor();
      await until(
        "the page is where it was",
        async () => Math.abs(Number(await page.evaluate("scrollY")) - Number(y)) < 40,
      );
    });
  });

  test("a link with another key asks before it opens the other account, and a world's key shows the world", async () => {
    const { body } = await testServer.postJson("/__cofre/worlds", {
      name: "linked",
      seed: "linked",
    });
    const { integration_key: key } = body["world"] as { readonly integration_key: string };
    await inConsole("#/payments", async (page) => {
      await page.getByRole("heading", { name: "Payments" }).waitFor();
      await page.goto(`${testServer.url}/#key=${key}`);
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      assert.equal(await page.locator("#tag").innerText(), "sandbox");
      await page.goto(`${testServer.url}/#key=${key}`);
      await page
        .getByRole("dialog")
        .getByRole("button", { name: "Open the other account" })
        .click();
      await page.locator("#tag").getByText("world: linked").waitFor();
    });
    await testServer.postJson("/__cofre/world", { integration_key: key, action: "delete" });
  });

  test("a payment is voided, after a question that can be left", async () => {
    const { hash } = await held();
    await inConsole(`#/payment/${hash}`, async (page) => {
      await page.getByRole("button", { name: "Void…" }).click();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      assert.equal(await wireStatus(hash), "PE");
      await page.getByRole("button", { name: "Void…" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Void" }).click();
      await page.getByText("No actions are available.").waitFor();
      await page.getByText("Voided", { exact: true }).first().waitFor();
    });
    assert.equal(await wireStatus(hash), "CA");
  });

  test("the issuer takes a payment back, the merchant wins it back, and that was the one dispute", async () => {
    const { hash } = await made();
    await inConsole(`#/payment/${hash}`, async (page) => {
      await page.getByRole("button", { name: "Charge back…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Reason").fill("never arrived");
      await dialog.getByRole("button", { name: "Charge back" }).click();
      await page
        .getByText("The issuer charged the payment back", { exact: false })
        .first()
        .waitFor();
      assert.equal(await page.getByRole("button", { name: "Refund…" }).count(), 0);
      await page.getByRole("button", { name: "Win dispute…" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Win dispute" }).click();
      await page.getByRole("button", { name: "Refund…" }).waitFor();
      assert.equal(await page.getByRole("button", { name: "Charge back…" }).count(), 0);
    });
  });

  test("a reviewer accepts one payment and rejects another", async () => {
    for (const [button, expected] of [
      ["Accept", "CO"],
      ["Reject", "CA"],
    ] as const) {
      const { hash } = await made({ manual_review: true });
      await inConsole(`#/payment/${hash}`, async (page) => {
        await page.getByRole("button", { name: `${button}…` }).click();
        await page.getByRole("dialog").getByRole("button", { name: button }).click();
        await page.getByRole("dialog").waitFor({ state: "detached" });
      });
      assert.equal(await wireStatus(hash), expected);
    }
  });

  test("notifications show with their attempts, and are sent again", async () => {
    const { hash } = await made();
    const receivedOf = (): number => receiver.received.filter((body) => body.includes(hash)).length;
    await inConsole(`#/payment/${hash}`, async (page) => {
      await part(page, "Notifications")
        .getByText(/delivered, 1 attempt/)
        .waitFor();
      assert.equal(receivedOf(), 1);
      await page.getByRole("button", { name: "Resend" }).click();
      await page.getByRole("status").filter({ hasText: "1 resent." }).waitFor();
      for (let look = 0; look < 3_000 && receivedOf() < 2; look += 1)
        await new Promise((resolve) => void setTimeout(resolve, 20));
      assert.equal(receivedOf(), 2);
      await part(page, "Notifications")
        .getByText(/delivered/)
        .waitFor();
    });
  });

  test("a payment's page shows a lost answer, leads to its neighbours and back, and copies its code", async () => {
    const email = "neighbours@example.com";
    const [oldest, middle] = [await made({ email }), await made({ email })];
    const { hash } = await made({ email, merchant_payment_code: "lost-answer" });
    await inConsole(`#/payments?search=${encodeURIComponent(email)}`, async (page) => {
      // As if the acquirer's answer had been lost: the charge would wait for it.
      await page.route("**/__cofre/timeline", async (route) => {
        const answer = (await (await route.fetch()).json()) as {
          readonly entries: readonly { readonly kind: string; readonly data: object }[];
        };
        const entries = answer.entries.map((entry) =>
          entry.kind === "call"
            ? { ...entry, data: { ...entry.data, outcome: { kind: "unknown", cause: "timeout" } } }
            : entry,
        );
        await route.fulfill({ json: { ...answer, entries } });
      });
      await page.getByRole("link", { name: "lost-answer", exact: true }).click();
      const diagram = page.getByRole("img", { name: /^Messages between shop, Cofre/ });
      await diagram.waitFor();
      assert.match(
        await page.evaluate<string>("document.querySelector('.sequence').textContent"),
        /direct 100(?:\.00)?.*authorize 100\.00.*no answer/,
      );
      assert.ok((await diagram.locator(".lost").count()) >= 1);
      await page.getByText("100.00 USD", { exact: true }).first().waitFor();
      await page.getByText("1 of 3").waitFor();
      await page.keyboard.press("j");
      await page.getByText("2 of 3").waitFor();
      assert.equal(new URL(page.url()).hash, `#/payment/${middle.hash}`);
      await page.getByRole("link", { name: "Older" }).click();
      await page.getByText("3 of 3").waitFor();
      await page.getByText(oldest.code, { exact: true }).waitFor();
      await page.keyboard.press("k");
      await page.getByText("2 of 3").waitFor();
      await page.keyboard.press("k");
      await page.waitForURL(`${testServer.url}/#/payment/${hash}`);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy code" }).click();
      await page.getByRole("status").filter({ hasText: "Copied." }).waitFor();
      assert.equal(await page.evaluate("navigator.clipboard.readText()"), "lost-answer");
      await page.getByRole("button", { name: "Copy as curl" }).click();
      assert.match(
        await page.evaluate<string>("navigator.clipboard.readText()"),
        /^curl -s http:\/\/127[^ ]+\/ws\/query -d "integration_key=\$KEY" -d hash=[0-9a-f]{48}$/,
      );
      await page.keyboard.press("Escape");
      await page.getByText("3 payments", { exact: true }).waitFor();
      await page.getByRole("link", { name: "lost-answer", exact: true }).waitFor();
    });
  });

  test("a payment that is not there is said so", async () => {
    await inConsole(`#/payment/${"0".repeat(48)}`, async (page) => {
      await page.getByRole("alert").filter({ hasText: "Payment not found." }).waitFor();
    });
  });

  const given = { server: () => testServer, receiver: () => receiver, made, inConsole, picture };
  viewTests(given);
  listTests(given);
  savedViewTests(given);
  selectionTests(given);
  requestTests(given);
  zoneTests({ server: () => testServer, inConsole, inWindow, picture });
  newPaymentTests({ ...given, shell });
  webhookTests(given);

  test("what merchants and customers write stays text, in every field that is shown", async () => {
    const { hash } = await made({
      merchant_payment_code: hostile.slice(0, 40),
      name: hostile.slice(0, 100),
      manual_review: true,
    });
    await testServer.get("/__cofre/payment", {
      integration_key: integrationKey,
      hash,
      action: "accept_review",
    });
    await testServer.postJson("/ws/refund", {
      integration_key: integrationKey,
      operation: "request",
      hash,
      amount: "1",
      description: hostile,
    });
    await testServer.postJson("/ws/token", {
      integration_key: integrationKey,
      payment_type_code: "creditcard",
      country: "br",
      creditcard: testCard,
    });
    await testServer.postJson("/__cofre/faults", {
      integration_key: integrationKey,
      add: { kind: "slow", merchant_payment_code: hostile.slice(0, 100) },
    });
    const { body: answer } = await testServer.postJson("/__cofre/worlds", {
      name: hostile.slice(0, 100),
      seed: "7",
    });
    const { integration_key: keyOfWorld } = answer["world"] as { readonly integration_key: string };
    await inConsole("#/new", async (page) => {
      // Replaces every text of every answer, including texts that the server never produces.
      await page.route(/__cofre|\/ws\//, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: poisoned(await response.json()) });
      });
      for (const [title, address] of Object.entries({
        Payments: "#/payments",
        Payment: `#/payment/${hash}`,
        Webhooks: "#/webhooks",
        Tokens: "#/tokens",
        Insights: "#/insights",
        Faults: "#/faults",
        Settings: "#/settings",
        Worlds: "#/worlds",
      })) {
        if (title === "Worlds")
          await page.evaluate(`sessionStorage.setItem("cofre.integration_key", "${keyOfWorld}")`);
        await page.goto(`${testServer.url}/${address}`);
        await page.getByRole("heading", { name: title, exact: true, level: 1 }).waitFor();
        await page.getByText("onerror=").filter({ visible: true }).first().waitFor();
        await page.getByText("[U+202E][U+2066]abc").filter({ visible: true }).first().waitFor();
        const found = await page.evaluate(
          "[document.querySelectorAll('img, script:not([src]):not([type=importmap]), [onerror]').length, document.title === 'hit', document.documentElement.scrollWidth <= innerWidth]",
        );
        assert.deepEqual(found, [0, false, true], title);
        await picture(page, `hostile-${title.toLowerCase()}`);
      }
      // The result of a charge from the page, as far as it is possible with such a token.
      await page.goto(`${testServer.url}/#/new`);
      await page.getByRole("button", { name: "Send payment" }).click();
      await page.getByText("onerror=").filter({ visible: true }).first().waitFor();
      assert.deepEqual(
        await page.evaluate(
          "[document.querySelectorAll('img, script:not([src]):not([type=importmap]), [onerror]').length, document.title.includes('hit')]",
        ),
        [0, false],
      );
    });
    await testServer.postJson("/__cofre/world", { integration_key: keyOfWorld, action: "delete" });
  });

  test("everything is done with the keyboard alone", async () => {
    const { code, hash } = await held();
    const older = await made({ email: "keys@example.com" });
    const newer = await made({ email: "keys@example.com" });
    await inWindow(async (page) => {
      const active = () =>
        page.evaluate(
          "(document.activeElement.getAttribute('name') ?? document.activeElement.textContent).trim()",
        );
      const press = async (key: string, until: string) => {
        for (let presses = 0; presses < 40; presses += 1) {
          await page.keyboard.press(key);
          if ((await active()) === until) return;
        }
        assert.fail(`${key} does not lead to ${until}, but to ${String(await active())}`);
      };
      await page.goto(testServer.url);
      await page.getByLabel("Secret integration key").waitFor();
      assert.equal(await active(), "key");
      await page.keyboard.type(integrationKey);
      await page.keyboard.press("Enter");
      await page.getByRole("table").waitFor();
      await press("Tab", "search");
      await page.keyboard.type("keys@example.com");
      await page.keyboard.press("Enter");
      await page.getByText("2 payments", { exact: true }).waitFor();
      await press("Tab", newer.code);
      await page.keyboard.press("ArrowDown");
      assert.equal(await active(), older.code);
      await page.keyboard.press("ArrowUp");
      assert.equal(await active(), newer.code);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Timeline" }).waitFor();
      assert.equal(await active(), "Payment");
      await page.goto(`${testServer.url}/#/payment/${hash}`);
      await page.getByText(code, { exact: true }).waitFor();
      await press("Tab", "Capture");
      await page.keyboard.press("Enter");
      await press("Tab", "Capture");
      await page.keyboard.press("Enter");
      await page.getByRole("img", { name: /captured 100\.00/ }).waitFor();
    });
    assert.equal(await wireStatus(hash), "CO");
  });

  // 320 by 256 is the size of a 1280 by 1024 window at a zoom of 400 %.
  const looks: Readonly<Record<string, BrowserContextOptions>> = {
    light: { colorScheme: "light" },
    dark: { colorScheme: "dark" },
    telephone: { viewport: { width: 360, height: 740 }, isMobile: true, deviceScaleFactor: 2 },
    enlarged: {
      viewport: { width: 320, height: 256 },
      forcedColors: "active",
      reducedMotion: "reduce",
    },
  };
  const papers = new Map<string, unknown>();

  for (const [name, options] of Object.entries(looks)) {
    test(`every view has names for all that it has, contrast, and no wider page than the screen: ${name}`, async () => {
      const { hash } = await made({ name: `Ana ${"W".repeat(60)}` });
      await testServer.postJson("/ws/refund", {
        integration_key: integrationKey,
        operation: "request",
        hash,
        amount: "1",
        description: "one",
      });
      // axe is injected into the page, which the page's policy would forbid.
      await inConsole(
        "#/payments",
        async (page) => {
          const looked = async (view: string) => {
            assert.equal(
              await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
              true,
              `${view} is wider than the screen`,
            );
            assert.deepEqual(await violations(page), [], view);
            await picture(page, `${name}-${view}`);
          };
          await page.getByRole("table").waitFor();
          papers.set(name, await page.evaluate("getComputedStyle(document.body).backgroundColor"));
          await looked("list");
          await page.goto(`${testServer.url}/#/payment/${hash}`);
          await page.getByRole("table", { name: "Refunds" }).waitFor();
          await looked("payment");
          await page.getByRole("button", { name: "Refund…" }).click();
          await looked("dialog");
          await page.keyboard.press("Escape");
          await page.goto(`${testServer.url}/#/webhooks`);
          await page.getByRole("table", { name: "Notifications, newest first" }).waitFor();
          await looked("webhooks");
          await page.keyboard.press("j");
          await page.keyboard.press("Enter");
          await page.getByText("Valid signature", { exact: true }).waitFor();
          await looked("webhook");
          await page.goto(`${testServer.url}/#/insights`);
          await page.getByRole("heading", { name: "Brands", exact: true }).waitFor();
          for (const summary of await page.locator("main summary").all()) await summary.click();
          await looked("insights");
          await page.goto(`${testServer.url}/#/tokens`);
          await page.getByText(/^\d+ stored cards?$/).waitFor();
          await looked("tokens");
          await page.goto(`${testServer.url}/#/settings`);
          await page.getByLabel("simulator.latencyMs").fill("1");
          await looked("settings");
          await page.goto(`${testServer.url}/#/faults`);
          await page.getByLabel("Kind of fault").selectOption("Slow");
          await page.getByLabel("Only this payment code").fill("nobody's");
          await page.getByRole("button", { name: "Add", exact: true }).click();
          await page.getByRole("table", { name: "Active faults, newest first" }).waitFor();
          await looked("faults");
          await page.goto(`${testServer.url}/#/worlds`);
          await page.getByLabel("Seed").fill(name);
          await page.getByRole("button", { name: "Create and open" }).click();
          await page.getByRole("button", { name: "Take snapshot" }).waitFor();
          await page.getByText("open now").waitFor();
          await looked("worlds");
          await page.getByRole("button", { name: "Delete…" }).click();
          await looked("question");
          await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
          await page.getByText("This account is not a world").waitFor();
          await page.goto(`${testServer.url}/#/new`);
          await page.getByRole("button", { name: "Send payment" }).click();
          await page.getByRole("region", { name: "Answer of /ws/direct" }).waitFor();
          await looked("new");
          await page.goto(`${testServer.url}/#/cards`);
          await page.getByRole("table", { name: "3-D Secure" }).waitFor();
          await looked("cards");
          await page.getByRole("button", { name: "Remove key" }).click();
          await page.getByLabel("Secret integration key").waitFor();
          await looked("key");
        },
        { ...options, bypassCSP: true },
      );
    });
  }

  const languages = {
    "pt-BR": {
      title: "Pagamentos",
      rows: "Pagamentos, os mais recentes primeiro",
      declined: /Recusado · saldo insuficiente/,
      amount: "1.234,50 USD",
      state: "Estornado em parte",
      history: /A adquirente aprovou, e o valor foi capturado imediatamente; lançado: captura/,
      refund: "Estornar…",
      most: "Valor em USD, até 1.204,00",
      typed: "1204,00",
    },
    es: {
      title: "Pagos",
      rows: "Pagos, los más recientes primero",
      declined: /Rechazado · fondos insuficientes/,
      amount: "1234,50 USD",
      state: "Reembolsado en parte",
      history: /El adquirente aprobó y el monto se capturó de inmediato; asentado: captura/,
      refund: "Reembolsar…",
      most: "Monto en USD, hasta 1204,00",
      typed: "1204,00",
    },
  } as const;

  for (const [language, words] of Object.entries(languages))
    test(`payments are listed, shown and refunded in ${language}, on a screen and on a telephone`, async () => {
      const declined = await made({ creditcard: { ...testCard, card_number: "4716909774636285" } });
      const { code, hash } = await made({ amount_total: "1234.50" });
      await testServer.postJson("/ws/refund", {
        integration_key: integrationKey,
        operation: "request",
        hash,
        amount: "30.50",
        description: "one",
      });
      for (const width of [1100, 390])
        await inWindow(
          async (page) => {
            const fits = async (view: string) => {
              assert.deepEqual(
                await page.evaluate(
                  "[document.documentElement.lang, document.documentElement.scrollWidth === innerWidth]",
                ),
                [language, true],
                `${view} at ${width}`,
              );
              assert.deepEqual(await violations(page), [], `${view} at ${width}`);
              await picture(page, `${language}-${width}-${view}`);
            };
            await page.goto(`${testServer.url}/#key=${integrationKey}`);
            await page.getByRole("heading", { name: words.title, exact: true }).waitFor();
            const row = (name: string) =>
              page
                .getByRole("table", { name: words.rows })
                .getByRole("row")
                .filter({ hasText: name });
            await row(declined.code).filter({ hasText: words.declined }).waitFor();
            await fits("list");
            await page.getByRole("link", { name: code, exact: true }).click();
            await page.getByText(words.amount, { exact: true }).first().waitFor();
            await page.getByText(words.state, { exact: true }).first().waitFor();
            await page.getByText(words.history).waitFor();
            await fits("payment");
            await page.getByRole("button", { name: words.refund }).click();
            assert.equal(await page.getByLabel(words.most).inputValue(), words.typed);
            await fits("dialog");
          },
          { locale: language, viewport: { width, height: 800 }, bypassCSP: true },
        );
    });

  test("the language is chosen in the side bar, for this tab, and before the key is entered", async () => {
    await inWindow(async (page) => {
      await page.goto(testServer.url);
      await page.getByLabel("Language").selectOption("Español");
      await page.getByLabel("Llave de integración secreta").fill(integrationKey);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Pagos", exact: true }).waitFor();
      await page.getByLabel("Idioma").selectOption("Português (Brasil)");
      await page.getByRole("heading", { name: "Pagamentos", exact: true }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "Pagamentos", exact: true }).waitFor();
      const files = await page.evaluate<readonly string[]>(
        "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/messages-'))",
      );
      assert.deepEqual(
        files.map((name) => name.split("/").at(-1)),
        ["messages-pt-br.js"],
        "only the texts of one language are loaded",
      );
      await page.getByLabel("Idioma").selectOption("English");
      await page.getByRole("heading", { name: "Payments", exact: true }).waitFor();
    });
  });

  describe("Insights", () => insightsTests({ browser: () => browser, picture }));
  describe("where people sign in", () => loginTests({ browser: () => browser, looks, picture }));

  test("it is light or dark as the reader's system is", () => {
    assert.notEqual(papers.get("light"), papers.get("dark"));
    assert.equal(papers.get("telephone"), papers.get("light"));
  });

  test("control: a window waits for the answers to its routed requests", async () => {
    let isAnswered = false;
    await inConsole("#/new", async (page) => {
      const requested = Promise.withResolvers<void>();
      await page.route("**/openapi.json", async (route) => {
        requested.resolve();
        await route.fulfill({ response: await route.fetch() });
        isAnswered = true;
      });
      await page.evaluate("void fetch('/openapi.json')");
      await requested.promise;
    });
    assert.ok(isAnswered);
  });

  test("control: work that fails in a window is reported, though a routed request is not answered", async () => {
    const failing = inConsole("#/new", async (page) => {
      const requested = Promise.withResolvers<void>();
      await page.route("**/openapi.json", async () => {
        requested.resolve();
        await new Promise(() => {});
      });
      await page.evaluate("void fetch('/openapi.json')");
      await requested.promise;
      throw new Error("planted");
    });
    await assert.rejects(failing, { message: "planted" });
  });

  test("control: what axe finds is found, and the page's policy refuses what it should", async () => {
    await inConsole(
      "#/payments",
      async (page) => {
        await page.getByRole("table").waitFor();
        await page.evaluate(
          "document.querySelector('#main').append(document.createElement('button'))",
        );
        assert.match(JSON.stringify(await violations(page)), /^\["button-name: /);
      },
      { bypassCSP: true },
    );
    const page = await browser.newPage();
    await page.goto(testServer.url);
    const refused = await page.evaluate(
      `(() => { try { document.body.innerHTML = "<b>x</b>"; return "taken"; } catch (error) { return error.name; } })()`,
    );
    assert.equal(refused, "TypeError");
    await page.close();
  });
});

async function shell(commands: string): Promise<string> {
  const run = spawn("bash", ["-c", commands], {
    env: { PATH: process.env["PATH"] ?? "", KEY: integrationKey },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  run.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await once(run, "close");
  return output.slice(output.indexOf("{"));
}

interface Receiver {
  readonly url: string;
  readonly received: string[];
  /** While true, requests to /gone are answered with 410. */
  isGone: boolean;
  close(): void;
}

async function startReceiver(): Promise<Receiver> {
  const received: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("end", () => {
      received.push(body);
      response.writeHead(request.url === "/gone" && receiver.isGone ? 410 : 200).end("OK");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/`,
    received,
    isGone: false,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return receiver;
}
