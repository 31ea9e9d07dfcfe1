import assert from "node:assert/strict";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { listen } from "./listen.ts";

/** The machine may be slow; nothing here depends on how slow. */
export const patienceMs = 60_000;

/**
 * Opens a browser context for the work and closes it afterwards. Answers of routed requests that
 * are in flight when the work ends are finished first: a route handler whose page is closed rejects
 * outside of every test, and fails the file in place of a test.
 */
export async function inContext(
  browser: Browser,
  options: BrowserContextOptions,
  work: (context: BrowserContext) => Promise<void>,
): Promise<void> {
  // Tests find elements by their English names and times, in every environment.
  const context = await browser.newContext({ locale: "en-US", timezoneId: "UTC", ...options });
  context.setDefaultTimeout(patienceMs);
  try {
    await work(context);
    for (const page of context.pages()) await page.unrouteAll({ behavior: "wait" });
  } finally {
    // The work has failed: its own error is the one to report.
    for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  }
}

/**
 * Opens a page for the work. Afterwards the page has reported no error, except for `expected`, and
 * has sent requests to this origin only. Returns the addresses that it has requested.
 */
export async function inPage(
  browser: Browser,
  origin: string,
  work: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
  expected?: RegExp,
): Promise<readonly string[]> {
  const sent: string[] = [];
  await inContext(
    browser,
    { viewport: { width: 1280, height: 900 }, ...options },
    async (context) => {
      const page = await context.newPage();
      const { errors, requests } = listen(page);
      await work(page);
      assert.deepEqual(
        errors.filter((error) => expected?.test(error) !== true),
        [],
      );
      assert.deepEqual(
        requests.filter((url) => new URL(url).origin !== origin),
        [],
      );
      sent.push(...requests);
    },
  );
  return sent;
}
