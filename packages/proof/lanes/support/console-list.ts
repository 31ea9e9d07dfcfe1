import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { violations } from "../../../server/test/browser/violations.ts";
import { integrationKey, testCard } from "../../../server/test/server.ts";
import { faultKinds } from "../../../server/src/http/faults/fault-kinds.ts";
import { declineReasons } from "../../../server/src/payment/payment.ts";
import { until } from "../../../server/test/until.ts";
import type { ConsoleGiven } from "./console-views.ts";

/** Tests of the list of payments that the other files do not have. */
export function listTests({ server, made, inConsole }: ConsoleGiven): void {
  /** Newest first, a day apart, as the server would name them. */
  const hashOf = (daysBack: number): string =>
    Math.floor(Date.UTC(2026, 10, 25) / 1_000 - daysBack * 86_400)
      .toString(16)
      .padStart(8, "0")
      .padEnd(48, "0");

  test("a search shows what it has found, says where it is, and reads on to the end by itself", async () => {
    await made();
    const { body } = await server().postJson("/__cofre/payments", {
      integration_key: integrationKey,
      limit: 1,
    });
    const [sample] = body["payments"] as Readonly<Record<string, unknown>>[];
    const calls = 12;
    const held = Promise.withResolvers<void>();
    await inConsole("#/new", async (page) => {
      await page.route("**/__cofre/payments", async (route) => {
        const { before, count } = route.request().postDataJSON() as Readonly<
          Record<string, string | undefined>
        >;
        if (count !== undefined) return route.fulfill({ response: await route.fetch() });
        const place = before === undefined ? 0 : Number(placeOf.get(before));
        if (place === 7) await held.promise;
        const payment = { ...sample, hash: hashOf(place), merchant_payment_code: `back-${place}` };
        const payments = place === 0 || place === calls - 1 ? [payment] : [];
        const next = place === calls - 1 ? null : hashOf(place);
        return route.fulfill({ json: { payments, next, status: "SUCCESS" } });
      });
      await page.goto(`${server().url}/#/payments?search=rare`);
      await page.getByText("1 payment so far").waitFor();
      await page.getByText(/^Searching, now at Nov 19/).waitFor();
      await page.getByRole("link", { name: "back-0", exact: true }).waitFor();
      held.resolve();
      await page.getByText("2 payments", { exact: true }).waitFor();
      await page.getByRole("link", { name: `back-${calls - 1}`, exact: true }).waitFor();
      assert.equal(await page.getByText("Searching").count(), 0);
    });
  });
  const placeOf = new Map(Array.from({ length: 20 }, (_, place) => [hashOf(place), place + 1]));

  test("an export cannot be started twice", async () => {
    await made();
    await inConsole("#/payments", async (page) => {
      const held = Promise.withResolvers<void>();
      await page.getByRole("table").waitFor();
      await page.route("**/__cofre/payments", async (route) => {
        const { limit } = route.request().postDataJSON() as { readonly limit?: number };
        if (limit === 100) await held.promise;
        return route.fulfill({ response: await route.fetch() });
      });
      const button = page.getByRole("button", { name: "Export CSV" });
      const download = page.waitForEvent("download");
      await button.click();
      await page.getByRole("button", { name: "Export CSV", disabled: true }).waitFor();
      held.resolve();
      await download;
      await page.getByRole("button", { name: "Export CSV", disabled: false }).waitFor();
    });
  });

  test("a list is limited to two dates of the shown zone, which stay in the address", async () => {
    // The server's day is 2026-11-25.
    const { code } = await made({ email: "dates@example.com" });
    await inConsole("#/payments?search=dates%40example.com", async (page) => {
      await page.getByRole("link", { name: code, exact: true }).waitFor();
      await page.getByLabel("Period").selectOption("Dates…");
      await page.getByLabel("To", { exact: true }).fill("2026-11-24");
      await page.waitForURL(/&to=2026-11-24$/);
      await page.getByText("No entries match.").waitFor();
      await page.getByLabel("To", { exact: true }).fill("2026-11-25");
      await page.getByLabel("From", { exact: true }).fill("2026-11-25");
      await page.waitForURL(/&from=2026-11-25&to=2026-11-25$/);
      await page.getByRole("link", { name: code, exact: true }).waitFor();
      await page.reload();
      await page.getByRole("link", { name: code, exact: true }).waitFor();
      assert.equal(await page.getByLabel("From", { exact: true }).inputValue(), "2026-11-25");
      assert.deepEqual(await violations(page), []);
      await page.getByLabel("Period").selectOption("Last 24 hours");
      await page.waitForURL(/search=dates%40example.com&period=24h$/);
      assert.equal(await page.getByLabel("From", { exact: true }).count(), 0);
    });
  });

  for (const language of ["en", "pt-BR", "es"])
    for (const width of [390, 1_100, 1_280])
      test(`no state of a payment or request is cut, at ${width} pixels in ${language}`, async () => {
        await made();
        const payments = await server().postJson("/__cofre/payments", {
          integration_key: integrationKey,
          limit: 1,
        });
        const [payment] = payments.body["payments"] as Readonly<Record<string, unknown>>[];
        const declined = declineReasons.map((reason) => ({
          state: "declined",
          decline_reason: reason,
        }));
        const refunded = { state: "captured", captured: "98765432.10", refunded: "12345678.90" };
        const requests = await server().postJson("/__cofre/requests", {
          integration_key: integrationKey,
          order: "newest",
          limit: 1,
        });
        const [request] = requests.body["requests"] as Readonly<Record<string, unknown>>[];
        const refused = {
          outcome: "refused",
          status_code: "BP-DR-75",
          field: "payment.creditcard.card_number",
        };
        const faulty = Object.keys(faultKinds).map((fault) => ({ outcome: "declined", fault }));
        const options = { viewport: { width, height: 900 } };
        await inConsole(
          "#/new",
          async (page) => {
            await page.evaluate(`sessionStorage.setItem("cofre.language", "${language}")`);
            await page.route("**/__cofre/payments", (route) =>
              route.fulfill({
                json: {
                  status: "SUCCESS",
                  next: null,
                  payments: [...declined, refunded].map((changes, place) => ({
                    ...payment,
                    ...changes,
                    hash: hashOf(place),
                  })),
                  counts: {},
                  payments_read: 0,
                  complete: true,
                },
              }),
            );
            await page.route("**/__cofre/requests", (route) =>
              route.fulfill({
                json: {
                  ...requests.body,
                  next: null,
                  requests: [refused, ...faulty].map((changes, place) => ({
                    ...request,
                    ...changes,
                    number: 100 - place,
                  })),
                },
              }),
            );
            for (const [view, count] of [
              ["payments", declined.length + 1],
              ["requests", faulty.length + 1],
            ] as const) {
              await page.goto(`${server().url}/#/${view}`);
              await page.reload();
              await page
                .locator(".one-line-rows .detail")
                .nth(count - 1)
                .waitFor();
              const cut = await page.evaluate<string[]>(`
                [...document.querySelectorAll(".one-line-rows td .state")].flatMap((state) => {
                  const cell = state.closest("td").getBoundingClientRect();
                  const text = document.createRange();
                  text.selectNodeContents(state);
                  const { right, bottom } = text.getBoundingClientRect();
                  return right > cell.right || bottom > cell.bottom ? [state.textContent] : [];
                })`);
              assert.deepEqual(cut, [], view);
            }
          },
          options,
        );
      });

  for (const { language, width, words } of [
    { language: "en", width: 1_100, words: { title: "Compare payments", name: "Compare" } },
    { language: "es", width: 390, words: { title: "Comparar pagos", name: "Comparar" } },
  ])
    test(`two payments are compared, at ${width} pixels in ${language}`, async () => {
      const email = `compare-${width}@example.com`;
      const declined = await made({
        email,
        creditcard: { ...testCard, card_number: "4716909774636285" },
      });
      const { code, hash } = await made({ email, name: poisonedName });
      await inConsole(
        `#/payment/${hash}`,
        async (page) => {
          await page.evaluate(`sessionStorage.setItem("cofre.language", "${language}")`);
          await page.reload();
          await page.locator(`a[href="#/compare/${hash}"]`).click();
          await page.getByRole("heading", { name: words.title, level: 1 }).waitFor();
          await page.getByRole("link", { name: declined.code, exact: true }).waitFor();
          assert.deepEqual(await violations(page), []);
          await page.locator("input[name=other]").fill(declined.code);
          await page.getByRole("button", { name: words.name, exact: true }).click();
          await page.waitForURL(new RegExp(`#/compare/${hash}/${declined.hash}$`));
          const tables = page.locator("table.sides");
          await tables.nth(1).waitFor();
          const rows = tables.first().locator("tbody tr");
          assert.match((await rows.nth(0).getAttribute("class")) ?? "", /differs/);
          assert.equal(await rows.nth(1).getAttribute("class"), null, "the amounts are equal");
          assert.ok((await tables.nth(1).locator("tr.differs").count()) > 0);
          assert.ok((await page.getByText(code, { exact: true }).count()) > 0);
          assert.deepEqual(await violations(page), []);
          const fits = "document.documentElement.scrollWidth === innerWidth";
          assert.equal(await page.evaluate(fits), true);
          assert.equal(await page.evaluate("globalThis.poisoned"), undefined);
        },
        { viewport: { width, height: 800 } },
      );
    });

  for (const width of [390, 820, 1_100, 1_440])
    test(`at ${width} pixels the diagram has all parties in sight, in letters of 8 pixels or more`, async () => {
      const { hash } = await made();
      await inConsole(
        `#/payment/${hash}`,
        async (page) => {
          const receivers = page.locator(".sequence .party").getByText("Receivers");
          await receivers.waitFor();
          const boxOf = async (each: Locator) => {
            const box = await each.boundingBox();
            assert.ok(box !== null);
            return box;
          };
          const shownIn = await boxOf(page.getByRole("region", { name: "Diagram" }));
          const party = await boxOf(receivers);
          const label = await boxOf(page.locator(".sequence .message text").first());
          assert.ok(party.x + party.width <= shownIn.x + shownIn.width);
          assert.ok(label.height >= 8, `${label.height} pixels`);
        },
        { viewport: { width, height: 900 } },
      );
    });

  test("a menu closes on Esc, which keeps the focus on its button, and on a press outside", async () => {
    await made();
    await inConsole("#/payments", async (page) => {
      const menu = page.locator("details.menu").filter({ hasText: "Columns" });
      const button = menu.locator("summary");
      await button.focus();
      await page.keyboard.press("Enter");
      await menu.getByLabel("E-mail").check();
      await page.keyboard.press("Escape");
      await menu.getByLabel("E-mail").waitFor({ state: "hidden" });
      assert.equal(await page.evaluate("document.activeElement.textContent"), "Columns");
      await page.getByRole("columnheader", { name: "E-mail" }).waitFor();
      await button.click();
      await menu.getByLabel("E-mail").uncheck();
      await page.getByRole("heading", { name: "Payments" }).click();
      await menu.getByLabel("E-mail").waitFor({ state: "hidden" });
      await page.getByRole("columnheader", { name: "E-mail" }).waitFor({ state: "detached" });
    });
  });

  for (const { width, language } of [
    { width: 390, language: "en" },
    { width: 390, language: "pt-BR" },
    { width: 1_280, language: "en" },
  ])
    test(`letters of twice the size fit at ${width} pixels in ${language}`, async () => {
      const { hash } = await made();
      const { body } = await server().postJson("/__cofre/notifications", {
        integration_key: integrationKey,
        hash,
      });
      const [sent] = body["notifications"] as readonly { readonly number: number }[];
      const { hash: other } = await made({ name: poisonedName });
      const listed = await server().postJson("/__cofre/requests", {
        integration_key: integrationKey,
        order: "newest",
        limit: 1,
      });
      const [request] = listed.body["requests"] as readonly { readonly number: number }[];
      await inConsole(
        "#/payments",
        async (page) => {
          await page.evaluate(`sessionStorage.setItem("cofre.language", "${language}")`);
          await page.addInitScript(
            "addEventListener('DOMContentLoaded', () => { document.documentElement.style.fontSize = '200%'; })",
          );
          for (const [view, last] of [
            ["payments", "tr[data-row]"],
            [`payment/${hash}`, ".sequence"],
            [`compare/${hash}/${other}`, "table.sides"],
            ["new", "form"],
            ["webhooks", "tr[data-row]"],
            [`webhooks/${sent?.number}`, ".receiver-box"],
            ["requests", "tr[data-row]"],
            [`request/${request?.number}`, "section"],
            ["tokens", ":is(tbody tr, .nothing)"],
            ["insights", ".sums"],
            ["worlds", "section"],
            ["faults", "form"],
            ["cards", ".card-rows"],
            ["settings", ".save"],
          ] as const) {
            await page.goto(`${server().url}/#/${view}`);
            await page.reload();
            await page.locator(`main ${last}`).first().waitFor();
            await until(`${view} fits`, () =>
              page.evaluate<boolean>("document.documentElement.scrollWidth <= innerWidth"),
            );
            assert.deepEqual(await violations(page), [], view);
          }
        },
        { viewport: { width, height: 844 }, bypassCSP: true },
      );
    });

  for (const language of ["pt-BR", "es"])
    test(`all columns of the payments are in sight at 1,280 pixels in ${language}`, async () => {
      await made();
      const code = "shop-6-026";
      await inConsole("#/new", async (page) => {
        await page.evaluate(`sessionStorage.setItem("cofre.language", "${language}")`);
        await page.route("**/__cofre/payments", async (route) => {
          const response = await route.fetch();
          const { payments = [], ...body } = (await response.json()) as {
            readonly payments?: readonly object[];
          };
          const changes = {
            merchant_payment_code: code,
            name: "María Fernanda Gómez Peñaloza",
            amount_ext: "98765.43",
            disputed: true,
            notified: { receivers: 1, delivered: 1, failed: 0, late: false },
          };
          const changed = payments.slice(0, 1).map((payment) => ({ ...payment, ...changes }));
          await route.fulfill({ response, json: { ...body, payments: changed } });
        });
        await page.goto(`${server().url}/#/payments`);
        await page.reload();
        // Every page of the list has such a row.
        await page.getByRole("link", { name: code, exact: true }).first().waitFor();
        const hidden = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)";
        assert.equal(await page.evaluate(`${hidden}(document.querySelector(".wide"))`), 0);
      });
    });

  test("on a telephone the values of a request have more room than their names", async () => {
    await made();
    const { body } = await server().postJson("/__cofre/requests", {
      integration_key: integrationKey,
      order: "newest",
      limit: 1,
    });
    const [request] = body["requests"] as readonly { readonly number: number }[];
    await inConsole(
      `#/request/${request?.number}`,
      async (page) => {
        const pair = page.locator(".wide-names > div").first();
        const widths = [];
        for (const part of ["dt", "dd"]) {
          const box = await pair.locator(part).boundingBox();
          widths.push(box?.width ?? 0);
        }
        const [name = 0, value = 0] = widths;
        assert.ok(value > name, `${value} and ${name} pixels`);
      },
      { viewport: { width: 390, height: 844 } },
    );
  });

  test("an address with part of a hash says that the payment is not found", async () => {
    const { hash } = await made();
    await inConsole("#/payments", async (page) => {
      for (const address of [
        `payment/${hash.slice(0, 20)}`,
        `compare/${hash}/${hash.slice(0, 20)}`,
      ]) {
        await page.goto(`${server().url}/#/${address}`);
        await page
          .getByRole("alert")
          .filter({ hasText: /^Payment not found\.$/ })
          .waitFor();
      }
    });
  });

  test("a recorded request is copied as a command without card data", async () => {
    const { hash } = await made();
    await inConsole(`#/payment/${hash}`, async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      const step = page.getByRole("listitem").filter({ hasText: "POST /ws/direct" });
      await step.getByText("Request and response").click();
      await step.getByRole("button", { name: "Copy this request as curl" }).click();
      await page.getByRole("status").filter({ hasText: "Copied." }).waitFor();
      const command = await page.evaluate<string>("navigator.clipboard.readText()");
      assert.match(command, /"token": "'"\$TOKEN"'"/);
      assert.doesNotMatch(command, /card_|411111/);
      await page.getByText("Route", { exact: true }).waitFor();
      await page.locator("dd").getByText("Brazil", { exact: true }).waitFor();
    });
  });
}

/** Shown as text, in a narrow column too. */
const poisonedName = "<img src=x onerror=poisoned=1> Lima";
