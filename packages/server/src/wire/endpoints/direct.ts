import { wirePaths } from "../../interface/paths.ts";
import { acting } from "../permission.ts";
import { findPayment } from "../../operations/repeated-requests.ts";
import { PaymentCodeTaken } from "../../operations/payment-code-taken.ts";
import { maskedPanOf } from "../../operations/masked-pan-of.ts";
import { direct, type Direct } from "../../operations/direct.ts";
import type { DirectInput } from "../../operations/direct-input.ts";
import { formatTimestamp } from "../../kernel/calendar.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Account } from "../../merchant/account.ts";
import type { AddressCheck } from "../../merchant/receiver-address.ts";
import { withWarnings, type WireResponse } from "../answers/answer.ts";
import { amountWarning } from "../requests/amount-warning.ts";
import { roundingWarnings } from "../requests/amounts.ts";
import { threeDSecureWarnings, credentialLongest } from "../requests/credential-nodes.ts";
import {
  mayHaveMade,
  paymentCodeIn,
  readDirect,
  wipeSource,
  directRules,
  directLongest,
} from "../requests/direct-request.ts";
import { problemOfProof } from "../requests/issued-proof.ts";
import type { KeyedEndpoint, WireRequest } from "../endpoint.ts";
import { nodeOf } from "../requests/fields.ts";
import { paymentAnswer, wireStatusOf } from "../answers/payment-answer.ts";
import { echoName } from "../decode/card-like.ts";
import { refusal } from "../errors/refusal.ts";
import { offeredInstalments } from "../../payment/instalments.ts";
import { ServiceError } from "../../payment/service-error.ts";
import { brands } from "../../vault/brand.ts";
import { simulatedError } from "../answers/simulated-error.ts";
import { textOf } from "../decode/tree.ts";
import { WireError } from "../decode/wire-error.ts";
import { answeringAnswer, type EndpointDeps } from "./deps.ts";
import type { Field } from "../field.ts";
import { cardErrors, type ErrorMappings, internalFailure, mapTo } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { paymentAnswerSchema } from "../answers/payment-schema.ts";
import { rangeOf, type RuleCode } from "../requests/rules.ts";
import { type CountryField, countryCodes, countryOf } from "../../payment/countries.ts";
import {
  cardFields,
  chargeToken,
  countryField,
  exampleCard,
  exampleKey,
  networkTokenFields,
  rule,
  secretKey,
  storedCredential,
} from "./shared-docs.ts";

/** POST /ws/direct: charges or authorizes (interface 3). */
export function directEndpoint({
  runner,
  clockOf,
  sandbox,
  addressCheck,
  authenticatorOf,
}: EndpointDeps): KeyedEndpoint {
  /** The account with the issuer's answer to values of 3-D Secure that it did not issue so. */
  const withIssuersAnswer = async (
    account: Account,
    read: DirectInput,
    warnings: string[],
  ): Promise<Account> => {
    const authenticator =
      read.order.threeDSecure === undefined ? undefined : authenticatorOf(account);
    if (authenticator === undefined) return account;
    const problem = await problemOfProof(authenticator, account.id, read, (token) =>
      runner.run(maskedPanOf, account, { token }),
    );
    if (problem === undefined) return account;
    warnings.push(`The simulated issuer declines the 3-D Secure values: ${problem}`);
    return declining(account);
  };
  return {
    path: wirePaths.direct,
    doc,
    permission: acting("operator", "payment_created"),
    recorded: true,
    key: "secret",
    family: "json",
    cors: false,
    acquirerFaults: ["decline", "acquirer_unknown_then_yes", "acquirer_unknown_then_no"],
    newPaymentCode: (params) =>
      textOf(nodeOf(params, "payment") ?? params, "merchant_payment_code"),
    async handle(request) {
      const { params, account, headers, named } = request;
      const { simulateInternalError: requested } = headers;
      const simulated =
        requested === undefined ? undefined : await simulatedError(requested, account.id, sandbox);
      if (simulated !== undefined) return simulated;
      const warnings: string[] = [];
      const answer = await answeringAnswer(directErrors, async () => {
        const now = clockOf(account).now();
        const read = await readUnlessMade(runner, request, now);
        if ("payment" in read) return answerOf(read, account);
        try {
          warnings.push(
            ...roundingWarnings(nodeOf(params, "payment") ?? params, "amount_total", account),
          );
          const small =
            sandbox === undefined ? undefined : amountWarning(read.order.amount, account, now);
          if (small !== undefined) warnings.push(small);
          if (sandbox !== undefined) warnings.push(...threeDSecureWarnings(read));
          const checked = withUsableAddress(read, addressCheck(account), warnings);
          return answerOf(
            await runner.run(direct, await withIssuersAnswer(account, checked, warnings), {
              ...checked,
              request: named?.digest,
            }),
            account,
          );
        } finally {
          wipeSource(read.source);
        }
      });
      return withWarnings(answer, warnings);
    },
  };
}

