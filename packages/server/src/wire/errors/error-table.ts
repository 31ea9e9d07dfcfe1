/**
 * One error of the wire: the source of its code for the program, the API description,
 * docs/wire/errors.md and the page /docs/errors.
 */
export type ErrorRow = SentRow | NeverSentRow;

interface RowText {
  /** Placeholders such as `{name}` are filled in where the request is refused. */
  readonly message: string;
  /**
   * The possible values of a placeholder, the most common one first. A placeholder without an entry
   * takes any text.
   */
  readonly choices?: Readonly<Record<string, readonly (string | number)[]>>;
  /**
   * The refused field, with placeholders like the message. A placeholder of it must not be filled in
   * from the request.
   */
  readonly field?: string;
  /** 200 unless given: several clients discard the body of any other status (interface 1.3). */
  readonly httpStatus?: number;
  /** A second status, which the code has where the first one cannot be used. */
  readonly otherStatus?: number;
}

interface SentRow extends RowText {
  /** When the code is sent. */
  readonly condition: string;
  /** What the client's developer or the shop does next. Backticks enclose code. */
  readonly remedy: string;
  /**
   * "by request" unless given: error-catalogue.test.ts sends a request that provokes it.
   * "elsewhere": another test does.
   */
  readonly tested?: "by request" | "elsewhere";
}

interface NeverSentRow extends RowText {
  /** Why it is not sent. */
  readonly condition: string;
  readonly remedy?: undefined;
  readonly tested: "never sent";
}

const neverSent = (message: string, condition: string) =>
  ({ message, condition, tested: "never sent" }) as const satisfies ErrorRow;

const bankTransfers = "a field of bank transfers, which are not supported";

/**
 * Every error code of the wire, in the order of the documentation. BP and DA codes are the
 * interface's (sections 5 and 7): messages that a public source quotes are copied exactly, the
 * others follow their pattern. COFRE codes are for cases without a code in the interface: a number
 * in its own series might get another meaning one day. packages/proof/docs/compatibility.md has the
 * reason for each choice. A message contains no input that could be card data.
 */
