import type { Page } from "playwright-core";

/** What a page has complained of, and every address that it has asked for, from now on. */
export function listen(page: Page): { readonly errors: string[]; readonly requests: string[] } {
  const errors: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  return { errors, requests };
}