/** As the issuer does with a proof that it cannot verify. */
function declining(account: Account): Account {
  const simulator = {
    ...account.settings.simulator,
    fault: { decline: "three_d_secure_required" },
  } as const;
  return { ...account, settings: { ...account.settings, simulator } };
}

/**
 * Drops an address that would never be called, like other unusable addresses: the account's own
 * addresses are used instead.
 */
function withUsableAddress(
  read: DirectInput,
  check: AddressCheck,
  warnings: string[],
): DirectInput {
  const { notificationUrl } = read.order;
  const reason = notificationUrl === undefined ? undefined : check(notificationUrl);
  if (reason === undefined) return read;
  warnings.push(
    `notification_url is ignored, and the account's own addresses are used: it ${reason}`,
  );
  return { ...read, order: { ...read.order, notificationUrl: undefined } };
}

/**
 * Reads the request. A request that is refused now may have been accepted before, under other
 * settings or before its card expired: then its payment is returned.
 */
async function readUnlessMade(
  runner: EndpointDeps["runner"],
  { params, account, headers, named }: WireRequest,
  now: Instant,
): Promise<DirectInput | Direct> {
  const local =
    account.settings.profile === "B" || headers.processingType?.trim().toLowerCase() === "local";
  try {
    return readDirect(params, account, now, { local });
  } catch (refusal) {
    const code = refusal instanceof WireError ? paymentCodeIn(params) : undefined;
    if (code === undefined) throw refusal;
    try {
      const payment = await runner.run(findPayment, account, { code, request: named?.digest });
      if (payment !== undefined) return { payment, token: undefined };
    } catch (error) {
      if (!(error instanceof PaymentCodeTaken) || mayHaveMade(params, error.existing.order))
        throw error;
    }
    throw refusal;
  }
}

/**
 * A token is returned once and never stored; a payment whose attempt has no answer yet is not
 * final. Neither answer is kept for replay.
 */
function answerOf({ payment, token }: Direct, account: Account): WireResponse {
  const body = paymentAnswer(payment, account, token === undefined ? {} : { token });
  return { status: 200, body, keep: token === undefined && payment.attempt === undefined };
}

/**
 * Names the payment that has the code, so that a client that lost the first answer can query it.
 */
export function paymentExists(error: unknown): WireError {
  if (!(error instanceof PaymentCodeTaken)) return internalFailure.toWireError(error);
  const { order, createdAt } = error.existing;
  return refusal("BP-DR-0", {
    code: echoName(order.code),
    time: formatTimestamp(createdAt),
    status: wireStatusOf(error.existing),
  });
}

/**
 * As for a card number in direct-request.ts: the number and the token of one card get the same
 * text.
 */
function planNotOffered(error: unknown): WireError {
  const detail = error instanceof ServiceError ? error.detail : {};
  const country = countryOf(String(detail["country"]));
  if (country === undefined) return internalFailure.toWireError(error);
  const brand = brands.find((name) => name === detail["brand"]);
  return refusal("BP-DR-34", {
    count: String(detail["count"]),
    range: rangeOf(offeredInstalments(country, brand)),
  });
}

export const directErrors: ErrorMappings = {
  ...cardErrors,
  payment_code_holds_card: mapTo("BP-DR-9", { problem: "invalid" }),
  payment_code_taken: { code: "BP-DR-0", toWireError: paymentExists },
  instalments_not_offered: { code: "BP-DR-34", toWireError: planNotOffered },
  card_foreign: mapTo("BP-DR-83"),
  instalments_on_prepaid: mapTo("BP-DR-97"),
  instalments_on_debit: mapTo("BP-DR-100"),
  card_not_eligible: mapTo("BP-DR-101"),
  card_exhausted: mapTo("BP-DR-102"),
  mandate_mismatch: mapTo("COFRE-28"),
  outcome_unknown: mapTo("BP-DR-119"),
};

/** Countries in which a payment must have the field, whatever the account's profile is. */
function countriesThatAskFor(field: CountryField): readonly string[] {
  return countryCodes.filter((code) => countryOf(code)?.required.includes(field) === true);
}

const addressField = (
  name: string,
  field: Exclude<CountryField, "document" | "zipcode">,
  number: RuleCode,
  note: string,
): Field => ({
  name,
  type: "text",
  required: { code: rule(number), countries: countriesThatAskFor(field) },
  longest: { characters: directLongest[field], code: rule(number) },
  note,
  source: "3.2",
});