export const errorTable = {
  "BP-SA-1": {
    message: "{text}",
    choices: {
      text: ["Field integration_key is required", "Parameter integration_key not informed"],
    },
    field: "integration_key",
    condition: "the key is missing or empty",
    remedy:
      "Send `integration_key` in the body or in the parameters. The server prints both keys at its first start.",
  },
  "BP-SA-2": {
    message: "Invalid integration key",
    otherStatus: 401,
    field: "integration_key",
    condition: "unknown key, in operations with parameters; 401 in the fingerprint calls",
    remedy:
      "Compare the key with the one that the server printed at its first start, and check that the request goes to the right server or world. The fingerprint calls take the public key.",
  },
  "DA-1": {
    message: "Invalid integration key",
    field: "integration_key",
    condition: "unknown key, in operations with a JSON body",
    remedy:
      "Compare the key with the one that the server printed at its first start, and check that the request goes to the right server or world.",
  },
  "BP-DPAR-4": neverSent("Invalid integration key", "older hosts sent it in place of DA-1"),
  "BP-CH-1": neverSent(
    "Payment type group is not active: {group_code}",
    "card payments cannot be switched off here",
  ),
  "BP-DR-0": {
    message:
      "Payment already exists with merchant_payment_code: {code} (created on {time}, status is {status})",
    field: "payment.merchant_payment_code",
    condition: "a payment with this code exists, in any state",
    remedy:
      "Query the payment by its code: an earlier request created it. Use a new code for a new payment.",
  },
  "BP-DR-1": {
    message: "{text}",
    choices: {
      text: ["Mode must be either full or iframe", "Operation must be request"],
      field: ["mode", "operation"],
    },
    field: "{field}",
    condition: "unknown mode, or an operation other than request",
    remedy: "Send `operation=request`. Leave out `mode`, or send `full`.",
  },
  "BP-DR-2": {
    message: "Field payment is required",
    field: "payment",
    condition: "missing",
    remedy: "Send the customer, amount and card as members of `payment`.",
  },
  "BP-DR-3": {
    message: "Field payment.currency_code is required",
    field: "payment.currency_code",
    condition: "missing",
    remedy: "Send the ISO code of the currency, for example `BRL`.",
  },
  "BP-DR-4": {
    message: "Currency is not active in the system: {currency}",
    field: "payment.currency_code",
    condition: "neither the country's currency nor USD nor EUR",
    remedy: "Send the currency of the country, or USD or EUR.",
  },
  "BP-DR-5": {
    message: "Field payment.amount_total is {problem}",
    choices: { problem: ["required", "invalid"] },
    field: "payment.amount_total",
    condition: "missing, or not a decimal number; more than two decimals with strictAmounts",
    remedy: "Send the amount as a decimal number with a point, for example `10.50`.",
  },
  "BP-DR-6": {
    message: "Amount reported is less than the minimum amount",
    field: "payment.amount_total",
    condition: "below the country's minimum in its own currency; zero",
    remedy:
      "Send a larger amount. The documentation of the field lists the minimum of each country.",
  },
  "BP-DR-7": {
    message: "Amount must be less than {currency} {amount}",
    field: "payment.amount_total",
    condition: "above the account's limit",
    remedy: "Send a smaller amount, or raise the account's limit in its settings.",
  },
  "BP-DR-8": {
    message: "If passed, amount_itens + amount_shipping must be equal to amount_total",
    field: "payment.amount_total",
    condition: "the sum differs",
    remedy:
      "Send `amount_itens` and `amount_shipping` so that their sum is `amount_total`, or leave both out.",
  },
  "BP-DR-9": {
    message: "Field payment.merchant_payment_code is {problem}",
    choices: { problem: ["required", "invalid"] },
    field: "payment.merchant_payment_code",
    condition: "missing; contains control characters or the number of the card",
    remedy:
      "Send a code that is unique in your shop, for example the order number. It must not contain the card number or control characters.",
  },
  "BP-DR-10": {
    message: "Parameter merchant_payment_code can have {longest} characters maximum",
    choices: { longest: [40, 128] },
    field: "payment.merchant_payment_code",
    condition: "too long; the limit is 128 on profile B",
    remedy: "Send a shorter code.",
  },
  "BP-DR-11": {
    message: "Parameter payment.order_number can have {longest} characters maximum",
    choices: { longest: [40] },
    field: "payment.order_number",
    condition: "too long",
    remedy: "Send a shorter order number.",
  },
  "BP-DR-12": {
    message: "Parameter {user_value_n} can have {longest} characters maximum",
    choices: { longest: [20] },
    field: "payment.{user_value_n}",
    condition: "a user value is too long",
    remedy: "Send a shorter value.",
  },
  "BP-DR-13": {
    message: "Field payment.name is required",
    field: "payment.name",
    condition: "missing",
    remedy: "Send the customer's name.",
  },
  "BP-DR-14": {
    message: "Field payment.name can have {longest} characters maximum",
    choices: { longest: [100] },
    field: "payment.name",
    condition: "too long",
    remedy: "Shorten the customer's name.",
  },
  "BP-DR-15": {
    message: "Field payment.email is required",
    field: "payment.email",
    condition: "missing",
    remedy: "Send the customer's e-mail address.",
  },
  "BP-DR-16": {
    message: "Field payment.email can have {longest} characters maximum",
    choices: { longest: [100] },
    field: "payment.email",
    condition: "too long",
    remedy: "Send an e-mail address of at most 100 characters.",
  },
  "BP-DR-17": {
    message: "Field payment.email is invalid",
    field: "payment.email",
    condition: "not an e-mail address",
    remedy: "Send an address such as `ana@example.com`.",
  },
  "BP-DR-18": neverSent("Customer is suspended", "customers are never suspended here"),
  "BP-DR-19": neverSent(
    "Field payment.birth_date is required",
    "formerly required; public tests pass without it",
  ),
  "BP-DR-20": {
    message: "Field payment.birth_date must be in the format dd/mm/yyyy",
    field: "payment.birth_date",
    condition: "another format, or not a date",
    remedy: "Send the date as day, month and year, for example `31/12/1990`.",
  },
  "BP-DR-21": {
    message: "Customer must be at least {age} years old",
    choices: { age: [16] },
    field: "payment.birth_date",
    condition: "younger",
    remedy:
      "Do not send the payment: the customer is too young. Check that day and month are not swapped.",
  },
  "BP-DR-22": {
    message: "Field payment.document is required",
    field: "payment.document",
    condition: "missing",
    remedy: "Send the customer's tax number, which this country requires.",
  },
  "BP-DR-23": {
    message: "Field payment.document is invalid",
    field: "payment.document",
    condition: "check digits or length are wrong for the country",
    remedy:
      "Ask the customer for the number again. In tests, use a number with correct check digits, for example `85351346893` for Brazil.",
  },
  "BP-DR-24": {
    message: "Field payment.zipcode {problem}",
    choices: { problem: ["is required", "is invalid", "can have 20 characters maximum"] },
    field: "payment.zipcode",
    condition: "missing where required; not 5 to 9 letters and digits in Brazil",
    remedy: "Send the customer's postal code, for example `61919230` in Brazil.",
  },
  "BP-DR-25": {
    message: "Field payment.address {problem}",
    choices: { problem: ["is required", "can have 100 characters maximum"] },
    field: "payment.address",
    condition: "missing where required, or too long",
    remedy: "Send the customer's street, with at most 100 characters.",
  },
  "BP-DR-26": {
    message: "Field payment.street_number {problem}",
    choices: { problem: ["is required", "can have 30 characters maximum"] },
    field: "payment.street_number",
    condition: "missing where required, or too long",
    remedy: "Send the house number, with at most 30 characters.",
  },
  "BP-DR-27": {
    message: "Field payment.city {problem}",
    choices: { problem: ["is required", "can have 80 characters maximum"] },
    field: "payment.city",
    condition: "missing where required, or too long",
    remedy: "Send the customer's city, with at most 80 characters.",
  },
  "BP-DR-28": {
    message: "Field payment.state {problem}",
    choices: { problem: ["is required", "can have 80 characters maximum"] },
    field: "payment.state",
    condition: "missing where required, or too long",
    remedy: "Send the customer's state, with at most 80 characters.",
  },
  "BP-DR-29": {
    message: "Field payment.state is invalid",
    field: "payment.state",
    condition: "not a state of Brazil",
    remedy: "Send the two letters of the state, for example `SP`.",
  },
  "BP-DR-30": neverSent("Country must be br", "from the time when only Brazil was supported"),
  "BP-DR-31": {
    message: "Field payment.phone_number is required",
    field: "payment.phone_number",
    condition: "missing",
    remedy: "Send the customer's telephone number.",
  },
  "BP-DR-32": {
    message: "Field payment.phone_number is invalid",
    field: "payment.phone_number",
    condition: "not 8 to 15 digits",
    remedy: "Send 8 to 15 digits. Other characters between them are allowed.",
  },
  "BP-DR-33": {
    message: "Field payment.instalments is invalid",
    field: "payment.instalments",
    condition: "not a whole number",
    remedy: "Send a whole number, or leave the field out for one payment.",
  },
  "BP-DR-34": {
    message: "Invalid value for instalments: {count} ({range})",
    field: "payment.instalments",
    condition:
      "the country or brand does not offer this number, or an instalment would be too small",
    remedy: "Send a number within the range that the message shows.",
  },
  "BP-DR-35": {
    message: "{text}",
    choices: {
      text: [
        "Invalid payment_type_code: {type}",
        "Invalid payment_type_code",
        "Field payment.payment_type_code is required",
      ],
    },
    field: "payment.payment_type_code",
    condition: "unknown, or missing in a request without a card",
    remedy: "Send `creditcard`, `debitcard` or the name of a brand, for example `visa`.",
  },
  "BP-DR-36": {
    message: "Payment type is not active",
    field: "payment.payment_type_code",
    condition: "the country does not have the brand, or the type is not a card",
    remedy: "Use a card of a brand that the country has.",
  },
  "BP-DR-38": {
    message: "Payment type not allowed in Direct API (full mode): {type}",
    field: "payment.payment_type_code",
    condition: "a type that only the hosted page takes",
    remedy: "Send a card payment. Other types of payment are not supported.",
  },
  "BP-DR-39": neverSent("CPF, name and birth date do not match", "persons are not checked here"),
  "BP-DR-40": neverSent(
    "Customer reached the payment limit for the period",
    "amounts are not added up by customer here",
  ),
  "BP-DR-41": {
    message: "Field payment.person_type must contain a valid person_type",
    field: "payment.person_type",
    condition: "neither personal nor business",
    remedy: "Send `personal` or `business`, or leave the field out.",
  },
  "BP-DR-42": {
    message: "Field payment.responsible is required",
    field: "payment.responsible",
    condition: "missing",
    remedy: "Send `responsible` with the name of the person who acts for the company.",
  },
  "BP-DR-43": {
    message: "Field payment.responsible.name {problem}",
    choices: { problem: ["is required", "can have 100 characters maximum"] },
    field: "payment.responsible.name",
    condition: "missing for a company, or too long",
    remedy: "Send the name of the person who acts for the company, with at most 100 characters.",
  },
  "BP-DR-44": neverSent(
    "Field payment.responsible.document is invalid",
    "public tests pass with wrong documents",
  ),
  "BP-DR-45": neverSent(
    "Field payment.responsible.birth_date is invalid",
    "not checked, like the document",
  ),
  "BP-DR-46": neverSent("Responsible person does not match", "persons are not checked here"),
  "BP-DR-47": neverSent("Bank field is too long", bankTransfers),
  "BP-DR-48": {
    message: "Field creditcard is required for this payment type",
    field: "payment.creditcard",
    condition: "no card node and no token",
    remedy: "Send `creditcard` with the card's data or a token.",
  },
  "BP-DR-49": {
    message: "Field payment.creditcard.card_number is required",
    field: "payment.creditcard.card_number",
    condition: "missing",
    remedy: "Send the card number, or a token in its place.",
  },
  "BP-DR-51": {
    message: "Field payment.creditcard.card_name is required",
    field: "payment.creditcard.card_name",
    condition: "missing",
    remedy: "Send the card holder's name as it is on the card.",
  },
  "BP-DR-52": {
    message: "Field payment.creditcard.card_name can have {longest} characters maximum",
    choices: { longest: [50, 64] },
    field: "payment.creditcard.card_name",
    condition: "too long; the limit is 64 for tokens",
    remedy: "Shorten the card holder's name.",
  },
  "BP-DR-54": {
    message: "Field {field} is required",
    choices: { field: ["payment.creditcard.card_cvv", "card_cvv"] },
    field: "{field}",
    condition: "missing, and the account requires it",
    remedy:
      "Send the security code, or switch the account's setting off if recurring payments do not have one.",
  },
  "BP-DR-55": {
    message: "Field {field} must have 3 or 4 digits",
    choices: { field: ["payment.creditcard.card_cvv", "card_cvv"] },
    field: "{field}",
    condition: "other than 3 or 4 digits",
    remedy:
      "Send the digits of the security code only: four on American Express cards, three on others.",
  },
  "BP-DR-56": {
    message: "Field payment.creditcard.card_due_date is required",
    field: "payment.creditcard.card_due_date",
    condition: "missing",
    remedy: "Send the card's expiry date.",
  },
  "BP-DR-57": {
    message: "Field payment.creditcard.card_due_date must be in the format mm/yyyy",
    field: "payment.creditcard.card_due_date",
    condition: "another format",
    remedy: "Send month and year, for example `12/2035`.",
  },
  "BP-DR-58": {
    message: "Field payment.creditcard.card_due_date is invalid",
    field: "payment.creditcard.card_due_date",
    condition: "not a month",
    remedy: "Send a month from 01 to 12.",
  },
  "BP-DR-59": {
    message: "Field payment.creditcard.card_due_date is invalid",
    field: "payment.creditcard.card_due_date",
    condition: "more than 50 years ahead",
    remedy: "Check the year: it is more than 50 years ahead.",
  },
  "BP-DR-61": {
    message: "Token could not be created for a network token",
    field: "payment.creditcard.create_token",
    condition: "create_token with a network token",
    remedy: "Store the card's own number, or pay without `create_token`.",
  },
  "BP-DR-62": {
    message: "Recurring is not enabled for this merchant",
    field: "payment.creditcard.create_token",
    condition: "create_token is disabled for the account",
    remedy: "Enable `create_token` in the account's settings, or store the card by /ws/token.",
  },
  "BP-DR-63": neverSent(
    "Token not found for this acquirer",
    "tokens do not belong to an acquirer here",
  ),
  "BP-DR-64": {
    message: "{text}",
    choices: { text: ["Token not found", "Field token is required"] },
    field: "token",
    condition: "unknown, expired or of another account; missing where required",
    remedy:
      "Store the card again and use the new token. A token belongs to one account and expires with its card.",
  },
  "BP-DR-65": {
    message: "Token to create already exists",
    field: "token",
    condition: "the chosen token is taken",
    remedy: "Choose another token, or use the existing one.",
  },
  "BP-DR-66": {
    message: "Field {field} {problem}",
    choices: {
      field: ["payment.token", "token", "payment.creditcard.token"],
      problem: [
        "must have between 32 and 128 characters",
        "must not hold a card number",
        "is accepted with the integration_key only",
        "is invalid",
        "can have 200 characters maximum",
      ],
    },
    field: "{field}",
    condition:
      "a chosen token has another length, contains the number of the card, or comes with the public key",
    remedy:
      "Send a token of 32 to 128 characters without the card number, with the secret key. Without a token of your own, the server creates one.",
  },
  "BP-DR-67": {
    message: "Field payment.creditcard.card_due_date is in the past",
    field: "payment.creditcard.card_due_date",
    condition: "the month has ended in every time zone",
    remedy: "Ask the customer for another card.",
  },
  "BP-DR-68": neverSent("Direct debit", bankTransfers),
  "BP-DR-69": neverSent("Direct debit", bankTransfers),
  "BP-DR-70": neverSent("Direct debit", bankTransfers),
  "BP-DR-71": neverSent("Direct debit", bankTransfers),
  "BP-DR-72": neverSent("Direct debit", bankTransfers),
  "BP-DR-73": neverSent("Direct debit", bankTransfers),
  "BP-DR-75": {
    message: "Field payment.creditcard.card_number is {problem}",
    choices: {
      problem: ["invalid", "not a test card number: COFRE_SANDBOX_CARDS=any takes every number"],
    },
    field: "payment.creditcard.card_number",
    condition:
      "wrong length or check digit, or an unknown brand; in the sandbox, not a test number",
    remedy: "Ask the customer for the number again. In the sandbox, use a test card.",
  },
  "BP-DR-76": {
    message: "Field {field} is required",
    choices: { field: ["payment.country", "country"] },
    field: "{field}",
    condition:
      "missing in a payment; a list or an object. Tokens and verifications default to the account's country",
    remedy: "Send the two letters of the customer's country, for example `br`.",
  },
  "BP-DR-77": {
    message: "Field {field} is not an allowed country",
    choices: { field: ["payment.country", "country"] },
    field: "{field}",
    condition: "not a supported country",
    remedy: "Send the two letters of a supported country.",
  },
  "BP-DR-83": {
    message: "Foreign cards are not processed",
    condition: "by the acquirer's card tables (sandbox: scenario card)",
    remedy: "Ask the customer for a card of the payment's country.",
  },
  "BP-DR-84": neverSent(
    "Duplicate payment for the same customer and amount within {minutes} minutes",
    "no source states the time; merchant_payment_code prevents duplicates",
  ),
  "BP-DR-90": neverSent("Contact support", "COFRE-14 says what to do"),
  "BP-DR-93": neverSent("PSE error", bankTransfers),
  "BP-DR-95": {
    message: "Field payment.creditcard.card_name must not be a card number",
    field: "payment.creditcard.card_name",
    condition: "the card holder's name contains a card number",
    remedy: "Send the holder's name in `card_name` and the number in `card_number`.",
  },
  "BP-DR-97": {
    message: "Instalments are not allowed for prepaid cards",
    field: "payment.instalments",
    condition: "the acquirer's card tables say prepaid (sandbox: scenario card)",
    remedy: "Send the payment without instalments.",
  },
  "BP-DR-98": neverSent(
    "Payment country must match customer's country",
    "a request has one country, so there is nothing to compare",
  ),
  "BP-DR-100": {
    message: "Instalments are not allowed for debit cards",
    field: "payment.instalments",
    condition: "debitcard was requested, or the acquirer's card tables say debit",
    remedy: "Send the payment without instalments.",
  },
  "BP-DR-101": {
    message: "Card is not eligible for e-commerce",
    condition: "by the acquirer's card tables (sandbox: scenario card)",
    remedy: "Ask the customer for another card.",
  },
  "BP-DR-102": {
    message: "Too many attempts",
    condition: "by the acquirer's card tables (sandbox: scenario card)",
    remedy: "Ask the customer for another card, and do not repeat the request.",
  },
  // Interface 7.2: an internal failure after which the payment's outcome is unknown.
  "BP-DR-119": {
    message: "The outcome is not known yet: query the payment before you send it again",
    condition: "it is unknown whether the database recorded the request",
    remedy:
      "Query the payment by `merchant_payment_code`. If it is not found, send the same request again.",
    tested: "elsewhere",
  },
  "BP-DR-136": {
    message: "Field network_token_expire_date is invalid",
    field: "payment.creditcard.network_token_expire_date",
    condition: "missing, another format, or past",
    remedy: "Send the network token's own expiry date, which has not passed.",
  },
  "BP-CAP-1": {
    message: "Parameters hash or merchant_payment_code not informed",
    field: "hash",
    condition: "neither is given",
    remedy: "Send `hash` or `merchant_payment_code`.",
  },
  "BP-CAP-2": {
    message: "Payment not found",
    condition: "the account has no such payment",
    remedy:
      "Compare hash and code with the answer that created the payment, and check the account's key.",
  },
  "BP-CAP-3": {
    message: "Payment cannot be captured, status is: CA",
    condition: "declined, cancelled or expired, or the capture period has ended",
    remedy: "Create a new payment: this one cannot be charged any more.",
  },
  "BP-CAP-4": {
    message: "Payment has already been captured, status is: CO",
    condition: "already captured",
    remedy: "Nothing is left to do. Query the payment for its amounts.",
  },
  "BP-CAP-5": {
    message: "Payment cannot be captured, it is still open",
    condition: "under review, or the acquirer has not answered",
    remedy: "Query the payment later. Capture it when its status is PE.",
  },
  "BP-CAP-6": {
    message: "Parameter amount is invalid",
    field: "amount",
    condition: "not an amount, or above the authorized amount",
    remedy: "Send an amount that is not above the authorized amount, for example `10.50`.",
  },
  "BP-CAP-7": {
    message: "Capture refused by the acquirer",
    condition: "declined by the acquirer",
    remedy:
      "Query the payment. It is still authorized if its status is PE: capture it later or cancel it.",
  },
  "BP-CAP-11": {
    message: "Partial capture not available",
    field: "amount",
    condition: "below the authorized amount, and partial capture is disabled for the account",
    remedy: "Capture the whole amount, or enable `partialCapture` in the account's settings.",
  },
  "BP-CAN-1": {
    message: "Parameters hash or merchant_payment_code not informed",
    field: "hash",
    condition: "neither is given",
    remedy: "Send `hash` or `merchant_payment_code`.",
  },
  "BP-CAN-2": {
    message: "Payment not found",
    condition: "the account has no such payment",
    remedy:
      "Compare hash and code with the answer that created the payment, and check the account's key.",
  },
  "BP-CAN-3": {
    message: "Only open or pending payments can be cancelled",
    condition: "the payment is CO or CA",
    remedy: "Refund a payment that is CO. A payment that is CA is cancelled already.",
  },
  "BP-CAN-4": {
    message: "Cancellation refused by the acquirer",
    condition: "declined by the acquirer",
    remedy: "Query the payment. If it is still open, cancel it again later.",
  },
  // Only BP-REF-1, 7 and CAN-2 are known (interface 5.3); the other numbers of the series are
  // Cofre's own.
  "BP-REF-1": {
    message: "Parameters hash or merchant_payment_code not informed",
    field: "hash",
    condition: "neither is given",
    remedy: "Send `hash` or `merchant_payment_code`.",
  },
  "BP-REF-2": {
    message: "Parameter operation must be request or cancel",
    field: "operation",
    condition: "another operation",
    remedy: "Send `operation=request` for a refund, or `operation=cancel` to stop a pending one.",
  },
  "BP-REF-3": {
    message: "Parameter amount not informed",
    field: "amount",
    condition: "missing, empty or zero",
    remedy: "Send the amount of the refund, above zero.",
  },
  "BP-REF-4": {
    message: "Parameter amount is invalid",
    field: "amount",
    condition: "not an amount",
    remedy: "Send the amount as a decimal number with a point, for example `10.50`.",
  },
  "BP-REF-5": {
    message: "Amount is above what is left of the payment",
    field: "amount",
    condition: "above the captured amount less earlier refunds",
    remedy: "Query the payment, and refund at most what is left of the captured amount.",
  },
  "BP-REF-6": {
    message: "Parameter {name} can have {longest} characters maximum",
    choices: { name: ["description", "merchant_refund_code"], longest: [1_500, 40] },
    field: "{name}",
    condition: "too long",
    remedy: "Shorten the text.",
  },
  "BP-REF-7": {
    message: "Only confirmed payments can be refunded",
    condition: "the payment is not CO",
    remedy:
      "Cancel an authorized payment in place of a refund. A payment that is CA took no money.",
  },
  "BP-REF-8": {
    message: "Parameters refund_id or merchant_refund_code not informed",
    field: "refund_id",
    condition: "a cancel without either",
    remedy: "Send `refund_id` or `merchant_refund_code` of the refund.",
  },
  "BP-REF-9": {
    message: "Refund not found",
    condition: "the account has no such refund",
    remedy: "Compare the refund's id with the answer that created it, and check the account's key.",
  },
  "BP-REF-10": {
    message: "Refund cannot be cancelled",
    condition: "already sent, or final; pending ones too for an account with strict refunds",
    remedy: "Nothing can be done: the money is on its way to the customer.",
  },
  "BP-REF-11": {
    message: "Refund already exists with this merchant_refund_code",
    field: "merchant_refund_code",
    condition: "the code was used before",
    remedy:
      "Query the payment: an earlier request created the refund. Use a new code for a new refund.",
  },
  "BP-REF-12": {
    message: "Payment has already been refunded",
    condition: "the whole amount is refunded",
    remedy: "Nothing is left to do. Query the payment for its refunds.",
  },
  "BP-REF-CAN-2": {
    message: "Payment not found with this {kind}: {name}",
    choices: { kind: ["hash", "merchant_payment_code"] },
    field: "{kind}",
    condition: "the account has no such payment",
    remedy:
      "Compare hash and code with the answer that created the payment, and check the account's key.",
  },
  "BP-QRY-1": {
    message: "Parameters hash or merchant_payment_code not informed",
    field: "hash",
    condition: "neither is given: query, resendNotification",
    remedy: "Send `hash` or `merchant_payment_code`.",
  },
  "BP-QRY-2": {
    message: "Payment not found",
    condition: "the account has no such payment: query, resendNotification",
    remedy:
      "After a lost answer this means that the payment does not exist: send it again. Otherwise compare hash and code, and check the account's key.",
  },
  "BP-R-1": {
    message: "Field currency_code is required",
    field: "currency_code",
    condition: "the currency of a page is missing",
    remedy: "Send `currency_code`.",
  },
  "BP-R-2": {
    message: "Field amount is required",
    field: "amount",
    condition: "the amount of a page is missing",
    remedy: "Send `amount`, which has another name than in `/ws/direct`.",
  },
  "BP-R-3": {
    message: "Field merchant_payment_code is required",
    field: "merchant_payment_code",
    condition:
      "the code of a page is missing, longer than 40 characters, or has a control character",
    remedy: "Send a `merchant_payment_code` of at most 40 characters.",
  },
  "BP-R-4": {
    message: "Field name is required",
    field: "name",
    condition: "the customer's name is missing",
    remedy: "Send `name`.",
  },
  "BP-R-5": {
    message: "Field email is required",
    field: "email",
    condition: "the customer's email address is missing or invalid",
    remedy: "Send the customer's `email`.",
  },
  "BP-R-6": {
    message: "Field payment_type_code is required",
    field: "payment_type_code",
    condition: "the payment types of a page are missing",
    remedy: "Send `_all`, `creditcard`, `debitcard` or the code of a brand.",
  },
  "BP-R-7": {
    message: "Payment type is not active",
    field: "payment_type_code",
    condition: "none of the given payment types is a card of the country",
    remedy: "Offer cards: `_all`, `creditcard`, `debitcard` or a brand of the country.",
  },
  "BP-R-8": {
    message: "Invalid payment_type_code",
    field: "payment_type_code",
    condition: "a payment type is unknown",
    remedy:
      "Send `_all`, `creditcard`, `debitcard` or the code of a brand; several are separated by commas.",
  },
  "BP-R-9": {
    message: "Amount must be positive",
    field: "amount",
    condition: "the amount is zero, negative or no number",
    remedy: "Send the amount with a point and at most two decimals.",
  },
  "BP-R-10": {
    message: "Amount reported is less than the minimum amount",
    field: "amount",
    condition: "the amount is below the minimum of the country",
    remedy: "Charge at least the minimum in docs/wire/sandbox.md.",
  },
  "BP-R-11": {
    message: "Payment type has no instalments",
    field: "instalments",
    condition: "more than one instalment with a type that has none, such as debit cards",
    remedy: "Send `instalments=1`, or a type with instalments.",
  },
  "BP-R-12": {
    message: "Instalments are over the maximum",
    field: "instalments",
    condition: "more instalments than the country offers",
    remedy: "Send at most the number that the country offers.",
  },
  "BP-R-13": {
    message: "Instalment is below the minimum",
    field: "instalments",
    condition: "one instalment would be below the minimum of the country",
    remedy: "Offer fewer instalments.",
  },
  "BP-R-17": neverSent("Payment is not open", "for printed slips, which are not supported"),
  "BP-R-18": {
    message: "Field person_type must contain a valid person_type",
    field: "person_type",
    condition: "`person_type` is neither personal nor business",
    remedy: "Send `personal` or `business`, or leave it out.",
  },
  "BP-R-19": neverSent("Companies are not active", "companies are always active"),
  "BP-R-20": {
    message: "Field due_date is invalid",
    field: "due_date",
    condition: "`due_date` is not a date dd/mm/yyyy",
    remedy: "Send the last day of the page as dd/mm/yyyy.",
  },
  "BP-R-21": {
    message: "Field due_date is invalid",
    field: "due_date",
    condition: "`due_date` is in the past",
    remedy: "Send a day that is not over.",
  },
  "BP-R-22": {
    message: "Field due_date is invalid",
    field: "due_date",
    condition: "`due_date` is more than 30 days from now",
    remedy: "Send a day within the next 30 days.",
  },
  "BP-R-23": {
    message: "Currency is not active in the system",
    field: "currency_code",
    condition: "the currency is not one of the country's",
    remedy: "Send the country's own currency, USD or EUR.",
  },
  "BP-R-28": {
    message: "Instalment count is not available",
    field: "instalments",
    condition:
      "`instalments` is neither a number nor a range, or the country does not offer the number",
    remedy: "Send a number such as 3, or a range such as 1-6.",
  },
  "BP-R-29": neverSent(
    "Instalment count is not available",
    "the difference from BP-R-28 is not known",
  ),
  "BP-R-30": neverSent(
    "Instalment count is not available",
    "the difference from BP-R-28 is not known",
  ),
  "BP-R-32": {
    message: "Amount must be less than {currency} {amount}",
    field: "amount",
    condition: "the amount is above the maximum of the country",
    remedy: "Charge at most the maximum in docs/wire/sandbox.md.",
  },
  // Interface 7.4.
  "BP-ZIP-1": {
    message: "Zipcode code not informed",
    field: "zipcode",
    condition: "missing",
    remedy: "Send `zipcode`.",
  },
  "BP-ZIP-2": {
    message: "Zipcode code not valid",
    field: "zipcode",
    condition: "not eight digits",
    remedy: "Send eight digits, for example `61919230`.",
  },
  "BP-ZIP-3": {
    message: "Address could not be retrieved",
    condition: "only the codes of public examples are known here",
    remedy: "Let the customer type the address.",
  },
  "COFRE-1": {
    message: "The request body is not valid JSON",
    condition: "JSON that cannot be parsed",
    remedy: "Check the JSON, and percent-encode it when it is the value of `request_body`.",
  },
  "COFRE-2": {
    message: "The request is too large",
    otherStatus: 413,
    condition: "a body above the limit; 413 for extensions of chunks",
    remedy: "Send a smaller request.",
  },
  "COFRE-3": {
    message: "The request is nested too deeply",
    condition: "deeper than the limit",
    remedy: "Send objects inside objects only where the documentation shows them.",
  },
  "COFRE-4": {
    message: "The request has too many fields",
    condition: "more than the limit",
    remedy: "Send only the fields that the documentation lists.",
  },
  "COFRE-5": {
    message: "The request has a field whose name is too long",
    condition: "a name above the limit",
    remedy: "Send only the fields that the documentation lists.",
  },
  "COFRE-6": {
    message: "Field {name} is given more than once",
    field: "{name}",
    condition:
      "two different values for a field that identifies a merchant, payment, card or amount",
    remedy: "Send the field once. Some clients add it to the body and to the address.",
  },
  "COFRE-7": {
    message: "The request body is neither a JSON object nor a form",
    condition: "for example an array that is not empty",
    remedy: "Send a JSON object, or a form with `Content-Type: application/x-www-form-urlencoded`.",
  },
  "COFRE-8": {
    message: "The form is not percent-encoded",
    condition: "JSON cut at a raw &, for an account with strictForms",
    remedy:
      "Percent-encode the value of `request_body`, for example with curl's `--data-urlencode`.",
  },
  "COFRE-9": {
    message: "There is no such operation{hint}",
    choices: { hint: [": use /ws/token/setCVV", ""] },
    condition: "an unknown path below /ws; /ws/setCvv",
    remedy: "Compare the path with the list of operations in the documentation.",
  },
  "COFRE-10": {
    message: "The method is not GET or POST",
    otherStatus: 405,
    condition: "another method; 405 for CONNECT",
    remedy: "Send the request as POST or GET.",
  },
  "COFRE-11": {
    message: "No endpoint at this address",
    httpStatus: 404,
    condition: "an unknown path outside /ws",
    remedy: "Compare the path with the list of operations in the documentation.",
  },
  "COFRE-12": {
    message: "Too many requests are in progress, try again later",
    httpStatus: 503,
    otherStatus: 429,
    condition: "overload; 429 as a fault of the sandbox",
    remedy:
      "Wait as long as `Retry-After` says and send the same request again. It was not processed.",
    tested: "elsewhere",
  },
  "COFRE-165": {
    message: "Too many requests for this account are in progress, try again later",
    httpStatus: 429,
    condition: "the limit of the account, or of all worlds together",
    remedy:
      "Wait as long as `Retry-After` says and send the same request again with fewer at once. It was not processed.",
    tested: "elsewhere",
  },
  "COFRE-166": {
    message: "Not processed because this server's clock is wrong: send the request again later",
    httpStatus: 503,
    condition:
      "the server's clock differs from those of other nodes, or was set, by more than two seconds",
    remedy:
      "Synchronize the clocks of all nodes, for example by NTP. Send the same request again: it was not processed.",
    tested: "elsewhere",
  },
  "COFRE-13": {
    message: "The server is stopping, try again later",
    httpStatus: 503,
    condition: "the server is shutting down",
    remedy: "Send the same request again, to another node if there is one. It was not processed.",
    tested: "elsewhere",
  },
  "COFRE-14": {
    message: "Internal error: query the payment before you send the request again",
    otherStatus: 500,
    condition: "an internal error; 500 as a fault of the sandbox",
    remedy:
      "Query the payment by `merchant_payment_code`. If it is not found, send the same request again. The server's log has the cause.",
    tested: "elsewhere",
  },
  "COFRE-164": {
    message:
      "The request text is not UTF-8: send UTF-8, or name the charset ISO-8859-1 or windows-1252 in Content-Type",
    condition: "%E9, or a raw byte of another charset, and Content-Type names no charset",
    remedy: "Send UTF-8, or name the charset in `Content-Type`.",
  },
  "COFRE-163": {
    message: "Header {name} is given more than once, with different values",
    condition: "two Idempotency-Key headers, two of the X-EBANX- ones, two charsets",
    remedy: "Send the header once.",
    tested: "elsewhere",
  },
  "COFRE-20": {
    message: "Another request for this payment is waiting for the acquirer",
    condition: "two requests at once, or an earlier one without an answer",
    remedy: "Query the payment until the other request is finished, and decide then.",
  },
  // 503: nothing was done, so a proxy or a client may safely repeat the request.
  "COFRE-21": {
    message: "Not processed: the request could not be recorded, send it again later",
    httpStatus: 503,
    condition:
      "the database is not available; or the request would store or open a card while an order has stopped card operations (docs/operate/keys.md)",
    remedy:
      "Send the same request again later: it was not processed. The server's log has the database's error, or the order.",
  },
  // 200: proxies do not repeat the request by themselves, and clients that discard other bodies
  // show the advice.
  "COFRE-22": {
    message: "The acquirer did not answer: query the payment to learn the outcome",
    condition: "a capture or void without an answer",
    remedy:
      "Query the payment until its status has changed. The server keeps asking the acquirer for the outcome.",
  },
  "COFRE-23": {
    message: "The operation {name} is not available yet",
    condition: "an operation of the interface that this version does not support",
    remedy: "Use another operation. docs/wire/parity.md lists what is not supported.",
  },
  "COFRE-24": {
    message: "The refund period of this payment has ended",
    condition: "refundWindowDays of the account",
    remedy:
      "Pay the customer back in another way, or raise `refundWindowDays` in the account's settings.",
  },
  "COFRE-25": {
    message: "The payment was charged back",
    condition: "a refund of a charged-back payment",
    remedy: "Do not refund: the issuer has returned the money to the customer.",
  },
  // Interface 3.3 and 3.6 have no codes for these fields.
  "COFRE-26": {
    message: "Field cof_info.{field} is invalid",
    choices: { field: ["cof_type", "initiator"] },
    field: "payment.cof_info.{field}",
    condition: "cof_type other than initial or stored, initiator other than CIT or MIT",
    remedy: "Send `initial` or `stored`, and `CIT` or `MIT`.",
  },
  "COFRE-27": {
    message: "Field payment.creditcard.{field} is {problem}",
    choices: {
      field: ["threeds_eci", "threeds_cryptogram", "network_token_cryptogram"],
      problem: ["invalid", "required"],
    },
    field: "payment.creditcard.{field}",
    condition:
      "an ECI other than 00 01 02 05 06 07; one of 01 02 05 06 without a cryptogram (is required); a cryptogram that is not base64 or base64url, or longer than 64 characters",
    remedy:
      "Send the values of the 3-D Secure server unchanged: ECI, and the cryptogram in base64.",
  },
  "COFRE-28": {
    message:
      "Field payment.cof_info.mandate_id does not belong to an initial payment with this card",
    field: "payment.cof_info.mandate_id",
    condition: "with strictMandates of the account",
    remedy: "Send the mandate of the first payment with this card, or leave it out.",
  },
  "COFRE-29": {
    message: "No notification exists for this payment yet",
    condition: "resendNotification of a payment without a notification",
    remedy: "Wait until the payment's status has changed: a notification is made then.",
  },
  "COFRE-30": {
    message:
      "Parameter settings must be an object, for example settings[partialCapture]=true in a form",
    field: "settings",
    condition: "/__cofre/settings",
    remedy: "Send an object, for example `settings[partialCapture]=true` in a form.",
  },
  "COFRE-31": {
    message: "{problems}",
    field: "settings",
    condition: "/__cofre/settings, /__cofre/worlds: unknown names or invalid values",
    remedy:
      "Correct the members that the message names. docs/operate/configuration.md lists all settings.",
  },
  "COFRE-32": {
    message: "Parameter next must be one of {list}, or decline with a reason: {reasons}",
    field: "next",
    condition: "/__cofre/simulator",
    remedy: "Send one of the values in the message.",
  },
  "COFRE-33": {
    message: "Parameter message must be one of {list}",
    field: "message",
    condition: "/__cofre/simulator",
    remedy: "Send one of the values in the message.",
  },
  "COFRE-34": {
    message: "Parameter times must be a whole number from 1 to 9999",
    field: "times",
    condition: "/__cofre/simulator",
    remedy: "Send a whole number from 1 to 9999.",
  },
  "COFRE-35": {
    message:
      "The simulator rejects this instruction: its queue is full, or the message cannot be declined or echoed",
    condition: "/__cofre/simulator",
    remedy:
      "Let the simulator use its earlier instructions first, or clear them. Only an authorization, capture, void or refund can be declined.",
  },
  "COFRE-50": {
    message: "Parameter connector must be one of {list}",
    field: "connector",
    condition: "/__cofre/simulator, with several simulators",
    remedy: "Send the name of one of the simulators in the message.",
  },
  "COFRE-36": {
    message: "Parameter action must be one of {list}",
    field: "action",
    condition: "/__cofre/payment",
    remedy: "Send one of the actions in the message.",
  },
  "COFRE-37": {
    message: "The payment is not under review",
    condition: "/__cofre/payment: accept_review, reject_review",
    remedy: "Query the payment: its review has ended, or it had none.",
  },
  "COFRE-38": {
    message:
      "Only a captured payment without a refund or chargeback can be charged back, and only a charged-back payment can be credited",
    condition: "/__cofre/payment: chargeback, chargeback_credit",
    remedy:
      "Query the payment: choose one that is captured and not refunded, or credit one that was charged back.",
  },
  "COFRE-39": {
    message: "Parameter {name} is invalid",
    field: "{name}",
    condition: "merchantIntegrationProperties/edit: not a URL, or not an e-mail address",
    remedy: "Send a complete URL or e-mail address.",
  },
  "COFRE-40": {
    message: "Parameter currency_code not informed",
    field: "currency_code",
    condition: "exchange",
    remedy: "Send the ISO code of the currency, for example `USD`.",
  },
  "COFRE-41": {
    message: "No exchange rate from {currency} to {base}",
    field: "currency_code",
    condition: "exchange: an unknown currency, or a pair without a rate",
    remedy: "Send a currency of a supported country.",
  },
  "COFRE-42": {
    message: "Parameter document is invalid or not informed",
    field: "document",
    condition: "documentbalance",
    remedy: "Send the customer's tax number with correct check digits.",
  },
  "COFRE-43": {
    message: "The payment has the maximum number of refunds",
    condition: "100 refunds of one payment, including cancelled ones",
    remedy: "Refund the rest in one amount outside this payment, or combine refunds.",
  },
  "COFRE-44": {
    message: "This Idempotency-Key was used with a different request",
    condition: "the same key and a different request",
    remedy:
      "Use a new Idempotency-Key for each new request. The same key is for an exact repetition only.",
  },
  "COFRE-48": {
    message: "Parameter replay must be failed (from), payment (hash) or range (from, to)",
    field: "replay",
    condition: "/__cofre/notifications",
    remedy:
      "Send `replay=failed`, `replay=payment` with `hash`, or `replay=range` with `from` and `to`.",
  },
  "COFRE-55": {
    message: "Parameter state must be one or more of {list}, separated by commas",
    field: "state",
    condition: "/__cofre/payments",
    remedy: "Send one or more of the states in the message.",
  },
  "COFRE-56": {
    message: "Parameter brand must be one of {list}",
    field: "brand",
    condition: "/__cofre/payments",
    remedy: "Send one of the brands in the message.",
  },
  "COFRE-57": {
    message:
      "Parameter limit must be a whole number from 1 to {most}, and before the next value of another page",
    choices: { most: [100] },
    condition: "/__cofre/payments",
    remedy: "Send a limit in the range, and `before` as the answer's `next` gave it.",
  },
  "COFRE-58": {
    message: "Parameter count must be {list}",
    field: "count",
    condition: "/__cofre/payments",
    remedy: "Send one of the values in the message.",
  },
  "COFRE-170": {
    message:
      "The name of a saved view must have 1 to 60 characters on one line, without a card number",
    condition: "/__cofre/views",
    remedy: "Send a name of 1 to 60 characters on one line, without a card number.",
  },
  "COFRE-171": {
    message: "The account has no saved view of this name",
    condition: "/__cofre/views: rename, delete",
    remedy: "List the views: it was renamed or deleted, or the name is written differently.",
  },
  "COFRE-172": {
    message: "The account has 50 saved views, which is the most",
    field: "save",
    condition: "/__cofre/views: save",
    remedy: "Delete a view that is not needed, or replace one by saving under its name.",
  },
  "COFRE-173": {
    message: "Another saved view has this name",
    field: "name",
    condition: "/__cofre/views: rename",
    remedy: "Send another name, or delete the other view first.",
  },
  "COFRE-174": {
    message: "Parameter {name} does not have the form of its field",
    choices: { name: ["search", "state", "brand", "period", "from", "to", "columns"] },
    field: "{name}",
    condition: "/__cofre/views: save",
    remedy: "Send the field as the address of the console's payment list has it, or leave it out.",
  },
  "COFRE-175": {
    message: "Only one of save, rename and delete may be sent",
    condition: "/__cofre/views",
    remedy: "Send one request for each change.",
  },
  "COFRE-176": {
    message:
      "The scheme refuses a chargeback for fraud: 3-D Secure moved the liability for this payment to the issuer",
    condition: "/__cofre/payment: chargeback with reason fraud",
    remedy:
      "Choose a payment without 3-D Secure, or one whose indicator (ECI) does not move the liability; or send another reason.",
  },
  "COFRE-177": {
    message: "Parameter reason must be one of {list}",
    field: "reason",
    condition: "/__cofre/payment: chargeback",
    remedy: "Send one of the listed reasons, or leave the parameter out.",
  },
  "COFRE-178": {
    message: "Too many requests with this public key from your network, try again later",
    httpStatus: 429,
    condition:
      "the account's publicRequestsPerMinute, publicCardsPerTenMinutes or publicFailuresPerTenMinutes",
    remedy:
      "Wait as long as `Retry-After` says. If customers are refused, raise the account's setting; behind a proxy also set COFRE_CLIENT_IP_HEADER.",
  },
  // Interface 2.7 has no codes for these fields.
  "COFRE-179": {
    message: "Field {field} is {problem}",
    choices: {
      field: ["totalAmount", "currency", "number"],
      problem: ["required", "invalid"],
    },
    field: "{field}",
    condition:
      "the amount, the currency or the card number of `/ws/threedsecureserver-authentications` is missing or invalid",
    remedy:
      "Send orderInformation.amountDetails with totalAmount and currency, and paymentInformation.card with number.",
  },
  "COFRE-190": {
    message: "Field {name} {problem}",
    choices: { problem: ["is required", "is invalid"] },
    field: "{name}",
    condition: "a field of /ws/request without a code of its own is missing or invalid",
    remedy: "Correct the named field: its format is in the description of /ws/request.",
  },
  "COFRE-191": {
    message: "The request does not come from the payment page",
    condition: "a call of the hosted page that another page or a program sends",
    remedy: "Open the address of the page, `redirect_url`, in a browser.",
    tested: "elsewhere",
  },
  "COFRE-192": {
    message: "The page takes no card now: {state}",
    choices: { state: ["waiting", "paid", "closed"] },
    condition: "the customer submits a card on a hosted page that has another state by now",
    remedy:
      "The page shows the state. `waiting`: another card was submitted, and its outcome may not be known yet.",
    tested: "elsewhere",
  },
  "COFRE-70": {
    message: "The parameters of a world are {list}",
    condition: "/__cofre/worlds: an unknown parameter",
    remedy: "Send only the parameters in the message.",
  },
  "COFRE-71": {
    message: "Parameter new_integration_key or new_public_integration_key is already in use",
    condition: "/__cofre/worlds",
    remedy: "Choose another key, or leave it out: the server creates one.",
  },
  "COFRE-72": {
    message: "The maximum number of worlds is reached",
    condition: "/__cofre/worlds: 10,000 worlds, each used within the last hour",
    remedy:
      "Delete worlds that are not used. A world without requests for an hour gives way to a new one.",
    tested: "elsewhere",
  },
  "COFRE-162": {
    message: "The world was reset or restored while its clock was moving: the move was stopped",
    condition: "/__cofre/clock: during a move, or while it waited for another one",
    remedy: "Move the clock again if the world still needs it.",
    tested: "elsewhere",
  },
  "COFRE-73": {
    message: "Parameter {name} must be {form}",
    choices: {
      form: [
        "a text of 1 to 100 characters, and no card number",
        "a time in UTC of the years 1970 to 9899, such as 2026-01-31 12:00:00",
        "a span such as 10s, 30min, 36h, 4d or 14months that ends by the year 9899, or next",
        "of 1 to 100 printable characters without blanks",
        "of 1 to 50 letters, digits, dots, dashes and underscores, and no card number",
        "an object, in a form such as settings[partialCapture]=true",
        "true or false",
      ],
    },
    field: "{name}",
    condition: "/__cofre/worlds, /__cofre/world, /__cofre/clock",
    remedy: "Send the parameter as the message shows it.",
  },
  "COFRE-74": {
    message: "This account is not a world: its clock is the system clock, and it cannot be reset",
    condition: "/__cofre/world, /__cofre/clock",
    remedy: "Create a world, and use its key.",
  },
  "COFRE-75": {
    message: "Parameter action must be one of {list}",
    field: "action",
    condition: "/__cofre/world",
    remedy: "Send one of the actions in the message.",
  },
  "COFRE-76": {
    message: "The maximum number of snapshots is reached",
    condition:
      "/__cofre/world: 10 snapshots of a world, or 300,000 records in the snapshots of all worlds",
    remedy: "Delete snapshots that are not used.",
  },
  "COFRE-77": {
    message: "The world has no snapshot with this name",
    condition: "/__cofre/world",
    remedy: "List the world's snapshots and send one of their names.",
  },
  "COFRE-78": {
    message: "Only one of the parameters set, advance and run can be given",
    condition: "/__cofre/clock",
    remedy: "Send one of `set`, `advance` and `run` per request.",
  },
  "COFRE-90": {
    message:
      "Parameter add must be an object with a kind, for example add[kind]=fail_before_commit in a form. The kinds are {list}",
    field: "add",
    condition: "/__cofre/faults",
    remedy: "Send `add` as an object with one of the kinds in the message.",
  },
  "COFRE-91": {
    message:
      "Parameter add.times must be a whole number from 1 to {most}, or 0 for all requests until the fault is cleared",
    choices: { most: [1_000] },
    field: "add.times",
    condition: "/__cofre/faults",
    remedy: "Send a number in the range.",
  },
  "COFRE-92": {
    message: "Parameter add.path must be {paths}{hint}",
    choices: {
      paths: ["an operation such as {path}", "one of {list} for this kind"],
      hint: ["", ". Did you mean {suggestion}?"],
    },
    field: "add.path",
    condition: "/__cofre/faults: an unknown operation, or one that the kind does not apply to",
    remedy: "Send one of the paths in the message, or leave `path` out.",
  },
  "COFRE-93": {
    message:
      "Parameter add.merchant_payment_code must have 1 to {longest} characters and must not contain a card number",
    choices: { longest: [128] },
    field: "add.merchant_payment_code",
    condition: "/__cofre/faults",
    remedy: "Send the code of the payment as the payment request has it.",
  },
  "COFRE-94": {
    message:
      "Parameter add.delay_ms must be a whole number from 1 to {longest}, and is only for the kinds {kinds}",
    choices: { longest: [120_000] },
    field: "add.delay_ms",
    condition: "/__cofre/faults",
    remedy: "Send a delay in the range, and only for a kind that delays.",
  },
  "COFRE-95": {
    message:
      "Parameter add.reason is required for the kind decline, and only for it. The reasons are {list}",
    field: "add.reason",
    condition: "/__cofre/faults",
    remedy:
      "Send one of the reasons in the message for the kind `decline`, and no reason for others.",
  },
  "COFRE-96": {
    message: "An account can have at most {most} active faults: clear some first",
    choices: { most: [100] },
    condition: "/__cofre/faults",
    remedy: "Clear faults that are not needed.",
  },
  "COFRE-97": {
    message: "Parameter clear must be all, or the id of an active fault",
    field: "clear",
    condition: "/__cofre/faults",
    remedy: "List the faults and send one of their ids, or `all`.",
  },
  "COFRE-98": {
    message: "Parameters add and clear cannot be given together",
    condition: "/__cofre/faults",
    remedy: "Send two requests.",
  },
  "COFRE-99": {
    message: "Parameter add can have only the members {list}",
    field: "add",
    condition: "/__cofre/faults",
    remedy: "Send only the members in the message.",
  },
  "COFRE-100": {
    message: "Faults are not available: another server processes this account's payments",
    condition: "/__cofre/faults, with COFRE_UPSTREAM_URL",
    remedy: "Inject the fault at the server that processes the payments.",
    tested: "elsewhere",
  },
  "COFRE-85": {
    message: "Parameter after must be a whole number, and hash the hash of a payment",
    condition: "/__cofre/requests, /__cofre/notifications",
    remedy:
      "Send `after` as the answer's `next` gave it, and the hash as the payment's answer gave it.",
  },
  "COFRE-86": {
    message: "Parameter order must be newest, and outcome one of {list}",
    condition: "/__cofre/requests",
    remedy: "Send `order=newest`, and one outcome, or leave them out.",
  },
  "COFRE-60": {
    message: "Parameter order must be newest, and state one of {list}",
    condition: "/__cofre/notifications",
    remedy: "Send `order=newest`, and one of the states in the message.",
  },
  "COFRE-61": {
    message:
      "Parameter limit must be a whole number from 1 to {most}, and before the next value of another page",
    choices: { most: [100] },
    condition: "/__cofre/notifications, /__cofre/requests",
    remedy: "Send a limit in the range, and `before` as the answer's `next` gave it.",
  },
  "COFRE-145": {
    message:
      "Parameter enable or disable must be the id of an endpoint of this account, and cannot be given with replay",
    condition: "/__cofre/notifications",
    remedy: "List the endpoints and send one of their ids, without `replay`.",
  },
  "COFRE-62": {
    message: "Parameter per must be one of {list}",
    field: "per",
    condition: "/__cofre/figures",
    remedy: "Send one of the periods in the message.",
  },
  "COFRE-146": {
    message: "Parameter number must be the number of a notification of this account",
    field: "number",
    condition: "/__cofre/notifications",
    remedy: "Send the `number` of a notification in the answer without this parameter.",
  },
  "COFRE-63": {
    message:
      "Parameters from and to, or bounds, must be ascending times in UTC with at most {most} periods between them",
    choices: { most: [100] },
    condition: "/__cofre/figures",
    remedy: "Send times such as `2026-11-30T00:00:00Z`, and a shorter range.",
  },
  "COFRE-64": {
    message:
      "Parameter limit must be a whole number from 1 to {most}, and after the next value of another page",
    choices: { most: [1_000] },
    condition: "/__cofre/tokens",
    remedy: "Send a limit in the range, and `after` as the answer's `next` gave it.",
  },
  "COFRE-45": {
    message: "Another request with this Idempotency-Key is in progress",
    condition: "the same key at the same time, on another node",
    remedy: "Wait and send the same request again with the same key: the answer is then repeated.",
    tested: "elsewhere",
  },
  "COFRE-110": {
    message: "Not signed in, or the session has expired",
    condition: "requests of the console",
    remedy: "Sign in again.",
    tested: "elsewhere",
  },
  "COFRE-111": {
    message: "Name, password or code is wrong, or the user cannot sign in now",
    condition:
      "/__cofre/session, /__cofre/password: the same answer for a wrong, unknown, locked or disabled user",
    remedy:
      "Check name, password and the code of the authenticator. After several failed attempts, wait or ask an admin.",
    tested: "elsewhere",
  },
  "COFRE-112": {
    message: "The request does not come from this server's console",
    condition:
      "X-Cofre-CSRF is missing or of another session, the page has another origin, or a GET would put a secret into the address",
    remedy: "Open the console at this server's own address and reload the page.",
    tested: "elsewhere",
  },
  "COFRE-113": {
    message: "Your role does not allow this",
    condition: "requests of the console",
    remedy: "Ask an admin for the role.",
    tested: "elsewhere",
  },
  "COFRE-114": {
    message: "The invitation is unknown, used or expired",
    condition: "/__cofre/enrolment",
    remedy: "Ask an admin for a new invitation.",
    tested: "elsewhere",
  },
  "COFRE-115": {
    message:
      "A password must have 12 to 128 characters, must not contain the name, and must differ from the last four passwords",
    condition: "/__cofre/enrolment, /__cofre/password",
    remedy: "Choose another password.",
    tested: "elsewhere",
  },
  "COFRE-116": {
    message: "The six-digit code is wrong or was used before",
    condition: "/__cofre/enrolment",
    remedy: "Wait for the next code, and check the time of the device that shows it.",
    tested: "elsewhere",
  },
  "COFRE-117": {
    message: "A name must have 3 to 64 letters, digits or . _ @ + - and must not be in use",
    condition: "/__cofre/users",
    remedy: "Choose another name.",
    tested: "elsewhere",
  },
  "COFRE-118": {
    message: "At least one active admin is required: make another user an admin first",
    condition: "/__cofre/users",
    remedy: "Make another user an admin first.",
    tested: "elsewhere",
  },
  "COFRE-119": {
    message: "{kind} {name} is invalid",
    choices: { kind: ["Parameter", "Header"] },
    field: "{name}",
    condition:
      "/__cofre/session, /__cofre/users, /__cofre/audit; an unknown account in X-Cofre-Account",
    remedy: "Correct the value that the message names.",
    tested: "elsewhere",
  },
  "COFRE-123": {
    message: "Too many failed attempts to sign in: wait and try again",
    httpStatus: 429,
    condition: "/__cofre/session, with Retry-After",
    remedy: "Wait as long as `Retry-After` says.",
    tested: "elsewhere",
  },
  "COFRE-168": {
    message:
      "The database query took longer than 2 seconds and was cancelled: send the request again, or ask for less",
    httpStatus: 503,
    condition: "PostgreSQL: a list, figures, a history or deliveries at /__cofre/",
    remedy: "Ask for less, for example a shorter time range, or send the request again later.",
    tested: "elsewhere",
  },
  "COFRE-180": {
    message: "Parameter act must be one of {list}",
    field: "act",
    condition: "/__cofre/keys",
    remedy: "Name an act of docs/operate/keys.md.",
    tested: "elsewhere",
  },
  "COFRE-181": {
    message: "Parameter {name} is missing, has an invalid form or holds a card number",
    field: "{name}",
    condition: "/__cofre/keys: parameters of an act upon keys",
    remedy: "Correct the parameter. docs/operate/keys.md lists the parameters of each act.",
    tested: "elsewhere",
  },
  "COFRE-182": {
    message: "No open request has this number and this check",
    condition:
      "/__cofre/keys: the request is unknown, approved already or older than an hour, its admin is no longer one, or `check` is of another request",
    remedy: "List the open requests, and request the act again if it is not among them.",
    tested: "elsewhere",
  },
  "COFRE-183": {
    message: "Another admin has to approve the request",
    condition: "/__cofre/keys: the admin who made the request approves it",
    remedy: "Ask another admin to approve it.",
    tested: "elsewhere",
  },
  "COFRE-184": {
    message: "The act is not possible now: {problem}",
    choices: {
      problem: [
        "card operations are not stopped by an order",
        "no key of this name only opens",
        "keys or cards need the key",
        "this installation keeps its keys in files",
      ],
    },
    condition:
      "/__cofre/keys: `resume` while no stop order is in force; `destroy` of a key that is current, unknown, destroyed or needed",
    remedy: "Read the state of the keys first: `cofre keys orders`.",
    tested: "elsewhere",
  },
  "COFRE-150": {
    message:
      "The integration_key of a server account is required for requests from another site, or to a host name that is not in COFRE_OWN_NAMES",
    condition:
      "/__cofre/worlds without sign-in: Origin or Sec-Fetch-Site of another page, or a Host such as cofre.example.com",
    remedy: "Send the secret key of a server account, or list the host name in COFRE_OWN_NAMES.",
  },
  "COFRE-130": {
    message: "The request is not HTTP/1.1",
    httpStatus: 400,
    condition: "another protocol, or another version of HTTP",
    remedy: "Use a client that sends HTTP/1.1.",
    tested: "elsewhere",
  },
  "COFRE-131": {
    message: "This port does not use TLS: the address must begin with http://",
    httpStatus: 400,
    condition: "https:// on a port without TLS",
    remedy: "Use an address that begins with `http://`, or the port of COFRE_TLS_PORT.",
    tested: "elsewhere",
  },
  "COFRE-161": {
    message: "This port uses TLS: the address must begin with https://",
    httpStatus: 400,
    condition: "http:// on the port of COFRE_TLS_PORT",
    remedy: "Use an address that begins with `https://`.",
    tested: "elsewhere",
  },
  "COFRE-132": {
    message:
      "The address contains characters that must be percent-encoded: spaces or non-ASCII characters",
    httpStatus: 400,
    condition: "é, ñ or a space without percent-encoding; an address that does not begin with /",
    remedy: "Percent-encode the address.",
    tested: "elsewhere",
  },
  "COFRE-133": {
    message: "The request has an invalid header",
    httpStatus: 400,
    condition: "characters that HTTP does not allow in a header's name or value",
    remedy: "Remove line breaks and control characters from the headers.",
    tested: "elsewhere",
  },
  "COFRE-134": {
    message: "The length of the request body is ambiguous",
    httpStatus: 400,
    condition:
      "two lengths, a length and chunks, an invalid chunk; a body that is longer than its length or has none; chunks in HTTP/1.0, or a POST in HTTP/1.0 without a length; a transfer coding other than chunked",
    remedy: "Send one correct Content-Length, or use chunks.",
    tested: "elsewhere",
  },
  "COFRE-167": {
    message:
      "The request is a POST without Content-Length or Transfer-Encoding, so its body would not be read",
    httpStatus: 411,
    condition:
      "POST to /ws/ without Content-Length and Transfer-Encoding, unless all fields are in the address and no header describes a body",
    remedy: "Send Content-Length, also when the body is empty.",
    tested: "elsewhere",
  },
  "COFRE-135": {
    message: "The request is incomplete",
    httpStatus: 400,
    condition: "the client closed the connection during the request",
    remedy: "Check the client's own time limit and the network. The request was not processed.",
    tested: "elsewhere",
  },
  "COFRE-136": {
    message: "The request has no Host header",
    httpStatus: 400,
    condition: "HTTP/1.1 without a Host",
    remedy: "Send the Host header.",
    tested: "elsewhere",
  },
  "COFRE-160": {
    message: "The request has two Host headers, or an invalid one",
    httpStatus: 400,
    condition:
      "two Host headers, even with one value; a space, a slash or another invalid character",
    remedy: "Send one Host header with the server's name and port.",
    tested: "elsewhere",
  },
  "COFRE-137": {
    message: "The address and the headers together are too large",
    httpStatus: 431,
    condition: "more than 16 KiB",
    remedy: "Send the fields in the body of a POST in place of the address.",
    tested: "elsewhere",
  },
  "COFRE-138": {
    message: "The request took too long to arrive",
    httpStatus: 408,
    condition:
      "more than 10 s for the head, or 15 s for the whole request; a connection without any bytes is closed without an answer",
    remedy: "Send the request at once, and reuse a connection only for complete requests.",
    tested: "elsewhere",
  },
  "COFRE-139": {
    message: "The Expect header is not 100-continue",
    httpStatus: 417,
    condition: "another value of Expect",
    remedy: "Leave the Expect header out, or send `100-continue`.",
    tested: "elsewhere",
  },
  "COFRE-151": {
    message: "Header Idempotency-Key must not contain a card number",
    condition:
      "the number of the card of the request or payment, unless refuseCardLikeCodes is off",
    remedy: "Use a random value as the key, for example a UUID.",
  },
  "COFRE-46": {
    message: "Header Idempotency-Key must have 1 to 255 printable ASCII characters without spaces",
    condition: "an empty, too long or otherwise invalid key",
    remedy: "Send a random value, for example a UUID.",
  },
  "COFRE-47": {
    message: "Parameter merchant_refund_code is invalid",
    field: "merchant_refund_code",
    condition: "contains the number of the payment's card; a list or an object",
    remedy: "Send a code of your own without the card number, as text.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
