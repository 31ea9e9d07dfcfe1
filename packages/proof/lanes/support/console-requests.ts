import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { hostile, poisoned } from "../../../server/test/browser/hostile.ts";
import { violations } from "../../../server/test/browser/violations.ts";
import { directBody, integrationKey, testCard } from "../../../server/test/server.ts";
import type { ConsoleGiven } from "./console-views.ts";

/** Tests of the list of requests and the page of a request. */
export function requestTests({ server, made, inConsole, picture }: ConsoleGiven): void {
  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { name, exact: true, level: 1 });
  const row = (page: Page, text: string) =>
    page
      .getByRole("table", { name: "Requests, newest first" })
      .getByRole("row")
      .filter({ hasText: text });
  const focused = (page: Page) =>
    page.evaluate("document.activeElement.closest('tr')?.dataset.row");

  /** A charge that is refused because of its e-mail address; returns its code. */
  async function refused(code: string): Promise<string> {
    await server().postJson("/ws/direct", directBody(code, { email: "nobody" }));
    return code;
  }

  async function newest(): Promise<number> {
    const { body } = await server().get("/__cofre/requests", {
      integration_key: integrationKey,
      order: "newest",
      limit: "1",
    });
    const [{ number = 0 } = {}] = body["requests"] as readonly { readonly number?: number }[];
    return number;
  }

  test("new requests appear in the list, a refusal in red with its field and a link to its code", async () => {
    const { code, hash } = await made();
    await made({ creditcard: { ...testCard, card_number: "4716909774636285" } });
    await refused("refused-first");
    await inConsole("#/payments", async (page) => {
      await page.getByRole("table").waitFor();
      await page.keyboard.press("g");
      await page.keyboard.press("r");
      await heading(page, "Requests").waitFor();
      const line = row(page, "refused-first");
      await line.getByText("200 Refused · BP-DR-17 payment.email").waitFor();
      // The light theme's red.
      assert.equal(
        await page.evaluate(
          "getComputedStyle([...document.querySelectorAll('tr')].find((row) => row.textContent.includes('refused-first')).querySelector('.word')).color",
        ),
        "rgb(179, 38, 30)",
      );
      assert.equal(
        await line.getByRole("link", { name: "BP-DR-17" }).getAttribute("href"),
        "/docs/errors#BP-DR-17",
      );
      assert.equal(
        await row(page, code).getByRole("link", { name: code }).getAttribute("href"),
        `#/payment/${hash}`,
      );
      // One that arrives now is seen without a reload.
      await refused("refused-live");
      await row(page, "refused-live").waitFor();
      await page.getByRole("link", { name: /^Refused/ }).click();
      await row(page, code).waitFor({ state: "detached" });
      await row(page, "refused-first").waitFor();
      await page.getByRole("searchbox").fill("live EMAIL");
      await page.keyboard.press("Enter");
      await page.getByText("1 request", { exact: true }).waitFor();
      await page.getByRole("searchbox").fill("nothing has this");
      await page.keyboard.press("Enter");
      await page.getByText("No entries match.").waitFor();
      await page.getByRole("link", { name: "Show all" }).click();
      await row(page, code).waitFor();
      await page.getByLabel("Path", { exact: true }).selectOption("/ws/direct");
      await page.waitForURL(/path=%2Fws%2Fdirect/);
    });
  });

  test("a request is opened, shows its parameters and response, and leads to its neighbours and back", async () => {
    await refused("opened-older");
    await made();
    await refused("opened-newer");
    const number = await newest();
    await inConsole("#/requests?outcome=refused", async (page) => {
      const { keyboard } = page;
      await row(page, "opened-newer").waitFor();
      await keyboard.press("j");
      assert.equal(await focused(page), String(number));
      await keyboard.press("Enter");
      await heading(page, "Request").waitFor();
      await page.getByText("Field payment.email is invalid", { exact: true }).waitFor();
      const parameters = page
        .locator("section")
        .filter({ hasText: "payment.creditcard.card_number" });
      await parameters.getByText("411111xxxxxx1111").waitFor();
      assert.equal(await parameters.locator(".bad dd").textContent(), "nobody");
      await page.getByText('"status_code": "BP-DR-17"').waitFor();
      assert.equal(
        await page
          .getByRole("link", { name: "Explanation of BP-DR-17" })
          .last()
          .getAttribute("href"),
        "/docs/errors#BP-DR-17",
      );
      // Of those that match the list, not of all.
      await keyboard.press("j");
      await page.waitForURL(new RegExp(`#/request/${number - 2}\\?outcome=refused`));
      await page.getByText("opened-older").first().waitFor();
      await keyboard.press("k");
      await page.getByText("opened-newer").first().waitFor();
      await keyboard.press("Escape");
      await heading(page, "Requests").waitFor();
      await page.waitForURL(/#\/requests\?outcome=refused$/);
      await row(page, "opened-newer").waitFor();
      await page.goto(`${server().url}/#/request/999999`);
      await page
        .getByText("Request 999,999 is no longer recorded.")
        .or(page.getByText("Request 999999 is no longer recorded."))
        .waitFor();
    });
  });

  test("a request without an answer says so, and its answer appears when it comes", async () => {
    const key = { integration_key: integrationKey };
    const add = { kind: "drop_after_commit", path: "/ws/zipcode" };
    await server().postJson("/__cofre/faults", { ...key, add });
    await assert.rejects(server().get("/ws/zipcode", { ...key, zipcode: "61919230" }));
    const number = await newest();
    await inConsole(`#/request/${number}`, async (page) => {
      await page.getByText("No response was sent: the connection was cut.").waitFor();
      await page.getByText("Failed").first().waitFor();
      await page
        .getByText(/fault: /)
        .first()
        .waitFor();
    });
  });

  test("new rows do not move the row that is read", async () => {
    for (let count = 0; count < 60; count += 1)
      await server().get("/ws/exchange", { integration_key: integrationKey, currency_code: "USD" });
    await inConsole("#/requests", async (page) => {
      const top = (number: string) =>
        page.evaluate<number>(
          `Math.round(document.querySelector('tr[data-row="${number}"]').getBoundingClientRect().top)`,
        );
      await row(page, "/ws/exchange").first().waitFor();
      await page.evaluate("scrollTo(0, 600)");
      const read = String(
        await page.evaluate(
          "[...document.querySelectorAll('tr[data-row]')].find((row) => row.getBoundingClientRect().top > 100).dataset.row",
        ),
      );
      const before = await top(read);
      await refused("above-the-fold");
      await row(page, "above-the-fold").waitFor();
      assert.equal(await top(read), before);
      // The focused row stays too, at the top of the list.
      await page.evaluate("scrollTo(0, 0)");
      await page.keyboard.press("j");
      const chosen = String(await focused(page));
      const place = await top(chosen);
      await refused("above-the-focus");
      await row(page, "above-the-focus").waitFor();
      assert.equal(await top(chosen), place);
      assert.equal(await focused(page), chosen);
    });
  });

  test("a long list renders the rows near the window only", async () => {
    for (let count = 0; count < 200; count += 1)
      await server().get("/ws/exchange", { integration_key: integrationKey, currency_code: "USD" });
    await inConsole("#/requests", async (page) => {
      await row(page, "/ws/exchange").first().waitFor();
      await page.evaluate(`new Promise((resolve) => {
        const look = () => {
          if (document.querySelector("tr[aria-rowindex='200']") !== null) return resolve();
          scrollTo(0, document.body.scrollHeight);
          requestAnimationFrame(look);
        };
        look();
      })`);
      const rendered = page.locator("tr[data-row]");
      assert.ok((await rendered.count()) < 150, `${await rendered.count()} rows`);
      await page.evaluate("scrollTo(0, 0)");
      await page.locator("tr[aria-rowindex='2']").waitFor();
      assert.ok((await rendered.count()) < 150, `${await rendered.count()} rows`);
    });
  });

  test("hostile and long texts stay texts, in the list and on the page of a request", async () => {
    await server().postJson(
      "/ws/direct",
      directBody("long", {
        note: "n".repeat(10_000),
        name: hostile,
        email: `${hostile}@example.com`,
      }),
    );
    const number = await newest();
    await inConsole("#/payments", async (page) => {
      await page.route(/__cofre\/requests/, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: poisoned(await response.json()) });
      });
      for (const [title, address] of [
        ["Requests", "#/requests"],
        ["Request", `#/request/${number}`],
      ] as const) {
        await page.goto(`${server().url}/${address}`);
        await heading(page, title).waitFor();
        await page.getByText("onerror=").filter({ visible: true }).first().waitFor();
        assert.deepEqual(
          await page.evaluate(
            "[document.querySelectorAll('img, script:not([src]):not([type=importmap]), [onerror]').length, document.title === 'hit', document.documentElement.scrollWidth <= innerWidth]",
          ),
          [0, false, true],
          title,
        );
        await picture(page, `hostile-${title.toLowerCase()}`);
      }
    });
  });

  const screens = [
    { language: "en", width: 390, colorScheme: "dark" },
    { language: "pt-BR", width: 1_100, colorScheme: "light" },
    { language: "es", width: 390, colorScheme: "light" },
    { language: "en", width: 1_100, colorScheme: "dark" },
  ] as const;
  const words = {
    en: { list: "Requests", state: "200 Refused", one: "Request", part: "Parameters" },
    "pt-BR": { list: "Requisições", state: "200 Rejeitada", one: "Requisição", part: "Parâmetros" },
    es: { list: "Solicitudes", state: "200 Denegada", one: "Solicitud", part: "Parámetros" },
  } as const;

  for (const { language, width, colorScheme } of screens)
    test(`requests fit the screen and pass axe: ${language}, ${width} px, ${colorScheme}`, async () => {
      const { list, state, one, part } = words[language];
      await refused(`fits-${language}-${"w".repeat(60)}`);
      const number = await newest();
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
            await picture(page, `${language}-${width}-${view}`);
          };
          await page.evaluate(`sessionStorage.setItem("cofre.language", "${language}")`);
          await page.goto(`${server().url}/#/requests`);
          await page.reload();
          await heading(page, list).waitFor();
          await page.getByText(state).first().waitFor();
          await looked("requests");
          await page.goto(`${server().url}/#/request/${number}`);
          await heading(page, one).waitFor();
          await page.getByRole("heading", { name: part, exact: true }).waitFor();
          await looked("request");
        },
        { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
      );
    });
}
