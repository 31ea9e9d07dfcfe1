import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant } from "../../kernel/instant.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { SeededRandom } from "../../kernel/seeded-random.ts";
import { ServiceError } from "../../payment/service-error.ts";
import type { Account } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import type { DirectInput, TokenizeInput, VerifyInput } from "../../operations/direct-input.ts";
import { IdempotentRequests } from "../../operations/idempotent-requests.ts";
import { createMemoryStore } from "../../stores/memory/memory-store.ts";
import type { WireResponse } from "../answers/answer.ts";
import { CardLikeNames } from "../decode/card-like-names.ts";
import { decodeRequest } from "../decode/decode.ts";
import type { Endpoint, KeyedEndpoint } from "../endpoint.ts";
import type { EndpointDeps } from "./deps.ts";
import type { Cvv } from "../../vault/pan.ts";
import { simulatedError } from "../answers/simulated-error.ts";
import { directEndpoint } from "./direct.ts";
import { notAvailableEndpoints } from "./not-available.ts";
import { setCvvEndpoint } from "./set-cvv.ts";
import { tokenEndpoint } from "./token.ts";
import { verificationOf, verifyCardEndpoints } from "./verify-card.ts";

const account: Account = {
  id: "0a1b2c3d" as MerchantId,
  version: 1,
  name: "Loja",
  settings: defaultAccountSettings(),
};
const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "4/2030",
  card_cvv: "321",
};
const payment = {
  merchant_payment_code: "ord-1",
  amount_total: "100",
  currency_code: "CLP",
  name: "Ana Lima",
  email: "ana@example.com",
  country: "cl",
  phone_number: "8522847035",
  creditcard: card,
};

/** Runs nothing: passes the input to `onInput`, and then ends as the operation might. */
function depsThat(onInput: (input: unknown) => void, end: () => never): EndpointDeps {
  return {
    runner: {
      async run(operation, _account, input) {
        // No payment has the code of a request that was refused during validation.
        if (operation.name === "find_payment") return undefined as never;
        onInput(input);
        return end();
      },
    },
    clockOf: () => ({ now: () => instant(Date.UTC(2026, 10, 28)) }),
    holderOf: async () => undefined,
    forget: () => undefined,
    randomOf: () => new SeededRandom("endpoints"),
    requests: new IdempotentRequests(
      createMemoryStore(),
      { now: () => instant(0) },
      { isAlone: true },
    ),
    cardLikeNames: new CardLikeNames(),
    pages: { pageUrl: () => "", isReturnAddress: () => false },
    addressCheck: () => () => undefined,
    authenticatorOf: () => undefined,
    sandbox: undefined,
  };
}

function ask(
  endpoint: KeyedEndpoint,
  body: unknown,
  processingType?: string,
): Promise<WireResponse> {
  const { params } = decodeRequest(endpoint.path, Buffer.from(JSON.stringify(body)));
  return endpoint.handle({
    method: "POST",
    params,
    account,
    grants: "secret",
    headers: {
      simulateInternalError: undefined,
      processingType,
      idempotencyKey: undefined,
      isCrossSite: () => false,
    },
  });
}

function keyed(endpoint: Endpoint): KeyedEndpoint {
  assert.ok(endpoint.key !== "none");
  return endpoint;
}

const refuse = (): never => {
  throw new ServiceError("token_taken");
};
const fail = (): never => {
  throw new TypeError("a mistake of ours");
};

describe("card data of an endpoint's request", () => {
  for (const [how, end] of [
    ["refuses", refuse],
    ["fails", fail],
  ] as const) {
    test(`is there while the operation runs, and gone when it ${how}`, async () => {
      const inputs: (DirectInput | TokenizeInput | VerifyInput)[] = [];
      const lengths: number[] = [];
      const deps = depsThat((input) => {
        const given = input as DirectInput | TokenizeInput | VerifyInput;
        inputs.push(given);
        lengths.push(panOf(given).reveal().length);
      }, end);

      const verify = verifyCardEndpoints(deps).map((endpoint) =>
        ask(keyed(endpoint), { country: "br", card }),
      );
      const requested = [
        ask(keyed(directEndpoint(deps)), { payment }),
        ask(keyed(tokenEndpoint(deps)), { card }),
        ...verify,
      ];
      await Promise.allSettled(requested);

      assert.deepEqual(lengths, [16, 16, 16, 16]);
      for (const input of inputs)
        assert.throws(() => panOf(input).reveal(), { name: "BrokenInvariant" });
    });
  }

  test("is gone after a security code was left for a token, or refused", async () => {
    const codes: Cvv[] = [];
    const deps = depsThat((input) => void codes.push((input as { readonly cvv: Cvv }).cvv), refuse);
    await ask(keyed(setCvvEndpoint(deps)), { token: "a-token", card_cvv: "123" });
    // Posted to /ws/token by mistake: the work is the same.
    await ask(keyed(tokenEndpoint(deps)), { token: "a-token", card_cvv: "123" });
    assert.equal(codes.length, 2);
    for (const code of codes) assert.throws(() => code.reveal(), { name: "BrokenInvariant" });
  });

  function panOf(input: DirectInput | TokenizeInput | VerifyInput): TokenizeInput["card"]["pan"] {
    if ("card" in input) return input.card.pan;
    assert.ok(input.source.kind !== "token");
    return input.source.card.pan;
  }
});

test("a refusal is answered in the endpoint's codes, a mistake of ours is left to the server", async () => {
  const refused = await ask(keyed(directEndpoint(depsThat(() => undefined, refuse))), { payment });
  assert.deepEqual(refused, {
    status: 200,
    body: '{"status":"ERROR","status_code":"BP-DR-65","status_message":"Token to create already exists"}',
    code: "BP-DR-65",
    field: "token",
  });
  await assert.rejects(
    ask(keyed(directEndpoint(depsThat(() => undefined, fail))), { payment }),
    TypeError,
  );
});

