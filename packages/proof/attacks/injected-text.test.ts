import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../server/src/logging/log.ts";
import { directBody, integrationKey, startTestServer, testCard } from "../../server/test/server.ts";

/*
 * Rows 16 and 25 of the attack table: text with a meaning for a later reader (SQL, a log's lines, a
 * terminal, a template, a shell, a spreadsheet, a browser) in every field of a payment. It is
 * stored and returned as text or refused as text; it never adds a line to the log.
 */

const payloads = [
  "' OR '1'='1",
  "'; DROP TABLE payment; --",
  "x') UNION SELECT ref FROM card --",
  "1); ATTACH DATABASE 'x' AS y; --",
  "%27%20OR%201=1",
  "\\'; SELECT 1; --",
  '","status":"SUCCESS","x":"',
  '{"event":"payment_captured"}',
  'line\r\n{"level":"info","event":"payment_captured"}',
  "line\nFAKE 2026-11-25 captured",
  "\u001b[2J\u001b[1;1Hcleared",
  "\u009b31mred",
  "\u2028\u2029separated",
  "\u202egnp.exe",
  "a\u0000b",
  "\ud800",
  "${jndi:ldap://127.0.0.1/a}",
  "{{7*7}}${7*7}<%= 7*7 %>",
  "$(touch x)`touch x`",
  "| touch x; touch x &",
  '=HYPERLINK("http://127.0.0.1")',
  "+cmd|' /C calc'!A0",
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "../../../../etc/passwd",
  "file:///etc/passwd",
  "%n%s%x%d",
  "__proto__",
];

const paymentFields = [
  "merchant_payment_code",
  "order_number",
  "name",
  "email",
  "document",
  "birth_date",
  "zipcode",
  "address",
  "street_number",
  "street_complement",
  "city",
  "state",
  "country",
  "phone_number",
  "person_type",
  "note",
  "user_value_1",
  "device_id",
  "customer_ip",
  "amount_total",
  "currency_code",
  "instalments",
  "payment_type_code",
  "notification_url",
];
const cardFields = [
  "card_name",
  "card_due_date",
  "card_number",
  "card_cvv",
  "token",
  "soft_descriptor",
  "auto_capture",
];
const parameters = [
  "hash",
  "merchant_payment_code",
  "amount",
  "description",
  "merchant_refund_code",
  "refund_id",
  "operation",
  "currency_code",
  "zipcode",
];

test("text that means something elsewhere means nothing here, in any field", async (context) => {
  await using server = await startTestServer();
  await server.postJson("/ws/direct", directBody("bystander"));
  const bystander = (): Promise<unknown> =>
    server.get("/__cofre/explain", {
      integration_key: integrationKey,
      merchant_payment_code: "bystander",
    });
  const before = await bystander();
  let count = 0;
  const send = async (path: string, body: unknown): Promise<void> => {
    const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
    const text = await response.text();
    assert.equal(response.status, 200, JSON.stringify(body));
    assert.ok(
      ["SUCCESS", "ERROR"].includes((JSON.parse(text) as { readonly status: string }).status),
    );
    assert.doesNotMatch(text, /SQLITE|syntax error|near "|at \w+ \(|COFRE-12"/);
    assert.doesNotMatch(response.headers.get("content-type") ?? "", /html/);
    count += 1;
  };
  for (const [index, payload] of payloads.entries()) {
    for (const field of paymentFields)
      await send("/ws/direct", directBody(`text-${index}-${field}`, { [field]: payload }));
    for (const field of cardFields)
      await send(
        "/ws/direct",
        directBody(`card-${index}-${field}`, { creditcard: { ...testCard, [field]: payload } }),
      );
    for (const path of [
      "/ws/query",
      "/ws/capture",
      "/ws/refund",
      "/ws/zipcode",
      "/ws/exchange",
      "/__cofre/payment",
      "/__cofre/notifications",
    ]) {
      for (const field of parameters)
        await send(path, { integration_key: integrationKey, [field]: payload });
    }
    await send("/ws/query", { integration_key: payload, hash: "x" });
  }
  context.diagnostic(`${count} requests`);
  assert.deepEqual(await bystander(), before);

  for (const format of ["json", "text"] as const) {
    const lines: string[] = [];
    const log = createLog({
      level: "debug",
      format,
      clock: server.clock,
      destination: { write: (line) => void lines.push(line) },
    });
    for (const event of server.events) log.write(event);
    assert.equal(lines.length, server.events.length);
    for (const line of lines) {
      assert.match(line, /^[^\p{Cc}\u2028\u2029]*\n$/u);
      if (format === "json")
        assert.equal(typeof (JSON.parse(line) as { readonly event: unknown }).event, "string");
    }
  }
});

test("a text that is taken comes back as it was given", async () => {
  await using server = await startTestServer();
  for (const [index, note] of [
    "' OR '1'='1",
    "'; DROP TABLE payment; --",
    '","status":"x',
  ].entries()) {
    await server.postJson("/ws/direct", directBody(`kept-${index}`, { order_number: note }));
    const { body } = await server.get("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: `kept-${index}`,
    });
    assert.equal((body["payment"] as { readonly order_number: string }).order_number, note);
  }
});