const paymentField: Field = {
  name: "payment",
  type: "object",
  required: { code: rule(2) },
  note: "What is charged.",
  source: "3.2",
  fields: [
    {
      name: "merchant_payment_code",
      type: "text",
      required: { code: rule(9) },
      longest: { characters: directLongest.code.X, code: rule(10) },
      note: `Your unique name for the payment; BP-DR-0 when it was used before. ${directLongest.code.B} characters on profile B.`,
      source: "3.2",
    },
    {
      name: "amount_total",
      type: "decimal",
      required: { code: rule(5) },
      note: "In currency_code: 100, 100.5 or 100.50. More than two decimals are rounded half up, or refused with BP-DR-5 when strictAmounts is set.",
      source: "3.2",
    },
    {
      name: "currency_code",
      type: "text",
      required: { code: rule(3) },
      longest: { characters: 3, code: rule(4) },
      note: "ISO 4217: the country's own currency, USD or EUR.",
      source: "3.2",
    },
    {
      ...countryField("3.2"),
      required: { code: rule(76) },
      note: "Not case-sensitive. BP-DR-77 when the account does not accept payments there.",
    },
    {
      name: "payment_type_code",
      type: "text",
      required: { code: rule(35), when: "the request has no card" },
      note: "creditcard, debitcard or a brand. A brand that does not match the card is accepted.",
      source: "3.2",
    },
    {
      name: "creditcard",
      type: "object",
      aliases: ["card"],
      required: { code: rule(48), or: ["card", "token"] },
      note: "The card, or its token.",
      source: "3.3",
      fields: [
        ...cardFields({ longestName: directLongest.holderName }),
        { ...chargeToken, longest: { characters: directLongest.chargeToken, code: rule(66) } },
        {
          name: "auto_capture",
          type: "flag",
          note: "false: authorize only, capture later. Default: true.",
          source: "3.3",
        },
        {
          name: "soft_descriptor",
          type: "text",
          longest: { characters: directLongest.softDescriptor },
          note: "The text on the cardholder's statement.",
          source: "3.3",
        },
        ...networkTokenFields,
        {
          name: "threeds_eci",
          type: "text",
          note: "From your own 3-D Secure server: 00, 01, 02, 05, 06 or 07, otherwise COFRE-27. 01, 02, 05 and 06 require a cryptogram.",
          source: "3.3",
        },
        {
          name: "threeds_cryptogram",
          type: "text",
          note: "From your own 3-D Secure server: base64 or base64url, at most 64 characters, otherwise COFRE-27.",
          source: "3.3",
        },
        {
          name: "threeds_xid",
          type: "text",
          longest: { characters: credentialLongest.xid },
          note: "From your own 3-D Secure server.",
          source: "3.3",
        },
        {
          name: "threeds_version",
          type: "text",
          longest: { characters: credentialLongest.version },
          note: "From your own 3-D Secure server.",
          source: "3.3",
        },
        {
          name: "threeds_trxid",
          type: "text",
          longest: { characters: credentialLongest.transactionId },
          note: "From your own 3-D Secure server.",
          source: "3.3",
        },
      ],
    },
    {
      name: "instalments",
      type: "whole",
      note: "Default: 1. BP-DR-34 when the country or the brand does not offer the plan.",
      source: "3.5",
    },
    {
      name: "name",
      type: "text",
      required: { code: rule(13) },
      longest: { characters: directLongest.name, code: rule(14) },
      note: "The customer's name.",
      source: "3.2",
    },
    {
      name: "email",
      type: "text",
      required: { code: rule(15) },
      shortest: { characters: 5, code: rule(17) },
      longest: { characters: directLongest.email, code: rule(16) },
      note: "The customer's email address. BP-DR-17 when it is invalid.",
      source: "3.2",
    },
    {
      name: "phone_number",
      type: "digits",
      required: { code: rule(31) },
      shortest: { characters: 8, code: rule(32) },
      longest: { characters: 15, code: rule(32) },
      note: "Punctuation is removed.",
      source: "3.2",
    },
    {
      name: "document",
      type: "text",
      required: { code: rule(22), countries: countriesThatAskFor("document") },
      note: "With or without punctuation. Check digits are verified (BP-DR-23). In Chile required only when the payment is processed locally.",
      source: "3.2",
    },
    {
      name: "document_type",
      type: "text",
      note: "For example ARG_CUIT, ARG_CUIL, ARG_CDI, ARG_DNI, COL_CC, COL_CE or COL_NIT.",
      source: "3.2",
    },
    {
      name: "zipcode",
      type: "text",
      required: { code: rule(24), countries: countriesThatAskFor("zipcode") },
      longest: { characters: directLongest.zipcode, code: rule(24) },
      note: "In Brazil 5 to 9 letters and digits.",
      source: "3.2",
    },
    addressField("address", "address", 25, "The street."),
    addressField("street_number", "streetNumber", 26, "S/N when the address has no number."),
    {
      name: "street_complement",
      type: "text",
      longest: { characters: directLongest.streetComplement },
      note: "Apartment, floor.",
      source: "3.2",
    },
    addressField("city", "city", 27, "The city."),
    addressField("state", "state", 28, "In Brazil the state's two-letter code (BP-DR-29)."),
    {
      name: "birth_date",
      type: "text",
      note: "dd/mm/yyyy (BP-DR-20). The customer must be at least 16 years old (BP-DR-21).",
      source: "3.2",
    },
    {
      name: "person_type",
      type: "text",
      values: ["personal", "business"],
      note: "Default: personal. Any other value: BP-DR-41.",
      source: "3.2",
    },
    {
      name: "responsible",
      type: "object",
      required: { code: rule(42), when: "person_type is business" },
      note: "The company's legal representative.",
      source: "3.2",
      fields: [
        {
          name: "name",
          type: "text",
          required: { code: rule(43), when: "person_type is business" },
          longest: { characters: directLongest.responsible, code: rule(43) },
          note: "Checked for companies only.",
          source: "3.2",
        },
      ],
    },
    { name: "customer_ip", type: "text", note: "IPv4 or IPv6.", source: "3.2" },
    {
      name: "order_number",
      type: "text",
      longest: { characters: directLongest.orderNumber, code: rule(11) },
      note: "Returned in answers.",
      source: "3.2",
    },
    ...[1, 2, 3, 4, 5].map((number): Field => ({
      name: `user_value_${number}`,
      type: "text",
      longest: { characters: directLongest.userValue, code: rule(12) },
      note: "Returned in answers.",
      source: "3.2",
    })),
    {
      name: "note",
      type: "text",
      longest: { characters: directLongest.note },
      note: "Returned in answers.",
      source: "3.2",
    },
    {
      name: "notification_url",
      type: "text",
      longest: { characters: directLongest.notificationUrl },
      note: "The URL that receives this payment's notifications, instead of the account's URL. An unusable URL is ignored.",
      source: "3.2",
    },
    {
      name: "device_id",
      type: "text",
      longest: { characters: directLongest.deviceId },
      note: "The ebanx_session_id from /fingerprint.",
      source: "3.2",
    },
    {
      name: "amount_itens",
      type: "decimal",
      note: "The sum with amount_shipping must equal amount_total, otherwise BP-DR-8.",
      source: "3.2",
    },
    {
      name: "amount_shipping",
      type: "decimal",
      note: "The sum with amount_itens must equal amount_total, otherwise BP-DR-8.",
      source: "3.2",
    },
    {
      name: "create_token",
      type: "flag",
      note: "true: the card is also stored, and the answer has its token.",
      source: "2.3",
    },
    {
      name: "token",
      type: "text",
      note: "With create_token: the new token, which you choose, 32 to 128 characters (BP-DR-66). Otherwise: the stored card to charge.",
      source: "2.3",
    },
    {
      name: "manual_review",
      type: "flag",
      note: "true: the payment waits for manual review.",
      source: "3.2",
    },
    storedCredential,
  ],
};

