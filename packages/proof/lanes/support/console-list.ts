import assert from "node:assert/strict";
import { test } from "node:test";
import { integrationKey } from "../../../server/test/server.ts";
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
}
