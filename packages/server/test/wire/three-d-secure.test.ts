import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import "../support/session-storage.ts";
import { threeDSecureEndpoints } from "../../src/wire/endpoints/three-d-secure.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  type TestServer,
} from "../server.ts";

// The language of the console's texts is English in every environment.
Object.defineProperty(navigator, "languages", { value: ["en-US"] });

type Answer = Readonly<Record<string, unknown>>;

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

interface Begun {
  readonly accessToken: string;
  readonly paymentId: string;
}

interface Authenticated {
  readonly status: string;
  readonly consumerAuthenticationInformation: Readonly<Record<string, string>>;
}

/** Sends what the browser library sends: JSON as plain text. */
async function ask(name: string, body: object): Promise<Answer> {
  const response = await fetch(`${server.url}/ws/threedsecureserver-${name}`, {
    method: "POST",
    headers: { "Content-Type": "text/plain" },
    body: JSON.stringify(body),
  });
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  return (await response.json()) as Answer;
}

function dataOf(answer: Answer): unknown {
  const [data] = answer["data"] as readonly unknown[];
  assert.ok(data !== undefined, JSON.stringify(answer));
  return data;
}

async function begun(): Promise<Begun> {
  const order = { totalAmount: "100.00", currency: "BRL", publicIntegrationKey };
  return dataOf(await ask("generateToken", order)) as Begun;
}

function requestOf(number: string, { accessToken, paymentId }: Begun) {
  return {
    token: accessToken,
    merchantTrackId: paymentId,
    additionalData: JSON.stringify({ publicIntegrationKey }),
    orderInformation: { amountDetails: { totalAmount: "100.00", currency: "BRL" } },
    consumerAuthenticationInformation: { overridePaymentMethod: "CREDIT" },
    paymentInformation: {
      card: { number, expirationMonth: "12", expirationYear: "2030", holderName: "Ana Lima" },
    },
  };
}

async function authenticated(number: string): Promise<Authenticated> {
  return dataOf(await ask("authentications", requestOf(number, await begun()))) as Authenticated;
}

