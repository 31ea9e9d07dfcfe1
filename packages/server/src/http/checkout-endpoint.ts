import { assert } from "../kernel/assert.ts";
import { isMerchantId, type MerchantId } from "../kernel/ids.ts";
import { formatMoney } from "../kernel/money.ts";
import type { Account } from "../merchant/account.ts";
import { checkAuthentication } from "../operations/page-authentication.ts";
import { submitOnPage } from "../operations/page.ts";
import {
  acceptsState,
  acceptsZipcode,
  type Country,
  countryOf,
  requiresField,
} from "../payment/countries.ts";
import { offeredInstalments, refuseInstalments } from "../payment/instalments.ts";
import type { PaymentPage } from "../payment/payment.ts";
import { isPaymentId } from "../payment/payment-id.ts";
import type { Customer, Payment } from "../payment/payment.ts";
import { ServiceError } from "../payment/service-error.ts";
import { StoreError } from "../stores/store.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import { type ErrorMappings, mapTo, wireErrorOf } from "../wire/answers/errors.ts";
import { paymentTypeShown } from "../wire/answers/payment-answer.ts";
import { answerOf } from "../wire/answers/refusal-answer.ts";
import { isTreeObject, textOf, type Tree, type TreeObject } from "../wire/decode/tree.ts";
import { WireError } from "../wire/decode/wire-error.ts";
import type { OpenEndpoint, UserEndpoint, UserRequest, Visitor } from "../wire/endpoint.ts";
import type { EndpointDeps } from "../wire/endpoints/deps.ts";
import { directErrors } from "../wire/endpoints/direct.ts";
import { refusal } from "../wire/errors/refusal.ts";
import { documentOf, readDirect, wipeSource } from "../wire/requests/direct-request.ts";
import { paymentTypeOf } from "../wire/requests/payment-types.ts";
import {
  checkoutFiles,
  checkoutPage,
  type PageField,
  pageFields,
  type PageState,
  refusedCheckout,
  type ShownPage,
} from "./checkout-page.ts";
import { pageEndpoint } from "./page-files.ts";
import type { PublicKeyLimits } from "./public-key-limits.ts";

/**
 * The hosted page (interface 5.6): `/checkout/`, and the two calls of its script. The hash in the
 * address is the only key: a person who has the address sees the shop and the amount, and nothing
 * that a customer has typed.
 */

export interface CheckoutParts {
  readonly deps: Pick<EndpointDeps, "runner" | "clockOf" | "pages">;
  /** The account of this id; undefined if there is none. */
  readonly accountOf: (id: MerchantId) => Promise<Account | undefined>;
  readonly limits: Pick<PublicKeyLimits, "visit">;
  /** Cards that the page offers to fill in, in the sandbox with a simulated acquirer. */
  readonly testCards: readonly { readonly number: string; readonly outcome: string }[];
}

export function checkoutEndpoints(parts: CheckoutParts): readonly (OpenEndpoint | UserEndpoint)[] {
  const call = (path: string, handle: Call): UserEndpoint => ({
    path,
    doc: "page",
    key: "session",
    family: "json",
    cors: false,
    handle: (request) => answeringPage(parts, request, handle),
  });
  return [
    ...checkoutFiles,
    pageEndpoint("/checkout", async ({ params }) => {
      const opened = await openedPage(parts, params);
      return opened === undefined || stateOf(opened.payment) === "closed"
        ? refusedCheckout
        : checkoutPage(shownPage(parts, opened), textOf(params, "lang"));
    }),
    call("/checkout/state", async (opened) => stateAnswer(parts, opened)),
    {
      ...call("/checkout/pay", (opened, request, visitor) => pay(parts, opened, request, visitor)),
      movesMoney: true,
    },
  ];
}

/** A payment with its page, and the account that it belongs to. */
interface Opened {
  readonly account: Account;
  readonly payment: Payment;
  readonly page: PaymentPage;
}

async function openedPage(
  { deps, accountOf }: Pick<CheckoutParts, "deps" | "accountOf">,
  params: TreeObject,
): Promise<Opened | undefined> {
  const hash = textOf(params, "hash") ?? "";
  const id = textOf(params, "account") ?? "";
  if (!isPaymentId(hash) || !isMerchantId(id)) return undefined;
  const account = await accountOf(id);
  if (account === undefined) return undefined;
  try {
    const payment = await deps.runner.run(checkAuthentication, account, { hash });
    const { page } = payment.order;
    return page === undefined ? undefined : { account, payment, page };
  } catch (error) {
    if (error instanceof ServiceError && error.code === "payment_not_found") return undefined;
    throw error;
  }
}

function stateOf({ state }: Payment): PageState {
  switch (state) {
    case "opened":
      return "open";
    case "received":
    case "authenticating":
    case "authorizing":
      return "waiting";
    case "declined":
      return "declined";
    case "voided":
    case "expired":
      return "closed";
    default:
      return "paid";
  }
}

