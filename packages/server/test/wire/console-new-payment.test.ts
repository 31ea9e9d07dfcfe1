import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { after, before, describe, test } from "node:test";
import { faultKindNames, faultKinds, rowOf } from "../../src/http/faults/fault-kinds.ts";
import { countryCodes } from "../../src/payment/countries.ts";
import { hostile } from "../browser/hostile.ts";
import { integrationKey, startTestServer, type TestServer } from "../server.ts";
import "../support/session-storage.ts";

/** What a browser makes of the page is in packages/proof/lanes/support/console-new-payment.ts. */
const folder = fileURLToPath(new URL("../../../console/src/", import.meta.url));
// The page's language is English in every environment.
Object.defineProperty(navigator, "languages", { value: ["en-US"] });
type Fields = Readonly<Record<string, unknown>>;
const { curlOf, ShellVariable } = (await import(pathToFileURL(`${folder}curl.js`).href)) as {
  readonly curlOf: (path: string, fields: Fields, origin: string) => string;
  readonly ShellVariable: new (name: string) => object;
};

type Values = Readonly<Record<string, string>>;
interface Card {
  readonly card_number: string;
  readonly brand: string;
  readonly countries: readonly string[];
  readonly result: string;
  readonly transaction_code: string | null;
  readonly transaction_description: string | null;
  readonly refusal?: {
    readonly status_code: string;
    readonly status_message: string;
    readonly when: string;
  };
}
interface Tables {
  readonly countries: readonly {
    readonly country: string;
    readonly currencies: readonly string[];
  }[];
  readonly cards: readonly Card[];
  readonly year: number;
}
interface Request {
  readonly path: string;
  readonly fields: Fields;
}
const { faultOf, formOf, nextCode, requestsOf } = (await import(
  pathToFileURL(`${folder}payment-form.js`).href
)) as {
  readonly formOf: (
    typed: Values,
    tables: Tables,
  ) => { readonly values: Values; readonly counts: readonly number[] };
  readonly requestsOf: (values: Values, token?: unknown) => readonly Request[];
  readonly faultOf: (values: Values, waits: boolean) => Fields | undefined;
  readonly nextCode: (code: string) => string;
};
const { refusedField } = (await import(pathToFileURL(`${folder}refusals.js`).href)) as {
  readonly refusedField: (code: string, message: string) => string | undefined;
};

const origin = "http://127.0.0.1:8787";

