import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContextOptions, Frame, Page } from "playwright-core";
import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import { listen } from "../../server/test/browser/listen.ts";
import { violations } from "../../server/test/browser/violations.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  type TestServer,
} from "../../server/test/server.ts";

const noBrowser =
  chromiumFile === undefined
    ? "there is no Chromium: apt-get install chromium, or name one in COFRE_CHROMIUM"
    : false;

const numbers = {
  visa: "4111111111111111",
  mastercard: "5555555555554444",
  amex: "378282246310005",
} as const;

type Answer = Readonly<Record<string, unknown>>;

/** Pages of shops, each on an origin of its own, with the script that a test gives it. */
class Shop implements AsyncDisposable {
  readonly #server: Server;
  #script = "";
  #headers: Readonly<Record<string, string>> = {};

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      const isPage = request.url === "/";
      response
        .writeHead(isPage ? 200 : 204, { "Content-Type": "text/html", ...this.#headers })
        .end(isPage ? this.#script : "");
    });
  }

  static async open(): Promise<Shop> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Shop(server);
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What `/` answers from now on. */
  serve(cofre: string, script: string, policy = ""): void {
    this.#headers = policy === "" ? {} : { "Content-Security-Policy": policy };
    this.#script = `<!doctype html><html lang="en"><title>Shop</title><body><div id="card"></div><div id="other"></div>
<script nonce="page" src="${cofre}/cofre.js"></script><script nonce="page">${script}</script></body></html>`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Mounts the fields as `card`, and keeps all messages that the page gets in `received`. */
function mounting(options: Readonly<Record<string, unknown>> = {}): string {
  const given = JSON.stringify({
    key: publicIntegrationKey,
    lang: "en",
    country: "br",
    ...options,
  });
  return `const received = [];
addEventListener("message", ({ data }) => received.push(data), true);
const card = Cofre.fields("#card", ${given});
for (const type of ["ready", "change", "submit"]) card.on(type, (message) => received.push({ type, ...message }));
const tried = (work) => work.then((answer) => answer, (error) => ({ name: error.name, ...error }));`;
}

describe("card fields in a real browser", { skip: noBrowser }, () => {
  let server: TestServer;
  let shop: Shop;
  let browser: Browser;
  const parts = new AsyncDisposableStack();
  before(async () => {
    server = parts.use(await startTestServer());
    shop = parts.use(await Shop.open());
    browser = parts.use(await startChromium());
  });
  after(() => parts.disposeAsync());

  interface Opened {
    readonly page: Page;
    readonly frame: Frame;
    readonly errors: readonly string[];
    readonly requests: readonly string[];
  }

  /** Opens the shop's page and waits for its fields. */
  async function within(
    script: string,
    work: (opened: Opened) => Promise<void>,
    { policy = "", ...options }: BrowserContextOptions & { readonly policy?: string } = {},
  ): Promise<void> {
    shop.serve(server.url, script, policy);
    const context = await browser.newContext(options);
    try {
      const page = await context.newPage();
      const { errors, requests } = listen(page);
      await page.goto(shop.origin);
      await page.waitForFunction("received.some(({ type }) => type === 'ready')");
      const frame = page.frames().find((each) => each.url().startsWith(`${server.url}/fields/`));
      assert.ok(frame !== undefined);
      await work({ page, frame, errors, requests });
    } finally {
      await context.close();
    }
  }

  const fill = async (frame: Frame, number: string, code = "123"): Promise<void> => {
    const typed = { number, expiry: "1230", code, name: "Ana Lima" };
    for (const [name, text] of Object.entries(typed))
      await frame.locator(`#${name}`).pressSequentially(text);
  };
  const ask = (page: Page, call: string): Promise<Answer> => page.evaluate(`tried(${call})`);
  const valueOf = (frame: Frame, name: string) => frame.locator(`#${name}`).inputValue();

