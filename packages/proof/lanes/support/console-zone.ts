import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { violations } from "../../../server/test/browser/violations.ts";
import { directBody } from "../../../server/test/server.ts";
import type { ConsoleGiven } from "./console-views.ts";

interface ZoneGiven extends Pick<ConsoleGiven, "server" | "inConsole" | "picture"> {
  /** A window without a key. */
  readonly inWindow: (
    work: (page: Page) => Promise<void>,
    options?: BrowserContextOptions,
  ) => Promise<void>;
}

/** Tests of the time zone that is chosen in the side bar, in a world whose clock is paused. */
export function zoneTests({ server, inConsole, inWindow, picture }: ZoneGiven): void {
  /** A world of 1 March 2026, 05:30 UTC: still 28 February in Mexico City. */
  async function newWorld(): Promise<{ readonly key: string; readonly hash: string }> {
    const { body } = await server().postJson("/__cofre/worlds", {
      name: "of zones",
      seed: "11",
      clock: "2026-03-01 05:30:00",
    });
    const { integration_key: key } = body["world"] as { readonly integration_key: string };
    const made = await server().postJson("/ws/direct", {
      ...directBody("late-in-february"),
      integration_key: key,
    });
    const { hash } = made.body["payment"] as { readonly hash: string };
    return { key, hash };
  }

  async function openWorld(page: Page, key: string): Promise<void> {
    await page.evaluate(`sessionStorage.setItem("cofre.integration_key", "${key}")`);
    await page.goto(`${server().url}/#/payments`);
    await page.reload();
    await page.locator("#tag").getByText("world: of zones").waitFor();
  }

  test("all times follow the zone of the side bar, and UTC is under the pointer", async () => {
    const { key, hash } = await newWorld();
    await inConsole(
      "#/payments",
      async (page) => {
        await openWorld(page, key);
        const clock = page.getByRole("group", { name: "Clock" });
        const row = page.getByRole("row").filter({ hasText: "late-in-february" });
        await clock.getByText("Mar 1, 2026, 2:30 AM", { exact: true }).waitFor();
        await row.getByText("Mar 1, 2:30 AM").waitFor();
        const zone = page.getByLabel("Time zone");
        assert.equal(await zone.locator("option:checked").innerText(), "Browser (Sao Paulo)");

        await zone.selectOption("Mexico");
        await clock.getByText("Feb 28, 2026, 11:30 PM", { exact: true }).waitFor();
        await clock.getByText("GMT-6, paused", { exact: true }).waitFor();
        await row.getByText("Feb 28, 11:30 PM").waitFor();
        for (const place of [clock, row])
          assert.match(
            (await place.locator("time").first().getAttribute("title")) ?? "",
            /^2026-03-01 05:30:\d\d UTC$/,
          );

        // Dates that are typed are those of the zone.
        const search = page.getByRole("searchbox");
        await search.fill("after:2026-03-01");
        await search.press("Enter");
        await page.getByText("No entries match.").waitFor();
        await search.fill("after:2026-02-28 before:2026-03-01");
        await search.press("Enter");
        await page.getByText("1 payment", { exact: true }).waitFor();
        await page.getByText("Dates are in America/Mexico_City.").waitFor();
        const [file] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("button", { name: "Export CSV" }).click(),
        ]);
        const [head = "", line = ""] = readFileSync(await file.path(), "utf8").split("\r\n");
        assert.ok(head.includes('"Opened (America/Mexico_City)"'), head);
        assert.match(line, /"2026-02-28 23:30:\d\d"/);

        await page.goto(`${server().url}/#/payment/${hash}`);
        await page
          .getByText(/^Feb 28, 2026, 11:30:\d\d PM$/)
          .first()
          .waitFor();
        await page.goto(`${server().url}/#/worlds`);
        await page.getByLabel("Set the time to (America/Mexico_City)").fill("2026-03-01");
        await page.getByRole("button", { name: "Set", exact: true }).click();
        await page.getByText("The time is Mar 1, 2026, 12:00:00 AM.").waitFor();
        await clock.getByText("Mar 1, 2026, 12:00 AM", { exact: true }).waitFor();
        await clock.getByTitle("2026-03-01 06:00:00 UTC").waitFor();

        await zone.selectOption("UTC");
        await clock.getByText("Mar 1, 2026, 6:00 AM", { exact: true }).waitFor();
        await clock.getByText("UTC, paused", { exact: true }).waitFor();
      },
      { timezoneId: "America/Sao_Paulo" },
    );
  });

  test("the zone is chosen on a telephone in Portuguese, and before the key is entered", async () => {
    const { key } = await newWorld();
    await inWindow(
      async (page) => {
        await page.goto(server().url);
        await page.getByLabel("Fuso horário").selectOption("Peru");
        await page.getByLabel("Chave de integração secreta").fill("errada");
        await page.keyboard.press("Enter");
        await page
          .getByRole("alert")
          .filter({ hasText: "A chave de integração é inválida" })
          .waitFor();
        await page.getByLabel("Chave de integração secreta").fill(key);
        await page.keyboard.press("Enter");
        await page.getByText("1 de mar. de 2026, 00:30", { exact: true }).waitFor();
        await page.getByText("GMT-5, pausado", { exact: true }).waitFor();
        assert.equal(
          await page.evaluate("document.documentElement.scrollWidth === innerWidth"),
          true,
        );
        assert.deepEqual(await violations(page), []);
        await picture(page, "zone-telephone");
      },
      {
        locale: "pt-BR",
        timezoneId: "UTC",
        viewport: { width: 390, height: 800 },
        bypassCSP: true,
      },
    );
  });
}
