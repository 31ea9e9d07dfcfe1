import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { violations } from "../../../server/test/browser/violations.ts";
import { inPage } from "../../../server/test/browser/window.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../../server/test/server.ts";
import { look } from "./console-views.ts";

/** What the lane provides for these tests. */
export interface InsightsGiven {
  readonly browser: () => Browser;
  readonly picture: (page: Page, name: string) => Promise<void>;
}

/** A bar of the page: the list that it leads to, and the number that it shows. */
interface Bar {
  readonly href: string;
  readonly number: number;
}

const declinedCard = { ...testCard, card_number: "4716909774636285" };
const mastercard = { ...testCard, card_number: "5555555555554444" };

/** Tests of Insights, on a separate server, so that its numbers are known. */
export function insightsTests({ browser, picture }: InsightsGiven): void {
  let server: TestServer;
  let made = 0;

  before(async () => {
    server = await startTestServer();
  });
  after(() => server[Symbol.asyncDispose]());

  async function ask(path: string, fields: Readonly<Record<string, unknown>>): Promise<object> {
    const { body } = await server.postJson(path, { integration_key: integrationKey, ...fields });
    return body;
  }

  async function pay(fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
    server.clock.advance(1_000);
    const body = await ask("/ws/direct", directBody(`insights-${(made += 1)}`, fields));
    return (body as { readonly payment: { readonly hash: string } }).payment.hash;
  }

  /** A window with the key entered, at an address behind the `#`. */
  async function inConsole(
    address: string,
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    await inPage(
      browser(),
      server.url,
      async (page) => {
        await page.goto(`${server.url}/#key=${integrationKey}`);
        await page.getByRole("table").or(page.locator(".nothing")).first().waitFor();
        await page.goto(`${server.url}/${address}`);
        await work(page);
      },
      options,
    );
  }

  const section = (page: Page, name: string) =>
    page
      .locator("section")
      .filter({ has: page.getByRole("heading", { name, exact: true, level: 2 }) });
  const sum = (page: Page, name: string) =>
    page.locator(".sums > div").filter({ has: page.getByText(name, { exact: true }) });
  /** Marks the heading of a list, so that `listed` does not read that list in place of the next. */
  const leave = (page: Page) =>
    page.evaluate("document.querySelector('main h1').textContent = 'Left'");
  /** Waits for the list, and returns its number of payments. */
  const listed = async (page: Page): Promise<number> => {
    await page.getByRole("heading", { name: "Payments", exact: true, level: 1 }).waitFor();
    const text = await page.getByText(/^\d+ payments?$/).innerText();
    return Number(text.split(" ")[0]);
  };

  test("Insights without payments leads to the page that makes one", async () => {
    await inConsole("#/insights", async (page) => {
      await page.getByText("There are no payments in this period.").waitFor();
      await page.locator(".nothing").getByRole("link", { name: "New payment" }).click();
      await page.getByRole("heading", { name: "New payment", exact: true, level: 1 }).waitFor();
    });
  });

  test("every number of Insights is that of the list that it opens, and follows new payments", async () => {
    await pay({ creditcard: declinedCard });
    server.clock.advance(7 * 86_400_000);
    const refunded = await pay();
    await ask("/ws/refund", { operation: "request", hash: refunded, amount: "40.00" });
    await ask("/__cofre/payment", { hash: await pay(), action: "chargeback" });
    await pay({ creditcard: declinedCard });
    await pay({ creditcard: mastercard, currency_code: "BRL" });
    server.clock.advance(86_400_000);
    const chile = {
      country: "cl",
      currency_code: "CLP",
      amount_total: "2300",
      document: undefined,
    };
    for (const _ of [1, 2]) await pay(chile);
    await inConsole(
      "#/insights",
      async (page) => {
        await sum(page, "Payments").getByRole("link", { name: "6", exact: true }).waitFor();
        await sum(page, "Payments").getByText("before: 1 (+500%)").waitFor();
        await sum(page, "Approval rate").getByText("83.3%").waitFor();
        await sum(page, "Approval rate").getByText("before: 0.0%").waitFor();
        const captured = await sum(page, "Captured").locator(".amount").allInnerTexts();
        assert.deepEqual(
          captured.map((text) => text.replaceAll(/\s/g, " ")).toSorted(),
          ["100.00 BRL", "200.00 USD", "4,600 CLP"],
          "amounts of different currencies are not added up",
        );
        await picture(page, "insights");
        // Each bar of the page: its number, and the list behind its link.
        const bars = await page.evaluate<Bar[]>(
          `Array.from(document.querySelectorAll(".bars a"), (link) => ({
          href: link.getAttribute("href"),
          number: Number(link.querySelector(".count").textContent),
        }))`,
        );
        const days = await page.evaluate<Bar[]>(
          `Array.from(document.querySelectorAll(".chart:first-of-type .columns a"), (link) => ({
          href: link.getAttribute("href"),
          number: Number(/: (\\d+) payments?,/.exec(link.ariaLabel)?.[1]),
        }))`,
        );
        assert.deepEqual([bars.length >= 8, days.length], [true, 7]);
        for (const { href, number } of [...bars, ...days.filter((day) => day.number > 0)]) {
          await leave(page);
          await page.goto(`${server.url}/${href}`);
          assert.equal(await listed(page), number, href);
        }
        for (const [name, expected] of [
          ["Refunded", 1],
          ["Disputed", 1],
        ] as const) {
          await page.goto(`${server.url}/#/insights`);
          await sum(page, name).getByRole("link").first().click();
          assert.equal(await listed(page), expected, name);
        }
        await page.goBack();
        await section(page, "Countries").getByRole("link", { name: "Brazil" }).waitFor();
        await pay();
        await look(page);
        await sum(page, "Payments").getByRole("link", { name: "7", exact: true }).waitFor();
      },
      { timezoneId: "America/Sao_Paulo" },
    );
  });

  test("Insights is limited to a currency and a range, works by keyboard, and shows the same as tables", async () => {
    await inConsole("#/insights", async (page) => {
      await page.getByLabel("Currency").focus();
      await page.getByLabel("Currency").selectOption("CLP");
      await section(page, "Amounts in CLP").waitFor();
      assert.equal(await page.evaluate("document.activeElement.name"), "currency");
      await sum(page, "Payments").getByRole("link", { name: "2", exact: true }).waitFor();
      assert.equal(await section(page, "Countries").getByRole("listitem").count(), 1);
      assert.ok((await section(page, "Currencies").getByRole("listitem").count()) >= 3);
      const chart = section(page, "Payments over time");
      const stop = chart.locator('a[tabindex="0"]');
      await stop.focus();
      await page.keyboard.press("End");
      const last = await page.evaluate<string>("document.activeElement.ariaLabel");
      assert.match(last, /: 2 payments, 2 approved, 0 declined$/);
      await page.keyboard.press("ArrowLeft");
      assert.match(await page.evaluate("document.activeElement.ariaLabel"), /: 0 payments, /);
      await page.keyboard.press("ArrowRight");
      assert.equal(await page.evaluate("document.activeElement.ariaLabel"), last);
      await chart.getByText("Show as table").click();
      const rows = chart.getByRole("table").getByRole("row");
      assert.deepEqual(await rows.last().getByRole("cell").allInnerTexts(), [
        last.split(":")[0],
        "2",
        "2",
        "0",
      ]);
      await page.keyboard.press("g");
      await page.keyboard.press("i");
      // The form before the address changed is gone: a choice in it would go with it.
      await page.waitForFunction("document.querySelector('[name=currency]')?.value === ''");
      await page.getByLabel("Period").selectOption("range");
      await page.getByLabel("First day").fill("2026-01-01");
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByRole("alert").filter({ hasText: "Choose at most 100 days." }).waitFor();
      await page.getByLabel("First day").fill("2026-11-25");
      await page.getByLabel("Last day").fill("2026-11-25");
      await page.getByRole("button", { name: "Show" }).click();
      await sum(page, "Payments").getByRole("link", { name: "1", exact: true }).waitFor();
      assert.equal(await section(page, "Payments over time").locator(".columns a").count(), 24);
      await page.route("**/__cofre/figures", async (route) => {
        const response = await route.fetch();
        await route.fulfill({
          response,
          json: { ...((await response.json()) as object), payments_read: 10_000, complete: false },
        });
      });
      await look(page);
      await page.getByText("Only the newest 10,000 payments are counted.").waitFor();
      assert.equal(await page.getByText(/^before:/).count(), 0, "a part is compared with nothing");
    });
  });

  for (const [name, options, title] of [
    ["light", { viewport: { width: 1100, height: 900 } }, "Insights"],
    [
      "dark, Portuguese, on a telephone",
      { colorScheme: "dark", locale: "pt-BR", viewport: { width: 390, height: 844 } },
      "Análises",
    ],
    [
      "forced colours, Spanish",
      { forcedColors: "active", locale: "es-MX", viewport: { width: 1100, height: 900 } },
      "Análisis",
    ],
  ] as const satisfies readonly (readonly [string, BrowserContextOptions, string])[]) {
    test(`Insights is readable and fits the window: ${name}`, async () => {
      await inConsole(
        "#/insights?period=30d",
        async (page) => {
          await page.getByRole("heading", { name: title, exact: true, level: 1 }).waitFor();
          await page.locator(".columns a .part").first().waitFor();
          for (const summary of await page.locator("main summary").all()) await summary.click();
          assert.equal(
            await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
            true,
          );
          assert.deepEqual(await violations(page), []);
          assert.notEqual(
            await page.evaluate(
              "getComputedStyle(document.querySelector('.columns .part')).backgroundColor",
            ),
            await page.evaluate("getComputedStyle(document.body).backgroundColor"),
            "bars are visible",
          );
          await picture(page, `insights-${name.replaceAll(/\W+/g, "-")}`);
        },
        // axe is injected into the page, which the page's policy would forbid.
        { bypassCSP: true, ...options },
      );
    });
  }
}