  test("give the shop a token that pays once with its security code, and no digits", async () => {
    await within(mounting(), async ({ page, frame, errors, requests }) => {
      await fill(frame, numbers.visa);
      const { token, brand, masked, ...rest } = await ask(page, "card.tokenize()");
      assert.deepEqual([brand, masked, rest], ["visa", "411111xxxxxx1111", {}]);
      assert.deepEqual([await valueOf(frame, "number"), await valueOf(frame, "code")], ["", ""]);

      const received = JSON.stringify(await page.evaluate("received"));
      assert.doesNotMatch(received, /\d{4}/, "no message before the token has digits");
      assert.deepEqual(errors, []);
      for (const address of requests) assert.doesNotMatch(address, /4111/);
      const kept = await frame.evaluate(
        "[document.cookie, localStorage.length, sessionStorage.length]",
      );
      assert.deepEqual(kept, ["", 0, 0]);

      const creditcard = { token: String(token) };
      const { body } = await server.postJson("/ws/direct", directBody("fields-1", { creditcard }));
      assert.equal((body["payment"] as Answer | undefined)?.["status"], "CO", JSON.stringify(body));
    });
  });

  test("format what is typed, pasted, filled in and deleted, with the caret in its place", async () => {
    await within(mounting(), async ({ page, frame }) => {
      const [number, expiry] = [frame.locator("#number"), frame.locator("#expiry")];
      await number.pressSequentially(numbers.amex);
      assert.equal(await number.inputValue(), "3782 822463 10005");
      assert.equal(await frame.locator("#code").getAttribute("maxlength"), "4");

      await number.press("Control+a");
      await page.keyboard.insertText("5555-5555 5555/4444");
      assert.equal(await number.inputValue(), "5555 5555 5555 4444");

      // A digit is put in behind the second: the caret stays behind it.
      await number.press("Home");
      for (const key of ["ArrowRight", "ArrowRight", "Delete", "4"]) await page.keyboard.press(key);
      assert.equal(await number.inputValue(), "5545 5555 5555 4444");
      assert.equal(await frame.evaluate("document.getElementById('number').selectionStart"), 3);

      await expiry.pressSequentially("430");
      assert.equal(await expiry.inputValue(), "04/30");
      for (let deleted = 0; deleted < 3; deleted += 1) await expiry.press("Backspace");
      assert.equal(await expiry.inputValue(), "04", "what was deleted does not come back");

      // A password manager sets the value and sends only a change event.
      await frame.evaluate(
        "const input = document.getElementById('expiry'); input.value = '12/2031'; input.dispatchEvent(new Event('change'));",
      );
      assert.equal(await expiry.inputValue(), "12/2031");
    });
  });

  test("name each mistake, go to the first, and take the name away when it is corrected", async () => {
    await within(mounting(), async ({ page, frame }) => {
      const error = (name: string) => frame.locator(`#${name}-error`).textContent();
      await frame.locator("#number").pressSequentially("4111");
      assert.equal(await error("number"), "", "not while it is typed");
      await page.keyboard.press("Tab");
      assert.equal(await error("number"), "Check the card number.");

      const { code, field } = await ask(page, "card.tokenize()");
      assert.deepEqual([code, field], ["number_invalid", "number"]);
      assert.equal(await error("name"), "Enter the name on the card.");
      assert.equal(await frame.evaluate("document.activeElement.id"), "number");

      await frame.locator("#number").fill(numbers.visa);
      assert.equal(await error("number"), "");
      assert.equal(await frame.locator("#number").getAttribute("aria-invalid"), "false");
    });
  });

