import { behaviourNames } from "../../authentication/test-cards.ts";
import { reading } from "../../wire/permission.ts";
import { countryCodes, countryOf } from "../../payment/countries.ts";
import { type TestCard, testCards } from "../../sandbox/test-cards.ts";
import { maskOfDigits } from "../../vault/mask.ts";
import { verdictCode, verdictDescription } from "../../wire/answers/payment-answer.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";
import { type PlainCode, refusal } from "../../wire/errors/refusal.ts";
import { json, NamedSchema } from "../../wire/schema.ts";

/** What the acquirer's card tables refuse: in the order in which a payment is checked. */
const refusals: readonly (readonly [
  applies: (traits: TestCard["traits"]) => boolean,
  code: PlainCode,
  when: "always" | "instalments",
])[] = [
  [({ foreign }) => foreign, "BP-DR-83", "always"],
  [({ funding }) => funding === "prepaid", "BP-DR-97", "instalments"],
  [({ funding }) => funding === "debit", "BP-DR-100", "instalments"],
  [({ ecommerce }) => !ecommerce, "BP-DR-101", "always"],
  [({ exhausted }) => exhausted, "BP-DR-102", "always"],
];

const answerSchema = new NamedSchema(
  "TestCardsAnswer",
  json.object({
    cards: {
      ...json.list(
        json.object(
          {
            card_number: { ...json.digits, description: "A published number without cardholder." },
            masked_card_number: json.text,
            brand: json.text,
            cvv_digits: { ...json.integer, description: "The length of its security code." },
            funding: json.oneOf(["credit", "debit", "prepaid"]),
            countries: {
              ...json.list(json.text),
              description: "The countries that accept the brand.",
            },
            result: json.oneOf(["approved", "declined", "refused"]),
            transaction_code: {
              ...json.textOrNull,
              description: "transaction_status.code of the payment; null if there is none.",
            },
            transaction_description: json.textOrNull,
          },
          {
            reason: { ...json.text, description: "The reason of the decline." },
            refusal: json.object({
              status_code: json.text,
              status_message: json.text,
              when: {
                ...json.oneOf(["always", "instalments"]),
                description: "instalments: only with more than one.",
              },
            }),
            three_d_secure: json.oneOf(behaviourNames),
          },
        ),
      ),
      description: "In the order of docs/wire/sandbox.md.",
    },
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "listTestCards",
  tag: "Sandbox",
  summary: "List the test cards",
  description:
    "The published test numbers and what a payment with each is answered. Any name, any expiry date in the future and any security code of the right length are accepted.",
  fields: [secretKey],
  answer: answerSchema,
  example: exampleKey,
};

/** `/__cofre/test-cards`, in the sandbox only: the test cards with the outcome of their payments. */
export function testCardsEndpoint(): Endpoint {
  return {
    path: "/__cofre/test-cards",
    doc,
    permission: reading,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle() {
      return {
        status: 200,
        body: JSON.stringify({ cards: testCards.map(shown), status: "SUCCESS" }),
      };
    },
  };
}

function shown({ digits, brand, result, traits, threeDSecure }: TestCard): object {
  const [, code, when] = refusals.find(([applies]) => applies(traits)) ?? [];
  const isRefused = when === "always";
  return {
    card_number: digits,
    masked_card_number: maskOfDigits(Buffer.from(digits, "latin1")),
    brand,
    cvv_digits: brand === "amex" ? 4 : 3,
    funding: traits.funding,
    countries: countryCodes.filter((each) => countryOf(each)?.brands.has(brand) === true),
    result: isRefused ? "refused" : result === "approved" ? result : "declined",
    transaction_code: isRefused ? null : verdictCode(result),
    transaction_description: isRefused ? null : verdictDescription(result),
    // JSON omits undefined members.
    reason: result === "approved" ? undefined : result,
    refusal:
      code === undefined
        ? undefined
        : { status_code: code, status_message: refusal(code).message, when },
    three_d_secure: threeDSecure,
  };
}
