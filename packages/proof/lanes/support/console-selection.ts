import assert from "node:assert/strict";
import { test } from "node:test";
import { violations } from "../../../server/test/browser/violations.ts";
import { integrationKey } from "../../../server/test/server.ts";
import type { ConsoleGiven } from "./console-views.ts";

/** Tests of the selected rows of the list of payments, and of its column Notified. */
export function selectionTests({ server, made, inConsole }: ConsoleGiven): void {
  for (const { language, width, compare } of [
    { language: "en", width: 1_100, compare: "Compare" },
    { language: "es", width: 390, compare: "Comparar" },
  ])
    test(`two rows are selected and compared, at ${width} pixels in ${language}`, async () => {
      const [third, second, first] = [
        await made({ name: hostileName }),
        await made({ merchant_payment_code: `<b>bold-${width}</b>` }),
        await made(),
      ];
      await inConsole(
        "#/payments",
        async (page) => {
          await page.evaluate(`sessionStorage.setItem("cofre.language", "${language}")`);
          await page.reload();
          const row = (code: string) => page.getByRole("row").filter({ hasText: code });
          await row(first.code).waitFor();
          const bar = page.locator(".selection");
          // Three by keyboard: the first is not selected any more.
          for (const { code } of [first, second, third]) {
            await page.keyboard.press("j");
            await page.keyboard.press("x");
            await bar.getByText(code, { exact: true }).waitFor();
          }
          assert.equal(await bar.getByText(first.code, { exact: true }).count(), 0);
          assert.equal(await page.getByRole("checkbox", { checked: true }).count(), 2);
          assert.deepEqual(await violations(page), []);
          const fits = "document.documentElement.scrollWidth === innerWidth";
          assert.equal(await page.evaluate(fits), true);
          assert.equal(new URL(page.url()).hash, "#/payments");
          // The checkbox does not open the row.
          await row(third.code).getByRole("checkbox").uncheck();
          await row(third.code).getByRole("checkbox").check();
          await bar.getByRole("link", { name: compare, exact: true }).waitFor();
          await page.keyboard.press("c");
          await page.waitForURL(`**/#/compare/${second.hash}/${third.hash}`);
          // The selection ends with the view.
          await page.goBack();
          await row(first.code).waitFor();
          assert.equal(await page.getByRole("checkbox", { checked: true }).count(), 0);
          assert.equal(await bar.isVisible(), false);
          assert.equal(await page.evaluate("globalThis.poisoned"), undefined);
        },
        { viewport: { width, height: 800 } },
      );
    });

  test("a payment shows how many receivers were notified, and marks the late and the failed", async () => {
    const { code } = await made();
    await inConsole("#/payments", async (page) => {
      const notified = new Map([
        ["2 of 3", { receivers: 3, delivered: 2, failed: 0, late: false }],
        ["1 of 3", { receivers: 3, delivered: 1, failed: 0, late: true }],
        ["0 of 1", { receivers: 1, delivered: 0, failed: 1, late: true }],
      ]);
      const { body } = await server().postJson("/__cofre/payments", {
        integration_key: integrationKey,
        search: code,
      });
      const [sample] = body["payments"] as Readonly<Record<string, unknown>>[];
      await page.route("**/__cofre/payments", async (route) => {
        const { count } = route.request().postDataJSON() as { readonly count?: string };
        if (count !== undefined) return route.fulfill({ response: await route.fetch() });
        const payments = Array.from(notified, ([name, each], place) => ({
          ...sample,
          hash: `${place}`.padStart(48, "6"),
          merchant_payment_code: name.replaceAll(" ", "-"),
          notified: each,
        }));
        return route.fulfill({ json: { payments, next: null, status: "SUCCESS" } });
      });
      await page.goto(`${server().url}/#/payments?search=notified`);
      const cell = (name: string) =>
        page
          .getByRole("row")
          .filter({ hasText: name.replaceAll(" ", "-") })
          .locator('[data-column="notified"]');
      await cell("2 of 3").waitFor();
      const texts = await Promise.all(
        [...notified.keys()].map(async (name) => (await cell(name).innerText()).trim()),
      );
      assert.match(texts[0] ?? "", /^2 of 3$/);
      assert.match(texts[1] ?? "", /^1 of 3\s+◷\s*A notification has been waiting/);
      assert.match(texts[2] ?? "", /^0 of 1\s+✕\s*1 receiver did not get a notification/);
      assert.deepEqual(await violations(page), []);
    });
  });
}

const hostileName = `<img src=x onerror="poisoned=1"> Lima`;