test("an accepted request that may be a mistake is answered with warnings", async () => {
  const answeredFor = async (
    values: object,
    processed: object = {},
  ): Promise<readonly string[]> => {
    const deps: EndpointDeps = {
      ...depsThat(() => undefined, refuse),
      sandbox: { loseNextAuthorization: () => undefined },
    };
    const { headers } = await ask(keyed(directEndpoint(deps)), {
      payment: { ...payment, ...values, creditcard: { ...card, ...processed } },
    });
    return (headers ?? []).map(([name, text]) => `${name}: ${text}`);
  };
  assert.deepEqual(await answeredFor({ amount_total: 12_345.005 }), [
    "X-Cofre-Warning: amount_total has more than two decimals and was rounded half up",
    "X-Cofre-Warning: CLP 12345.01 has cents, which are not used in CLP: is it 100 times too small?",
  ]);
  assert.deepEqual(
    await answeredFor({ amount_total: 12_345 }, { threeds_eci: "02", threeds_cryptogram: "AAAA" }),
    ["X-Cofre-Warning: threeds_eci 02 is not an indicator of visa"],
  );
  assert.deepEqual(
    await answeredFor({ amount_total: 12_345 }, { threeds_eci: "05", threeds_cryptogram: "AAAA" }),
    [],
  );
  const brazilian = {
    amount_total: 100,
    currency_code: "BRL",
    country: "br",
    document: "853.513.468-93",
    zipcode: "80010-000",
    address: "Rua E",
    street_number: "1",
    city: "Curitiba",
    state: "PR",
  };
  assert.deepEqual(await answeredFor({ ...brazilian, payment_type_code: "debitcard" }), [
    "X-Cofre-Warning: Acquirers in Brazil decline debit cards without 3-D Secure: no threeds_eci is given",
  ]);
  assert.deepEqual(await answeredFor(brazilian), [], "control: a credit card");
});

test("the header that asks for local processing asks for Chile's document", async () => {
  const endpoint = keyed(directEndpoint(depsThat(() => undefined, refuse)));
  assert.equal((await ask(endpoint, { payment }, " Local ")).code, "BP-DR-22");
  assert.equal((await ask(endpoint, { payment }, "cross-border")).code, "BP-DR-65");
});

test("operations that come later say so by name", async () => {
  const page = notAvailableEndpoints.find(({ path }) => path === "/ws/print");
  assert.ok(page !== undefined && page.key === "none");
  const { body } = await page.handle({
    method: "POST",
    params: {},
    headers: {
      simulateInternalError: undefined,
      processingType: undefined,
      idempotencyKey: undefined,
      isCrossSite: () => false,
    },
  });
  assert.match(body, /"The operation print is not available yet"/);
});

test("a verification without an answer asks for another try: nothing is held, nothing was charged", () => {
  assert.equal(
    verificationOf({ kind: "unknown", cause: "timeout" }, true),
    '{"transaction_status":{"code":"RETRY","description":"Timeout"},"transaction_type":"ZERO DOLLAR"}',
  );
});

describe("the header that simulates failures", () => {
  const simulate = (
    value: string,
    sandbox: EndpointDeps["sandbox"],
  ): Promise<WireResponse | undefined> => simulatedError(value, account.id, sandbox);

  test("has the acquirer's network lose the next authorization's answer, and processes the request", async () => {
    const lost: string[] = [];
    const answer = await simulate(" bp-dr-119 ", {
      loseNextAuthorization: (merchantId) => void lost.push(merchantId),
    });
    assert.deepEqual([answer, lost], [undefined, [account.id]]);
  });

  test("has no meaning where money is real", async () => {
    assert.equal(await simulate("BP-DR-102", undefined), undefined);
    // The control: in the sandbox it has an effect.
    assert.equal(
      (await simulate("BP-DR-102", { loseNextAuthorization: () => undefined }))?.code,
      "BP-DR-102",
    );
  });

  test("shows one text where the catalogue has several", async () => {
    const answer = await simulate("BP-DR-24", { loseNextAuthorization: () => undefined });
    assert.match(answer?.body ?? "", /"status_message":"Field payment\.zipcode is required"/);
  });

  test("shows every code that the interface names, those of the hosted page too", async () => {
    // BP-R-5 is one of the three values in the documentation: the payment was processed instead.
    const direct = "0-36 38-49 51 52 54-59 61-73 75-77 83 84 90 93 95 97 98 100-102 136";
    const numbers = {
      "BP-DR": direct,
      "BP-R": "1-13 17-23 28-30 32",
      "BP-CAP": "1-5 11",
      "BP-CAN": "1",
      "BP-REF": "1 7",
      "BP-ZIP": "1-3",
    };
    const codes = Object.entries(numbers).flatMap(([series, ranges]) =>
      ranges.split(" ").flatMap((range) => {
        const [first = 0, last = first] = range.split("-").map(Number);
        return Array.from({ length: last - first + 1 }, (_, index) => `${series}-${first + index}`);
      }),
    );
    for (const code of [...codes, "BP-SA-1", "BP-SA-2", "BP-CH-1", "BP-DPAR-4", "BP-REF-CAN-2"]) {
      const answer = await simulate(code, { loseNextAuthorization: () => undefined });
      assert.deepEqual([answer?.status, answer?.code], [200, code]);
    }
  });

  test("names no error of our own", async () => {
    assert.equal(await simulate("COFRE-1", { loseNextAuthorization: () => undefined }), undefined);
  });
});