  test("say what the server said, and can be tried again", async () => {
    await within(mounting(), async ({ page, frame }) => {
      const settings = { publicFailuresPerTenMinutes: 0, publicRequestsPerMinute: 1 };
      const key = integrationKey;
      await server.postJson("/__cofre/settings", { integration_key: key, settings });
      await fill(frame, numbers.visa);
      const first = await ask(page, "card.tokenize()");
      assert.equal((first["securityCode"] as Answer)["code"], "COFRE-178", "stored, without code");
      await frame.locator("#number").pressSequentially(numbers.mastercard);
      await frame.locator("#code").pressSequentially("123");
      const limited = await ask(page, "card.tokenize()");
      assert.deepEqual([limited["code"], limited["retryAfterSeconds"]], ["COFRE-178", 60]);
      assert.equal(await valueOf(frame, "number"), "5555 5555 5555 4444", "nothing is lost");
      await server.postJson("/__cofre/settings", {
        integration_key: key,
        settings: { publicRequestsPerMinute: 0 },
      });

      await page.context().setOffline(true);
      const offline = await ask(page, "card.tokenize()");
      assert.equal(offline["code"], "no_answer");
      await page.context().setOffline(false);
      const [one, other] = await page.evaluate<readonly [Answer, Answer]>(
        "Promise.all([tried(card.tokenize()), tried(card.tokenize())])",
      );
      assert.equal(one["brand"], "mastercard");
      assert.equal(other["code"], "busy", "one card is stored once");
    });
  });

  test("work in the page of the documentation", async () => {
    const docs = readFileSync(new URL("../../../docs/checkout.md", import.meta.url), "utf8");
    const html = /```html\n([^]*?)```/.exec(docs)?.[1] ?? "";
    const orders: string[] = [];
    const documented = createServer((request, response) => {
      if (request.method === "POST") request.on("data", (part) => orders.push(String(part)));
      response.writeHead(200, { "Content-Type": "text/html" });
      response.end(
        html
          .replace("http://127.0.0.1:8787", server.url)
          .replace("test_pk_demo", publicIntegrationKey),
      );
    });
    await new Promise<void>((resolve) => documented.listen(0, "127.0.0.1", resolve));
    const page = await browser.newPage();
    try {
      await page.goto(`http://127.0.0.1:${(documented.address() as AddressInfo).port}`);
      const fields = page.frameLocator("iframe");
      await page.getByRole("button", { name: "Pay" }).click();
      await page.getByRole("alert").filter({ hasText: "Enter the card number." }).waitFor();
      await fields.getByLabel("Card number").pressSequentially(numbers.visa);
      await fields.getByLabel("Expiry date").pressSequentially("1230");
      await fields.getByLabel("Security code").pressSequentially("123");
      await fields.getByLabel("Name on the card").pressSequentially("Ana Lima");
      const ordered = page.waitForResponse((response) => response.url().endsWith("/orders"));
      await fields.getByLabel("Name on the card").press("Enter");
      await ordered;
      const { token } = JSON.parse(orders.join("")) as { readonly token: string };
      const { body } = await server.postJson(
        "/ws/direct",
        directBody("documented-1", { creditcard: { token } }),
      );
      assert.equal((body["payment"] as Answer | undefined)?.["status"], "CO", JSON.stringify(body));
    } finally {
      await page.close();
      documented.closeAllConnections();
      await new Promise((resolve) => documented.close(resolve));
    }
  });

  test("ask for the security code of a stored card only", async () => {
    const { body } = await server.postJson("/ws/token", {
      integration_key: integrationKey,
      country: "br",
      creditcard: {
        card_number: numbers.visa,
        card_name: "Ana",
        card_due_date: "12/2030",
        card_cvv: "123",
      },
    });
    await within(mounting({ only: "code" }), async ({ page, frame }) => {
      assert.equal(await frame.locator("input").count(), 1);
      await frame.locator("#code").pressSequentially("123");
      const { masked } = await ask(page, `card.setCode(${JSON.stringify(body["token"])})`);
      assert.equal(masked, "411111xxxxxx1111");
      await frame.locator("#code").pressSequentially("123");
      assert.equal((await ask(page, "card.setCode('unknown')"))["code"], "BP-DR-64");
    });
  });

