import assert from "node:assert/strict";

/** The integration key that the first start prints. */
export const printedKey = / integration key +(\S+)/;

/**
 * What a new user does first: asks for the health, charges a test card, and opens the console and
 * the documentation. `url` has no slash at the end; `code` is the charge's.
 */
export async function playFirstMinute(
  url: string,
  integrationKey: string,
  code = "order-1",
): Promise<void> {
  for (const probe of ["/healthz", "/readyz"])
    assert.equal((await fetch(`${url}${probe}`)).status, 200, probe);
  assert.equal(await statusOfCharge(url, integrationKey, code), "CO");
  const page = await fetch(url);
  assert.match(await page.text(), /<title>/);
  // The script of the page contains its libraries.
  const parts = ["/console/main.js", "/console/style.css", "/docs", "/openapi.json"];
  for (const path of parts) assert.equal((await fetch(`${url}${path}`)).status, 200, path);
}

async function statusOfCharge(
  url: string,
  integrationKey: string,
  code: string,
): Promise<string | undefined> {
  const body = {
    integration_key: integrationKey,
    operation: "request",
    payment: {
      merchant_payment_code: code,
      amount_total: "100.00",
      currency_code: "PEN",
      country: "pe",
      name: "Ana Lima",
      email: "ana.lima@example.com",
      phone_number: "51987654321",
      payment_type_code: "creditcard",
      creditcard: {
        card_number: "4111111111111111",
        card_name: "Ana Lima",
        card_due_date: "12/2060",
        card_cvv: "123",
      },
    },
  };
  const answer = await fetch(`${url}/ws/direct`, { method: "POST", body: JSON.stringify(body) });
  const { payment } = (await answer.json()) as { readonly payment?: { readonly status: string } };
  return payment?.status;
}
