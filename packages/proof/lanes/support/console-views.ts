import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import {
  directBody,
  integrationKey,
  testCard,
  type TestServer,
} from "../../../server/test/server.ts";
import { until } from "../../../server/test/until.ts";

/**
 * What the lane provides for its tests: one server, a receiver of notifications, and windows with
 * the page.
 */
export interface ConsoleGiven {
  readonly server: () => TestServer;
  /** Answers 410 while `isGone`. */
  readonly receiver: () => {
    readonly url: string;
    readonly received: readonly string[];
    isGone: boolean;
  };
  readonly made: (
    changes?: Readonly<Record<string, unknown>>,
  ) => Promise<{ readonly code: string; readonly hash: string }>;
  /**
   * A window with the key entered, at an address behind the `#`. Checks at the end that there was
   * no error, except for `expected`, and no request to another origin.
   */
  readonly inConsole: (
    address: string,
    work: (page: Page) => Promise<void>,
    options?: BrowserContextOptions,
    expected?: RegExp,
  ) => Promise<void>;
  readonly picture: (page: Page, name: string) => Promise<void>;
}

/** As when the page becomes visible again: it refreshes at once. */
export async function look(page: Page): Promise<void> {
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
}

/** Tests of the views other than payments. */
export function viewTests({ server, made, inConsole }: ConsoleGiven): void {
  const navigation = (page: Page) => page.getByRole("navigation", { name: "Console" });
  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { name, exact: true, level: 1 });
  /** The section of a view with this heading. */
  const part = (page: Page, name: string) =>
    page
      .locator("section")
      .filter({ has: page.getByRole("heading", { name, exact: true, level: 2 }) });
  const focused = (page: Page) => page.evaluate("document.activeElement.textContent");

  async function post(
    path: string,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await server().postJson(path, { integration_key: integrationKey, ...fields });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    return body;
  }

  test("views are reached by link, keyboard and the browser's back, and say which they are", async () => {
    const { hash } = await made();
    await inConsole("#/payments", async (page) => {
      const link = (name: string) => navigation(page).getByRole("link", { name, exact: true });
      await page.getByRole("table").waitFor();
      await link("Webhooks").focus();
      await page.keyboard.press("Enter");
      await heading(page, "Webhooks").waitFor();
      assert.equal(await focused(page), "Webhooks", "a screen reader reads it out");
      assert.equal(await page.title(), "Webhooks · Cofre");
      assert.equal(await link("Webhooks").getAttribute("aria-current"), "page");
      assert.equal(await link("Payments").getAttribute("aria-current"), null);
      await page.goBack();
      await heading(page, "Payments").waitFor();
      assert.equal(await focused(page), "Payments");
      assert.equal(await link("Payments").getAttribute("aria-current"), "page");
      await page.goto(`${server().url}/#/payment/${hash}`);
      await heading(page, "Payment").waitFor();
      assert.equal(await link("Payments").getAttribute("aria-current"), "true");
      await page.goto(`${server().url}/#/constructor`);
      await heading(page, "Payments").waitFor();
      const skip = page.getByRole("link", { name: "Skip to the content" });
      await skip.focus();
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate("document.activeElement.id"), "main");
      await heading(page, "Payments").waitFor();
    });
  });

  test("on a narrow screen the link to the current view is in sight", async () => {
    await inConsole(
      "#/payments",
      async (page) => {
        for (const name of ["Settings", "Payments", "Test cards"]) {
          const current = navigation(page).getByRole("link", { name, exact: true });
          await current.click();
          await heading(page, name).waitFor();
          await page.reload();
          await heading(page, name).waitFor();
          await until(`the link to ${name} is in sight`, async () => {
            const box = await current.boundingBox();
            return box !== null && box.x >= 0 && box.x + box.width <= 390;
          });
        }
      },
      { viewport: { width: 390, height: 844 } },
    );
  });

  test("a refused setting has the focus, and no bar covers it", async () => {
    await inConsole(
      "#/settings",
      async (page) => {
        await page.locator('main [name="simulator.latencyMs"]').fill("7");
        const days = page.locator('main [name="captureWindowDays"]');
        await days.fill("99");
        await page.locator("main h1").scrollIntoViewIfNeeded();
        const save = page.getByRole("button", { name: "Save" });
        await save.click();
        await page
          .getByRole("alert")
          .filter({ hasText: "Allowed: a whole number from 1 to 30." })
          .waitFor();
        await days.and(page.locator(":focus")).waitFor();
        const [field, bar] = [await days.boundingBox(), await page.locator(".save").boundingBox()];
        assert.ok(field !== null && bar !== null);
        assert.ok(field.y >= 0 && field.y + field.height <= bar.y, `${field.y}, ${bar.y}`);
      },
      { viewport: { width: 390, height: 700 } },
    );
  });

  test("a status message goes when something else is done later", async () => {
    const { hash } = await made();
    await inConsole(`#/payment/${hash}`, async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy link" }).click();
      const copied = page.getByRole("status").filter({ hasText: "Copied." });
      await copied.waitFor();
      await until("the message is gone", async () => {
        await page.keyboard.press("Shift");
        return (await copied.count()) === 0;
      });
    });
  });

  test("keys open views, lead to the search and from row to row, and can be switched off", async () => {
    const older = await made({ email: "shortcuts@example.com" });
    const newer = await made({ email: "shortcuts@example.com" });
    await inConsole("#/payments", async (page) => {
      const { keyboard } = page;
      await page.getByRole("table").waitFor();
      await keyboard.press("g");
      await keyboard.press("s");
      await heading(page, "Settings").waitFor();
      await page.getByLabel("reviewAboveUsd").fill("7");
      await page.getByLabel("descriptor").fill("");
      await page.getByLabel("descriptor").pressSequentially("g p");
      assert.equal(await page.getByLabel("descriptor").inputValue(), "g p", "text stays text");
      await keyboard.press("Escape");
      await keyboard.press("/");
      await page.getByLabel("Search settings").and(page.locator(":focus")).waitFor();
      await keyboard.press("Escape");
      await keyboard.press("g");
      await keyboard.press("f");
      await heading(page, "Faults").waitFor();
      await keyboard.press("/");
      await heading(page, "Payments").waitFor();
      await page.locator('input[type="search"]:focus').waitFor();
      await keyboard.type("shortcuts@example.com");
      await keyboard.press("Enter");
      await page.getByText("2 payments", { exact: true }).waitFor();
      await keyboard.press("Escape");
      await keyboard.press("j");
      assert.equal(await focused(page), newer.code);
      await keyboard.press("j");
      assert.equal(await focused(page), older.code);
      await keyboard.press("k");
      assert.equal(await focused(page), newer.code);
      await keyboard.press("Enter");
      await heading(page, "Payment").waitFor();
      await keyboard.press("Escape");
      await heading(page, "Payments").waitFor();
      await keyboard.press("n");
      await heading(page, "New payment").waitFor();
      await keyboard.press("?");
      const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
      await help.getByText("Webhooks", { exact: true }).waitFor();
      await keyboard.press("g");
      await keyboard.press("n");
      await help.getByLabel("Use shortcuts in this tab").uncheck();
      await help.getByRole("button", { name: "Close" }).click();
      await help.waitFor({ state: "detached" });
      await heading(page, "New payment").waitFor();
      await heading(page, "New payment").press("?");
      await keyboard.press("g");
      await keyboard.press("n");
      assert.equal(await page.getByRole("dialog").count(), 0);
      assert.equal(await heading(page, "New payment").count(), 1);
    });
  });

  test("a dialog that is late does not open over the next view", async () => {
    await inConsole("#/webhooks", async (page) => {
      const asked = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<void>();
      await page.route("**/__cofre/settings", async (route) => {
        asked.resolve();
        await opened.promise;
        await route.continue();
      });
      await page.getByRole("button", { name: "Edit… account-url" }).click();
      await asked.promise;
      await navigation(page).getByRole("link", { name: "Tokens", exact: true }).click();
      await heading(page, "Tokens").waitFor();
      const answered = page.waitForResponse("**/__cofre/settings");
      opened.resolve();
      await answered;
      await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
      assert.equal(await page.getByRole("dialog").count(), 0);
      await page.goBack();
      await heading(page, "Webhooks").waitFor();
      await page.getByRole("button", { name: "Edit… account-url" }).click();
      await page.getByRole("dialog").waitFor();
    });
  });

  test("the side bar shows the clock of the account, and moves that of a world", async () => {
    const { body } = await server().postJson("/__cofre/worlds", {
      name: "of the side bar",
      seed: "9",
      clock: "2026-03-01 12:00:00",
    });
    const { integration_key: key } = body["world"] as { readonly integration_key: string };
    await inConsole("#/payments", async (page) => {
      const clock = page.getByRole("group", { name: "Clock" });
      await clock.getByText("UTC", { exact: true }).waitFor();
      assert.equal(
        await clock.getByRole("button").count(),
        0,
        "an account's clock is the system's",
      );
      await page.evaluate(`sessionStorage.setItem("cofre.integration_key", "${key}")`);
      await page.goto(`${server().url}/#/tokens`);
      await page.locator("#tag").getByText("world: of the side bar").waitFor();
      await clock.getByText("Mar 1, 2026, 12:00 PM", { exact: true }).waitFor();
      await clock.getByText("UTC, paused").waitFor();
      assert.equal(await clock.getByRole("button", { name: /^next/ }).count(), 0);
      await clock.getByRole("button", { name: "+1 h" }).click();
      await clock.getByText("Mar 1, 2026, 1:00 PM", { exact: true }).waitFor();
      await clock.getByRole("button", { name: "+1 d" }).click();
      await clock.getByText("Mar 2, 2026, 1:00 PM", { exact: true }).waitFor();
      await server().postJson("/ws/direct", {
        ...directBody("side-bar", { creditcard: { ...testCard, auto_capture: false } }),
        integration_key: key,
      });
      await page.goto(`${server().url}/#/payments`);
      const row = page.getByRole("row").filter({ hasText: "side-bar" });
      await row.filter({ hasText: "Authorized" }).waitFor();
      await navigation(page).getByText("1", { exact: true }).waitFor();
      await clock.getByRole("button", { name: "next: Mar 6, 2026, 1:00 PM" }).click();
      await row.filter({ hasText: "Expired" }).waitFor();
      await clock.getByText("Mar 6, 2026, 1:00 PM", { exact: true }).waitFor();
    });
    await server().postJson("/__cofre/world", { integration_key: key, action: "delete" });
  });

  test("a list that takes its time says that it looks, and a missing answer is reported instead", async () => {
    await inConsole("#/new", async (page) => {
      const requested = Promise.withResolvers<void>();
      await page.route("**/__cofre/payments", async (route) => {
        await requested.promise;
        await route.fulfill({
          json: { status: "ERROR", status_code: "COFRE-1", status_message: "Not now" },
        });
      });
      await page.goto(`${server().url}/#/payments?search=slow`);
      const looking = page.getByText("Loading…", { exact: true });
      await looking.waitFor();
      requested.resolve();
      await page.getByRole("alert").filter({ hasText: "Not now" }).first().waitFor();
      assert.equal(await looking.count(), 0);
    });
  });

  test("what is shown by colour or shadow alone is still visible in forced colours", async () => {
    const { hash } = await made({ creditcard: { ...testCard, auto_capture: false } });
    await inConsole(
      `#/payment/${hash}`,
      async (page) => {
        const bar = page.getByRole("img", { name: /^Authorized/ });
        await bar.waitFor();
        const colourOf = (what: string) =>
          page.evaluate(`getComputedStyle(document.querySelector("${what}")).backgroundColor`);
        assert.notEqual(await colourOf(".part.held"), await colourOf(".bar"));
        const lineOf = (what: string) =>
          page.evaluate(`getComputedStyle(document.querySelector("${what}")).textDecorationLine`);
        assert.equal(await lineOf("nav a[aria-current]"), "underline");
        assert.equal(await lineOf("nav a:not([aria-current])"), "none", "control");
      },
      { forcedColors: "active" },
    );
  });

  test("stored cards show by mask, brand and time, are found, and nowhere is a token", async () => {
    const token = `token-of-a-card-in-the-console-${"a".repeat(20)}`;
    const card = { ...testCard, card_number: "6362970000457013" };
    await post("/ws/token", {
      payment_type_code: "creditcard",
      country: "br",
      token,
      creditcard: card,
    });
    await inConsole("#/tokens", async (page) => {
      const rows = page.getByRole("table", { name: "Stored cards, newest first" }).getByRole("row");
      const elo = rows.filter({ hasText: "elo 636297xxxxxx7013" });
      await elo.waitFor();
      const times = async () =>
        (await elo.getByRole("cell").allInnerTexts()).map((text) => text.replaceAll(/\s/g, " "));
      const [, stored = "", used = ""] = await times();
      assert.equal(used, stored);
      await made({ creditcard: { token } });
      await look(page);
      await elo.filter({ hasNotText: new RegExp(`${stored}[^]*${stored}`) }).waitFor();
      const [, storedStill, usedLater = "", worksUntil = ""] = await times();
      assert.equal(storedStill, stored);
      assert.notEqual(usedLater, used);
      assert.match(worksUntil, /^Jan 25, 2028, /, "fourteen months later");
      await page.getByLabel("First or last digits").fill("6362 9700 0045 7013");
      await page.keyboard.press("Enter");
      await page.getByText("1 stored card", { exact: true }).waitFor();
      assert.equal(new URL(page.url()).hash, "#/tokens?card=636297xxxxxx7013");
      await page.getByLabel("Brand").selectOption("visa");
      await page.getByText("0 stored cards", { exact: true }).waitFor();
      assert.equal(new URL(page.url()).hash, "#/tokens?card=636297xxxxxx7013&brand=visa");
      assert.ok(!(await page.content()).includes(token));
    });
  });

  test("switches show with what they do, are changed together, and what is not allowed is said", async () => {
    const settingsNow = async () =>
      (await post("/__cofre/settings", {}))["settings"] as Readonly<Record<string, unknown>>;
    const before = await settingsNow();
    await inConsole("#/settings", async (page) => {
      const control = (name: string) => page.locator(`main [name="${name}"]`);
      const reviews = control("reviewAboveUsd");
      await reviews.waitFor();
      await page.getByText("No unsaved changes.").waitFor();
      for (const name of Object.keys(before).filter(
        (each) => each !== "simulator" && each !== "notificationChaos",
      ))
        assert.equal(await control(name).count(), 1, name);
      const about = (name: string) =>
        page.evaluate<string>(
          `document.getElementById(document.querySelector('[name="${name}"]').getAttribute("aria-describedby")).innerText.trim()`,
        );
      assert.equal(await about("reviewAboveUsd"), "0–1,000,000,000");
      assert.equal(await about("partialCapture"), "Default: Off", "the lane allows it");
      const save = page.getByRole("button", { name: "Save" });
      assert.equal(await save.isDisabled(), true);
      await reviews.fill("much");
      await control("strictRefundCancel").selectOption("true");
      await control("simulator.latencyMs").fill("7");
      await page.getByText("Unsaved changes: 3.").waitFor();
      await save.click();
      await page
        .getByRole("alert")
        .filter({ hasText: "Allowed: a whole number from 0 to 1,000,000,000." })
        .waitFor();
      assert.match(await about("reviewAboveUsd"), /Allowed:/, "beside its field");
      assert.deepEqual(await settingsNow(), before, "all or nothing");
      await reviews.fill("0");
      const routes = control("routes");
      await routes.fill("[{]");
      await save.click();
      await page.getByRole("alert").filter({ hasText: "routes must be a list in JSON." }).waitFor();
      await routes.fill("[]");
      // Probabilities are shown and entered in percent; the server stores thousandths.
      const lost = control("simulator.loseAnswer");
      assert.equal(await lost.inputValue(), "0%");
      for (const wrong of ["0.3", "300", "100.1%", "0.25%"]) {
        await lost.fill(wrong);
        await save.click();
        await page
          .getByRole("alert")
          .filter({ hasText: "simulator.loseAnswer must be from 0% to 100%" })
          .waitFor();
        assert.deepEqual(await settingsNow(), before, wrong);
      }
      await lost.fill("12.5 %");
      await save.click();
      await page.getByRole("status").filter({ hasText: "Saved." }).waitFor();
      const simulator = { ...(before["simulator"] as object), latencyMs: 7, loseAnswer: 125 };
      assert.deepEqual(await settingsNow(), { ...before, strictRefundCancel: true, simulator });
      await page.getByText("No unsaved changes.").waitFor();
      // The changed settings alone, and back to a default.
      // Those of this test, and the two of the lane.
      const onlyChanged = page.getByLabel(/^Only changed from the default \((?:[5-9])\)$/);
      const all = await page.locator(".setting").count();
      await onlyChanged.check();
      const changed = await page.locator(".setting").count();
      assert.ok(changed >= 5 && changed < all / 2, `${changed} of ${all}`);
      await page
        .locator('.setting:has([name="simulator.loseAnswer"])')
        .getByRole("button", { name: "Default: 0%" })
        .click();
      assert.equal(await lost.inputValue(), "0%");
      await page.getByText("Unsaved changes: 1.").waitFor();
      await lost.fill("12.5%");
      await onlyChanged.uncheck();
      await page.getByLabel("Search settings").fill("statements");
      assert.equal(await page.locator(".setting").count(), 1);
      await page.getByLabel("Search settings").fill("");
      await page.getByText("No unsaved changes.").waitFor();
      // A change by another user appears; text that is being entered stays.
      await control("descriptor").fill("HALF WRIT");
      await post("/__cofre/settings", {
        settings: {
          strictRefundCancel: false,
          simulator: before["simulator"],
          descriptor: "ELSEWHERE",
        },
      });
      await look(page);
      const latency = control("simulator.latencyMs");
      await until(
        "the page shows the other change",
        async () => (await latency.inputValue()) === "0",
      );
      assert.equal(await lost.inputValue(), "0%");
      assert.equal(await control("descriptor").inputValue(), "HALF WRIT");
      await post("/__cofre/settings", { settings: { descriptor: before["descriptor"] } });
    });
    assert.deepEqual(await settingsNow(), before);
  });

  test("a world is created, its clock is moved, it is saved, restored, reset and deleted", async () => {
    await inConsole("#/worlds", async (page) => {
      const own = part(page, "Open account");
      const said = (text: string | RegExp) =>
        page.getByRole("status").filter({ hasText: text }).waitFor();
      const confirm = (name: string) =>
        page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
      await own.getByText("This account is not a world").waitFor();
      assert.equal(await page.getByRole("button", { name: "Advance" }).count(), 0);
      await page.getByLabel("Name", { exact: true }).fill("tried by hand");
      await page.getByLabel("Seed").fill("7");
      await page.getByLabel("Starts at (UTC)").fill("someday");
      await page.getByRole("button", { name: "Create and open" }).click();
      await page.getByRole("alert").filter({ hasText: "COFRE-73" }).waitFor();
      await page.getByLabel("Starts at (UTC)").fill("2026-03-01 12:00:00");
      await page.getByRole("button", { name: "Create and open" }).click();
      await said("The world tried by hand is open.");
      await own.getByText("Mar 1, 2026, 12:00:00 PM").first().waitFor();
      assert.equal(await page.locator("#tag").innerText(), "world: tried by hand");

      const key = await own.getByText(/^test_ik_/).innerText();
      const inWorld = async (path: string, fields: Readonly<Record<string, unknown>>) =>
        (await server().postJson(path, { ...fields, integration_key: key })).body as {
          readonly payment: { readonly hash: string; readonly status: string };
        };
      const { payment } = await inWorld(
        "/ws/direct",
        directBody("by-hand", { creditcard: { ...testCard, auto_capture: false } }),
      );
      const status = async () =>
        (await inWorld("/ws/query", { hash: payment.hash })).payment?.status;
      await look(page);
      await own.getByText("Mar 5, 2026, 12:00:00 PM").waitFor();
      await page.getByLabel("Snapshot name").fill("held");
      await page.getByRole("button", { name: "Take snapshot" }).click();
      await said("Snapshot taken.");
      await page.getByRole("button", { name: "To the next due event" }).click();
      await said(/The time is Mar 5, 2026, 12:00:00 PM\. Processed: [1-9]/);
      assert.equal(await status(), "CA", "nobody captured in time");
      await page.getByRole("button", { name: "Restore…" }).click();
      await confirm("Restore");
      await said("Restored.");
      assert.equal(await status(), "PE");
      await page.getByLabel("Advance by").fill("3d");
      await page.getByRole("button", { name: "Advance", exact: true }).click();
      await said(/The time is Mar 4, 2026, 12:00:00 PM/);
      await page.getByLabel("Set the time to (UTC)").fill("2026-03-02");
      await page.getByRole("button", { name: "Set", exact: true }).click();
      await said(/The time is Mar 2, 2026, 12:00:00 AM/);
      await page.getByRole("button", { name: "Start clock" }).click();
      await said("The clock is running.");
      await page.getByRole("button", { name: "Pause clock" }).click();
      await said("The clock is paused.");
      await page.getByRole("button", { name: "Reset…" }).click();
      await page.keyboard.press("Escape");
      assert.equal(await status(), "PE");
      await page.getByRole("button", { name: "Reset…" }).click();
      await confirm("Reset");
      await said("World reset.");
      assert.equal(await status(), undefined, "the payment was never made");

      // Back and forth, then deleted.
      await page.getByRole("button", { name: "Back to the previous account" }).click();
      await own.getByText("This account is not a world").waitFor();
      assert.equal(await page.locator("#tag").innerText(), "sandbox");
      await page.getByRole("button", { name: "Open the world tried by hand" }).click();
      await heading(page, "Payments").waitFor();
      await page.getByText("0 payments", { exact: true }).waitFor();
      await page.goto(`${server().url}/#/insights`);
      await page.getByText("There are no payments in this period.").waitFor();
      await page.goto(`${server().url}/#/payments?state=voided`);
      await page.getByText("No entries match.").waitFor();
      await page.getByRole("link", { name: "Show all" }).click();
      await page.getByText("There are no payments yet. New payment sends one from here").waitFor();
      await page.getByRole("main").getByRole("link", { name: "New payment" }).last().click();
      await heading(page, "New payment").waitFor();
      await inWorld("/__cofre/clock", { set: "2049-06-01" });
      await page.getByRole("button", { name: "Send payment" }).click();
      await page.locator(".made").getByText("Captured").waitFor();
      await page.goto(`${server().url}/#/worlds`);
      await page.getByRole("button", { name: "Delete…" }).click();
      await confirm("Delete");
      await said("World deleted.");
      await own.getByText("This account is not a world").waitFor();
      await page.getByText("0 worlds", { exact: true }).waitFor();
    });
  });

  test("faults are asked for, meet the requests that they fit, and are taken away", async () => {
    await inConsole("#/faults", async (page) => {
      const row = (text: RegExp) => page.getByRole("row").filter({ hasText: text });
      const add = page.getByRole("button", { name: "Add", exact: true });
      const kind = page.getByLabel("Kind of fault");
      await page.getByText("0 faults", { exact: true }).waitFor();
      assert.equal(await page.getByLabel("Decline reason").isVisible(), false);
      await kind.selectOption("Slow");
      await page.getByLabel("Delay in milliseconds").waitFor();
      await kind.selectOption("Declined");
      await page.getByLabel("Decline reason").selectOption("expired card");
      assert.equal(await page.getByLabel("Delay in milliseconds").isVisible(), false);
      await page.getByText("The issuer declines with the chosen reason.").waitFor();
      await page.getByLabel("Number of requests; 0 for all").fill("many");
      await add.click();
      await page.getByRole("alert").filter({ hasText: "COFRE-91" }).waitFor();
      await page.getByLabel("Number of requests; 0 for all").fill("2");
      await page.getByLabel("Only this path").selectOption("/ws/direct");
      await page.getByLabel("Only this payment code").fill("meant");
      await add.click();
      await page.getByRole("status").filter({ hasText: "Fault added." }).waitFor();
      await row(/Declined, expired card[^]*0 of 2 affected[^]*\/ws\/direct, meant/).waitFor();
      const other = await post("/ws/direct", directBody("not-meant"));
      assert.equal((other["payment"] as { readonly status: string }).status, "CO");
      const meant = await post("/ws/direct", directBody("meant"));
      assert.equal((meant["payment"] as { readonly status: string }).status, "CA");
      await look(page);
      await row(/1 of 2 affected/).waitFor();

      await kind.selectOption("Late response");
      await page.getByLabel("Number of requests; 0 for all").fill("0");
      await page.getByLabel("Only this path").selectOption("");
      await page.getByLabel("Only this payment code").fill("never");
      await page.getByLabel("Delay in milliseconds").fill("70");
      await add.click();
      await row(/Late response, 70 ms[^]*0 affected, all until removed/).waitFor();
      await page.getByText("2 faults", { exact: true }).waitFor();
      await row(/Declined/)
        .getByRole("button", { name: /^Remove f\d+$/ })
        .click();
      await page.getByText("1 fault", { exact: true }).waitFor();
      await row(/Late response/).waitFor();
      await page.getByRole("button", { name: "Remove all" }).click();
      await page.getByText("0 faults", { exact: true }).waitFor();
      assert.deepEqual((await post("/__cofre/faults", {}))["faults"], []);
    });
  });

  test("what a server does not have is said, and not asked for", async () => {
    await inConsole("#/payments", async (page) => {
      await page.route("**/openapi.json", (route) => route.fulfill({ json: { paths: {} } }));
      await page.goto(`${server().url}/#/faults`);
      await page.getByText("This server does not offer fault injection.").waitFor();
      await page.goto(`${server().url}/#/worlds`);
      await page.getByText("This server does not offer worlds.").waitFor();
      await page.goto(`${server().url}/#/insights`);
      await page.locator(".insights").locator(".sums, .nothing").waitFor();
      assert.equal(await page.getByRole("heading", { name: "Request latency" }).count(), 0);
    });
  });
}
