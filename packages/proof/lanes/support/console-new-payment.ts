import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { violations } from "../../../server/test/browser/violations.ts";
import { integrationKey } from "../../../server/test/server.ts";
import type { ConsoleGiven } from "./console-views.ts";

/** What the lane provides: also a shell with the secret key in `KEY`, for commands of the page. */
type Given = Pick<ConsoleGiven, "server" | "made" | "inConsole" | "picture"> & {
  readonly shell: (commands: string) => Promise<string>;
};

/** Tests of the pages New payment and Test cards. */
export function newPaymentTests({ server, made, inConsole, picture, shell }: Given): void {
  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { name, exact: true, level: 1 });
  const answer = (page: Page, path: string) =>
    page.getByRole("region", { name: `Answer of ${path}` });
  const focused = (page: Page) => page.evaluate("document.activeElement.name");

  async function figures(page: Page, view: string): Promise<void> {
    assert.equal(
      await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
      true,
      `${view} is wider than the screen`,
    );
    assert.deepEqual(await violations(page), [], view);
    await picture(page, view);
  }

  test("a payment is made with the keyboard alone, a second one with one key, and the command does the same", async () => {
    await inConsole("#/payments", async (page) => {
      const { keyboard } = page;
      await page.getByRole("link", { name: "New payment" }).first().waitFor();
      await keyboard.press("n");
      await heading(page, "New payment").waitFor();
      const send = page.getByRole("button", { name: "Send payment" });
      await send.waitFor();
      for (let presses = 0; presses < 60 && (await focused(page)) !== "name"; presses += 1)
        await keyboard.press("Tab");
      await keyboard.type("Ana O'Lima $(touch no)");
      const code = await page.getByLabel("Code", { exact: true }).inputValue();
      const command = await page.getByRole("region", { name: "Request" }).innerText();
      assert.ok(!command.includes(integrationKey));
      await keyboard.press("Enter");
      const link = page.locator(".made").getByRole("link");
      await page.locator(".made").getByText("Captured").waitFor();
      assert.equal(await link.innerText(), code);
      assert.match(await answer(page, "/ws/direct").innerText(), /"status": "CO"[^]*"Accepted"/);
      assert.equal(await focused(page), "name", "the focus stays");
      const refused = JSON.parse(await shell(command)) as { readonly status_code: string };
      assert.equal(refused.status_code, "BP-DR-0", "the command is the request that was sent");
      const next = await page.getByLabel("Code", { exact: true }).inputValue();
      assert.notEqual(next, code);
      await keyboard.press("Enter");
      await link.getByText(next).waitFor();
      const again = await page.getByRole("region", { name: "Request" }).innerText();
      const sent = JSON.parse(await shell(again)) as {
        readonly payment: { readonly customer: { readonly name: string } };
      };
      assert.equal(sent.payment.customer.name, "ANA O'LIMA $(TOUCH NO)");
      await link.click();
      await heading(page, "Payment").waitFor();
    });
  });

  test("an amount that can mean two is not sent, and thousands of a currency without decimals are", async () => {
    await inConsole("#/new", async (page) => {
      const amount = page.getByLabel("Amount", { exact: true });
      const send = page.getByRole("button", { name: "Send payment" });
      await amount.fill("1.000");
      await send.click();
      await page
        .getByText("Write 1000 or 1.00: a point or comma before three digits can mean both.")
        .first()
        .waitFor();
      assert.equal(await amount.getAttribute("aria-invalid"), "true");
      assert.equal(await answer(page, "/ws/direct").count(), 0);
      await page.getByLabel("Country", { exact: true }).selectOption("cl");
      await amount.fill("50.000");
      await send.click();
      await page.locator(".made").getByText("50,000 CLP").waitFor();
    });
  });

  test("a lost answer is shown as one, and the query that follows finds the payment", async () => {
    const work = async (page: Page) => {
      const code = page.getByLabel("Code", { exact: true });
      for (const [kind, text] of [
        ["drop_after_commit", "The connection was cut: no answer arrived."],
        ["garbage_after_commit", "The answer does not say whether there is a payment."],
      ] as const) {
        await page.getByLabel("Kind of fault").selectOption(kind);
        const sent = await code.inputValue();
        await page.getByRole("button", { name: "Send payment" }).click();
        await page.locator(".lost-answer").getByText(text).waitFor();
        assert.equal(await code.inputValue(), sent, "the code is kept until the answer is known");
        await page.getByRole("button", { name: "Query by code" }).click();
        await page.locator(".made").getByText(sent).waitFor();
        assert.notEqual(await code.inputValue(), sent);
      }
      await page.getByLabel("Kind of fault").selectOption("late_answer");
      await page.getByLabel("Delay in milliseconds").fill("60000");
      await page.getByRole("button", { name: "Send payment" }).click();
      await page.getByRole("button", { name: "Stop waiting" }).click();
      await page.locator(".lost-answer").getByText("The page stopped waiting").waitFor();
      await page.getByLabel("Kind of fault").selectOption("decline");
      await page.getByLabel("Decline reason").selectOption("high_risk");
      await code.fill("lost-answers-end");
      await page.getByRole("button", { name: "Send payment" }).click();
      await page.locator(".made").getByText("high risk").waitFor();
      const { body } = await server().postJson("/__cofre/faults", {
        integration_key: integrationKey,
      });
      assert.doesNotMatch(JSON.stringify(body["faults"]), /order-|lost-/, "they are removed");
    };
    // The browser itself reports what the faults do.
    await inConsole("#/new", work, {}, /ERR_EMPTY_RESPONSE|status of 502/);
  });

  test("a refusal is shown at its field, and a stored card is charged again", async () => {
    await inConsole("#/new", async (page) => {
      const email = page.getByLabel("E-mail");
      await email.fill("nobody");
      await page.getByRole("button", { name: "Send payment" }).click();
      const why = page.locator("#new-email-refusal");
      await why.getByText("Field payment.email is invalid").waitFor();
      assert.equal(await focused(page), "email");
      assert.equal(await email.getAttribute("aria-invalid"), "true");
      assert.equal(
        await why.getByRole("link", { name: "BP-DR-17" }).getAttribute("href"),
        "/docs/errors#BP-DR-17",
      );
      await email.fill("ana@example.com");
      await why.waitFor({ state: "detached" });
      await page.getByLabel("Pay with").selectOption("store");
      await page.getByLabel("Capture").selectOption("later");
      await page.getByRole("button", { name: "Send payment" }).click();
      await page.locator(".made").getByText("Authorized").waitFor();
      const command = await page.getByRole("region", { name: "Request" }).innerText();
      assert.match(await shell(command), /"capture_available":true/);
      await page.getByLabel("Code", { exact: true }).fill("charged-again");
      await page.getByLabel("Pay with").selectOption("token");
      await page.getByLabel("Card stored here").selectOption("visa •••• 1111");
      await page.getByLabel("Country").selectOption("pe");
      await page.getByLabel("Amount").fill("1.234,50");
      await page.getByRole("button", { name: "Send payment" }).click();
      await page.locator(".made").getByText("1,234.50 PEN").waitFor();
      await page.getByRole("button", { name: "JSON" }).click();
      const request = await page.getByRole("region", { name: "Request" }).innerText();
      assert.match(request, /"token": "[0-9a-f]{128}"/);
    });
  });

  test("the form is filled in from another payment", async () => {
    const { hash } = await made({
      name: "João Cão",
      country: "pe",
      currency_code: "PEN",
      amount_total: "87.50",
      order_number: "order 7",
      creditcard: {
        card_number: "5555555555554444",
        card_name: "J",
        card_due_date: "12/2060",
        card_cvv: "123",
        auto_capture: false,
      },
    });
    await inConsole(`#/new?from=${hash}`, async (page) => {
      await page.getByLabel("Name", { exact: true }).waitFor();
      const valueOf = (name: string) => page.locator(`[name="${name}"]`).inputValue();
      const names = ["name", "country", "currency_code", "amount_total", "order_number", "card"];
      assert.deepEqual(await Promise.all([...names, "capture"].map(valueOf)), [
        "João Cão",
        "pe",
        "PEN",
        "87.50",
        "order 7",
        "5555555555554444",
        "later",
      ]);
    });
  });

  test("test cards are searched and paid with, in Portuguese on a telephone", async () => {
    await inConsole(
      "#/cards",
      async (page) => {
        await page.evaluate("sessionStorage.setItem('cofre.language', 'pt-BR')");
        await page.reload();
        await heading(page, "Cartões de teste").waitFor();
        await figures(page, "cards-pt-telephone");
        await page.getByRole("searchbox").fill("saldo insuficiente 6285");
        await page.getByRole("link", { name: "Pagar com este cartão: 6285" }).click();
        await heading(page, "Novo pagamento").waitFor();
        assert.ok(!page.url().includes("4716909774636285"));
        await page.getByLabel("Valor").fill("50,00");
        await figures(page, "new-pt-telephone");
        await page.getByRole("button", { name: "Enviar pagamento" }).click();
        await page.locator(".made").getByText("Recusado").waitFor();
        assert.match(await page.locator(".made").innerText(), /50,00 BRL/);
        await figures(page, "answer-pt-telephone");
      },
      { viewport: { width: 390, height: 844 }, bypassCSP: true },
    );
  });
}