// --- The calls of the page's script --------------------------------------------------------------

type Call = (opened: Opened, request: UserRequest, visitor: Visitor) => Promise<WireResponse>;

async function answeringPage(
  parts: CheckoutParts,
  request: UserRequest,
  handle: Call,
): Promise<WireResponse> {
  let visitor: Visitor | undefined;
  try {
    if (request.method !== "POST" || !request.caller.isSameOrigin) throw refusal("COFRE-191");
    const opened = await openedPage(parts, request.params);
    if (opened === undefined) return answerWith({ state: "closed" });
    visitor = parts.limits.visit(opened.account, request.caller.address);
    return await handle(opened, request, visitor);
  } catch (error) {
    if (
      !(error instanceof WireError || error instanceof ServiceError || error instanceof StoreError)
    )
      throw error;
    visitor?.failed();
    const refused = wireErrorOf(error, errors);
    const { headers = [], ...answer } = answerOf(refused);
    return {
      ...answer,
      body: JSON.stringify({
        status: "ERROR",
        status_code: refused.statusCode,
        status_message: refused.message,
        field: refused.field ?? null,
      }),
      headers: [...headers, ...ownAnswer],
    };
  }
}

/** The refusals of /ws/direct, with other codes where the page has a state of its own. */
const errors: ErrorMappings = {
  ...directErrors,
  payment_in_flight: mapTo("COFRE-192", { state: "waiting" }),
  payment_cancelled: mapTo("COFRE-192", { state: "closed" }),
  payment_already_captured: mapTo("COFRE-192", { state: "paid" }),
  payment_not_found: mapTo("COFRE-192", { state: "closed" }),
};

async function pay(
  parts: CheckoutParts,
  { account, payment, page }: Opened,
  { params }: UserRequest,
  visitor: Visitor,
): Promise<WireResponse> {
  const { runner, clockOf } = parts.deps;
  const number = Number(textOf(params, "try"));
  const read = readDirect(
    { operation: "request", payment: requestOf(payment, params, isLocal(account)) },
    account,
    clockOf(account).now(),
  );
  const { order, source } = read;
  try {
    assert(source.kind === "pan", "the page sends a card number");
    visitor.card(source.card.pan);
    const given = payment.order.customer;
    const customer: Customer = {
      ...order.customer,
      birthDate: given.birthDate,
      streetComplement: given.streetComplement ?? order.customer.streetComplement,
      ip: given.ip,
    };
    const paid = await runner.run(submitOnPage, account, {
      hash: payment.id,
      number,
      source,
      instalments: order.instalments,
      paymentType: order.paymentType,
      customer,
      showsChallenges: false,
    });
    return stateAnswer(parts, { account, payment: paid, page: paid.order.page ?? page });
  } finally {
    wipeSource(source);
  }
}

/**
 * The payment node of /ws/direct: what the merchant fixed, and what the customer added. A value that
 * the merchant gave is not the customer's to change.
 */
function requestOf({ order }: Payment, params: TreeObject, local: boolean): TreeObject {
  const { customer, page } = order;
  const missing = missingFields(order, local);
  const typed = Object.fromEntries(missing.map((name) => [name, textOf(params, name) ?? ""]));
  const isDebit =
    textOf(params, "payment_type_code") === "debitcard" && typesOf(page?.paymentTypes).debit;
  return {
    name: customer.name,
    email: customer.email,
    person_type: customer.personType,
    country: order.country,
    ...Object.fromEntries(
      pageFields.flatMap((name) => {
        const value = customer[memberOf[name]];
        return value === undefined || missing.includes(name) ? [] : [[name, value]];
      }),
    ),
    ...typed,
    responsible: { name: typed["responsible"] ?? customer.responsible ?? "" },
    merchant_payment_code: order.code,
    amount_total: formatMoney(order.amount),
    currency_code: order.amount.currency,
    instalments: textOf(params, "instalments") ?? "1",
    payment_type_code: isDebit ? "debitcard" : "creditcard",
    creditcard: typedCard(params["creditcard"]),
  };
}

/** What a customer types of a card: neither a token nor values of 3-D Secure. */
function typedCard(node: Tree | undefined): TreeObject {
  if (!isTreeObject(node)) return {};
  const names = ["card_number", "card_name", "card_due_date", "card_cvv"];
  return Object.fromEntries(Object.entries(node).filter(([name]) => names.includes(name)));
}

const ownAnswer = [
  ["Cache-Control", "no-store"],
  ["X-Content-Type-Options", "nosniff"],
] as const;

function answerWith(fields: object): WireResponse {
  return {
    status: 200,
    body: JSON.stringify({ status: "SUCCESS", ...fields }),
    headers: ownAnswer,
  };
}