  test("of two in a page get none of each other's messages, and a frame that is loaded again fails its requests", async () => {
    const second = `const second = Cofre.fields("#other", { key: "${publicIntegrationKey}" }); let secondReady = 0; second.on("ready", () => (secondReady += 1)); second.on("change", ({ brand }) => received.push({ type: "second", brand }));`;
    await within(`${mounting()}${second}`, async ({ page, frame }) => {
      await page.waitForFunction("secondReady === 1");
      await fill(frame, numbers.visa);
      const received = await page.evaluate<readonly Answer[]>("received");
      assert.ok(received.every(({ type, brand }) => type !== "second" || brand === ""));
      assert.equal((await ask(page, "second.tokenize()"))["code"], "number_required");
      assert.equal((await ask(page, "card.tokenize()"))["brand"], "visa");

      const waiting = ask(page, "card.tokenize()").then(({ code }) => code);
      await frame.evaluate("location.reload()").catch(() => undefined);
      assert.ok(["reloaded", "number_required"].includes(String(await waiting)));
      await page.waitForFunction("received.filter(({ type }) => type === 'ready').length === 2");
    });
  });

  describe("in the page of a hostile shop", () => {
    test("cannot be read or driven by its scripts", async () => {
      await within(mounting(), async ({ page, frame }) => {
        await fill(frame, numbers.visa);
        const reached = await page.evaluate(`(() => {
          const frame = document.querySelector("iframe");
          const stolen = [];
          const attempt = (name, work) => { try { if (work()) stolen.push(name); } catch {} };
          attempt("document", () => frame.contentDocument);
          attempt("inner document", () => frame.contentWindow.document.body.innerHTML);
          attempt("location", () => frame.contentWindow.location.href);
          attempt("eval", () => frame.contentWindow.eval("1"));
          // The port was given: no other one is taken, whatever the message says.
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = ({ data }) => received.push({ type: "stolen", data });
          frame.contentWindow.postMessage({ type: "cofre:port" }, "*", [port2]);
          frame.contentWindow.postMessage({ type: "tokenize", id: 1 }, "*");
          port1.postMessage({ type: "tokenize", id: 7 });
          return stolen;
        })()`);
        assert.deepEqual(reached, []);
        assert.equal(
          (await ask(page, "card.tokenize()"))["brand"],
          "visa",
          "control: the fields work",
        );
        const received = JSON.stringify(await page.evaluate("received"));
        assert.doesNotMatch(received, /stolen|\d{4}/);
      });
    });

    test("take a theme for what it is: a colour, sizes and a scheme", async () => {
      const hostile = "red;background:url(https://evil.example/x)";
      const theme = {
        accent: hostile,
        radius: hostile,
        fontSize: 900,
        scheme: hostile,
        css: "*{}",
      };
      await within(mounting({ theme }), async ({ frame, requests }) => {
        const style = await frame.evaluate("document.documentElement.getAttribute('style')");
        assert.equal(style ?? "", "");
        assert.ok(requests.every((address) => !address.includes("evil")));
      });
      const plain = { accent: "#aa0000", radius: 12, fontSize: 18, scheme: "dark" };
      await within(mounting({ theme: plain }), async ({ page, frame }) => {
        await page.waitForTimeout(100);
        const style = String(
          await frame.evaluate("document.documentElement.getAttribute('style')"),
        );
        for (const value of ["#aa0000", "12px", "18px", "dark"])
          assert.ok(style.includes(value), style);
      });
    });

    test("are not shown on an origin that the account does not allow, which gets no message", async () => {
      await using other = await Shop.open();
      const settings = { fieldOrigins: shop.origin };
      await server.postJson("/__cofre/settings", { integration_key: integrationKey, settings });
      try {
        await within(mounting(), async ({ frame }) => {
          assert.equal(
            await frame.locator("input").count(),
            4,
            "control: the allowed one is shown",
          );
        });
        // It names the allowed origin, as an attacker would.
        const lying = `const received = []; addEventListener("message", ({ data }) => received.push(data));
const frame = document.createElement("iframe");
frame.src = "${server.url}/fields/?key=${publicIntegrationKey}&origin=${encodeURIComponent(shop.origin)}";
frame.onload = () => { window.loaded = true; }; document.body.append(frame);`;
        other.serve(server.url, lying);
        const page = await browser.newPage();
        const { errors } = listen(page);
        await page.goto(other.origin);
        await page.waitForFunction("window.loaded === true");
        assert.deepEqual(await page.evaluate("received"), []);
        assert.ok(
          errors.some((text) => text.includes("frame-ancestors")),
          errors.join("\n"),
        );
        await page.close();
      } finally {
        await server.postJson("/__cofre/settings", {
          integration_key: integrationKey,
          settings: { fieldOrigins: "" },
        });
      }
    });

    test("work under a strict policy of the shop's page, which names one origin", async () => {
      const policy = `default-src 'none'; script-src 'nonce-page' ${server.url}; frame-src ${server.url}`;
      await within(
        mounting(),
        async ({ page, frame, errors }) => {
          await fill(frame, numbers.visa);
          assert.equal((await ask(page, "card.tokenize()"))["brand"], "visa");
          assert.deepEqual(errors, []);
        },
        { policy },
      );
    });
  });

