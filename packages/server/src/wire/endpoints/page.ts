import { openPage } from "../../operations/page.ts";
import { PaymentCodeTaken } from "../../operations/payment-code-taken.ts";
import { countryCodes } from "../../payment/countries.ts";
import { isOpenPage } from "../../payment/page.ts";
import type { Payment } from "../../payment/payment.ts";
import { withWarnings, type WireResponse } from "../answers/answer.ts";
import { commonErrors, type ErrorMappings } from "../answers/errors.ts";
import { pageAnswer } from "../answers/page-answer.ts";
import { pageAnswerSchema } from "../answers/payment-schema.ts";
import { textOf } from "../decode/tree.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import type { Field } from "../field.ts";
import { acting } from "../permission.ts";
import { roundingWarnings } from "../requests/amounts.ts";
import { directLongest } from "../requests/direct-request.ts";
import { pageLongest, readPageRequest } from "../requests/page-request.ts";
import { answeringAnswer, type EndpointDeps } from "./deps.ts";
import { paymentExists } from "./direct.ts";
import { exampleKey, secretKey } from "./shared-docs.ts";

const errors: ErrorMappings = {
  ...commonErrors,
  payment_code_taken: { code: "BP-DR-0", toWireError: paymentExists },
};

const optional = (name: string, characters: number, note: string): Field => ({
  name,
  type: "text",
  longest: { characters },
  note,
  source: "5.6",
});

const asked = "The page asks for it where the country needs it and it is missing or invalid.";

const doc: EndpointDoc = {
  id: "request",
  tag: "Payments",
  summary: "Open a hosted payment page",
  description:
    "Answers with the page's address, redirect_url, to which the shop sends the customer. The payment is OP until the customer pays. Afterwards the page sends the customer to redirect_url or to the account's url_response, with hash, merchant_payment_code and payment_type_code; query the payment there, because the address proves nothing.",
  fields: [
    secretKey,
    {
      name: "currency_code",
      type: "text",
      required: { code: "BP-R-1" },
      note: "The country's currency, USD or EUR (BP-R-23).",
      source: "5.6",
    },
    {
      name: "amount",
      type: "decimal",
      required: { code: "BP-R-2" },
      note: "Above zero (BP-R-9), within the limits of the country (BP-R-10, BP-R-32).",
      source: "5.6",
    },
    {
      name: "merchant_payment_code",
      type: "text",
      required: { code: "BP-R-3" },
      longest: { characters: pageLongest.code, code: "BP-R-3" },
      note: "Unique. The same request again, while the page is open, answers with the same page.",
      source: "5.6",
    },
    {
      name: "name",
      type: "text",
      required: { code: "BP-R-4" },
      longest: { characters: directLongest.name },
      note: "The customer's name.",
      source: "5.6",
    },
    {
      name: "email",
      type: "text",
      required: { code: "BP-R-5" },
      longest: { characters: directLongest.email },
      note: "The customer's email address.",
      source: "5.6",
    },
    {
      name: "payment_type_code",
      type: "text",
      required: { code: "BP-R-6" },
      note: "_all, _creditcard, creditcard, debitcard or a brand; several with commas between them. Only cards are offered (BP-R-7, BP-R-8).",
      source: "5.6",
    },
    {
      name: "country",
      type: "text",
      longest: { characters: 2, code: "COFRE-190" },
      values: countryCodes,
      note: "Not case-sensitive. Default: the account's country.",
      source: "5.6",
    },
    {
      name: "instalments",
      type: "text",
      note: "A number, or a range from which the customer chooses, such as 1-6. Default: 1.",
      source: "5.6",
    },
    {
      name: "due_date",
      type: "text",
      note: "dd/mm/yyyy, the last day of the page (UTC), at most 30 days from now (BP-R-20 to BP-R-22). Default: 3 days from now; with an exchange of currencies at most 1 day.",
      source: "5.6",
    },
    {
      name: "redirect_url",
      type: "text",
      note: "At most 2,000 characters, otherwise COFRE-190. Where the page sends the customer at the end: https, in a sandbox also http on this machine.",
      source: "5.6",
    },
    {
      name: "notification_url",
      type: "text",
      longest: { characters: directLongest.notificationUrl },
      note: "The URL that receives this payment's notifications, instead of the account's URL.",
      source: "5.6",
    },
    {
      name: "person_type",
      type: "text",
      values: ["personal", "business"],
      note: "Default: personal. Any other value: BP-R-18.",
      source: "5.6",
    },
    { name: "document", type: "text", note: asked, source: "5.6" },
    { name: "document_type", type: "text", note: "For example ARG_CUIT or COL_CC.", source: "3.2" },
    { name: "phone_number", type: "digits", note: asked, source: "5.6" },
    optional("zipcode", directLongest.zipcode, asked),
    optional("address", directLongest.address, asked),
    optional("street_number", directLongest.streetNumber, asked),
    optional("street_complement", directLongest.streetComplement, "Apartment, floor."),
    optional("city", directLongest.city, asked),
    optional("state", directLongest.state, asked),
    optional("order_number", directLongest.orderNumber, "Returned in answers."),
    ...[1, 2, 3, 4, 5].map((number) =>
      optional(
        `user_value_${number}`,
        directLongest.userValue,
        "Returned in answers, and in the address to which the customer is sent.",
      ),
    ),
    optional("note", directLongest.note, "Returned in answers."),
    {
      name: "manual_review",
      type: "flag",
      note: "true: the payment waits for manual review.",
      source: "5.6",
    },
  ],
  answer: pageAnswerSchema,
  idempotent: true,
  errors,
  runs: [openPage],
  codes: [
    "BP-R-1",
    "BP-R-2",
    "BP-R-3",
    "BP-R-4",
    "BP-R-5",
    "BP-R-6",
    "BP-R-7",
    "BP-R-8",
    "BP-R-9",
    "BP-R-10",
    "BP-R-11",
    "BP-R-12",
    "BP-R-13",
    "BP-R-18",
    "BP-R-20",
    "BP-R-21",
    "BP-R-22",
    "BP-R-23",
    "BP-R-28",
    "BP-R-32",
    "COFRE-190",
  ],
  example: {
    ...exampleKey,
    merchant_payment_code: "$ORDER",
    amount: "100.00",
    currency_code: "PEN",
    country: "pe",
    name: "Ana Lima",
    email: "ana.lima@example.com",
    payment_type_code: "_all",
  },
};

