/** One error of the wire: everything that the program, the API description and docs/wire/errors.md say about its code. */
export interface ErrorRow {
  /** Placeholders such as `{name}` are filled in where the request is refused. */
  readonly message: string;
  /** The values that a placeholder can have, the most common one first. A placeholder that is missing here takes any text. */
  readonly choices?: Readonly<Record<string, readonly (string | number)[]>>;
  /** 200 unless given: several clients discard the body of any other status (interface 1.3). */
  readonly httpStatus?: number;
  /** A second status, which the code has where the first cannot be used. */
  readonly otherStatus?: number;
  /** When the code is sent; for a code that is never sent, why not. */
  readonly condition: string;
  /** "by request" unless given: error-catalogue.test.ts sends a request that provokes it. "elsewhere": another test does. */
  readonly tested?: "by request" | "elsewhere" | "never sent";
}

const neverSent = (message: string, condition: string) => ({ message, condition, tested: "never sent" }) as const satisfies ErrorRow;

const bankTransfers = "fields of bank transfers, which are not taken";
const hostedPage = "of /ws/request: there is no hosted page yet";

/**
 * Every error code of the wire, in the order of the documentation. BP and DA codes are the interface's (sections 5 and 7): the messages that a public
 * source quotes are copied exactly, the others follow their pattern. COFRE codes are for cases that the interface has no code for: a number of
 * its own series might one day turn out to mean something else. docs/wire/errors.md has the reason for each choice. A message holds no input
 * that could be card data.
 */
