import assert from "node:assert/strict";
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
import { type AuthenticatingShop, startAuthenticatingShop } from "./support/three-d-secure-shop.ts";

const noBrowser =
  chromiumFile === undefined
    ? "there is no Chromium: apt-get install chromium, or name one in COFRE_CHROMIUM"
    : false;

type Values = Readonly<Record<string, string>>;

const cards = {
  challenge: "4000000000001091",
  mastercard: "5200000000001096",
  alwaysWrong: "4000000000001109",
  unavailable: "4000000000001117",
  silent: "4000000000001133",
  lost: "4000000000001141",
  forged: "4000000000001158",
} as const;

describe("3-D Secure of the browser library in a real browser", { skip: noBrowser }, () => {
  let server: TestServer;
  let shop: AuthenticatingShop;
  let browser: Browser;
  const parts = new AsyncDisposableStack();
  before(async () => {
    server = parts.use(await startTestServer());
    shop = parts.use(await startAuthenticatingShop(server.url, publicIntegrationKey));
    browser = parts.use(await startChromium());
  });
  after(() => parts.disposeAsync());

  interface Opened {
    readonly page: Page;
    readonly errors: readonly string[];
    readonly requests: readonly string[];
  }

  async function within(
    work: (opened: Opened) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    const context = await browser.newContext(options);
    try {
      const page = await context.newPage();
      const { errors, requests } = listen(page);
      await page.goto(shop.origin);
      await work({ page, errors, requests });
    } finally {
      await context.close();
    }
  }

  const pay = (page: Page, number: string, amount = "100.00") =>
    page.evaluate(`void pay("${number}", "${amount}")`);
  // The shop's policy does not allow the browser to evaluate a condition for the test.
  const outcomeOf = async (page: Page): Promise<Values> => {
    const text = await page.locator("body[data-outcome]").getAttribute("data-outcome");
    return JSON.parse(text ?? "") as Values;
  };
  const bank = (page: Page) => page.frameLocator("iframe").frameLocator("iframe");
  const challenge = (page: Page) => page.frameLocator("iframe");
  /** Enters a code at the bank. */
  const enter = async (page: Page, code: string) => {
    await bank(page).getByLabel("Code").fill(code);
    await bank(page).getByRole("button", { name: "Confirm" }).click();
  };
  /** The frame that shows a path of Cofre. */
  const frameAt = async (page: Page, path: string): Promise<Frame> => {
    const found = () => page.frames().find((each) => each.url().startsWith(server.url + path));
    for (let frame = found(), tries = 0; tries < 200; tries += 1, frame = found()) {
      if (frame !== undefined) return frame;
      await page.waitForTimeout(25);
    }
    throw new Error(`no frame shows ${path}`);
  };

  let orders = 0;
  /** Charges the card with the values, as the shop's server does. */
  async function charge(number: string, values: Values, amount = "100.00"): Promise<Values> {
    orders += 1;
    const { body } = await server.postJson(
      "/ws/direct",
      directBody(`threeds-${orders}`, {
        amount_total: amount,
        creditcard: {
          card_number: number,
          card_name: "Ana Lima",
          card_due_date: "12/2030",
          card_cvv: "123",
          ...values,
        },
      }),
    );
    return body["payment"] as Values;
  }

  for (const [what, number, eci] of [
    ["frictionless", "4000000000001000", "05"],
    ["attempted", "4000000000001026", "06"],
    ["informational", "4000000000001166", "07"],
  ] as const) {
    test(`${what}: values without a challenge, which pay`, async () => {
      await within(async ({ page, errors }) => {
        await pay(page, number);
        const values = await outcomeOf(page);
        assert.equal(values["threeds_eci"], eci);
        assert.equal((await charge(number, values))["status"], "CO");
        assert.equal(await page.locator("dialog").count(), 0);
        assert.deepEqual(errors, []);
      });
    });
  }

  for (const [what, number] of [
    ["refused", "4000000000001018"],
    ["unavailable", "4000000000001034"],
    ["rejected", "4000000000001042"],
    ["directory server silent", "4000000000001075"],
  ] as const) {
    test(`${what}: no values`, async () => {
      await within(async ({ page }) => {
        await pay(page, number);
        assert.deepEqual(await outcomeOf(page), { error: "AUTHENTICATION_FAILED" });
      });
    });
  }

  for (const [number, eci] of [
    [cards.challenge, "05"],
    [cards.mastercard, "02"],
  ] as const) {
    test(`challenge with the right code: ECI ${eci}, under a policy of the shop that names one origin`, async () => {
      await within(async ({ page, errors, requests }) => {
        await pay(page, number);
        await enter(page, "1234");
        const values = await outcomeOf(page);
        assert.equal(values["threeds_eci"], eci);
        assert.equal((await charge(number, values))["status"], "CO");
        assert.equal(await page.locator("dialog").count(), 0);
        assert.deepEqual(errors, []);
        for (const address of requests) assert.doesNotMatch(address, /\d{13,}/);
        assert.doesNotMatch(JSON.stringify(await page.evaluate("heard")), /\d{6}/);
        assert.deepEqual(await page.evaluate("records"), ["SUCCESS"]);
      });
    });
  }

  test("challenge with wrong codes: the bank counts three, and there are no values", async () => {
    await within(async ({ page }) => {
      await pay(page, cards.challenge);
      for (const left of [2, 1]) {
        await enter(page, "0000");
        await bank(page).getByText(`Wrong code. Tries left: ${left}.`).waitFor();
      }
      await enter(page, "0000");
      assert.deepEqual(await outcomeOf(page), { error: "AUTHENTICATION_FAILED" });
    });
  });

  test("challenge with a wrong code, then the right one: values", async () => {
    await within(async ({ page }) => {
      await pay(page, cards.challenge);
      await enter(page, "0000");
      await bank(page).getByText("Tries left: 2.").waitFor();
      await enter(page, "1234");
      assert.equal((await outcomeOf(page))["threeds_eci"], "05");
    });
  });

  for (const where of ["the bank's page", "the frame"] as const) {
    test(`challenge cancelled in ${where}: no values, and the page reports an error`, async () => {
      await within(async ({ page }) => {
        await pay(page, cards.challenge);
        await bank(page).getByLabel("Code").waitFor();
        if (where === "the frame")
          await challenge(page).getByRole("button", { name: "Back to the shop" }).click();
        else await bank(page).getByRole("button", { name: "Cancel" }).click();
        assert.deepEqual(await outcomeOf(page), { error: "AUTHENTICATION_FAILED" });
        assert.deepEqual(await page.evaluate("records"), ["ERROR"]);
      });
    });
  }

  test("challenge that the bank cannot judge: no values", async () => {
    await within(async ({ page }) => {
      await pay(page, cards.unavailable);
      await enter(page, "1234");
      assert.deepEqual(await outcomeOf(page), { error: "AUTHENTICATION_FAILED" });
    });
  });

  for (const [what, number] of [
    ["whose page stays empty", cards.silent],
    ["whose result is lost", cards.lost],
    ["that only the browser says is passed", cards.forged],
  ] as const) {
    test(`challenge ${what}: no values, even after the right code, when the bank's time is over`, async () => {
      await within(async ({ page }) => {
        await pay(page, number);
        if (number === cards.silent) await frameAt(page, "/3ds/bank");
        else {
          await enter(page, "1234");
          await frameAt(page, "/3ds/notification");
        }
        assert.equal(await page.locator("body[data-outcome]").count(), 0, "it is still open");
        server.clock.advance(58_000);
        assert.deepEqual(await outcomeOf(page), { error: "AUTHENTICATION_FAILED" });
      });
    });
  }

  test("challenge that the customer abandons: the bank ends it, and a later code changes nothing", async () => {
    await within(async ({ page }) => {
      await pay(page, cards.challenge);
      const url = (await frameAt(page, "/3ds/bank")).url();
      await page.evaluate("document.querySelector('dialog').remove()");
      server.clock.advance(55_000);
      await page.goto(url.replace("/3ds/bank", "/3ds/state"));
      assert.match(await page.content(), /"status":"not_completed"/);
      const late = await fetch(url, {
        method: "POST",
        body: new URLSearchParams({ code: "1234" }),
      });
      assert.match(await late.text(), /name="cres"/, "the bank says that it is over");
      await page.reload();
      assert.match(await page.content(), /"status":"not_completed"/);
    });
  });

  test("a bank whose page is late: the challenge appears by itself, and is passed", async () => {
    await within(async ({ page }) => {
      await server.postJson("/__cofre/faults", {
        integration_key: integrationKey,
        add: { kind: "bank_late", delay_ms: 1_000 },
      });
      await pay(page, "4111111111111111");
      await enter(page, "1234");
      assert.equal((await outcomeOf(page))["threeds_eci"], "05");
    });
  });

  test("forged messages and results of the shop's page change nothing", async () => {
    await within(async ({ page }) => {
      await pay(page, cards.challenge);
      const frame = await frameAt(page, "/3ds/challenge");
      const query = new URL(frame.url()).search;
      await bank(page).getByLabel("Code").waitFor();
      await page.evaluate(`(() => {
        const frame = document.querySelector("iframe").contentWindow;
        for (const message of [{ type: "cofre:cres" }, { type: "cofre:3ds", status: "Y" }]) {
          frame.postMessage(message, "*");
          postMessage(message, "*");
        }
      })()`);
      const cres = Buffer.from(JSON.stringify({ messageType: "CRes", transStatus: "Y" })).toString(
        "base64url",
      );
      await fetch(`${server.url}/3ds/notification${query}`, {
        method: "POST",
        body: new URLSearchParams({ cres }),
      });
      assert.equal((await server.get(`/3ds/state${query}`)).body["status"], "C");
      assert.equal(await page.locator("body[data-outcome]").count(), 0);
      await enter(page, "1234");
      assert.equal((await outcomeOf(page))["threeds_eci"], "05", "control");
    });
  });

  test("a page that asks for the result too early gets none, and the challenge continues", async () => {
    await within(async ({ page }) => {
      await pay(page, cards.challenge);
      await bank(page).getByLabel("Code").waitFor();
      const early = await page.evaluate<{ readonly data: readonly [Values] }>(
        `ask("authentication-results", { ...lastOrder, publicIntegrationKey: key, tokenChallenge: "x.y.z" })`,
      );
      assert.equal(early.data[0]["status"], "PENDING_AUTHENTICATION");
      await enter(page, "1234");
      assert.equal((await outcomeOf(page))["threeds_eci"], "05");
    });
  });

  test("reload and Back in the middle of a challenge: the next payment has a challenge of its own", async () => {
    await within(async ({ page }) => {
      await pay(page, cards.challenge);
      const first = await frameAt(page, "/3ds/challenge");
      const query = new URL(first.url()).search;
      await bank(page).getByLabel("Code").waitFor();
      await page.reload();
      await pay(page, cards.challenge);
      await enter(page, "1234");
      assert.equal((await outcomeOf(page))["threeds_eci"], "05");
      assert.equal((await server.get(`/3ds/state${query}`)).body["status"], "C", "not this one");

      await page.goto(`${shop.origin}/?other`);
      await pay(page, cards.challenge);
      await bank(page).getByLabel("Code").waitFor();
      await page.goBack();
      await page.goForward();
      await pay(page, cards.challenge);
      await enter(page, "1234");
      assert.equal((await outcomeOf(page))["threeds_eci"], "05");
    });
  });

  test("two tabs: each has its own challenge and its own end", async () => {
    await within(async ({ page }) => {
      const other = await page.context().newPage();
      await other.goto(shop.origin);
      await pay(page, cards.challenge);
      await pay(other, cards.challenge);
      await bank(page).getByLabel("Code").waitFor();
      await enter(other, "1234");
      assert.equal((await outcomeOf(other))["threeds_eci"], "05");
      await bank(page).getByRole("button", { name: "Cancel" }).click();
      assert.deepEqual(await outcomeOf(page), { error: "AUTHENTICATION_FAILED" });
    });
  });

  test("five seconds without network: the challenge continues afterwards", async () => {
    await within(async ({ page }) => {
      await pay(page, cards.challenge);
      await bank(page).getByLabel("Code").fill("1234");
      await page.context().setOffline(true);
      await page.waitForTimeout(5_000);
      await page.context().setOffline(false);
      await bank(page).getByRole("button", { name: "Confirm" }).click();
      assert.equal((await outcomeOf(page))["threeds_eci"], "05");
    });
  });

  test("the frame is not shown in a page that the account does not allow", async () => {
    const settings = (fieldOrigins: string) =>
      server.postJson("/__cofre/settings", {
        integration_key: integrationKey,
        settings: { fieldOrigins },
      });
    await settings("https://shop.example");
    try {
      await within(async ({ page, errors }) => {
        await page.clock.install();
        await page.reload();
        await pay(page, cards.challenge);
        for (let tries = 0; errors.length === 0 && tries < 200; tries += 1)
          await page.waitForTimeout(25);
        assert.match(errors.join("\n"), /frame-ancestors/);
        assert.equal(await bank(page).getByLabel("Code").count(), 0);
        // The page of the shop is not left with a dialog that nothing closes.
        await page.clock.fastForward(15_000);
        assert.deepEqual(await outcomeOf(page), { error: "PENDING_AUTHENTICATION" });
        assert.equal(await page.locator("dialog").count(), 0);
      });
    } finally {
      await settings(shop.origin);
    }
  });

  for (const [lang, title, label] of [
    ["en", "Confirmation by your bank", "Code"],
    ["es", "Confirmación de su banco", "Código"],
    ["pt-BR", "Confirmação do seu banco", "Código"],
  ] as const) {
    test(`the challenge has no accessibility violation in ${lang}, and works by keyboard`, async () => {
      await within(
        async ({ page }) => {
          await page.evaluate(`document.documentElement.lang = "${lang}"`);
          await pay(page, cards.challenge);
          await bank(page).getByLabel(label).waitFor();
          assert.equal(await page.locator("iframe").getAttribute("title"), title);
          // axe looks into frames by messages, which these pages do not answer: it runs inside.
          for (const path of ["/3ds/challenge", "/3ds/bank"])
            assert.deepEqual(
              await violations((await frameAt(page, path)) as unknown as Page),
              [],
              path,
            );
          const isAt = (id: string) =>
            frameAt(page, "/3ds/bank").then((frame) =>
              frame.evaluate<boolean>(`document.activeElement?.id === "${id}"`),
            );
          for (let presses = 0; !(await isAt("code")) && presses < 6; presses += 1)
            await page.keyboard.press("Tab");
          await page.keyboard.type("0000");
          await page.keyboard.press("Enter");
          await bank(page).getByRole("alert").filter({ hasText: "2" }).waitFor();
          const wrong = (await frameAt(page, "/3ds/bank")) as unknown as Page;
          assert.deepEqual(await violations(wrong), []);
          await bank(page).getByLabel(label).focus();
          await page.keyboard.type("1234");
          await page.keyboard.press("Enter");
          assert.equal((await outcomeOf(page))["threeds_eci"], "05");
        },
        { bypassCSP: true },
      );
    });
  }

  test("the challenge fits a page at 400 %, in forced colours and in the dark, without anything cut off", async () => {
    for (const options of [
      { viewport: { width: 320, height: 256 } },
      // The smallest window of EMV 3-D Secure (challengeWindowSize 01).
      { viewport: { width: 250, height: 400 } },
      { viewport: { width: 320, height: 640 }, forcedColors: "active" as const },
      { viewport: { width: 1280, height: 800 }, colorScheme: "dark" as const },
    ]) {
      await within(async ({ page }) => {
        await pay(page, cards.challenge);
        await bank(page).getByLabel("Code").waitFor();
        for (const path of ["/3ds/challenge", "/3ds/bank"]) {
          const frame = await frameAt(page, path);
          const wide = await frame.evaluate("document.documentElement.scrollWidth - innerWidth");
          assert.equal(wide, 0, path);
        }
        await bank(page).getByRole("button", { name: "Cancel" }).scrollIntoViewIfNeeded();
        await bank(page).getByRole("button", { name: "Cancel" }).click();
        await outcomeOf(page);
      }, options);
    }
  });
});