function stateAnswer(parts: CheckoutParts, opened: Opened): WireResponse {
  const { payment, page } = opened;
  const state = stateOf(payment);
  const isOver = state !== "open" && state !== "waiting";
  return answerWith({
    state,
    // The number of the next card.
    try: page.tries + 1,
    declined: page.declined !== undefined,
    url: isOver ? (returnUrlOf(parts, opened) ?? null) : null,
  });
}

/** Where the customer goes at the end; undefined if the shop has named no address. */
function returnUrlOf(
  { deps: { pages } }: CheckoutParts,
  { payment, page, account }: Opened,
): string | undefined {
  const address = page.redirectUrl ?? account.settings.responseUrl;
  if (address === "" || !pages.isReturnAddress(address)) return undefined;
  const url = new URL(address);
  const { order } = payment;
  const added = {
    hash: payment.id,
    merchant_payment_code: order.code,
    payment_type_code: paymentTypeShown(order),
    ...Object.fromEntries(
      order.userValues.map((value, index) => [`user_value_${index + 1}`, value ?? ""]),
    ),
  };
  for (const [name, value] of Object.entries(added)) url.searchParams.set(name, value);
  return url.href;
}

// --- What the page shows -------------------------------------------------------------------------

const memberOf = {
  document: "document",
  phone_number: "phone",
  zipcode: "zipcode",
  address: "address",
  street_number: "streetNumber",
  city: "city",
  state: "state",
  responsible: "responsible",
} as const satisfies Record<PageField, keyof Customer>;

/** Processed within the country, as when the page was opened. */
const isLocal = ({ settings }: Account): boolean => settings.profile === "B";

/** What the country needs and the merchant has not given, or not in the form of the country. */
function missingFields(
  { country: code, customer }: Payment["order"],
  local: boolean,
): readonly PageField[] {
  const country = countryOf(code);
  assert(country !== undefined, "an order names a country of the table");
  return pageFields.filter(
    (name) => isNeeded(name, country, customer, local) && !isGiven(name, country, customer, local),
  );
}

function isNeeded(
  name: PageField,
  country: Country,
  { personType }: Customer,
  local: boolean,
): boolean {
  switch (name) {
    case "phone_number":
      return true;
    case "responsible":
      return personType === "business";
    case "street_number":
      return requiresField(country, "streetNumber", local);
    default:
      return requiresField(country, name, local);
  }
}

function isGiven(name: PageField, country: Country, customer: Customer, local: boolean): boolean {
  const value = customer[memberOf[name]];
  if (value === undefined) return false;
  if (name === "document") return documentOf(country, value, local, {}) !== "invalid";
  if (name === "zipcode") return acceptsZipcode(country, value);
  return name !== "state" || acceptsState(country, value);
}

function typesOf(types = ""): { readonly credit: boolean; readonly debit: boolean } {
  const codes = types.split(",");
  const has = (type: "credit" | "debit"): boolean =>
    codes.some((code) => {
      const kind = paymentTypeOf(code);
      if (kind?.kind === "card") return kind.paymentType === type;
      return code === "_all" || code === (type === "credit" ? "_creditcard" : "_debitcard");
    });
  return { credit: has("credit"), debit: has("debit") };
}

function shownPage(parts: CheckoutParts, opened: Opened): ShownPage {
  const { payment, page, account } = opened;
  const { order } = payment;
  const { total, tax } = order.pricing;
  const state = stateOf(payment);
  const { credit, debit } = typesOf(page.paymentTypes);
  return {
    hash: payment.id,
    account: account.id,
    shop: account.name,
    country: order.country,
    total: formatMoney(total),
    tax: formatMoney(tax),
    currency: total.currency,
    requested:
      order.amount.currency === total.currency
        ? undefined
        : `${formatMoney(order.amount)} ${order.amount.currency}`,
    instalments: instalmentsOf(order, page),
    credit,
    debit,
    fields: state === "open" ? missingFields(order, isLocal(account)) : [],
    state,
    try: page.tries + 1,
    declined: page.declined !== undefined,
    url: state === "open" || state === "waiting" ? undefined : returnUrlOf(parts, opened),
    testCards: state === "open" ? parts.testCards : [],
  };
}

function instalmentsOf(
  { country: code, pricing: { total } }: Payment["order"],
  { instalments: [least, most] }: PaymentPage,
): ShownPage["instalments"] {
  const country = countryOf(code);
  assert(country !== undefined, "an order names a country of the table");
  const counts = [...offeredInstalments(country, undefined)].filter(
    (count) =>
      count >= least &&
      count <= most &&
      refuseInstalments(country, undefined, count, total) === undefined,
  );
  // Rounded up: the customer sees at least what an instalment costs.
  return counts.map((count) => [
    count,
    formatMoney({ ...total, minor: (total.minor + BigInt(count) - 1n) / BigInt(count) }),
  ]);
}