export const errorTable = {
  "BP-SA-1": {
    message: "{text}",
    choices: { text: ["Field integration_key is required", "Parameter integration_key not informed"] },
    condition: "no key, or an empty one",
  },
  "BP-SA-2": { message: "Invalid integration key", otherStatus: 401, condition: "a key that opens nothing, operations with parameters" },
  "DA-1": { message: "Invalid integration key", condition: "a key that opens nothing, operations with a JSON body" },
  "BP-DPAR-4": neverSent("Invalid integration key", "what older hosts said for DA-1"),
  "BP-CH-1": neverSent("Payment type group is not active: {group_code}", "card payments cannot be switched off here"),
  "BP-DR-0": {
    message: "Payment already exists with merchant_payment_code: {code} (created on {time}, status is {status})",
    condition: "the code was used before, whatever became of that payment",
  },
  "BP-DR-1": {
    message: "{text}",
    choices: { text: ["Mode must be either full or iframe", "Operation must be request"] },
    condition: "another mode; another operation than request",
  },
  "BP-DR-2": { message: "Field payment is required", condition: "missing" },
  "BP-DR-3": { message: "Field payment.currency_code is required", condition: "missing" },
  "BP-DR-4": { message: "Currency is not active in the system: {currency}", condition: "neither the country's currency nor USD nor EUR" },
  "BP-DR-5": {
    message: "Field payment.amount_total is {problem}",
    choices: { problem: ["required", "invalid"] },
    condition: "missing, or not a plain amount; more than two decimals where strictAmounts is on",
  },
  "BP-DR-6": {
    message: "Amount reported is less than the minimum amount",
    condition: "below the country's minimum in its own currency; zero",
  },
  "BP-DR-7": { message: "Amount must be less than {currency} {amount}", condition: "above the account's limit" },
  "BP-DR-8": { message: "If passed, amount_itens + amount_shipping must be equal to amount_total", condition: "their sum is another" },
  "BP-DR-9": {
    message: "Field payment.merchant_payment_code is {problem}",
    choices: { problem: ["required", "invalid"] },
    condition: "missing; with control characters; holds the number of the card",
  },
  "BP-DR-10": {
    message: "Parameter merchant_payment_code can have {longest} characters maximum",
    choices: { longest: [40, 128] },
    condition: "longer; 128 on profile B",
  },
  "BP-DR-11": {
    message: "Parameter payment.order_number can have {longest} characters maximum",
    choices: { longest: [40] },
    condition: "longer",
  },
  "BP-DR-12": {
    message: "Parameter {user_value_n} can have {longest} characters maximum",
    choices: { longest: [20] },
    condition: "a longer user value",
  },
  "BP-DR-13": { message: "Field payment.name is required", condition: "missing" },
  "BP-DR-14": { message: "Field payment.name can have {longest} characters maximum", choices: { longest: [100] }, condition: "longer" },
  "BP-DR-15": { message: "Field payment.email is required", condition: "missing" },
  "BP-DR-16": { message: "Field payment.email can have {longest} characters maximum", choices: { longest: [100] }, condition: "longer" },
  "BP-DR-17": { message: "Field payment.email is invalid", condition: "no e-mail address" },
  "BP-DR-18": neverSent("Customer is suspended", "nobody is suspended here"),
  "BP-DR-19": neverSent("Field payment.birth_date is required", "required once; public tests pass without"),
  "BP-DR-20": {
    message: "Field payment.birth_date must be in the format dd/mm/yyyy",
    condition: "another format, or no day of the calendar",
  },
  "BP-DR-21": { message: "Customer must be at least {age} years old", choices: { age: [16] }, condition: "younger" },
  "BP-DR-22": { message: "Field payment.document is required", condition: "missing" },
  "BP-DR-23": { message: "Field payment.document is invalid", condition: "check digits or length are wrong for the country" },
  "BP-DR-24": {
    message: "Field payment.zipcode {problem}",
    choices: { problem: ["is required", "is invalid", "can have 20 characters maximum"] },
    condition: "missing where needed; not 5 to 9 letters and digits in Brazil",
  },
  "BP-DR-25": {
    message: "Field payment.address {problem}",
    choices: { problem: ["is required", "can have 100 characters maximum"] },
    condition: "missing where needed, or longer",
  },
  "BP-DR-26": {
    message: "Field payment.street_number {problem}",
    choices: { problem: ["is required", "can have 30 characters maximum"] },
    condition: "missing where needed, or longer",
  },
  "BP-DR-27": {
    message: "Field payment.city {problem}",
    choices: { problem: ["is required", "can have 80 characters maximum"] },
    condition: "missing where needed, or longer",
  },
  "BP-DR-28": {
    message: "Field payment.state {problem}",
    choices: { problem: ["is required", "can have 80 characters maximum"] },
    condition: "missing where needed, or longer",
  },
  "BP-DR-29": { message: "Field payment.state is invalid", condition: "no state of Brazil" },
  "BP-DR-30": neverSent("Country must be br", "of the time when there was one country"),
  "BP-DR-31": { message: "Field payment.phone_number is required", condition: "missing" },
  "BP-DR-32": { message: "Field payment.phone_number is invalid", condition: "not 8 to 15 digits" },
  "BP-DR-33": { message: "Field payment.instalments is invalid", condition: "no whole number" },
  "BP-DR-34": {
    message: "Invalid value for instalments: {count} ({range})",
    condition: "the country or the brand has no such plan, or each instalment is too small",
  },
  "BP-DR-35": {
    message: "{text}",
    choices: { text: ["Invalid payment_type_code: {type}", "Invalid payment_type_code", "Field payment.payment_type_code is required"] },
    condition: "unknown; missing without a card (Field payment.payment_type_code is required)",
  },
  "BP-DR-36": { message: "Payment type is not active", condition: "a brand that the country does not have, or no card" },
  "BP-DR-38": { message: "Payment type not allowed in Direct API (full mode): {type}", condition: "a name of the hosted page's" },
  "BP-DR-39": neverSent("CPF, name and birth date do not match", "nothing here knows persons"),
  "BP-DR-40": neverSent("Customer reached the payment limit for the period", "nothing here sums up by customer"),
  "BP-DR-41": { message: "Field payment.person_type must contain a valid person_type", condition: "neither personal nor business" },
  "BP-DR-42": { message: "Field payment.responsible is required", condition: "missing" },
  "BP-DR-43": {
    message: "Field payment.responsible.name {problem}",
    choices: { problem: ["is required", "can have 100 characters maximum"] },
    condition: "missing of a company, or longer",
  },
  "BP-DR-44": neverSent("Field payment.responsible.document is invalid", "public tests pass with wrong documents"),
  "BP-DR-45": neverSent("Field payment.responsible.birth_date is invalid", "not looked at, as its document"),
  "BP-DR-46": neverSent("Responsible person does not match", "nothing here knows persons"),
  "BP-DR-47": neverSent("Bank field is too long", bankTransfers),
  "BP-DR-48": { message: "Field creditcard is required for this payment type", condition: "no card node and no token" },
  "BP-DR-49": { message: "Field payment.creditcard.card_number is required", condition: "missing" },
  "BP-DR-51": { message: "Field payment.creditcard.card_name is required", condition: "missing" },
  "BP-DR-52": {
    message: "Field payment.creditcard.card_name can have {longest} characters maximum",
    choices: { longest: [50, 64] },
    condition: "longer; 64 for tokens",
  },
  "BP-DR-54": {
    message: "Field {field} is required",
    choices: { field: ["payment.creditcard.card_cvv", "card_cvv"] },
    condition: "missing where the account wants it",
  },
  "BP-DR-55": {
    message: "Field {field} must have 3 or 4 digits",
    choices: { field: ["payment.creditcard.card_cvv", "card_cvv"] },
    condition: "other than 3 or 4 digits",
  },
  "BP-DR-56": { message: "Field payment.creditcard.card_due_date is required", condition: "missing" },
  "BP-DR-57": { message: "Field payment.creditcard.card_due_date must be in the format mm/yyyy", condition: "another format" },
  "BP-DR-58": { message: "Field payment.creditcard.card_due_date is invalid", condition: "no such month" },
  "BP-DR-59": { message: "Field payment.creditcard.card_due_date is invalid", condition: "more than 50 years ahead" },
  "BP-DR-61": { message: "Token could not be created for a network token", condition: "create_token with a network token" },
  "BP-DR-62": { message: "Recurring is not enabled for this merchant", condition: "create_token where the account has it off" },
  "BP-DR-63": neverSent("Token not found for this acquirer", "a token belongs to no acquirer here"),
  "BP-DR-64": {
    message: "{text}",
    choices: { text: ["Token not found", "Field token is required"] },
    condition: "unknown, expired and foreign tokens alike; none where one is needed",
  },
  "BP-DR-65": { message: "Token to create already exists", condition: "the chosen token is taken" },
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
    condition: "a chosen token of another length, with the number of the card in it, or with the public key",
  },
  "BP-DR-67": { message: "Field payment.creditcard.card_due_date is in the past", condition: "its month is over everywhere" },
  "BP-DR-68": neverSent("Direct debit", bankTransfers),
  "BP-DR-69": neverSent("Direct debit", bankTransfers),
  "BP-DR-70": neverSent("Direct debit", bankTransfers),
  "BP-DR-71": neverSent("Direct debit", bankTransfers),
  "BP-DR-72": neverSent("Direct debit", bankTransfers),
  "BP-DR-73": neverSent("Direct debit", bankTransfers),
  "BP-DR-75": {
    message: "Field payment.creditcard.card_number is {problem}",
    choices: { problem: ["invalid", "not a test card number: COFRE_SANDBOX_CARDS=any takes every number"] },
    condition: "length or check digit are wrong, or no brand has such numbers; in the sandbox, a number that is not for tests",
  },
  "BP-DR-76": {
    message: "Field {field} is required",
    choices: { field: ["payment.country", "country"] },
    condition: "missing of a payment; a list or an object (tokens and verifications without one are of the account's country)",
  },
  "BP-DR-77": {
    message: "Field {field} is not an allowed country",
    choices: { field: ["payment.country", "country"] },
    condition: "no country where payments are taken",
  },
  "BP-DR-83": { message: "Foreign cards are not processed", condition: "the acquirer's tables say so (sandbox: scenario card)" },
  "BP-DR-84": neverSent(
    "Duplicate payment for the same customer and amount within {minutes} minutes",
    "no source knows the time; merchant_payment_code guards against doubles",
  ),
  "BP-DR-90": neverSent("Contact support", "COFRE-14 says what to do"),
  "BP-DR-93": neverSent("PSE error", bankTransfers),
  "BP-DR-95": {
    message: "Field payment.creditcard.card_name must not be a card number",
    condition: "a holder's name that holds a card number",
  },
  "BP-DR-97": {
    message: "Instalments are not allowed for prepaid cards",
    condition: "the acquirer's tables say prepaid (sandbox: scenario card)",
  },
  "BP-DR-98": neverSent("Payment country must match customer's country", "the wire has one country: there is nothing to compare"),
  "BP-DR-100": {
    message: "Instalments are not allowed for debit cards",
    condition: "debitcard was asked for, or the acquirer's tables say debit",
  },
  "BP-DR-101": { message: "Card is not eligible for e-commerce", condition: "the acquirer's tables say so (sandbox: scenario card)" },
  "BP-DR-102": { message: "Too many attempts", condition: "the acquirer's tables say so (sandbox: scenario card)" },
  // Interface 7.2: an internal failure that leaves the payment unknown.
  "BP-DR-119": {
    message: "The outcome is not known yet: query the payment before you send it again",
    condition: "the store cannot say whether the intention was written",
    tested: "elsewhere",
  },
  "BP-DR-136": { message: "Field network_token_expire_date is invalid", condition: "missing, another format, or past" },
  "BP-CAP-1": { message: "Parameters hash or merchant_payment_code not informed", condition: "neither is given" },
  "BP-CAP-2": { message: "Payment not found", condition: "no payment of this merchant" },
  "BP-CAP-3": { message: "Payment cannot be captured, status is: CA", condition: "declined, cancelled, expired, or its window is over" },
  "BP-CAP-4": { message: "Payment has already been captured, status is: CO", condition: "captured before" },
  "BP-CAP-5": { message: "Payment cannot be captured, it is still open", condition: "under review, or the acquirer has not answered" },
  "BP-CAP-6": { message: "Parameter amount is invalid", condition: "no amount, or above what is authorized" },
  "BP-CAP-7": { message: "Capture refused by the acquirer", condition: "refused" },
  "BP-CAP-11": { message: "Partial capture not available", condition: "less than everything where the account has it off" },
  "BP-CAN-1": { message: "Parameters hash or merchant_payment_code not informed", condition: "neither is given" },
  "BP-CAN-2": { message: "Payment not found", condition: "no payment of this merchant" },
  "BP-CAN-3": { message: "Only open or pending payments can be cancelled", condition: "CO or CA" },
  "BP-CAN-4": { message: "Cancellation refused by the acquirer", condition: "refused" },
  // Only BP-REF-1, 7 and CAN-2 are known (interface 5.3); the other numbers of the series are ours.
  "BP-REF-1": { message: "Parameters hash or merchant_payment_code not informed", condition: "neither is given" },
  "BP-REF-2": { message: "Parameter operation must be request or cancel", condition: "another operation" },
  "BP-REF-3": { message: "Parameter amount not informed", condition: "missing, empty or zero" },
  "BP-REF-4": { message: "Parameter amount is invalid", condition: "no amount" },
  "BP-REF-5": { message: "Amount is above what is left of the payment", condition: "above what was captured and is not refunded yet" },
  "BP-REF-6": {
    message: "Parameter {name} can have {longest} characters maximum",
    choices: { name: ["description", "merchant_refund_code"], longest: [1_500, 40] },
    condition: "longer",
  },
  "BP-REF-7": { message: "Only confirmed payments can be refunded", condition: "not CO" },
  "BP-REF-8": { message: "Parameters refund_id or merchant_refund_code not informed", condition: "a cancel that names no refund" },
  "BP-REF-9": { message: "Refund not found", condition: "no refund of this merchant" },
  "BP-REF-10": { message: "Refund cannot be cancelled", condition: "sent already, or over; pending ones too where the account is strict" },
  "BP-REF-11": { message: "Refund already exists with this merchant_refund_code", condition: "the code was used before" },
  "BP-REF-12": { message: "Payment has already been refunded", condition: "nothing is left" },
  "BP-REF-CAN-2": {
    message: "Payment not found with this {kind}: {name}",
    choices: { kind: ["hash", "merchant_payment_code"] },
    condition: "no payment of this merchant",
  },
  "BP-QRY-1": {
    message: "Parameters hash or merchant_payment_code not informed",
    condition: "neither is given: query, resendNotification",
  },
  "BP-QRY-2": { message: "Payment not found", condition: "no payment of this merchant: query, resendNotification" },
  "BP-R-1": neverSent("Field currency_code is required", hostedPage),
  "BP-R-2": neverSent("Field amount is required", hostedPage),
  "BP-R-3": neverSent("Field merchant_payment_code is required", hostedPage),
  "BP-R-4": neverSent("Field name is required", hostedPage),
  "BP-R-5": neverSent("Field email is required", hostedPage),
  "BP-R-6": neverSent("Field payment_type_code is required", hostedPage),
  "BP-R-7": neverSent("Payment type is not active", hostedPage),
  "BP-R-8": neverSent("Invalid payment_type_code", hostedPage),
  "BP-R-9": neverSent("Amount must be positive", hostedPage),
  "BP-R-10": neverSent("Amount reported is less than the minimum amount", hostedPage),
  "BP-R-11": neverSent("Payment type has no instalments", hostedPage),
  "BP-R-12": neverSent("Instalments are over the maximum", hostedPage),
  "BP-R-13": neverSent("Instalment is below the minimum", hostedPage),
  "BP-R-17": neverSent("Payment is not open", hostedPage),
  "BP-R-18": neverSent("Field person_type must contain a valid person_type", hostedPage),
  "BP-R-19": neverSent("Companies are not active", hostedPage),
  "BP-R-20": neverSent("Field due_date is invalid", hostedPage),
  "BP-R-21": neverSent("Field due_date is invalid", hostedPage),
  "BP-R-22": neverSent("Field due_date is invalid", hostedPage),
  "BP-R-23": neverSent("Currency is not active in the system", hostedPage),
  "BP-R-28": neverSent("Instalment count is not available", hostedPage),
  "BP-R-29": neverSent("Instalment count is not available", hostedPage),
  "BP-R-30": neverSent("Instalment count is not available", hostedPage),
  "BP-R-32": neverSent("Amount must be less than {currency} {amount}", hostedPage),
  // Interface 7.4.
  "BP-ZIP-1": { message: "Zipcode code not informed", condition: "missing" },
  "BP-ZIP-2": { message: "Zipcode code not valid", condition: "not eight digits" },
  "BP-ZIP-3": { message: "Address could not be retrieved", condition: "none of the few codes that are known here" },
  "COFRE-1": { message: "The request body is not valid JSON", condition: "JSON that does not parse" },
  "COFRE-2": { message: "The request is too large", otherStatus: 413, condition: "a body above the limit" },
  "COFRE-3": { message: "The request is nested too deeply", condition: "nested beyond the limit" },
  "COFRE-4": { message: "The request has too many fields", condition: "more than the limit" },
  "COFRE-5": { message: "The request has a field whose name is too long", condition: "a name beyond the limit" },
  "COFRE-6": {
    message: "Field {name} is given more than once",
    condition: "twice, with two values, what identifies a merchant, payment, card or amount",
  },
  "COFRE-7": { message: "The request body is neither a JSON object nor a form", condition: "an array that is not empty, or the like" },
  "COFRE-8": { message: "The form is not percent-encoded", condition: "JSON cut by a raw &, where the account is strict" },
  "COFRE-9": {
    message: "There is no such operation{hint}",
    choices: { hint: [": use /ws/token/setCVV", ""] },
    condition: "an unknown path below /ws; /ws/setCvv",
  },
  "COFRE-10": { message: "The method is not GET or POST", otherStatus: 405, condition: "another method" },
  "COFRE-11": { message: "There is nothing at this address", httpStatus: 404, condition: "an unknown path outside of /ws" },
  "COFRE-12": {
    message: "Too many requests are in progress, try again later",
    httpStatus: 503,
    otherStatus: 429,
    condition: "overload",
    tested: "elsewhere",
  },
  "COFRE-165": {
    message: "Too many requests of this account are in progress, try again later",
    httpStatus: 429,
    condition: "the account's share of the places, or that of all worlds",
    tested: "elsewhere",
  },
  "COFRE-166": {
    message: "Nothing was done, because this server's clock is off: send it again later",
    httpStatus: 503,
    condition: "the clock of this server differs from those of the other nodes, or was set, by more than two seconds",
    tested: "elsewhere",
  },
  "COFRE-13": {
    message: "The server is stopping, try again later",
    httpStatus: 503,
    condition: "a stop is under way",
    tested: "elsewhere",
  },
  "COFRE-14": {
    message: "The request failed inside; query the payment before you send it again",
    otherStatus: 500,
    condition: "a failure of ours",
    tested: "elsewhere",
  },
  "COFRE-164": {
    message: "The text of the request is not UTF-8: send UTF-8, or name ISO-8859-1 or windows-1252 as charset in Content-Type",
    condition: "%E9, or a raw byte of another charset, where Content-Type names no charset",
  },
  "COFRE-163": {
    message: "Header {name} is given more than once, with different values",
    condition: "two Idempotency-Key headers, two of the X-EBANX- ones, two charsets",
    tested: "elsewhere",
  },
  "COFRE-20": {
    message: "Another request about this payment is waiting for the acquirer",
    condition: "two at once, or an earlier one without an answer",
  },
  // 503: nothing was done, so a proxy or a client that repeats a request on 503 is right.
  "COFRE-21": {
    message: "Nothing was done: the request could not be recorded, send it again later",
    httpStatus: 503,
    condition: "the store cannot write",
  },
  // 200: no proxy repeats the request by itself, and clients that discard other bodies show the advice.
  "COFRE-22": {
    message: "The acquirer did not answer: query the payment to learn the outcome",
    condition: "capture or void without an answer",
  },
  "COFRE-23": { message: "The operation {name} is not available yet", condition: "a known operation that this version does not have" },
  "COFRE-24": { message: "The time in which this payment can be refunded is over", condition: "the account's refund window" },
  "COFRE-25": { message: "The issuer has taken the money back already", condition: "a refund of a payment that is charged back" },
  // Interface 3.3 and 3.6 know no codes for these fields.
  "COFRE-26": {
    message: "Field cof_info.{field} is invalid",
    choices: { field: ["cof_type", "initiator"] },
    condition: "another word than initial and stored, CIT and MIT",
  },
  "COFRE-27": {
    message: "Field payment.creditcard.{field} is {problem}",
    choices: { field: ["threeds_eci", "threeds_cryptogram", "network_token_cryptogram"], problem: ["invalid", "required"] },
    condition:
      "an ECI other than 00 01 02 05 06 07, or one of 01 02 05 06 without a cryptogram (then: is required); a cryptogram with characters outside of base64 and base64url, or over 64 characters",
  },
  "COFRE-28": {
    message: "Field payment.cof_info.mandate_id is of no initial payment with this card",
    condition: "where the account is strict about mandates",
  },
  "COFRE-29": {
    message: "Nothing has been announced of this payment yet",
    condition: "resendNotification of a payment that was never announced",
  },
  "COFRE-30": {
    message: "Parameter settings must be an object, in a form such as settings[partialCapture]=true",
    condition: "/__cofre/settings",
  },
  "COFRE-31": { message: "{problems}", condition: "/__cofre/settings: unknown names or values that are not allowed" },
  "COFRE-32": { message: "Parameter next must be one of {list}, or decline with a reason: {reasons}", condition: "/__cofre/simulator" },
  "COFRE-33": { message: "Parameter of must be one of {list}", condition: "/__cofre/simulator" },
  "COFRE-34": { message: "Parameter times must be a whole number from 1 to 9999", condition: "/__cofre/simulator" },
  "COFRE-35": {
    message: "The simulator does not take this instruction: its queue is full, or that message cannot be declined or echoed",
    condition: "/__cofre/simulator",
  },
  "COFRE-50": { message: "Parameter connector must be one of {list}", condition: "/__cofre/simulator, where there are several simulators" },
  "COFRE-36": { message: "Parameter action must be one of {list}", condition: "/__cofre/payment" },
  "COFRE-37": { message: "The payment does not wait for a reviewer", condition: "/__cofre/payment: accept_review, reject_review" },
  "COFRE-38": {
    message:
      "Only a captured payment that has neither been refunded nor disputed can be charged back, and only a charged back one credited",
    condition: "/__cofre/payment: chargeback, chargeback_credit",
  },
  "COFRE-39": { message: "Parameter {name} is invalid", condition: "merchantIntegrationProperties/edit: no address, or no e-mail address" },
  "COFRE-40": { message: "Parameter currency_code not informed", condition: "exchange" },
  "COFRE-41": {
    message: "There is no rate from {currency} to {base}",
    condition: "exchange: a currency that is not known, or two that have no rate",
  },
  "COFRE-42": { message: "Parameter document is invalid or not informed", condition: "documentbalance" },
  "COFRE-43": {
    message: "The payment has as many refunds as it can have",
    condition: "a hundred refunds of one payment, cancelled ones counted",
  },
  "COFRE-44": { message: "This Idempotency-Key came with another request before", condition: "the same key, another request" },
  "COFRE-48": {
    message: "Parameter replay must be failed (from), payment (hash) or range (from, to)",
    condition: "/__cofre/notifications",
  },
  "COFRE-55": { message: "Parameter state must be one or more of {list}, with commas between them", condition: "/__cofre/payments" },
  "COFRE-56": { message: "Parameter brand must be one of {list}", condition: "/__cofre/payments" },
  "COFRE-57": {
    message: "Parameter limit must be a whole number from 1 to {most}, and before the next of another page",
    choices: { most: [100] },
    condition: "/__cofre/payments",
  },
  "COFRE-70": { message: "Parameters of a world are {list}", condition: "/__cofre/worlds" },
  "COFRE-71": { message: "Parameter new_integration_key or new_public_integration_key is in use already", condition: "/__cofre/worlds" },
  "COFRE-72": {
    message: "There are as many worlds as there can be",
    condition: "/__cofre/worlds: 10,000, each of them used within the last hour",
    tested: "elsewhere",
  },
  "COFRE-162": {
    message: "The world was reset or restored meanwhile: its time was moved no further",
    condition: "/__cofre/clock: while a move was under way, or waited for another one",
    tested: "elsewhere",
  },
  "COFRE-73": { message: "Parameter {name} must be {form}", condition: "/__cofre/worlds, /__cofre/world, /__cofre/clock" },
  "COFRE-74": {
    message: "This account is no world: its time is the system's, and it is never reset",
    condition: "/__cofre/world, /__cofre/clock",
  },
  "COFRE-75": { message: "Parameter do must be one of {list}", condition: "/__cofre/world" },
  "COFRE-76": {
    message: "There is no room for another snapshot",
    condition: "/__cofre/world: ten of a world, and 300,000 records in those of all worlds together",
  },
  "COFRE-77": { message: "The world has no snapshot of this name", condition: "/__cofre/world" },
  "COFRE-78": { message: "Only one of the parameters set, advance and run can be given", condition: "/__cofre/clock" },
  "COFRE-90": {
    message: "Parameter add must be an object with a kind, in a form such as add[kind]=fail_before_commit, which is one of {list}",
    condition: "/__cofre/faults",
  },
  "COFRE-91": {
    message: "Parameter add.times must be a whole number from 1 to {most}, or 0 for all until it is cleared",
    choices: { most: [1_000] },
    condition: "/__cofre/faults",
  },
  "COFRE-92": {
    message: "Parameter add.path must be {paths}{hint}",
    condition: "/__cofre/faults: no operation, or one that the kind is not for",
  },
  "COFRE-93": {
    message: "Parameter add.merchant_payment_code must have between 1 and {longest} characters, and no card number in it",
    choices: { longest: [128] },
    condition: "/__cofre/faults",
  },
  "COFRE-94": {
    message: "Parameter add.delay_ms must be a whole number from 1 to {longest}, and is for {kinds} alone",
    choices: { longest: [120_000] },
    condition: "/__cofre/faults",
  },
  "COFRE-95": { message: "Parameter add.reason is for decline alone, which needs one of {list}", condition: "/__cofre/faults" },
  "COFRE-96": {
    message: "No more faults can wait: an account has {most} at most. Clear some",
    choices: { most: [100] },
    condition: "/__cofre/faults",
  },
  "COFRE-97": { message: "Parameter clear must be all, or the id of a fault that waits", condition: "/__cofre/faults" },
  "COFRE-98": { message: "Either add or clear, not both", condition: "/__cofre/faults" },
  "COFRE-99": { message: "Parameter add has members other than {list}", condition: "/__cofre/faults" },
  "COFRE-100": {
    message: "Another server carries this account's payments out: there are no faults",
    condition: "/__cofre/faults, with COFRE_UPSTREAM_URL",
    tested: "elsewhere",
  },
  "COFRE-85": {
    message: "Parameter after must be a whole number, and hash a payment's",
    condition: "/__cofre/requests, /__cofre/notifications",
  },
  "COFRE-60": { message: "Parameter order must be newest, and state one of {list}", condition: "/__cofre/notifications" },
  "COFRE-61": {
    message: "Parameter limit must be a whole number from 1 to {most}, and before the next of another page",
    choices: { most: [100] },
    condition: "/__cofre/notifications",
  },
  "COFRE-145": {
    message: "Parameter switch_on or switch_off must be the id of one of the account's endpoints, and go without replay",
    condition: "/__cofre/notifications",
  },
  "COFRE-62": { message: "Parameter per must be one of {list}", condition: "/__cofre/figures" },
  "COFRE-63": {
    message: "Parameters from and to must be times in UTC with at most {most} hours or days between them",
    choices: { most: [100] },
    condition: "/__cofre/figures",
  },
  "COFRE-64": {
    message: "Parameter limit must be a whole number from 1 to {most}, and after the next of another page",
    choices: { most: [1_000] },
    condition: "/__cofre/tokens",
  },
  "COFRE-45": {
    message: "Another request with this Idempotency-Key is under way",
    condition: "the same key at the same time, on another node",
    tested: "elsewhere",
  },
  "COFRE-110": { message: "Nobody is signed in, or the session has ended", condition: "calls of the console", tested: "elsewhere" },
  "COFRE-111": {
    message: "Name, password or code is wrong, or the name cannot sign in now",
    condition: "/__cofre/session, /__cofre/password: one answer for a wrong, unknown, locked and disabled name",
    tested: "elsewhere",
  },
  "COFRE-112": {
    message: "The request does not come from this server's own page",
    condition:
      "no header X-Cofre-CSRF or another session's, another origin's page, or GET where it would put something secret into an address",
    tested: "elsewhere",
  },
  "COFRE-113": { message: "Your role does not allow this", condition: "calls of the console", tested: "elsewhere" },
  "COFRE-114": { message: "The invitation is not known, was used, or is over", condition: "/__cofre/enrolment", tested: "elsewhere" },
  "COFRE-115": {
    message: "A password has 12 to 128 characters, does not hold the name, and is none of the last four",
    condition: "/__cofre/enrolment, /__cofre/password",
    tested: "elsewhere",
  },
  "COFRE-116": { message: "The six digits are wrong or were used before", condition: "/__cofre/enrolment", tested: "elsewhere" },
  "COFRE-117": {
    message: "A name has 3 to 64 letters, digits and . _ @ + -, and is nobody else's",
    condition: "/__cofre/people",
    tested: "elsewhere",
  },
  "COFRE-118": {
    message: "There must be an active admin: make somebody else one before",
    condition: "/__cofre/people",
    tested: "elsewhere",
  },
  "COFRE-119": {
    message: "{kind} {name} is invalid",
    choices: { kind: ["Parameter", "Header"] },
    condition: "/__cofre/session, /__cofre/people, /__cofre/audit; X-Cofre-Account of no account",
    tested: "elsewhere",
  },
  "COFRE-123": {
    message: "Too many tries to sign in failed: wait and try again",
    httpStatus: 429,
    condition: "/__cofre/session, HTTP 429 with Retry-After",
    tested: "elsewhere",
  },
  "COFRE-168": {
    message: "The database took longer than 2 seconds for this list, and it was ended: send the request again, or ask for less",
    httpStatus: 503,
    condition: "PostgreSQL: a list, figures, a history or deliveries at /__cofre/",
    tested: "elsewhere",
  },
  "COFRE-150": {
    message:
      "From another site's page, or under a name that is not in COFRE_OWN_NAMES, worlds take the secret integration_key of the server's own account",
    condition: "/__cofre/worlds, where nobody signs in: Origin or Sec-Fetch-Site of another page, or a Host such as cofre.example.com",
  },
  "COFRE-130": {
    message: "The request is not one of HTTP/1.1",
    httpStatus: 400,
    condition: "another protocol, or another version of HTTP",
    tested: "elsewhere",
  },
  "COFRE-131": {
    message: "This port speaks HTTP without TLS",
    httpStatus: 400,
    condition: "https:// where http:// is spoken",
    tested: "elsewhere",
  },
  "COFRE-161": {
    message: "This port speaks HTTP with TLS: the address begins with https://",
    httpStatus: 400,
    condition: "http:// at the port of COFRE_TLS_PORT",
    tested: "elsewhere",
  },
  "COFRE-132": {
    message: "The address holds characters that have to be percent-encoded: blanks, and all beyond ASCII",
    httpStatus: 400,
    condition: "é, ñ or a blank as it is, not as %C3%A9; an address that does not begin with /",
    tested: "elsewhere",
  },
  "COFRE-133": {
    message: "The request has a header that cannot be read",
    httpStatus: 400,
    condition: "a header's name or value with characters that HTTP does not allow there",
    tested: "elsewhere",
  },
  "COFRE-134": {
    message: "It is not clear where the body of the request ends",
    httpStatus: 400,
    condition:
      "two lengths, a length and chunks, an invalid chunk; a body longer than its length or without one; HTTP/1.0 in chunks, or by POST without a length; another coding than chunked",
    tested: "elsewhere",
  },
  "COFRE-167": {
    message: "The request is a POST without Content-Length or Transfer-Encoding, so its body would not be read",
    httpStatus: 411,
    condition:
      "/ws/ by POST without Content-Length and Transfer-Encoding, unless all fields are in the address and no header describes a body",
    tested: "elsewhere",
  },
  "COFRE-135": {
    message: "The request ended before it was whole",
    httpStatus: 400,
    condition: "the client ended the connection within a request",
    tested: "elsewhere",
  },
  "COFRE-136": { message: "The request has no Host header", httpStatus: 400, condition: "HTTP/1.1 without a Host", tested: "elsewhere" },
  "COFRE-160": {
    message: "The request has two Host headers, or one that names no host",
    httpStatus: 400,
    condition: "two Host headers, also with one value; a blank, a slash or the like in it",
    tested: "elsewhere",
  },
  "COFRE-137": {
    message: "The address and the headers together are too large",
    httpStatus: 431,
    condition: "more than 16 KiB",
    tested: "elsewhere",
  },
  "COFRE-138": {
    message: "The request took too long to arrive",
    httpStatus: 408,
    condition: "10 s for the head, 15 s for all of it; a connection on which nothing has come is closed without an answer",
    tested: "elsewhere",
  },
  "COFRE-139": {
    message: "The request expects something else than 100-continue",
    httpStatus: 417,
    condition: "a header Expect",
    tested: "elsewhere",
  },
  "COFRE-151": {
    message: "Header Idempotency-Key holds a card number",
    condition: "the number of the card of this request or payment; the account's refuseCardLikeCodes allows it",
  },
  "COFRE-46": {
    message: "Header Idempotency-Key must have between 1 and 255 characters without blanks",
    condition: "an empty or too long key",
  },
  "COFRE-47": { message: "Parameter merchant_refund_code is invalid", condition: "the number of the payment's card, a list or an object" },
} as const satisfies Readonly<Record<string, ErrorRow>>;