describe("the browser library's 3-D Secure", () => {
  test("refuses a request without a key, with a wrong key, and without the card or the amount", async () => {
    const codeOf = async (name: string, body: object) => (await ask(name, body))["status_code"];
    assert.equal(await codeOf("generateToken", {}), "BP-SA-1");
    assert.equal(await codeOf("generateToken", { publicIntegrationKey: "wrong" }), "DA-1");
    const right = requestOf("4000000000001000", await begun());
    for (const additionalData of ["", "{", "[]", "null", "{}", '{"publicIntegrationKey":5}'])
      assert.equal(await codeOf("authentications", { ...right, additionalData }), "BP-SA-1");
    for (const number of ["4000000000001001", "12", "x", undefined]) {
      const paymentInformation = { card: { number } };
      assert.equal(await codeOf("authentications", { ...right, paymentInformation }), "COFRE-179");
    }
    for (const amountDetails of [
      {},
      { totalAmount: "0", currency: "BRL" },
      { totalAmount: "1", currency: "XXX" },
      { currency: "BRL" },
    ]) {
      const orderInformation = { amountDetails };
      assert.equal(await codeOf("authentications", { ...right, orderInformation }), "COFRE-179");
    }
  });

  for (const [number, status, eci] of [
    ["4000000000001000", "AUTHENTICATION_SUCCESSFUL", "05"],
    ["5200000000001005", "AUTHENTICATION_SUCCESSFUL", "02"],
    ["4111111111111111", "AUTHENTICATION_SUCCESSFUL", "05"],
    ["4000000000001026", "AUTHENTICATION_SUCCESSFUL", "06"],
    ["5200000000001021", "AUTHENTICATION_SUCCESSFUL", "01"],
    ["4000000000001166", "AUTHENTICATION_SUCCESSFUL", "07"],
    ["4000000000001018", "AUTHENTICATION_FAILED", "07"],
    ["4000000000001034", "AUTHENTICATION_FAILED", "07"],
    ["4000000000001042", "AUTHENTICATION_FAILED", "07"],
    ["4000000000001075", "AUTHENTICATION_FAILED", "07"],
    // No directory server has the brand.
    ["6062825624254001", "AUTHENTICATION_FAILED", "07"],
  ] as const) {
    test(`answers ${status} with ECI ${eci} for ${number}`, async () => {
      const answer = await authenticated(number);
      const { eci: found, ucaf } = answer.consumerAuthenticationInformation;
      assert.deepEqual([answer.status, found], [status, eci]);
      assert.equal(ucaf !== undefined, status === "AUTHENTICATION_SUCCESSFUL");
    });
  }

  test("gives values that /ws/direct accepts, with the liability that they mean", async () => {
    const { consumerAuthenticationInformation: values } = await authenticated("4000000000001000");
    const { eci, ucaf, xid, version, directoryServerTransactionId } = values;
    const { body } = await server.postJson(
      "/ws/direct",
      directBody("threeds-accepted", {
        amount_total: "100.00",
        creditcard: {
          card_number: "4000000000001000",
          card_name: "Ana Lima",
          card_due_date: "12/2030",
          card_cvv: "123",
          threeds_eci: eci,
          threeds_cryptogram: ucaf,
          threeds_xid: xid,
          threeds_version: version,
          threeds_trxid: directoryServerTransactionId,
        },
      }),
    );
    assert.equal((body["payment"] as Answer)["status"], "CO", JSON.stringify(body));
    const explained = await server.postJson("/__cofre/explain", {
      integration_key: integrationKey,
      merchant_payment_code: "threeds-accepted",
    });
    assert.match(JSON.stringify(explained.body), /"expected_liability":"issuer"/);
  });

  describe("whose values come back with a payment", () => {
    let orders = 0;
    /** Charges BRL 100.00 with the values; `changes` replace some of the payment or the card. */
    async function charge(
      number: string,
      values: Readonly<Record<string, unknown>>,
      { card = {}, order = {} }: { readonly card?: object; readonly order?: object } = {},
    ): Promise<{ readonly status: unknown; readonly warnings: string | null }> {
      orders += 1;
      const creditcard = {
        card_number: number,
        card_name: "Ana Lima",
        card_due_date: "12/2030",
        card_cvv: "123",
        ...values,
        ...card,
      };
      const response = await fetch(`${server.url}/ws/direct`, {
        method: "POST",
        body: JSON.stringify(
          directBody(`threeds-proof-${orders}`, { currency_code: "BRL", creditcard, ...order }),
        ),
      });
      const { payment } = (await response.json()) as { readonly payment?: Answer };
      return { status: payment?.["status"], warnings: response.headers.get("x-cofre-warning") };
    }
    const valuesOf = ({ consumerAuthenticationInformation: found }: Authenticated) => ({
      threeds_eci: found["eci"],
      threeds_cryptogram: found["ucaf"],
      threeds_xid: found["xid"],
      threeds_version: found["version"],
      threeds_trxid: found["directoryServerTransactionId"],
    });
    const number = "4000000000001000";

    for (const [what, change] of [
      ["another card", { card: { card_number: "4111111111111111" } }],
      ["another amount", { order: { amount_total: "100.01" } }],
      ["another indicator", { card: { threeds_eci: "06" } }],
      ["another cryptogram", { card: { threeds_cryptogram: "AAABBEg0VhI0VniQEjRWAAAAAAA=" } }],
    ] as const) {
      test(`has the simulated issuer decline values for ${what}`, async () => {
        const { status, warnings } = await charge(
          number,
          valuesOf(await authenticated(number)),
          change,
        );
        assert.equal(status, "CA");
        assert.match(warnings ?? "", /The simulated issuer declines the 3-D Secure values/);
      });
    }

    test("takes values for the right card and amount, also by the card's token, without a warning", async () => {
      const values = valuesOf(await authenticated(number));
      assert.deepEqual(await charge(number, values), { status: "CO", warnings: null });
      const { body } = await server.postJson("/ws/token", {
        integration_key: integrationKey,
        country: "br",
        creditcard: {
          card_number: number,
          card_name: "Ana Lima",
          card_due_date: "12/2030",
          card_cvv: "123",
        },
      });
      const { token } = body;
      const creditcard = { token, ...values };
      assert.equal((await charge(number, {}, { order: { creditcard } })).status, "CO");
      const other = valuesOf(await authenticated("4111111111111111"));
      const changed = { order: { creditcard: { token, ...other } } };
      assert.equal((await charge(number, {}, changed)).status, "CA", "of another card");
    });

    test("takes values of another 3-D Secure server as before", async () => {
      const other = {
        threeds_eci: "05",
        threeds_cryptogram: "AAABBEg0VhI0VniQEjRWAAAAAAA=",
        threeds_trxid: "c5b808e7-1de1-4069-a17b-f70d3b3b1645",
      };
      assert.deepEqual(await charge(number, other), { status: "CO", warnings: null });
    });

    test("shows the authentication in the payment's timeline, and in the console's diagram", async () => {
      await charge(number, valuesOf(await authenticated(number)));
      const timelineOf = async (code: string) => {
        const { body } = await server.postJson("/__cofre/timeline", {
          integration_key: integrationKey,
          merchant_payment_code: code,
        });
        return body["entries"] as readonly { readonly kind: string; readonly text: string }[];
      };
      const entries = await timelineOf(`threeds-proof-${orders}`);
      assert.deepEqual(
        entries.slice(0, 2).map(({ kind, text }) => `${kind}: ${text.slice(0, 45)}`),
        [
          "authentication: The bank was asked to authenticate the cardho",
          "authentication: The bank answered (ARes): Y.",
        ],
      );
      const folder = new URL("../../../console/src/", import.meta.url);
      const { messagesOf, partiesOf } = (await import(new URL("story.js", folder).href)) as {
        readonly messagesOf: (from: typeof entries) => readonly { readonly text: string }[];
        readonly partiesOf: (messages: readonly object[]) => readonly string[];
      };
      const messages = messagesOf(entries);
      assert.deepEqual(
        messages.slice(0, 2).map(({ text }) => text),
        ["AReq", "ARes Y"],
      );
      assert.equal(partiesOf(messages)[2], "Acquirer and bank");

      await charge(number, {});
      const plain = await timelineOf(`threeds-proof-${orders}`);
      assert.ok(plain.every(({ kind }) => kind !== "authentication"));
      assert.equal(partiesOf(messagesOf(plain))[2], "Acquirer");
    });

    for (const [what, card] of [
      ["under way", "4000000000001091"],
      ["refused", "4000000000001034"],
    ] as const) {
      test(`never charges an authentication that is ${what} as authenticated`, async () => {
        const { threeds_trxid } = valuesOf(await authenticated(card));
        const invented = {
          threeds_trxid,
          threeds_eci: "05",
          threeds_cryptogram: "AAABBEg0VhI0VniQEjRWAAAAAAA=",
        };
        assert.equal((await charge(card, invented)).status, "CA");
        assert.equal((await charge(card, {})).status, "CO", "control: without 3-D Secure");
      });
    }
  });

  describe("with a fault", () => {
    const add = async (kind: string, more: object = {}) => {
      const { body } = await server.postJson("/__cofre/faults", {
        integration_key: integrationKey,
        add: { kind, ...more },
      });
      assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    };
    const ordinary = "4111111111111111";
    const statusOf = async () => (await authenticated(ordinary)).status;

    test("of the directory server is not authenticated, once", async () => {
      await add("directory_server_silent");
      assert.deepEqual(
        [await statusOf(), await statusOf()],
        ["AUTHENTICATION_FAILED", "AUTHENTICATION_SUCCESSFUL"],
      );
    });

    test("is not met by a payment, and waits for an authentication", async () => {
      await add("result_lost");
      const { body } = await server.postJson("/ws/direct", directBody("threeds-no-fault"));
      assert.equal((body["payment"] as Answer)["status"], "CO");
      const refused = await server.postJson("/__cofre/faults", {
        integration_key: integrationKey,
        add: { kind: "result_lost", path: "/ws/direct" },
      });
      assert.equal(refused.body["status_code"], "COFRE-92");
      assert.equal(await statusOf(), "PENDING_AUTHENTICATION");
    });

    /** Passes the challenge of an ordinary card with the fault, and waits for its end. */
    async function challenged(kind: string, more: object = {}) {
      await add(kind, more);
      const one = await begun();
      const answer = dataOf(await ask("authentications", requestOf(ordinary, one)));
      const { acsUrl = "" } = (answer as Authenticated).consumerAuthenticationInformation;
      const query = `${new URL(acsUrl, server.url).search}&origin=http://localhost:3000`;
      const bank = async (fields?: Readonly<Record<string, string>>) => {
        const options = { method: "POST", body: new URLSearchParams(fields) };
        const response = await fetch(
          `${server.url}/3ds/bank${query}`,
          fields === undefined ? {} : options,
        );
        return response.text();
      };
      const resultNow = async () => {
        const { accessToken: token, paymentId: merchantTrackId } = one;
        const fields = { publicIntegrationKey, token, merchantTrackId };
        return (dataOf(await ask("authentication-results", fields)) as Authenticated).status;
      };
      return { bank, resultNow };
    }

    for (const kind of ["bank_silent", "result_lost", "result_forged"]) {
      test(`${kind}: the challenge is never passed, for any card`, async () => {
        const { bank, resultNow } = await challenged(kind);
        assert.equal((await bank()).includes('name="code"'), kind !== "bank_silent");
        const answered = await bank({ code: "1234" });
        assert.equal(answered.includes('name="cres"'), kind !== "bank_silent");
        assert.equal(await resultNow(), "PENDING_AUTHENTICATION");
        server.clock.advance(58_000);
        assert.equal(await resultNow(), "AUTHENTICATION_FAILED");
      });
    }

    test("bank_late: the page is empty at first, and then the challenge can be passed", async () => {
      const { bank, resultNow } = await challenged("bank_late", { delay_ms: 1_500 });
      const early = await bank();
      assert.match(early, /http-equiv="refresh" content="2;url=\/3ds\/bank\?/);
      assert.doesNotMatch(early, /name="code"/);
      assert.match(await bank(), /name="code"/);
      await bank({ code: "1234" });
      assert.equal(await resultNow(), "AUTHENTICATION_SUCCESSFUL");
    });
  });

  describe("the pages of a challenge", () => {
    const challengePaths = ["/3ds/challenge", "/3ds/bank", "/3ds/notification"] as const;
    const shown = (path: string, query: URLSearchParams) =>
      fetch(`${server.url}${path}?${query.toString()}`);

    async function queryOf(number = "4000000000001091"): Promise<URLSearchParams> {
      const { acsUrl = "" } = (await authenticated(number)).consumerAuthenticationInformation;
      const query = new URL(acsUrl, server.url).searchParams;
      query.set("origin", "http://localhost:3000");
      return query;
    }

    test("are shown in pages of the account only, with nothing but this server's own scripts", async () => {
      const query = await queryOf();
      for (const path of challengePaths) {
        const response = await shown(path, query);
        const policy = response.headers.get("content-security-policy") ?? "";
        assert.match(policy, /frame-ancestors (?:'self' )?http:\/\/localhost:3000(?:;|$)/, path);
        for (const directive of ["default-src 'none'", "script-src 'self'", "form-action 'self'"])
          assert.ok(policy.includes(directive), `${path}: ${directive}`);
        assert.match(await response.text(), /<html lang="en"/);
      }
    });

    for (const [what, change] of [
      ["another origin", { origin: "https://evil.example" }],
      ["no origin", { origin: "" }],
      ["a policy as an origin", { origin: "http://localhost:3000;script-src *" }],
      ["an unknown key", { key: "unknown" }],
      ["the secret key", { key: integrationKey }],
      ["an unknown challenge", { id: "c5b808e7-1de1-4069-a17b-f70d3b3b1645" }],
    ] as const) {
      test(`are refused for ${what}, all alike`, async () => {
        const query = await queryOf();
        for (const [name, value] of Object.entries(change)) query.set(name, value);
        const bodies = new Set<string>();
        for (const path of challengePaths) {
          const response = await shown(path, query);
          const policy = response.headers.get("content-security-policy") ?? "";
          assert.match(policy, /frame-ancestors 'none'/);
          bodies.add(await response.text());
        }
        assert.equal(bodies.size, 1);
        assert.match([...bodies].join(""), /This confirmation does not exist or has ended/);
        const state = await shown("/3ds/state", query);
        assert.deepEqual(await state.json(), { status: "unknown" });
        const left = await fetch(`${server.url}/3ds/leave?${query.toString()}`, { method: "POST" });
        assert.deepEqual(await left.json(), { status: "unknown" });
      });
    }

    test("put nothing of a request into the page as HTML", async () => {
      const query = await queryOf();
      const hostile = `"><script>alert(1)</script>`;
      for (const name of ["lang", "code", "extra"]) query.set(name, hostile);
      for (const path of challengePaths) {
        const text = await (await shown(path, query)).text();
        assert.ok(!text.includes("alert(1)"), path);
      }
    });

    test("are not there for an authentication without a challenge", async () => {
      const begunOne = await begun();
      await ask("authentications", requestOf("4000000000001000", begunOne));
      const query = new URLSearchParams({
        key: publicIntegrationKey,
        id: begunOne.paymentId,
        origin: "http://localhost:3000",
      });
      assert.match(await (await shown("/3ds/bank", query)).text(), /does not exist/);
    });
  });

  test("is not available where another server carries out the payments", async () => {
    const [endpoint] = threeDSecureEndpoints({ authenticatorOf: () => undefined });
    assert.ok(endpoint !== undefined && endpoint.key === "public");
    const { body } = await endpoint.handle({} as Parameters<typeof endpoint.handle>[0]);
    assert.match(body, /"COFRE-23"/);
  });

  describe("in a world", () => {
    const post = async (path: string, fields: object) => {
      const { body } = await server.postJson(path, fields);
      assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
      return body;
    };
    const keysOf = async (name: string) => {
      const body = await post("/__cofre/worlds", {
        integration_key: integrationKey,
        name,
        seed: "threeds",
      });
      const world = body["world"] as Readonly<Record<string, string>>;
      return {
        secret: world["integration_key"] ?? "",
        open: world["public_integration_key"] ?? "",
      };
    };
    const valuesIn = async (key: string) => {
      const fields = { ...requestOf("4000000000001000", await begun()), additionalData: "" };
      const { token: _, merchantTrackId: __, ...rest } = fields;
      const answer = await ask("authentications", { ...rest, publicIntegrationKey: key });
      return (dataOf(answer) as Authenticated).consumerAuthenticationInformation;
    };

    test("depends on the seed alone, begins again after a reset, and continues after a restore", async () => {
      const [one, other] = [await keysOf("threeds-1"), await keysOf("threeds-2")];
      const first = await valuesIn(one.open);
      assert.deepEqual(await valuesIn(other.open), first);
      assert.notEqual(first["ucaf"], (await valuesIn(publicIntegrationKey))["ucaf"]);

      const act = (action: string) =>
        post("/__cofre/world", { integration_key: one.secret, action, name: "kept" });
      await act("snapshot");
      const second = await valuesIn(one.open);
      assert.notDeepEqual(second, first);
      await act("restore");
      assert.deepEqual(await valuesIn(one.open), second);
      await act("reset");
      assert.deepEqual(await valuesIn(one.open), first);
    });
  });

  test("authenticates once: the same request again has the same result", async () => {
    const one = await begun();
    const first = await ask("authentications", requestOf("4000000000001000", one));
    assert.deepEqual(await ask("authentications", requestOf("4000000000001000", one)), first);
    assert.deepEqual(
      await ask("authentications", requestOf("4000000000001018", one)),
      first,
      "another card does not change it",
    );
  });

  test("knows only authentications that it began, by their token", async () => {
    const [one, other] = [await begun(), await begun()];
    await ask("authentications", requestOf("4000000000001000", one));
    const resultOf = async (paymentId: string, accessToken: string) => {
      const answer = await ask("authentication-results", {
        publicIntegrationKey,
        merchantTrackId: paymentId,
        token: accessToken,
        tokenChallenge: "forged",
      });
      return (dataOf(answer) as Authenticated).status;
    };
    assert.equal(await resultOf(one.paymentId, one.accessToken), "AUTHENTICATION_SUCCESSFUL");
    assert.equal(await resultOf(one.paymentId, other.accessToken), "AUTHENTICATION_FAILED");
    assert.equal(await resultOf(other.paymentId, other.accessToken), "AUTHENTICATION_FAILED");
  });

  test("puts no digit of the card into answers, the log and the request log", async () => {
    const number = "4000000000001091";
    const seen = [await ask("authentications", requestOf(number, await begun()))];
    const { body } = await server.postJson("/__cofre/requests", {
      integration_key: integrationKey,
    });
    const text = JSON.stringify([seen, body, server.events]);
    assert.match(text, /threedsecureserver-authentications/, "control: the request is recorded");
    assert.doesNotMatch(text, /4000000000001091|0000001091/);
  });

  test("counts different cards of a visitor", async () => {
    const limit = (publicCardsPerTenMinutes: number) =>
      server.postJson("/__cofre/settings", {
        integration_key: integrationKey,
        settings: { publicCardsPerTenMinutes },
      });
    await limit(1);
    try {
      const status = async (number: string) =>
        (await ask("authentications", requestOf(number, await begun())))["status_code"];
      assert.equal(await status("4000000000001000"), undefined);
      assert.equal(await status("4000000000001026"), "COFRE-178");
    } finally {
      await limit(0);
    }
  });
});
