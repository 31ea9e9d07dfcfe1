import assert from "node:assert/strict";
import { directBody } from "../server.ts";

/**
 * What a new user does first: asks for the health, charges a test card, and opens the console and
 * the documentation.
 * `url` has no slash at the end.
 */
export async function playFirstMinute(url: string, integrationKey: string): Promise<void> {
  for (const probe of ["/healthz", "/readyz"])
    assert.equal((await fetch(`${url}${probe}`)).status, 200, probe);
  const body = { ...directBody("order-1"), integration_key: integrationKey };
  const answer = await fetch(`${url}/ws/direct`, { method: "POST", body: JSON.stringify(body) });
  const { payment } = (await answer.json()) as { readonly payment?: { readonly status: string } };
  assert.equal(payment?.status, "CO");
  const page = await fetch(url);
  assert.match(await page.text(), /<title>/);
  // The script of the page contains its libraries.
  const parts = ["/console/main.js", "/console/style.css", "/docs", "/openapi.json"];
  for (const path of parts) assert.equal((await fetch(`${url}${path}`)).status, 200, path);
}

/** The integration key that the first start prints. */
export const printedKey = / integration key +(\S+)/;