/** /ws/request: opens a hosted page (interface 5.6). */
export function pageEndpoint({ runner, clockOf, pages }: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/request",
    doc,
    permission: acting("operator", "payment_created"),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    newPaymentCode: (params) => textOf(params, "merchant_payment_code"),
    async handle({ params, account, named }) {
      const answerOf = (payment: Payment): WireResponse => ({
        status: 200,
        body: pageAnswer(payment, account, pages.pageUrl(payment)),
      });
      const answer = await answeringAnswer(errors, async () => {
        const now = clockOf(account).now();
        const read = readPageRequest(params, account, now, pages);
        try {
          const request = named?.digest;
          return answerOf(await runner.run(openPage, account, { ...read, request }));
        } catch (error) {
          const existing = openPageOf(error, read);
          if (existing === undefined) throw error;
          return answerOf(existing);
        }
      });
      return withWarnings(answer, [...roundingWarnings(params, "amount", account)]);
    },
  };
}

/** The page that the same request opened before, while it takes a card. */
function openPageOf(error: unknown, { order, page }: ReturnType<typeof readPageRequest>) {
  if (!(error instanceof PaymentCodeTaken)) return undefined;
  const { existing } = error;
  const { amount, country, customer } = existing.order;
  const isSame =
    isOpenPage(existing) &&
    amount.minor === order.amount.minor &&
    amount.currency === order.amount.currency &&
    country === order.country &&
    existing.order.page?.paymentTypes === page.paymentTypes &&
    existing.order.page.redirectUrl === page.redirectUrl &&
    customer.name === order.customer.name &&
    customer.email === order.customer.email;
  return isSame ? existing : undefined;
}