/** The arguments that a shell gives to curl. */
function argumentsOf(command: string): readonly string[] {
  const script = `curl() { for each; do printf '%s\\000' "$each"; done; }\nKEY=the-key; TOKEN=the-token; ${command}`;
  return execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

describe("a request as a command for a shell", () => {
  test("sends short values as form parameters, and the key from a variable", () => {
    const command = curlOf("/ws/query", { hash: "0a1b", note: undefined }, origin);
    assert.equal(command, `curl -s ${origin}/ws/query -d "integration_key=$KEY" -d hash=0a1b`);
    assert.deepEqual(
      argumentsOf(curlOf("/ws/refund", { amount: 1.5, description: "it's & $(date)" }, origin)),
      [
        "-s",
        `${origin}/ws/refund`,
        "-d",
        "integration_key=the-key",
        "-d",
        "amount=1.5",
        "--data-urlencode",
        "description=it's & $(date)",
      ],
    );
  });

  test("sends nested values as JSON, whatever they contain", () => {
    for (const name of [
      hostile,
      "it's",
      "$KEY",
      "$$ $KEY$ $$$",
      "`date` $(date) \\' \" \\",
      "é\u0000\u2028\u{1f600}",
    ]) {
      const fields = { operation: "request", payment: { name, creditcard: { token: "" } } };
      const command = curlOf(
        "/ws/direct",
        {
          ...fields,
          payment: { ...fields.payment, creditcard: { token: new ShellVariable("TOKEN") } },
        },
        origin,
      );
      const [, address, , type, , body = ""] = argumentsOf(command);
      assert.deepEqual([address, type], [`${origin}/ws/direct`, "Content-Type: application/json"]);
      assert.deepEqual(JSON.parse(body), {
        integration_key: "the-key",
        ...fields,
        payment: { ...fields.payment, creditcard: { token: "the-token" } },
      });
      assert.doesNotMatch(
        command,
        /[^\P{Cc}\n]|\u202e|\u2066/u,
        "invisible characters are visible",
      );
    }
  });

  test("cannot be left by a path", () => {
    assert.deepEqual(
      argumentsOf(curlOf("/ws/x';date;'$(date) y", { hash: "1" }, origin)).slice(0, 2),
      ["-s", `${origin}/ws/x';date;'$(date) y`],
    );
  });
});

describe("the form of a new payment", () => {
  let server: TestServer;
  let tables: Tables;
  let count = 0;

  before(async () => {
    server = await startTestServer();
    const { countries } = await post("/__cofre/countries");
    const { cards } = await post("/__cofre/test-cards");
    tables = { countries, cards, year: 2026 } as Tables;
  });
  after(() => server[Symbol.asyncDispose]());

  async function post(path: string, fields: Fields = {}): Promise<Fields> {
    return (await server.postJson(path, { integration_key: integrationKey, ...fields })).body;
  }

  function filled(typed: Values = {}): ReturnType<typeof formOf> {
    count += 1;
    return formOf({ merchant_payment_code: `form-${count}`, ...typed }, tables);
  }

  /** Sends what the page sends; returns the last answer. */
  async function pay(typed: Values = {}): Promise<Fields> {
    const { values } = filled(typed);
    const [first] = requestsOf(values);
    const answer = await post(first?.path ?? "", first?.fields);
    if (first?.path !== "/ws/token" || answer["status"] !== "SUCCESS") return answer;
    const [, direct] = requestsOf(values, answer["token"]);
    return post(direct?.path ?? "", direct?.fields);
  }

  function paymentIn(answer: Fields): Fields {
    assert.equal(answer["status"], "SUCCESS", JSON.stringify(answer));
    return answer["payment"] as Fields;
  }

  async function paysEverywhere(): Promise<void> {
    assert.deepEqual(
      tables.countries.map(({ country }) => country),
      countryCodes,
    );
    for (const { country, currencies } of tables.countries) {
      for (const currency_code of currencies) {
        const payment = paymentIn(await pay({ country, currency_code }));
        assert.deepEqual(
          [payment["status"], payment["country"], payment["currency_ext"]],
          ["CO", country, currency_code],
        );
      }
      const most = String(filled({ country }).counts.at(-1));
      const plan = { country, instalments: most, amount_total: "5.000,00" };
      assert.equal(paymentIn(await pay(plan))["instalments"], most, country);
    }
  }

  test("is accepted in every country and currency as it is filled in, and with the most instalments", async () => {
    await paysEverywhere();
  });

  test("is accepted in every country by an account that processes locally", async () => {
    const change = (profile: string) => post("/__cofre/settings", { settings: { profile } });
    await change("B");
    const { countries } = await post("/__cofre/countries");
    const usual = tables;
    tables = { ...tables, countries } as Tables;
    await paysEverywhere();
    assert.notDeepEqual(tables.countries, usual.countries, "control: Chile requires a document");
    tables = usual;
    await change("X");
  });

  test("leads with every test card to what the list of test cards says", async () => {
    for (const card of tables.cards) {
      const [country = ""] = card.countries;
      const answer = await pay({ card: card.card_number, country });
      const { refusal } = card;
      if (refusal?.when === "always") {
        assert.equal(card.result, "refused");
        assert.deepEqual(
          [answer["status_code"], answer["status_message"]],
          [refusal.status_code, refusal.status_message],
        );
        continue;
      }
      const payment = paymentIn(answer);
      const { code, description } = payment["transaction_status"] as Fields;
      assert.deepEqual(
        [payment["payment_type_code"], payment["status"] === "CO", code, description],
        [
          card.brand,
          card.result === "approved",
          card.transaction_code,
          card.transaction_description,
        ],
        card.card_number,
      );
      if (refusal === undefined) continue;
      const inInstalments = await pay({ card: card.card_number, country, instalments: "3" });
      assert.equal(inInstalments["status_code"], refusal.status_code);
    }
  });

  test("stores the card first, captures later and charges a stored card, as it was chosen", async () => {
    assert.equal(paymentIn(await pay({ source: "store" }))["status"], "CO");
    assert.equal(paymentIn(await pay({ capture: "later" }))["capture_available"], true);
    const [store] = requestsOf(filled({ source: "store" }).values);
    const { token } = await post("/ws/token", store?.fields);
    const charged = paymentIn(await pay({ source: "token", token: String(token) }));
    assert.equal(charged["status"], "CO");
  });

  test("sends decimal commas as points, nothing for an empty field, and hostile text unchanged", () => {
    const typed = { name: hostile, note: hostile, email: "", amount_total: "1.234,50" };
    const [direct] = requestsOf(filled(typed).values);
    const sent = JSON.parse(JSON.stringify(direct?.fields)) as { readonly payment: Fields };
    const { name, note, amount_total: amount } = sent.payment;
    assert.deepEqual({ name, note, amount }, { name: hostile, note: hostile, amount: "1234.50" });
    assert.ok(!("email" in sent.payment));
  });

  test("keeps what was typed when the country changes, unless the country does not have it", () => {
    const typed = { name: "Eva Silva", currency_code: "BRL", instalments: "2" };
    const { values } = filled({ ...typed, country: "mx" });
    assert.deepEqual(
      [values["name"], values["currency_code"], values["instalments"], values["city"]],
      ["Eva Silva", "MXN", "1", "Ciudad de México"],
    );
  });

  const wrong: Readonly<Record<string, Values>> = {
    merchant_payment_code: { merchant_payment_code: "" },
    amount_total: { amount_total: "1,2,3" },
    name: { name: "", card_name: "Ana" },
    email: { email: "ana.lima" },
    phone_number: { phone_number: "1" },
    document: { document: "123" },
    zipcode: { zipcode: "1" },
    address: { address: "" },
    street_number: { street_number: "" },
    city: { city: "" },
    state: { state: "Ceará" },
    instalments: { instalments: "12", amount_total: "10" },
    birth_date: { birth_date: "1979-04-12" },
    order_number: { order_number: "9".repeat(41) },
    card_number: { card: "", card_number: "4111111111111112" },
    card_name: { card_name: "" },
    card_due_date: { card_due_date: "13/2030" },
    card_cvv: { card_cvv: "1" },
    token: { source: "token", token: "t".repeat(40) },
  };
  for (const [field, typed] of Object.entries(wrong)) {
    test(`shows a refusal at its field: ${field}`, async () => {
      const { status, status_code: code, status_message: message } = await pay(typed);
      assert.equal(status, "ERROR");
      assert.equal(
        refusedField(String(code), String(message)),
        field,
        `${String(code)} ${String(message)}`,
      );
      const isOfCard = field.startsWith("card_");
      if (!isOfCard) return;
      const stored = await pay({ ...typed, source: "store" });
      assert.equal(
        refusedField(String(stored["status_code"]), String(stored["status_message"])),
        field,
      );
    });
  }

  test("asks for a fault of every kind as the server takes it", async () => {
    assert.equal(faultOf(filled().values, false), undefined);
    const ofPayments = faultKindNames.filter((kind) => rowOf(kind).work !== "authentication");
    for (const kind of ofPayments) {
      const { values } = filled({ fault: kind });
      const { fault } = await post("/__cofre/faults", {
        add: faultOf(values, faultKinds[kind].waits),
      });
      const { merchant_payment_code: code } = fault as Fields;
      assert.equal(code, values["merchant_payment_code"], kind);
    }
    await post("/__cofre/faults", { clear: "all" });
  });

  test("counts the code of the next payment", () => {
    for (const [code, next] of [
      ["order-1", "order-2"],
      ["order-099", "order-100"],
      ["a9", "a10"],
      ["order", "order-2"],
      ["order-1234567890", "order-1234567890-2"],
      ["", "-2"],
    ] as const)
      assert.equal(nextCode(code), next);
  });
});
