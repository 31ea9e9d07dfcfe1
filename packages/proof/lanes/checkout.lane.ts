import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import { listen } from "../../server/test/browser/listen.ts";
import { violations } from "../../server/test/browser/violations.ts";
import { integrationKey, startTestServer, type TestServer } from "../../server/test/server.ts";

const noBrowser =
  chromiumFile === undefined
    ? "there is no Chromium: apt-get install chromium, or name one in COFRE_CHROMIUM"
    : false;

type Fields = Readonly<Record<string, unknown>>;

const card = { number: "4111111111111111", expiry: "1239", code: "123", name: "Ana Lima" };
const declined = { ...card, number: "4716909774636285" };

describe("the hosted page in a real browser", { skip: noBrowser }, () => {
  let server: TestServer;
  let shop: Server;
  let shopUrl = "";
  let browser: Browser;
  let made = 0;
  const parts = new AsyncDisposableStack();
  before(async () => {
    server = parts.use(
      await startTestServer({ environment: { COFRE_ACQUIRER_TIMEOUT_MS: "1000" } }),
    );
    shop = createServer((_, response) =>
      response.writeHead(200, { "Content-Type": "text/html" }).end("<title>Shop</title>Thank you"),
    );
    await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
    parts.defer(() => {
      shop.closeAllConnections();
      shop.close();
    });
    shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/back`;
    browser = parts.use(await startChromium());
  });
  after(() => parts.disposeAsync());

  interface Opened {
    readonly url: string;
    readonly code: string;
  }

  async function open(changes: Fields = {}): Promise<Opened> {
    const code = `checkout-${(made += 1)}`;
    const { body } = await server.postJson("/ws/request", {
      integration_key: integrationKey,
      currency_code: "PEN",
      amount: "100.00",
      merchant_payment_code: code,
      name: "Ana Lima",
      email: "ana.lima@example.com",
      payment_type_code: "_all",
      country: "pe",
      phone_number: "51987654321",
      redirect_url: shopUrl,
      ...changes,
    });
    return { url: String(body["redirect_url"]), code };
  }

  async function statusOf({ code }: Opened): Promise<unknown> {
    const { body } = await server.postJson("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    return (body["payment"] as Fields)["status"];
  }

  async function within(
    { url }: Opened,
    work: (page: Page, errors: readonly string[]) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    const context = await browser.newContext(options);
    try {
      const page = await context.newPage();
      const { errors } = listen(page);
      await page.goto(url);
      await page.locator("h1").waitFor();
      await work(page, errors);
    } finally {
      await context.close();
    }
  }

  const type = async (page: Page, values: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(values)) {
      await page.locator(`#${name}`).fill("");
      await page.locator(`#${name}`).pressSequentially(text);
    }
  };
  const pay = (page: Page) => page.locator("form > button").click();
  const says = (page: Page, text: string) => page.locator(".status", { hasText: text }).waitFor();

  test("is paid by keyboard alone, and goes back to the shop", async () => {
    const opened = await open();
    await within(opened, async (page, errors) => {
      await page.locator("#number").focus();
      for (const text of [card.number, card.expiry, card.code, card.name]) {
        await page.keyboard.type(text);
        await page.keyboard.press(text === card.name ? "Enter" : "Tab");
      }
      await says(page, "Usted pagó.");
      assert.equal(await statusOf(opened), "CO");
      assert.deepEqual(errors, []);
      await page.waitForURL(/\/back\?hash=/);
      const back = new URL(page.url());
      assert.equal(back.searchParams.get("merchant_payment_code"), opened.code);
      await page.goBack();
      await says(page, "Usted pagó.");
      assert.equal(await page.locator("form").count(), 0, "it cannot be paid again");
    });
  });

  test("keeps all but the card after a decline, and takes another card", async () => {
    const opened = await open({ country: "br", currency_code: "BRL", phone_number: undefined });
    await within(opened, async (page) => {
      await type(page, {
        ...declined,
        document: "85351346893",
        phone_number: "8522847035",
        zipcode: "61919230",
        address: "Rua E",
        street_number: "1040",
        city: "Maracanaú",
        state: "CE",
      });
      await pay(page);
      await says(page, "O cartão foi recusado. Tente outro cartão.");
      assert.equal(await statusOf(opened), "OP");
      assert.equal(await page.locator("#number").inputValue(), "");
      assert.equal(await page.locator("#address").inputValue(), "Rua E");
      await type(page, { number: card.number, code: card.code });
      await pay(page);
      await says(page, "Você pagou.");
      assert.equal(await statusOf(opened), "CO");
    });
  });

  test("shows the mistakes beside their fields, and sends nothing", async () => {
    const opened = await open({ phone_number: undefined });
    await within(opened, async (page) => {
      const sent: string[] = [];
      page.on("request", (request) => sent.push(request.url()));
      await type(page, { ...card, number: "4111111111111112" });
      await pay(page);
      await page.locator("#number-error", { hasText: "Revise" }).waitFor();
      await page.locator("#phone_number-error", { hasText: "Complete este campo." }).waitFor();
      assert.deepEqual(sent, []);
      await type(page, { number: card.number, phone_number: "12" });
      await pay(page);
      await page.locator("#phone_number-error", { hasText: "Revise este campo." }).waitFor();
      await type(page, { phone_number: "51987654321" });
      await pay(page);
      await says(page, "Usted pagó.");
    });
  });

  test("in two tabs is paid once, and both show the truth", async () => {
    const opened = await open();
    await within(opened, async (first) => {
      const second = await first.context().newPage();
      await second.goto(opened.url);
      await type(first, card);
      await type(second, { ...card, number: "5555555555554444" });
      await Promise.all([pay(first), pay(second)]);
      await Promise.all([says(first, "Usted pagó."), says(second, "Usted pagó.")]);
      assert.equal(await statusOf(opened), "CO");
      const { body } = await server.postJson("/__cofre/explain", {
        integration_key: integrationKey,
        merchant_payment_code: opened.code,
      });
      const sent = JSON.stringify(body).match(/"authorization_sent"/g) ?? [];
      assert.equal(sent.length, 1);
    });
  });

  test("waits for an unknown outcome over a reload, and never offers to pay again", async () => {
    const opened = await open();
    await server.postJson("/__cofre/simulator", {
      integration_key: integrationKey,
      next: "lose_answer",
      message: "authorize",
    });
    await within(opened, async (page) => {
      await type(page, card);
      await pay(page);
      await says(page, "Aún no se conoce el resultado");
      assert.equal(await page.locator("form").count(), 0);
      await page.reload();
      await says(page, "Aún no se conoce el resultado");
      assert.equal(await page.locator("form").count(), 0);
      assert.equal(await statusOf(opened), "PE");
      server.clock.advance(3_600_000);
      // Recovery asks the acquirer, or reverses what it may hold: the page shows how it ended.
      await page.locator(".status", { hasText: /Usted pagó|rechazado|ya no recibe/ }).waitFor();
      assert.notEqual(await statusOf(opened), "PE");
    });
  });

  test("shows the outcome when it was offline while it paid", async () => {
    const opened = await open();
    await within(opened, async (page) => {
      await type(page, card);
      await page.route("**/checkout/pay", async (route) => {
        await route.fetch();
        await route.abort();
      });
      await pay(page);
      await says(page, "Usted pagó.");
      assert.equal(await statusOf(opened), "CO");
    });
  });

  test("asks for the outcome after an error that leaves it open", async () => {
    const opened = await open();
    await within(opened, async (page) => {
      await type(page, card);
      await page.route("**/checkout/pay", async (route) => {
        await route.fetch();
        await route.fulfill({ json: { status: "ERROR", status_code: "BP-DR-119", field: null } });
      });
      await pay(page);
      await says(page, "El servidor no respondió.");
      await says(page, "Usted pagó.");
    });
  });

  test("is in no frame of another page, and runs no foreign script", async () => {
    const opened = await open();
    await within(opened, async (page) => {
      const embedding = await page.context().newPage();
      const { errors } = listen(embedding);
      await embedding.goto(shopUrl);
      await embedding.evaluate(
        `document.body.append(Object.assign(document.createElement("iframe"), { src: ${JSON.stringify(opened.url)} }))`,
      );
      const deadline = Date.now() + 10_000;
      while (!errors.some((text) => text.includes("frame-ancestors")) && Date.now() < deadline)
        await embedding.waitForTimeout(50);
      assert.ok(
        errors.some((text) => text.includes("frame-ancestors")),
        errors.join("\n"),
      );
      await page
        .evaluate(
          "document.body.append(Object.assign(document.createElement('script'), { src: 'https://evil.example/skim.js' }))",
        )
        .then(
          () => assert.fail("Trusted Types refuse the address"),
          () => undefined,
        );
    });
  });

  test("offers the test cards of the sandbox", async () => {
    const opened = await open();
    await within(opened, async (page) => {
      await page.locator("summary").click();
      await page.locator("aside li button").first().click();
      assert.match(await page.locator("#number").inputValue(), /^\d{4} \d/);
      await pay(page);
      await says(page, "Usted pagó.");
    });
  });

  for (const [lang, text] of [
    ["en", "Payment to"],
    ["es", "Pago a"],
    ["pt-BR", "Pagamento para"],
  ] as const)
    test(`has no accessibility violation in ${lang}, in each state`, async () => {
      const opened = await open({ country: "br", currency_code: "BRL", phone_number: undefined });
      await within(
        { ...opened, url: `${opened.url}&lang=${lang}` },
        async (page) => {
          await page.getByRole("heading", { name: text }).waitFor();
          assert.deepEqual(await violations(page), []);
          await pay(page);
          await page.locator("#number-error:not(:empty)").waitFor();
          assert.deepEqual(await violations(page), []);
          assert.equal(
            await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
            true,
          );
        },
        { bypassCSP: true, viewport: { width: 320, height: 640 } },
      );
    });

  test("fits a phone, 400 %, dark and forced colours", async () => {
    for (const options of [
      { viewport: { width: 320, height: 256 } },
      { viewport: { width: 320, height: 640 }, forcedColors: "active" as const },
      { viewport: { width: 1280, height: 800 }, colorScheme: "dark" as const },
    ])
      await within(
        await open({ instalments: "1-12" }),
        async (page) => {
          assert.deepEqual(await violations(page), []);
          assert.equal(
            await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
            true,
          );
          await page.locator("#instalments").selectOption("3");
        },
        { bypassCSP: true, ...options },
      );
  });
});
