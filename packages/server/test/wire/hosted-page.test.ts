import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { integrationKey, startTestServer, testCard, type TestServer } from "../server.ts";

const order = {
  currency_code: "PEN",
  amount: "100.00",
  merchant_payment_code: "page-1",
  name: "Ana Lima",
  email: "ana.lima@example.com",
  payment_type_code: "_all",
  country: "pe",
};

type Fields = Readonly<Record<string, unknown>>;

async function open(server: TestServer, changes: Fields = {}): Promise<Fields> {
  const { body } = await server.postJson("/ws/request", {
    integration_key: integrationKey,
    ...order,
    ...changes,
  });
  return body;
}

/** The page's script: its calls have the headers that a browser adds. */
class Customer {
  readonly #server: TestServer;
  readonly #address: URL;

  constructor(server: TestServer, { redirect_url: address }: Fields) {
    this.#server = server;
    this.#address = new URL(String(address));
  }

  get page(): Promise<Response> {
    return fetch(this.#address);
  }

  async call(path: string, fields: Fields = {}, headers: Record<string, string> = {}) {
    const answer = await fetch(this.#server.url + path, {
      method: "POST",
      headers: { Origin: this.#server.url, "Sec-Fetch-Site": "same-origin", ...headers },
      body: JSON.stringify({ ...Object.fromEntries(this.#address.searchParams), ...fields }),
    });
    return (await answer.json()) as Fields;
  }

  pay(number: number, card: Fields = {}, fields: Fields = {}): Promise<Fields> {
    return this.call("/checkout/pay", {
      try: String(number),
      phone_number: "51987654321",
      creditcard: { ...testCard, ...card },
      ...fields,
    });
  }
}

const declined = { card_number: "4716909774636285" };

async function query(server: TestServer, code = "page-1"): Promise<Fields> {
  const { body } = await server.postJson("/ws/query", {
    integration_key: integrationKey,
    merchant_payment_code: code,
  });
  return body["payment"] as Fields;
}

describe("/ws/request", () => {
  test("answers with the payment, which is open, and with the page's address", async () => {
    await using server = await startTestServer();
    const body = await open(server, { user_value_1: '"amount_br":"1.00"' });
    const { hash, ...payment } = body["payment"] as Fields;
    const url = String(body["redirect_url"]);
    assert.match(
      url,
      new RegExp(`^${server.url}/checkout/\\?hash=${String(hash)}&account=[0-9a-f]{8}$`),
    );
    assert.deepEqual(payment, {
      country: "pe",
      merchant_payment_code: "page-1",
      order_number: null,
      status: "OP",
      status_date: null,
      open_date: "2026-11-25 18:13:28",
      confirm_date: null,
      transfer_date: null,
      amount_br: 100,
      amount_ext: 100,
      amount_iof: 0,
      currency_rate: 1,
      currency_ext: "PEN",
      due_date: "2026-11-28",
      instalments: 1,
      payment_type_code: "_all",
      details: payment["details"],
      pre_approved: false,
      capture_available: null,
      user_value_1: '"amount_br":"1.00"',
      customer: payment["customer"],
      redirect_url: url,
      ...(payment["pin"] === undefined ? {} : { pin: payment["pin"] }),
    });
    assert.equal((await query(server))["amount_br"], "100.00", "a text in other answers");
  });

  test("answers the same request with the same page, and another one with BP-DR-0", async () => {
    await using server = await startTestServer();
    const first = await open(server);
    assert.deepEqual(await open(server), first);
    assert.equal((await open(server, { amount: "101.00" }))["status_code"], "BP-DR-0");
    await new Customer(server, first).pay(1);
    assert.equal((await open(server))["status_code"], "BP-DR-0", "the page is over");
  });

  const refused: readonly (readonly [changes: Fields, code: string])[] = [
    [{ currency_code: undefined }, "BP-R-1"],
    [{ amount: undefined }, "BP-R-2"],
    [{ merchant_payment_code: undefined }, "BP-R-3"],
    [{ merchant_payment_code: "x".repeat(41) }, "BP-R-3"],
    [{ merchant_payment_code: "4111111111111111" }, "BP-R-3"],
    [{ name: "" }, "BP-R-4"],
    [{ email: "ana" }, "BP-R-5"],
    [{ payment_type_code: undefined }, "BP-R-6"],
    [{ payment_type_code: "boleto" }, "BP-R-7"],
    [{ payment_type_code: "hipercard" }, "BP-R-7"],
    [{ payment_type_code: "barter" }, "BP-R-8"],
    [{ amount: "0" }, "BP-R-9"],
    [{ amount: "-5" }, "BP-R-9"],
    [{ amount: "ten" }, "BP-R-9"],
    [{ amount: "0.10" }, "BP-R-10"],
    [{ payment_type_code: "debitcard", instalments: "1-3" }, "BP-R-11"],
    [{ instalments: "1-49" }, "BP-R-12"],
    [{ amount: "10.00", instalments: "20" }, "BP-R-13"],
    [{ person_type: "robot" }, "BP-R-18"],
    [{ due_date: "2026-11-30" }, "BP-R-20"],
    [{ due_date: "24/11/2026" }, "BP-R-21"],
    [{ due_date: "26/12/2026" }, "BP-R-22"],
    [{ currency_code: "BRL" }, "BP-R-23"],
    [{ instalments: "many" }, "BP-R-28"],
    [{ amount: "10000000" }, "BP-R-32"],
    [{ country: "xx" }, "COFRE-190"],
    [{ redirect_url: "http://shop.example/" }, "COFRE-190"],
    [{ redirect_url: "https://ana:secret@shop.example/" }, "COFRE-190"],
    [{ redirect_url: "javascript:alert(1)" }, "COFRE-190"],
  ];
  for (const [changes, code] of refused)
    test(`refuses ${JSON.stringify(changes).slice(0, 60)} with ${code}`, async () => {
      await using server = await startTestServer();
      assert.equal((await open(server, changes))["status_code"], code);
    });

  test("names the limit as shops read it", async () => {
    await using server = await startTestServer();
    const { status_message: message } = await open(server, { amount: "10000000" });
    assert.match(String(message), /^Amount must be less than PEN \d+\.\d\d$/);
  });
});

describe("the hosted page", () => {
  test("takes a card, and the payment is confirmed", async () => {
    await using server = await startTestServer();
    const opened = await open(server, {
      redirect_url: "https://shop.example/back?order=7",
      user_value_1: "blue",
    });
    const customer = new Customer(server, opened);
    assert.equal((await customer.page).status, 200);
    const { url, ...paid } = await customer.pay(1);
    assert.deepEqual(paid, { status: "SUCCESS", state: "paid", try: 2, declined: false });
    const back = new URL(String(url));
    assert.equal(back.origin + back.pathname, "https://shop.example/back");
    assert.deepEqual(Object.fromEntries(back.searchParams), {
      order: "7",
      hash: (opened["payment"] as Fields)["hash"],
      merchant_payment_code: "page-1",
      payment_type_code: "visa",
      user_value_1: "blue",
    });
    const payment = await query(server);
    assert.deepEqual([payment["status"], payment["payment_type_code"]], ["CO", "visa"]);
  });

  test("takes another card after a decline, three in all", async () => {
    await using server = await startTestServer();
    const customer = new Customer(server, await open(server));
    const first = await customer.pay(1, declined);
    assert.deepEqual([first["state"], first["try"], first["declined"]], ["open", 2, true]);
    assert.equal((await query(server))["status"], "OP");
    assert.equal((await customer.pay(2, declined))["state"], "open");
    assert.equal((await customer.pay(3, declined))["state"], "declined");
    assert.equal((await query(server))["status"], "CA");
    assert.equal((await customer.pay(4))["status_code"], "COFRE-192");
  });

  test("charges a submission that is sent twice once", async () => {
    await using server = await startTestServer();
    const customer = new Customer(server, await open(server));
    const answers = await Promise.all([customer.pay(1), customer.pay(1), customer.pay(1)]);
    assert.equal(answers.filter(({ state }) => state === "paid").length, 1);
    for (const { status_code: code } of answers.filter(({ status }) => status === "ERROR"))
      assert.equal(code, "COFRE-192");
    assert.equal((await query(server))["status"], "CO");
  });

  test("waits while the outcome is unknown, takes no other card, and shows the end", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "300" },
    });
    await server.postJson("/__cofre/simulator", {
      integration_key: integrationKey,
      next: "lose_answer",
      message: "authorize",
    });
    const customer = new Customer(server, await open(server));
    assert.equal((await customer.pay(1))["state"], "waiting");
    assert.equal((await query(server))["status"], "PE");
    assert.equal((await customer.pay(2))["status_code"], "COFRE-192");
    assert.equal((await customer.call("/checkout/state"))["state"], "waiting");
  });

  test("asks for what the country needs, and shows nothing that the shop or a customer gave", async () => {
    await using server = await startTestServer();
    const opened = await open(server, {
      country: "br",
      currency_code: "BRL",
      document: "853.513.468-93",
      city: "Maracanaú",
    });
    const text = decodeURIComponent(await (await new Customer(server, opened).page).text());
    const shown = JSON.parse(/data-page="([^]*?)">/.exec(text)?.[1] ?? "{}") as Fields;
    assert.deepEqual(shown["fields"], [
      "phone_number",
      "zipcode",
      "address",
      "street_number",
      "state",
    ]);
    for (const secret of ["Ana Lima", "ana.lima", "85351346893", "Maracana"])
      assert.ok(!text.includes(secret), secret);
  });

  test("names the field that the server refuses, by the code of /ws/direct", async () => {
    await using server = await startTestServer();
    const customer = new Customer(server, await open(server));
    const { status_code: code, field } = await customer.pay(1, { card_number: "4111111111111112" });
    assert.deepEqual([code, field], ["BP-DR-75", "payment.creditcard.card_number"]);
    const phone = await customer.pay(1, {}, { phone_number: "1" });
    assert.deepEqual([phone["status_code"], phone["field"]], ["BP-DR-32", "payment.phone_number"]);
    assert.equal((await customer.pay(1))["state"], "paid");
  });

  test("takes a typed card only: neither a token nor values of 3-D Secure", async () => {
    await using server = await startTestServer();
    const customer = new Customer(server, await open(server));
    const { body } = await server.postJson("/ws/token", {
      integration_key: integrationKey,
      payment_type_code: "creditcard",
      country: "pe",
      creditcard: testCard,
    });
    const token = String(body["token"]);
    const byToken = await customer.call("/checkout/pay", {
      try: "1",
      phone_number: "51987654321",
      creditcard: { token, card_cvv: "123" },
    });
    assert.deepEqual([byToken["status"], byToken["status_code"]], ["ERROR", "BP-DR-49"]);
    const claimed = { threeds_eci: "05", threeds_cryptogram: "AAAAAAAAAAAAAAAAAAAAAAAAAAA=" };
    assert.equal((await customer.pay(1, claimed))["state"], "paid");
    const { body: explained } = await server.postJson("/__cofre/explain", {
      integration_key: integrationKey,
      merchant_payment_code: "page-1",
    });
    assert.doesNotMatch(JSON.stringify(explained), /"issuer"/, "the liability is the merchant's");
  });

  test("takes neither another amount nor another customer than the shop's", async () => {
    await using server = await startTestServer();
    const customer = new Customer(server, await open(server));
    const fields = { amount_total: "1.00", name: "Eve", email: "eve@example.com", country: "br" };
    assert.equal((await customer.pay(1, {}, { ...fields, payment: fields }))["state"], "paid");
    const payment = await query(server);
    assert.equal(payment["amount_ext"], "100.00");
    assert.equal((payment["customer"] as Fields | undefined)?.["name"] ?? "ANA LIMA", "ANA LIMA");
  });

  test("is closed to other pages, to programs and to guessed hashes", async () => {
    await using server = await startTestServer();
    const opened = await open(server);
    const customer = new Customer(server, opened);
    const code = async (headers: Record<string, string>) =>
      (await customer.call("/checkout/pay", { try: "1", creditcard: testCard }, headers))[
        "status_code"
      ];
    assert.equal(await code({ Origin: "https://evil.example" }), "COFRE-191");
    assert.equal(await code({ "Sec-Fetch-Site": "cross-site" }), "COFRE-191");
    const guessed = {
      redirect_url: String(opened["redirect_url"]).replace(/hash=..../, "hash=0000"),
    };
    const stranger = new Customer(server, guessed);
    assert.equal((await stranger.page).status, 404);
    assert.equal((await stranger.pay(1))["state"], "closed");
    assert.equal((await query(server))["status"], "OP");
  });

  test("is gone when the shop cancels the payment or its time is over", async () => {
    await using server = await startTestServer();
    const cancelled = new Customer(server, await open(server));
    await server.postJson("/ws/cancel", {
      integration_key: integrationKey,
      merchant_payment_code: "page-1",
    });
    const lapsed = new Customer(server, await open(server, { merchant_payment_code: "page-2" }));
    server.clock.advance(4 * 86_400_000);
    assert.equal((await lapsed.pay(1))["status_code"], "COFRE-192");
    assert.equal((await query(server))["status"], "CA");
    assert.equal((await cancelled.page).status, 404);
    const [one, other] = [await (await cancelled.page).text(), await (await lapsed.page).text()];
    assert.ok(one === other || other.includes("data-page"), "until the job has closed it");
  });

  test("counts cards per network, and refuses more", async () => {
    await using server = await startTestServer();
    await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { publicCardsPerTenMinutes: "1" },
    });
    const customer = new Customer(server, await open(server));
    assert.equal((await customer.pay(1, declined))["state"], "open");
    assert.equal((await customer.pay(2))["status_code"], "COFRE-178");
  });
});