  test("report what their policy refuses", async () => {
    await within(mounting(), async ({ page, frame }) => {
      await frame
        .evaluate(
          "const script = document.createElement('script'); script.setAttribute('src', 'https://evil.example/skim.js'); document.head.append(script);",
        )
        .catch(() => undefined);
      await frame.evaluate("void fetch('https://evil.example/').catch(() => undefined)");
      const deadline = Date.now() + 10_000;
      const reported = () =>
        server.events.filter(
          (event) => event.event === "fields_changed" && event.blocked === "https://evil.example",
        );
      while (reported().length === 0 && Date.now() < deadline) await page.waitForTimeout(50);
      assert.notEqual(reported().length, 0);
    });
  });

  for (const [lang, title] of [
    ["en", "Card details"],
    ["es", "Datos de la tarjeta"],
    ["pt-BR", "Dados do cartão"],
  ] as const) {
    test(`have no accessibility violation in ${lang}, with mistakes and without, and work by keyboard`, async () => {
      await within(
        mounting({ lang }),
        async ({ page, frame }) => {
          assert.equal(await page.locator("iframe").getAttribute("title"), title);
          // axe looks into frames by messages, which the fields do not take: it runs inside.
          const inside = frame as unknown as Page;
          assert.deepEqual(await violations(inside), []);
          await ask(page, "card.tokenize()");
          assert.deepEqual(await violations(inside), []);

          await page.keyboard.press("Tab");
          await frame.locator("#number").focus();
          for (const text of [numbers.visa, "1230", "123", "Ana Lima"]) {
            await page.keyboard.type(text);
            await page.keyboard.press("Tab");
          }
          await frame.locator("#name").focus();
          await page.keyboard.press("Enter");
          await page.waitForFunction("received.some(({ type }) => type === 'submit')");
          assert.equal((await ask(page, "card.tokenize()"))["brand"], "visa");
        },
        { bypassCSP: true },
      );
    });
  }

  test("fit a page at 400 % and in forced colours, without anything cut off", async () => {
    for (const options of [
      { viewport: { width: 320, height: 256 } },
      { viewport: { width: 320, height: 640 }, forcedColors: "active" as const },
      { viewport: { width: 1280, height: 800 }, colorScheme: "dark" as const },
    ]) {
      await within(
        mounting(),
        async ({ page, frame }) => {
          await ask(page, "card.tokenize()");
          // The frame gets as high as its content.
          await frame.waitForFunction(
            "document.body.getBoundingClientRect().bottom <= innerHeight",
          );
          const wide = await frame.evaluate("document.documentElement.scrollWidth - innerWidth");
          assert.equal(wide, 0);
        },
        options,
      );
    }
  });
});
