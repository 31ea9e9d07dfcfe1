import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, BrowserContextOptions, Locator, Page, Request } from "playwright-core";
import { hostile, poisoned } from "../../../server/test/browser/hostile.ts";
import { listen } from "../../../server/test/browser/listen.ts";
import { startShop } from "../../../server/test/browser/shop.ts";
import { violations } from "../../../server/test/browser/violations.ts";
import { inContext, inPage } from "../../../server/test/browser/window.ts";
import { temporaryFolder } from "../../../server/test/command.ts";
import {
  type ConsoleUsers,
  type Role,
  type Signed,
  startWithUsers,
} from "../../../server/test/server-with-users.ts";
import { directBody, integrationKey, testCard } from "../../../server/test/server.ts";
import { until } from "../../../server/test/until.ts";
import { look } from "./console-views.ts";

/** What the lane provides for these tests. */
export interface LoginsGiven {
  readonly browser: () => Browser;
  /** Browser contexts: colour scheme, size and zoom. */
  readonly looks: Readonly<Record<string, BrowserContextOptions>>;
  readonly picture: (page: Page, name: string) => Promise<void>;
}

const minute = 60_000;

/** Tests of the same page with sign-in, on a separate server. */
export function loginTests({ browser, looks, picture }: LoginsGiven): void {
  let users: ConsoleUsers;
  let staff: Record<Role, Signed>;
  let codes = 0;

  before(async () => {
    users = await startWithUsers({ seed: "logins" });
  });
  after(() => users.server[Symbol.asyncDispose]());

  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { name, exact: true, level: 1 });
  const navigation = (page: Page) => page.getByRole("navigation", { name: "Console" });

  /** Checks at the end that there was no error and no request to another origin. */
  async function inWindow(
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    await inPage(browser(), users.server.url, work, options);
  }

  async function fillSignIn(
    page: Page,
    { name, password, secret }: Pick<Signed, "name" | "password" | "secret">,
  ): Promise<void> {
    users.server.clock.advance(30_000);
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill(password);
    await page.getByLabel("Code").fill(users.code(secret));
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  /** A window with a signed-in user of this role, at an address behind the `#`. */
  async function as(
    role: Role,
    address: string,
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    await inWindow(async (page) => {
      await page.goto(`${users.server.url}/${address}`);
      await heading(page, "Sign in").waitFor();
      await fillSignIn(page, staff[role]);
      await navigation(page).waitFor();
      await work(page);
    }, options);
  }

  async function held(): Promise<{ readonly code: string; readonly hash: string }> {
    users.server.clock.advance(1_000);
    const code = `logins-${(codes += 1)}`;
    const { body } = await users.server.postJson(
      "/ws/direct",
      directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
    );
    const { hash = "" } = (body["payment"] ?? {}) as { readonly hash?: string };
    return { code, hash };
  }

  test("the link of the first start makes an admin, and leaves the address at once", async () => {
    const invitation = users.server.cofre.consoleInvitation?.reveal() ?? "";
    const password = "a password for the very first";
    let secret = "";
    await inWindow(async (page) => {
      await page.goto(`${users.server.url}/#invite=${invitation}`);
      await heading(page, "Your invitation").waitFor();
      assert.ok(!page.url().includes(invitation));
      const shown = await page.locator("code.secret").innerText();
      assert.match(shown, /^(?:[A-Z2-7]{4} )+[A-Z2-7]{1,4}$/);
      secret = shown.replaceAll(" ", "");
      const uri = await page
        .getByRole("link", { name: "Open it in an authenticator app" })
        .getAttribute("href");
      assert.ok(uri?.startsWith("otpauth://totp/") === true && uri.includes(secret));
      await page.getByRole("img", { name: "The secret as a QR code" }).waitFor();
      assert.equal(await page.getByLabel("Name").inputValue(), "admin");
      const hints = await page.evaluate(
        "Array.from(document.querySelectorAll('input'), (input) => input.getAttribute('autocomplete'))",
      );
      assert.deepEqual(hints, ["username", "new-password", "one-time-code"]);
      await page.getByLabel("New password").fill(password);
      await page.getByLabel("Code from the app").fill("000000");
      await page.getByRole("button", { name: "Set the password and sign in" }).click();
      await page.getByRole("alert").filter({ hasText: "COFRE-116" }).waitFor();
      assert.equal(
        await page.getByLabel("Code from the app").inputValue(),
        "",
        "a code is good once",
      );
      await page.getByLabel("Code from the app").fill(users.code(secret));
      await page.getByRole("button", { name: "Set the password and sign in" }).click();
      await heading(page, "Payments").waitFor();
      await navigation(page).getByText("admin, admin").waitFor();
      const cookies = await page.context().cookies();
      assert.deepEqual(
        cookies.map(({ name, httpOnly, sameSite, expires }) => ({
          name,
          httpOnly,
          sameSite,
          expires,
        })),
        [
          { name: "cofre_session", httpOnly: true, sameSite: "Strict", expires: -1 },
          {
            name: "cofre_browser",
            httpOnly: true,
            sameSite: "Strict",
            expires: cookies[1]?.expires,
          },
        ],
      );
      assert.ok((cookies[1]?.expires ?? 0) > 0, "the browser is known when it is opened again");
      assert.equal(await page.evaluate("document.cookie"), "");
      assert.equal(await page.evaluate("sessionStorage.length + localStorage.length"), 0);
      await page.goBack().catch(() => undefined);
      assert.ok(!page.url().includes(invitation));
    });
    await inWindow(async (page) => {
      await page.goto(`${users.server.url}/#invite=${invitation}`);
      await page.getByRole("alert").filter({ hasText: "COFRE-114" }).waitFor();
      await page.getByRole("button", { name: "Go to sign-in" }).click();
      await heading(page, "Sign in").waitFor();
    });
    const admin = await users.signIn({ name: "admin", password, secret });
    staff = {
      admin,
      operator: await users.invited(admin, "Olga", "operator"),
      viewer: await users.invited(admin, "Vera", "viewer"),
    };
  });

  test("a user who signs in gets to the requested page, and one who signs out sees nothing more", async () => {
    await inWindow(async (page) => {
      await page.goto(`${users.server.url}/#/tokens`);
      await heading(page, "Sign in").waitFor();
      assert.equal(await page.evaluate("document.activeElement.name"), "name");
      const hints = await page.evaluate(
        "Array.from(document.querySelectorAll('input'), (input) => input.getAttribute('autocomplete'))",
      );
      assert.deepEqual(hints, ["username", "current-password", "one-time-code"]);
      await fillSignIn(page, { ...staff.viewer, password: "not the password" });
      await page.getByRole("alert").filter({ hasText: "COFRE-111" }).waitFor();
      await fillSignIn(page, staff.viewer);
      await heading(page, "Tokens").waitFor();
      await navigation(page).getByText("Vera, viewer").waitFor();
      await page.getByLabel("Time zone").selectOption("Bolivia");
      await page
        .getByRole("group", { name: "Clock" })
        .getByText("GMT-4", { exact: true })
        .waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await heading(page, "Sign in").waitFor();
      assert.equal(
        await page.getByLabel("Time zone").inputValue(),
        "America/La_Paz",
        "the zone belongs to the tab, not to the session",
      );
      assert.equal(await navigation(page).isVisible(), false);
      assert.deepEqual(
        (await page.context().cookies()).map(({ name }) => name),
        ["cofre_browser"],
      );
      await page.reload();
      await heading(page, "Sign in").waitFor();
    });
  });

  test("a sign-in does not show the search of the user before", async () => {
    const { hash } = await held();
    await inWindow(async (page) => {
      await page.goto(`${users.server.url}/#/payments?search=former%40example.com`);
      await fillSignIn(page, staff.viewer);
      await page.getByText("No entries match.").waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await heading(page, "Sign in").waitFor();
      await page.evaluate(`location.hash = "#/payment/${hash}"`);
      await fillSignIn(page, staff.operator);
      const list = page.getByRole("link", { name: "← Payments" });
      await list.waitFor();
      assert.equal(await list.getAttribute("href"), "#/payments");
    });
  });

  test("each role is shown what it may do, and nothing else", async () => {
    const { hash } = await held();
    await users.server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { notificationEndpoints: [{ id: "shop", url: "http://127.0.0.1:3/" }] },
    });
    const links: Readonly<Record<Role, readonly string[]>> = {
      viewer: [],
      operator: ["New payment"],
      admin: ["New payment", "Users", "Audit log"],
    };
    for (const role of ["viewer", "operator", "admin"] as const) {
      await as(role, "#/payments", async (page) => {
        const shown = await navigation(page).getByRole("link").allTextContents();
        assert.deepEqual(
          shown.filter((name) => ["New payment", "Users", "Audit log"].includes(name)),
          links[role],
        );
        const [mayAct, mayChange] = [role !== "viewer", role === "admin"];
        await page.goto(`${users.server.url}/#/payment/${hash}`);
        await page.getByRole("img", { name: /^Authorized 100\.00/ }).waitFor();
        assert.equal(await page.getByRole("button", { name: "Capture…" }).count(), mayAct ? 1 : 0);
        await page.goto(`${users.server.url}/#/webhooks`);
        await page.getByText(/^\d+ notifications?$/).waitFor();
        assert.equal((await page.getByRole("button", { name: /^Resend/ }).count()) > 0, mayAct);
        await page.locator(".receivers").getByText("shop", { exact: true }).waitFor();
        assert.equal(
          await page.getByRole("button", { name: "Disable shop" }).count(),
          mayChange ? 1 : 0,
        );
        await page.goto(`${users.server.url}/#/settings`);
        await page.getByLabel("simulator.latencyMs").waitFor();
        assert.equal(await page.getByLabel("simulator.latencyMs").isDisabled(), !mayChange);
        assert.equal(await page.getByRole("button", { name: "Save" }).count(), mayChange ? 1 : 0);
        await page.goto(`${users.server.url}/#/faults`);
        await page.getByText("0 faults").waitFor();
        assert.equal(
          await page.getByRole("button", { name: "Add", exact: true }).count(),
          mayChange ? 1 : 0,
        );
        await page.goto(`${users.server.url}/#/worlds`);
        await page.getByText("This account is not a world").waitFor();
        assert.equal(
          await page.getByRole("button", { name: "Create and open" }).count(),
          mayChange ? 1 : 0,
        );
        for (const [address, may] of [
          ["#/new", mayAct],
          ["#/people", mayChange],
          ["#/audit", mayChange],
        ] as const) {
          await page.goto(`${users.server.url}/${address}`);
          if (may) await page.getByRole("main").getByRole("button").first().waitFor();
          else await page.getByText("Your role does not allow this.").waitFor();
        }
      });
    }
  });

  test("an operator captures, and an admin reads who it was, and that the log is whole", async () => {
    const { code, hash } = await held();
    await as("operator", `#/payment/${hash}`, async (page) => {
      await page.getByText(code, { exact: true }).waitFor();
      await page.getByRole("button", { name: "Capture…" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Capture" }).click();
      await page.getByRole("img", { name: /captured 100\.00/ }).waitFor();
      await page
        .getByText("POST /ws/capture by a signed-in user", { exact: false })
        .first()
        .waitFor();
    });
    await as("admin", "#/audit", async (page) => {
      const rows = page.getByRole("row").filter({ hasText: "capture" }).filter({ hasText: "Olga" });
      await rows.filter({ hasText: "started" }).first().waitFor();
      await rows.filter({ hasText: "done" }).first().waitFor();
      await page.getByRole("button", { name: "Verify the chain" }).click();
      await page
        .getByText(/^The chain is intact: \d+ entries\.$/)
        .first()
        .waitFor();
      await rows.filter({ hasText: "done" }).first().getByRole("link").click();
      await page.getByText(code, { exact: true }).waitFor();
    });
  });

  test("an admin invites, changes roles, unlocks, disables and invites again", async () => {
    await as("admin", "#/people", async (page) => {
      const row = (name: string) =>
        page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
      await row("admin").getByText("you").waitFor();
      await page.getByLabel("Name").fill("Paul");
      await page.getByLabel("Role").selectOption("viewer");
      await page.getByRole("button", { name: "Invite", exact: true }).click();
      const link = (await page.locator("code.link").innerText()).trim();
      assert.ok(link.startsWith(`${users.server.url}/#invite=`));
      await row("Paul").getByText("invited", { exact: true }).waitFor();
      const paul = await users.accept(link.slice(link.indexOf("=") + 1));
      await look(page);
      await row("Paul").getByText("active", { exact: true }).waitFor();
      await row("Paul").getByRole("button", { name: "Make operator: Paul" }).click();
      await row("Paul").getByText("operator", { exact: true }).waitFor();
      for (let tries = 0; tries < 11; tries += 1)
        await users.signIn({ ...paul, password: "none of his" }).catch(() => undefined);
      await look(page);
      await row("Paul")
        .getByText(/^locked until/)
        .waitFor();
      await row("Paul").getByRole("button", { name: "Unlock: Paul" }).click();
      await row("Paul")
        .getByText(/^locked until/)
        .waitFor({ state: "detached" });
      await row("Paul").getByRole("button", { name: "Disable…: Paul" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
      await row("Paul").getByText("disabled", { exact: true }).waitFor();
      assert.equal((await paul.call("/__cofre/session", {})).body["status_code"], "COFRE-110");
      await row("Paul").getByRole("button", { name: "Invite again…: Paul" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Invite again" }).click();
      await row("Paul").getByText("invited", { exact: true }).waitFor();
      assert.notEqual((await page.locator("code.link").innerText()).trim(), link);
    });
  });

  for (const width of [390, 1_440])
    test(`at ${width} pixels a refusal is below its field, and does not move the others`, async () => {
      await as(
        "admin",
        "#/people",
        async (page) => {
          await page.getByLabel("Name").fill("admin");
          await page.getByRole("button", { name: "Invite", exact: true }).click();
          const refusal = page.getByRole("alert").filter({ hasText: "COFRE-117" });
          const boxOf = async (part: Locator) => {
            const box = await part.boundingBox();
            assert.ok(box !== null);
            return box;
          };
          const text = await boxOf(refusal);
          const name = await boxOf(page.getByLabel("Name"));
          const role = await boxOf(page.getByLabel("Role"));
          const invite = await boxOf(page.getByRole("button", { name: "Invite", exact: true }));
          assert.ok(text.width > 300, `${text.width} pixels`);
          assert.ok(text.y >= name.y + name.height && text.y + text.height <= role.y);
          assert.ok(Math.abs(role.y + role.height - invite.y - invite.height) < 2);
          assert.deepEqual(await violations(page), []);
        },
        { viewport: { width, height: 900 }, bypassCSP: true },
      );
    });

  test("a password is changed with the one before and a code", async () => {
    const next = "another password of hers";
    await as("viewer", "#/account", async (page) => {
      await heading(page, "Your password").waitFor();
      const fill = async (before: string): Promise<void> => {
        users.server.clock.advance(30_000);
        await page.getByLabel("Current password").fill(before);
        await page.getByLabel("New password").fill(next);
        await page.getByLabel("Code").fill(users.code(staff.viewer.secret));
        await page.getByRole("button", { name: "Change password" }).click();
      };
      await fill("not the password");
      await page.getByRole("alert").filter({ hasText: "COFRE-111" }).waitFor();
      await fill(staff.viewer.password);
      await page.getByRole("status").filter({ hasText: "Password changed." }).waitFor();
    });
    staff.viewer = { ...staff.viewer, password: next };
    await as("viewer", "#/payments", async (page) => heading(page, "Payments").waitFor());
  });

  test("a world is opened by its id, shows no keys, and is left when it is gone", async () => {
    await as("admin", "#/worlds", async (page) => {
      await page.getByLabel("Name").fill("of people");
      await page.getByRole("button", { name: "Create and open" }).click();
      await page.getByText("world: of people").waitFor();
      await page.getByText("open now").waitFor();
      assert.equal(await page.getByText(/test_[ip]k_/).count(), 0);
      await page.goto(`${users.server.url}/#/new`);
      await page.getByRole("button", { name: "Send payment" }).click();
      await page.locator(".made").getByText("Captured").waitFor();
      await page.goto(`${users.server.url}/#/payments`);
      await page.getByText("1 payment", { exact: true }).waitFor();
      const { body } = await users.server.get("/__cofre/worlds", {
        integration_key: integrationKey,
      });
      const [server] = body["worlds"] as readonly { readonly integration_key: string }[];
      await users.server.postJson("/__cofre/world", {
        integration_key: server?.integration_key,
        action: "delete",
      });
      await look(page);
      await page.getByText("sandbox", { exact: true }).waitFor();
      await heading(page, "Payments").waitFor();
    });
  });

  test("the page says a minute before that the session ends, is extended on request, and keeps its address when it has ended", async () => {
    await as("operator", "#/tokens", async (page) => {
      await heading(page, "Tokens").waitFor();
      users.server.clock.advance(14 * minute + 10_000);
      await look(page);
      const warning = page
        .getByRole("alert")
        .filter({ hasText: "The session ends within a minute" });
      await warning.waitFor();
      await page.getByRole("button", { name: "Stay signed in" }).click();
      await warning.waitFor({ state: "hidden" });
      users.server.clock.advance(14 * minute);
      assert.equal(await heading(page, "Tokens").count(), 1);
      users.server.clock.advance(2 * minute);
      await look(page);
      await heading(page, "Sign in").waitFor();
      await page.getByRole("alert").filter({ hasText: "The session has ended" }).waitFor();
      assert.equal(new URL(page.url()).hash, "#/tokens");
      await fillSignIn(page, staff.operator);
      await heading(page, "Tokens").waitFor();
    });
  });

  test("an open page shows what a changed role allows, without being loaded again, and keeps what is being typed", async () => {
    const { hash } = await held();
    const rita = await users.invited(await users.signIn(staff.admin), "Rita", "operator");
    const make = async (fields: object): Promise<void> => {
      const { body } = await (
        await users.signIn(staff.admin)
      ).call("/__cofre/users", { id: rita.id, ...fields });
      assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    };
    await inWindow(async (page) => {
      await page.goto(`${users.server.url}/#/payment/${hash}`);
      await fillSignIn(page, rita);
      await page.evaluate("globalThis.wasLoadedAnew = false");
      const capture = page.getByRole("button", { name: "Capture…" });
      await capture.click();
      await make({ action: "set_role", role: "viewer" });
      await look(page);
      await navigation(page).getByText("Rita, viewer").waitFor();
      await capture.waitFor({ state: "detached" });
      assert.equal(await page.getByRole("dialog").count(), 0);
      assert.equal(await navigation(page).getByRole("link", { name: "New payment" }).count(), 0);
      await page.getByRole("status").filter({ hasText: "Your role is viewer now." }).waitFor();

      await page.evaluate("location.hash = '#/payments'");
      await heading(page, "Payments").waitFor();
      await page.getByRole("searchbox").fill("not looked for yet");
      await make({ action: "set_role", role: "admin" });
      await look(page);
      await navigation(page).getByText("Rita, admin").waitFor();
      await navigation(page).getByRole("link", { name: "Audit log" }).waitFor();
      await page.getByRole("status").filter({ hasText: "Your role is admin now." }).waitFor();
      assert.equal(await page.getByRole("searchbox").inputValue(), "not looked for yet");
      assert.equal(await page.evaluate("document.activeElement.type"), "search");

      await page.evaluate("location.hash = '#/settings'");
      await page.getByLabel("simulator.latencyMs").fill("7");
      await page.getByText("Unsaved changes: 1.").waitFor();
      await make({ action: "set_role", role: "viewer" });
      await look(page);
      await page.getByText("Only admins can change settings.").waitFor();
      assert.equal(await page.getByLabel("simulator.latencyMs").isDisabled(), true);
      assert.equal(await page.getByRole("button", { name: "Save" }).count(), 0);

      // This view sends no requests by itself.
      await page.evaluate("location.hash = '#/account'");
      await page.getByLabel("New password").fill("half of a passw");
      await make({ action: "set_role", role: "operator" });
      await navigation(page).getByText("Rita, operator").waitFor();
      await page.getByRole("status").filter({ hasText: "Your role is operator now." }).waitFor();
      assert.equal(await page.getByLabel("New password").inputValue(), "half of a passw");
      await make({ action: "disable" });
      await heading(page, "Sign in").waitFor();
      assert.equal(await navigation(page).isVisible(), false);
      assert.equal(
        await page.evaluate("globalThis.wasLoadedAnew"),
        false,
        "control: it is the page that was opened",
      );
    });
  });

  test("an action that the role no longer allows is refused with a message, and the page shows what it allows", async () => {
    const ruth = await users.invited(await users.signIn(staff.admin), "Ruth", "operator");
    await inWindow(async (page) => {
      await page.goto(`${users.server.url}/#/new`);
      await fillSignIn(page, ruth);
      await page.getByRole("button", { name: "Send payment" }).waitFor();
      await (
        await users.signIn(staff.admin)
      ).call("/__cofre/users", { action: "set_role", id: ruth.id, role: "viewer" });
      await page.getByRole("button", { name: "Send payment" }).click();
      await page.getByText("Your role does not allow this.").first().waitFor();
      await navigation(page).getByText("Ruth, viewer").waitFor();
      assert.equal(await page.getByRole("button", { name: "Send payment" }).count(), 0);
    });
  });

  test("what was typed when a session ended is there again for the same user only, except for passwords", async () => {
    const ended = async (page: Page): Promise<void> => {
      users.server.clock.advance(16 * minute);
      await look(page);
      await heading(page, "Sign in").waitFor();
    };
    await as("operator", "#/payments", async (page) => {
      const search = page.getByRole("searchbox");
      await search.fill("not looked for yet");
      await ended(page);
      await fillSignIn(page, staff.operator);
      await heading(page, "Payments").waitFor();
      await until(
        "the text is there again",
        async () => (await search.inputValue()) === "not looked for yet",
      );
      await ended(page);
      await fillSignIn(page, staff.viewer);
      await page
        .getByText(/^\d+ payments?/)
        .first()
        .waitFor();
      assert.equal(await search.inputValue(), "");
    });
  });

  test("a tab continues as the user who signs in in another one, and so does one that signed out", async () => {
    await as("viewer", "#/tokens", async (page) => {
      const other = await page.context().newPage();
      await other.goto(`${users.server.url}/#/payments`);
      await navigation(other).getByText("Vera, viewer").waitFor();
      await other.getByRole("button", { name: "Sign out" }).click();
      await heading(other, "Sign in").waitFor();
      await look(page);
      await heading(page, "Sign in").waitFor();
      await fillSignIn(other, staff.operator);
      await navigation(other).getByText("Olga, operator").waitFor();
      await page.reload();
      await navigation(page).getByText("Olga, operator").waitFor();
      await other.getByRole("button", { name: "Sign out" }).click();
      await heading(other, "Sign in").waitFor();
      await fillSignIn(other, staff.viewer);
      await navigation(other).getByText("Vera, viewer").waitFor();
      await look(page);
      await navigation(page).getByText("Vera, viewer").waitFor();
      assert.equal(new URL(page.url()).hash, "#/tokens");
    });
  });

  test("a page of another port, which the browser counts as the same site and sends the session of, does nothing with it", async () => {
    const { hash } = await held();
    await using shop = await startShop();
    await inContext(browser(), {}, async (context) => {
      const page = await context.newPage();
      await page.goto(users.server.url);
      await fillSignIn(page, staff.operator);
      await navigation(page).waitFor();
      const sent: Request[] = [];
      page.on("request", (request) => request.url().includes("/ws/capture") && sent.push(request));
      const address = `${users.server.url}/ws/capture`;
      await page.goto(shop.url);
      await page.evaluate(
        `fetch("${address}", { method: "POST", mode: "no-cors", credentials: "include", body: JSON.stringify({ hash: "${hash}" }) }).then(() => undefined)`,
      );
      await page.evaluate(
        `fetch("${address}", { method: "POST", credentials: "include", headers: { "X-Cofre-CSRF": "none" }, body: "hash=${hash}" }).catch(() => undefined)`,
      );
      await page.evaluate(
        `(() => { const form = document.createElement("form"); form.method = "POST"; form.action = "${address}";
          const input = document.createElement("input"); input.name = "hash"; input.value = "${hash}"; form.append(input); document.body.append(form); form.submit(); })()`,
      );
      await page.getByText("COFRE-112").waitFor();
      await page.goto(`${address}?hash=${hash}`);
      await page.getByText("COFRE-112").waitFor();
      const cookies = (await Promise.all(sent.map((request) => request.allHeaders()))).map(
        ({ cookie = "" }) => cookie.startsWith("cofre_session="),
      );
      assert.ok(
        cookies.filter((each) => each).length >= 2,
        "control: the browser does send the session along",
      );
      const { body } = await users.server.get("/ws/query", {
        integration_key: integrationKey,
        hash,
      });
      assert.equal((body["payment"] as Readonly<Record<string, unknown>>)["status"], "PE");
    });
  });

  test("by TLS the browser takes the cookie that is tied to the host, and sends it back", async (context) => {
    const environment = {
      COFRE_TLS: "true",
      COFRE_TLS_PORT: "0",
      COFRE_DATA_DIR: join(temporaryFolder(context), "data"),
    };
    const others = await startWithUsers({ environment });
    await using server = others.server;
    const admin = await others.firstAdmin();
    const { port } = server.cofre.tlsAddress ?? {};
    await inContext(browser(), { ignoreHTTPSErrors: true }, async (window) => {
      const page = await window.newPage();
      const { errors } = listen(page);
      await page.goto(`https://127.0.0.1:${port}/`);
      server.clock.advance(30_000);
      await page.getByLabel("Name").fill(admin.name);
      await page.getByLabel("Password").fill(admin.password);
      await page.getByLabel("Code").fill(others.code(admin.secret));
      await page.getByRole("button", { name: "Sign in" }).click();
      await heading(page, "Payments").waitFor();
      await page.reload();
      await heading(page, "Payments").waitFor();
      assert.deepEqual(
        (await window.cookies()).map(({ name, httpOnly, secure, sameSite }) => ({
          name,
          httpOnly,
          secure,
          sameSite,
        })),
        ["__Host-cofre_session", "__Host-cofre_browser"].map((name) => ({
          name,
          httpOnly: true,
          secure: true,
          sameSite: "Strict",
        })),
      );
      assert.deepEqual(errors, []);
    });
  });

  test("what people are called stays text", async () => {
    await as("admin", "#/payments", async (page) => {
      await page.route(/__cofre\/(?:users|audit)$/, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: poisoned(await response.json()) });
      });
      for (const [title, address] of [
        ["Users", "#/people"],
        ["Audit log", "#/audit"],
      ] as const) {
        await page.goto(`${users.server.url}/${address}`);
        await heading(page, title).waitFor();
        await page.getByText("onerror=").filter({ visible: true }).first().waitFor();
        await page.getByText("[U+202E][U+2066]abc").filter({ visible: true }).first().waitFor();
        assert.deepEqual(
          await page.evaluate(
            "[document.querySelectorAll('img, script:not([src]):not([type=importmap]), [onerror]').length, document.title.includes('hit'), document.documentElement.scrollWidth <= innerWidth]",
          ),
          [0, false, true],
          title,
        );
      }
      assert.ok(hostile.includes("onerror="), "control: it is what was put there");
    });
  });

  for (const [name, options] of Object.entries(looks)) {
    test(`its views have names for all that they have, contrast, and no wider page than the screen: ${name}`, async () => {
      const { body } = await (
        await users.signIn(staff.admin)
      ).call("/__cofre/users", { action: "invite", name: `for-${name}`, role: "viewer" });
      const looked = async (page: Page, view: string): Promise<void> => {
        assert.equal(
          await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          true,
          `${view} is wider than the screen`,
        );
        assert.deepEqual(await violations(page), [], view);
        await picture(page, `${name}-${view}`);
      };
      // axe is injected into the page, which the page's policy would forbid.
      const open = { ...options, bypassCSP: true };
      await inWindow(async (page) => {
        await page.goto(`${users.server.url}/#invite=${String(body["invitation"])}`);
        await page.getByRole("img", { name: "The secret as a QR code" }).waitFor();
        await looked(page, "invitation");
        await page.goto(users.server.url);
        await page.reload();
        await heading(page, "Sign in").waitFor();
        await looked(page, "sign-in");
      }, open);
      await as(
        "admin",
        "#/people",
        async (page) => {
          await page.getByText("you", { exact: true }).waitFor();
          await page.getByLabel("Name").fill(`by-${name}`);
          await page.getByRole("button", { name: "Invite", exact: true }).click();
          await page.locator("code.link").waitFor();
          await looked(page, "people");
          await page.getByRole("button", { name: `Disable…: by-${name}` }).click();
          await looked(page, "disable");
          await page.keyboard.press("Escape");
          await page.goto(`${users.server.url}/#/audit`);
          await page.getByRole("button", { name: "Verify the chain" }).click();
          await page
            .getByText(/^The chain is intact/)
            .first()
            .waitFor();
          await looked(page, "audit");
          await page.goto(`${users.server.url}/#/account`);
          await heading(page, "Your password").waitFor();
          await looked(page, "account");
          users.server.clock.advance(14 * minute + 10_000);
          await page.goto(`${users.server.url}/#/tokens`);
          await page
            .getByRole("alert")
            .filter({ hasText: "The session ends within a minute" })
            .waitFor();
          await looked(page, "ending");
        },
        open,
      );
    });
  }
}
