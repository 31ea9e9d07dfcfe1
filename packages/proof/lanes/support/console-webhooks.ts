import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { hostile, poisoned } from "../../../server/test/browser/hostile.ts";
import { violations } from "../../../server/test/browser/violations.ts";
import { directBody, integrationKey } from "../../../server/test/server.ts";
import { until } from "../../../server/test/until.ts";
import { type ConsoleGiven, look } from "./console-views.ts";

/** A receiver whose responses are hostile. */
const response = `{"error":"<img src=x onerror=alert(1)>","lines":["one","two"]}`;

/** Tests of the webhooks page. */
export function webhookTests({ server, receiver, made, inConsole, picture }: ConsoleGiven): void {
  async function post(
    path: string,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await server().postJson(path, { integration_key: integrationKey, ...fields });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    return body;
  }

  const said = (page: Page, text: string) =>
    page.getByRole("status").filter({ hasText: text }).waitFor();
  const rowOf = (page: Page, code: string) =>
    page.getByRole("row").filter({ has: page.getByText(code, { exact: true }) });
  const receiverRow = (page: Page, id: string) =>
    page.locator(".receivers li").filter({ has: page.locator("b").getByText(id, { exact: true }) });

  /** The number of the newest notification of a payment, once its first attempt is recorded. */
  async function numberOf(hash: string): Promise<number> {
    let number = 0;
    await until("the attempt is recorded", async () => {
      const { notifications } = (await post("/__cofre/notifications", { hash })) as unknown as {
        readonly notifications: readonly { readonly number: number }[];
      };
      number = notifications.at(-1)?.number ?? 0;
      if (number === 0) return false;
      const { detail } = (await post("/__cofre/notifications", { number })) as unknown as {
        readonly detail: {
          readonly receivers: readonly { readonly attempts: readonly unknown[] }[];
        };
      };
      return detail.receivers.some(({ attempts }) => attempts.length > 0);
    });
    return number;
  }

  test("webhooks are listed with their deliveries, filtered, and failed ones are sent again", async () => {
    receiver().isGone = true;
    const own = await made({ notification_url: `${receiver().url}gone` });
    await inConsole("#/webhooks", async (page) => {
      const row = rowOf(page, own.code);
      await row.filter({ hasText: /failed.*update.*payment's own address.*410/ }).waitFor();
      const later = await made();
      await look(page);
      await rowOf(page, later.code)
        .filter({ hasText: /delivered.*account-url.*200/ })
        .waitFor();
      const reported = page.getByRole("table", { name: "Notifications, newest first" });
      const [first = ""] = await reported.locator("tbody tr").allTextContents();
      assert.ok(first.includes(later.code), "the newest is first");
      const { height } = (await row.boundingBox()) ?? {};
      assert.ok(height !== undefined && height <= 36, `a row has ${height} pixels`);

      await page.getByLabel("Code, hash or #number").fill(later.code.toUpperCase());
      await page.keyboard.press("Enter");
      await page.getByText("1 notification", { exact: true }).waitFor();
      await page.getByLabel("Type").selectOption("refund");
      await page.getByText("No entries match.").waitFor();
      await page.getByRole("link", { name: "Show all" }).click();
      // The fields are empty again with the list.
      await rowOf(page, later.code).waitFor();
      await page.getByLabel("Receiver").selectOption("payment's own address");
      await row.waitFor();
      await rowOf(page, later.code).waitFor({ state: "detached" });
      await page.getByRole("link", { name: "failed", exact: true }).click();
      await page.getByText("1 notification", { exact: true }).waitFor();
      assert.equal(new URL(page.url()).hash, "#/webhooks?state=failed&receiver=url-");
      receiver().isGone = false;
      await page.getByRole("button", { name: "Resend failed" }).click();
      await said(page, "1 resent.");
      await page.getByText("0 notifications", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Resend failed" }).click();
      await said(page, "There are no failed deliveries.");
    });
  });

  test("a webhook shows the message, the response and a valid signature, and is sent again to one receiver", async () => {
    let messages = 0;
    const program = createServer((request, answer) => {
      request.resume().on("end", () => {
        messages += 1;
        answer.writeHead(500, { "Content-Type": "application/json" }).end(response);
      });
    });
    program.listen(0, "127.0.0.1");
    await once(program, "listening");
    const url = `http://127.0.0.1:${(program.address() as AddressInfo).port}/erp`;
    try {
      await post("/__cofre/settings", {
        settings: { notificationEndpoints: [{ id: "erp", url }] },
      });
      const { code, hash } = await made();
      await until("both receivers have the message", () => Promise.resolve(messages > 0));
      const number = await numberOf(hash);
      await inConsole("#/webhooks", async (page) => {
        await rowOf(page, code).getByRole("link").click();
        await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
        assert.equal(await page.title(), `Webhook #${number} · Cofre`);
        const box = page.getByRole("region", { name: "erp", exact: true });
        await box.getByText("HTTP 500", { exact: true }).waitFor();
        await box.getByText('"error": "<img src=x onerror=alert(1)>"').waitFor();
        assert.equal(await page.locator("main img").count(), 0);
        await box.getByText("Valid signature", { exact: true }).waitFor();
        const signed = await box.locator(".check-box pre").first().innerText();
        assert.match(signed, new RegExp(`^msg_\\w{32}\\.\\d+\\.operation=.*hash_codes=${hash}$`));
        await box.getByText(/^Request headers/).click();
        await box.getByText("webhook-timestamp", { exact: true }).waitFor();

        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        await box.getByRole("button", { name: "Copy as curl" }).click();
        await said(page, "Copied.");
        const command = await page.evaluate<string>("navigator.clipboard.readText()");
        assert.ok(command.startsWith(`curl -s ${url} `), command);
        assert.ok(command.includes("webhook-signature: v1,"), command);

        const before = receiver().received.filter((body) => body.includes(hash)).length;
        await page.getByRole("button", { name: "Resend account-url" }).click();
        await said(page, "1 resent.");
        await until("the message arrives again", () =>
          Promise.resolve(
            receiver().received.filter((body) => body.includes(hash)).length === before + 1,
          ),
        );
        await page
          .getByRole("region", { name: "account-url" })
          .locator("details.attempt")
          .nth(1)
          .waitFor();
        await page.locator("h1").focus();
        await page.keyboard.press("Escape");
        await page.getByRole("table", { name: "Notifications, newest first" }).waitFor();
      });
    } finally {
      await post("/__cofre/settings", { settings: { notificationEndpoints: [] } });
      program.close();
      program.closeAllConnections();
    }
  });

  test("receivers are added, changed, enabled, disabled and removed in a form with their secret", async () => {
    receiver().isGone = true;
    await inConsole("#/webhooks", async (page) => {
      const dialog = page.getByRole("dialog");
      const save = () => dialog.getByRole("button", { name: "Save" }).click();
      await receiverRow(page, "account-url").waitFor();
      await page.getByRole("button", { name: "Add receiver…" }).click();
      await dialog.getByLabel("Name").fill("account-url");
      await dialog.getByLabel("Address").fill(`${receiver().url}gone`);
      await save();
      await dialog.getByText("A receiver with this name exists already.").waitFor();
      await dialog.getByLabel("Name").fill("shop");
      await dialog.getByLabel("Address").fill("http://10.1.1.1/");
      await save();
      await dialog.getByRole("alert").getByText("COFRE-31").waitFor();
      await dialog.getByLabel("Address").fill("ftp://shop.example/");
      await save();
      await dialog
        .getByText(
          "An account can have at most 8 receivers, each with a name of its own and an http or https address.",
        )
        .waitFor();
      await dialog.getByLabel("Address").fill(`${receiver().url}gone`);
      await dialog.getByLabel("ed25519").uncheck();
      await save();
      await said(page, "shop is added.");

      const kept = await made();
      await look(page);
      const row = receiverRow(page, "shop");
      await row
        .filter({ hasText: /gone.*It answered 410 at .*Its notifications are kept\./ })
        .waitFor();
      await page.getByRole("navigation").getByText("1 off").waitFor();
      receiver().isGone = false;
      await page.getByRole("button", { name: "Enable shop" }).focus();
      await page.keyboard.press("Enter");
      await said(page, "shop is enabled. Its kept notifications are sent.");
      assert.equal(
        await page.evaluate("document.activeElement.getAttribute('aria-label')"),
        "Disable shop",
        "the focus stays on the button",
      );
      await until("the kept notification is delivered", () =>
        Promise.resolve(receiver().received.some((body) => body.includes(kept.hash))),
      );
      await look(page);
      await rowOf(page, kept.code).filter({ hasText: "delivered" }).waitFor();
      await page.getByRole("button", { name: "Disable account-url" }).click();
      await receiverRow(page, "account-url")
        .filter({ hasText: /disabled.*It was disabled at .*Its notifications are kept\./ })
        .waitFor();
      await page.getByRole("button", { name: "Enable account-url" }).click();
      await receiverRow(page, "account-url").getByText("enabled", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Send test shop" }).click();
      await page
        .getByRole("status")
        .filter({ hasText: /is sent to shop again\.$/ })
        .waitFor();

      await page.getByRole("button", { name: "Edit… shop" }).click();
      assert.equal(await dialog.getByLabel("ed25519").isChecked(), false);
      await dialog.getByText("whsec_••••••••••••").waitFor();
      await dialog.getByRole("button", { name: "Show" }).click();
      await dialog.getByText(/^whsec_[\w+/]{32}$/).waitFor();
      await dialog.getByLabel("Payments per message").fill("5");
      // As if another user had changed it after the form was opened.
      const { settings } = await post("/__cofre/settings", {});
      const { notificationEndpoints: endpoints } = settings as {
        readonly notificationEndpoints: readonly Readonly<Record<string, unknown>>[];
      };
      await post("/__cofre/settings", {
        settings: {
          notificationEndpoints: endpoints.map((each) =>
            each["id"] === "shop" ? { ...each, hashesPerCall: 7 } : each,
          ),
        },
      });
      await save();
      await dialog.getByText("This receiver was changed in the meantime.").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Edit… shop" }).click();
      assert.equal(await dialog.getByLabel("Payments per message").inputValue(), "7");
      await dialog.getByLabel("Payments per message").fill("1");
      await save();
      await said(page, "shop is saved.");
      await page.getByRole("button", { name: "Edit… shop" }).click();
      await dialog.getByRole("button", { name: "Remove…" }).click();
      await dialog.getByRole("button", { name: "Remove", exact: true }).click();
      await said(page, "shop is removed.");
      await row.waitFor({ state: "detached" });
    });
  });

  const inbox = {
    en: { title: "No receiver", valid: "Valid signature" },
    "pt-BR": { title: "Sem destino", valid: "Assinatura válida" },
  } as const;
  for (const [language, words] of Object.entries(inbox))
    test(`an account without a receiver has an inbox with the messages, on a telephone, in ${language}`, async () => {
      const { body } = await server().postJson("/__cofre/worlds", { seed: `inbox ${language}` });
      const { integration_key: key } = body["world"] as { readonly integration_key: string };
      await server().postJson("/ws/direct", { ...directBody("unsent"), integration_key: key });
      await inConsole(
        "#/payments",
        async (page) => {
          await page.evaluate(
            `sessionStorage.setItem("cofre.integration_key", "${key}"); sessionStorage.setItem("cofre.language", "${language}")`,
          );
          await page.goto(`${server().url}/#/webhooks`);
          await page.reload();
          await page.getByRole("link", { name: "#1 unsent" }).waitFor();
          await page.getByText("cofre listen", { exact: true }).waitFor();
          const looked = async (view: string) => {
            assert.equal(
              await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
              true,
              `${view} is wider than the screen`,
            );
            assert.deepEqual(await violations(page), [], view);
            await picture(page, `${language}-${view}`);
          };
          await looked("inbox");
          await page.getByRole("link", { name: "#1 unsent" }).click();
          await page.getByRole("heading", { name: words.title, level: 2 }).waitFor();
          await page.getByText(words.valid, { exact: true }).waitFor();
          await looked("inbox-message");
        },
        { viewport: { width: 390, height: 844 }, bypassCSP: true },
      );
      await server().postJson("/__cofre/world", { integration_key: key, action: "delete" });
    });

  test("what receivers and the server write on a webhook's page stays text", async () => {
    const { hash } = await made();
    const number = await numberOf(hash);
    await inConsole("#/webhooks", async (page) => {
      await page.route("**/__cofre/notifications", async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: poisoned(await answer.json()) });
      });
      await page.goto(`${server().url}/#/webhooks/${number}`);
      await page.getByText("Signed text").waitFor();
      await page.evaluate(
        "document.querySelectorAll('details').forEach((each) => { each.open = true; })",
      );
      assert.ok((await page.getByText("onerror=").count()) > 10, hostile);
      const found = await page.evaluate(
        "[document.querySelectorAll('img, script:not([src]):not([type=importmap]), [onerror]').length, document.title.includes('hit'), document.documentElement.scrollWidth <= innerWidth]",
      );
      assert.deepEqual(found, [0, false, true]);
    });
  });
}