const doc: EndpointDoc = {
  id: "direct",
  tag: "Payments",
  summary: "Charge or authorize a card",
  description:
    "With a card number, a token or a network token. A merchant_payment_code is charged once: repeat the request after a failure, and BP-DR-0 means that the first one arrived. A decline is not an error: status is SUCCESS, the payment is CA, and transaction_status has the reason.",
  fields: [
    secretKey,
    {
      name: "operation",
      type: "text",
      values: ["request"],
      note: "Optional. Any other value: BP-DR-1.",
      source: "3.1",
    },
    {
      name: "mode",
      type: "text",
      values: ["full", "iframe"],
      note: "Optional, without effect. Any other value: BP-DR-1.",
      source: "3.1",
    },
    paymentField,
  ],
  answer: paymentAnswerSchema,
  idempotent: true,
  headers: [
    {
      name: "X-EBANX-Simulate-Internal-Error",
      note: "Sandbox only. A BP code or 503 is returned and nothing is done; with BP-DR-119 the acquirer's answer is lost.",
    },
    { name: "X-EBANX-API-Processing-Type", note: "local: processed in the country." },
  ],
  errors: directErrors,
  runs: [direct],
  rules: directRules,
  codes: ["BP-DR-119", "COFRE-26", "COFRE-27"],
  example: {
    ...exampleKey,
    operation: "request",
    payment: {
      merchant_payment_code: "$ORDER",
      amount_total: "100.00",
      currency_code: "PEN",
      country: "pe",
      name: "Ana Lima",
      email: "ana.lima@example.com",
      phone_number: "51987654321",
      payment_type_code: "creditcard",
      creditcard: { ...exampleCard, auto_capture: false },
    },
  },
};
