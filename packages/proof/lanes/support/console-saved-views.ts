import assert from "node:assert/strict";
import { test } from "node:test";
import { violations } from "../../../server/test/browser/violations.ts";
import { integrationKey } from "../../../server/test/server.ts";
import type { ConsoleGiven } from "./console-views.ts";

/** Tests of the saved views above the list of payments. */
export function savedViewTests({ server, made, inConsole }: ConsoleGiven): void {
  const saved = async (fields: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const { body } = await server().postJson("/__cofre/views", {
      integration_key: integrationKey,
      ...fields,
    });
    return body["views"];
  };

  test("a search is saved with its columns, opened in another tab, renamed and deleted", async () => {
    const { code } = await made({ email: "views@example.com" });
    const address = "#/payments?state=captured&search=views%40example.com";
    await inConsole(address, async (page) => {
      await page.getByRole("link", { name: code, exact: true }).waitFor();
      await page.getByText("Columns", { exact: true }).click();
      await page.getByLabel("E-mail", { exact: true }).check();
      await page.getByText("Columns", { exact: true }).click();
      await page.getByText("Save view", { exact: true }).click();
      await page.getByLabel("Name of the view").fill(hostileName);
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Enter");
      await page.getByText("Edit view", { exact: true }).waitFor();
      const chip = page.getByRole("navigation", { name: "Saved views" }).getByRole("link");
      assert.equal(await chip.getAttribute("aria-current"), "page");
      const columns = "state,amount,code,customer,card,notified,opened,email";
      const view = { search: "views@example.com", state: "captured", columns };
      assert.deepEqual(await saved(), [{ name: hostileName, ...view }]);
      assert.equal(await page.evaluate("globalThis.poisoned"), undefined);
    });
    await inConsole("#/payments", async (page) => {
      const chip = page.getByRole("navigation", { name: "Saved views" }).getByRole("link");
      await chip.click();
      await page.getByRole("columnheader", { name: "E-mail" }).waitFor();
      await page.getByRole("link", { name: code, exact: true }).waitFor();
      // Another column is another view.
      await page.getByText("Columns", { exact: true }).click();
      await page.getByLabel("E-mail", { exact: true }).uncheck();
      await page.getByText("Save view", { exact: true }).waitFor();
      await page.getByLabel("E-mail", { exact: true }).check();
      await page.getByText("Edit view", { exact: true }).click();
      await page.getByLabel("Name of the view").fill("Mine");
      await page.getByRole("button", { name: "Rename" }).click();
      await page.getByRole("link", { name: "Mine", exact: true }).waitFor();
      await page.getByText("Edit view", { exact: true }).click();
      await page.getByRole("button", { name: "Delete" }).click();
      await chip.waitFor({ state: "detached" });
      assert.deepEqual(await saved(), []);
      // The list stays as it is.
      await page.getByRole("link", { name: code, exact: true }).waitFor();
      await page.goto(`${server().url}/#/payments`);
      await page.getByRole("columnheader", { name: "E-mail" }).waitFor({ state: "detached" });
    });
  });

  test("views fit a phone, in Brazilian Portuguese", async () => {
    await made();
    for (const index of [1, 2, 3, 4, 5]) await saved({ save: `Saved view ${index}`, period: "7d" });
    const viewport = { width: 390, height: 800 };
    await inConsole(
      "#/payments",
      async (page) => {
        await page.evaluate('sessionStorage.setItem("cofre.language", "pt-BR")');
        await page.reload();
        const chips = page.getByRole("navigation", { name: "Visualizações salvas" });
        await chips.getByRole("link").nth(4).waitFor();
        await page.goto(`${server().url}/#/payments?search=seen`);
        await page.getByText("Salvar visualização", { exact: true }).click();
        await page.getByLabel("Nome da visualização").fill("Saved view 3");
        await page.getByText("Substitui a visualização com este nome.").waitFor();
        assert.deepEqual(await violations(page), []);
        const fits = "document.documentElement.scrollWidth === innerWidth";
        assert.equal(await page.evaluate(fits), true);
        await page.getByRole("button", { name: "Salvar", exact: true }).click();
        const open = page.locator(".views [aria-current=page]");
        await open.waitFor();
        assert.equal(await open.textContent(), "Saved view 3");
      },
      { viewport },
    );
    for (const index of [1, 2, 3, 4, 5]) await saved({ delete: `Saved view ${index}` });
  });
}

const hostileName = `<img src=x onerror="poisoned=1"> '\\ 😀`;
