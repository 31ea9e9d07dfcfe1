import { type FramingErrorKind, framingErrors } from "../decode/framing-errors.ts";

/** One code of the wire, for people: docs/wire/errors.md is made from these rows, and a test provokes each through HTTP. */
export interface CatalogueRow {
  readonly code: string;
  /** As it is told; `{x}` stands for what changes from case to case. */
  readonly message: string;
  /** When it is told, or why it never is. */
  readonly when: string;
  /** `provoked`: a test provokes it. `elsewhere`: no request can, another test does. `never`: nothing here leads to it. */
  readonly told: "provoked" | "elsewhere" | "never";
}

const told = (code: string, message: string, when: string): CatalogueRow => ({ code, message, when, told: "provoked" });
const never = (code: string, message: string, when: string): CatalogueRow => ({ code, message, when, told: "never" });
const elsewhere = (code: string, message: string, when: string): CatalogueRow => ({ code, message, when, told: "elsewhere" });
const framing = (kind: FramingErrorKind, when: string): CatalogueRow =>
  elsewhere(framingErrors[kind].code, framingErrors[kind].message, when);
const needed = (number: number, field: string): CatalogueRow => told(`BP-DR-${number}`, `Field ${field} is required`, "missing");
const bank = "fields of bank transfers, which are not taken";
const page = "of /ws/request: there is no hosted page yet";

/** Interface 7.4. Only the last text is public; the others follow the pattern of BP-DR. */
const hostedPage: readonly (readonly [number: number, message: string])[] = [
  [1, "Field currency_code is required"],
  [2, "Field amount is required"],
  [3, "Field merchant_payment_code is required"],
  [4, "Field name is required"],
  [5, "Field email is required"],
  [6, "Field payment_type_code is required"],
  [7, "Payment type is not active"],
  [8, "Invalid payment_type_code"],
  [9, "Amount must be positive"],
  [10, "Amount reported is less than the minimum amount"],
  [11, "Payment type has no instalments"],
  [12, "Instalments are over the maximum"],
  [13, "Instalment is below the minimum"],
  [17, "Payment is not open"],
  [18, "Field person_type must contain a valid person_type"],
  [19, "Companies are not active"],
  [20, "Field due_date is invalid"],
  [21, "Field due_date is invalid"],
  [22, "Field due_date is invalid"],
  [23, "Currency is not active in the system"],
  [28, "Instalment count is not available"],
  [29, "Instalment count is not available"],
  [30, "Instalment count is not available"],
  [32, "Amount must be less than {currency} {amount}"],
];

/**
 * What is not understood as a request; `framing.test.ts` provokes each but COFRE-161, which `tls-listener.test.ts` does, and COFRE-138, which takes
 * ten seconds: `sockets.lane.ts` does.
 */
const framings: readonly CatalogueRow[] = [
  framing("not_http", "another protocol, or another version of HTTP (400)"),
  framing("tls_unexpected", "https:// where http:// is spoken (400)"),
  framing("tls_missing", "http:// at the port of COFRE_TLS_PORT (400)"),
  framing("address_unreadable", "é, ñ or a blank as it is, not as %C3%A9; an address that does not begin with / (400)"),
  framing("header_unreadable", "a header's name or value with characters that HTTP does not allow there (400)"),
  framing(
    "length_unclear",
    "two lengths, a length and chunks, an invalid chunk; a body longer than its length or without one; HTTP/1.0 in chunks, or by POST without a length; another coding than chunked (400)",
  ),
  framing(
    "length_missing",
    "/ws/ by POST without Content-Length and Transfer-Encoding, unless all fields are in the address and no header describes a body (411)",
  ),
  framing("cut_short", "the client ended the connection within a request (400)"),
  framing("host_missing", "HTTP/1.1 without a Host (400)"),
  framing("host_unclear", "two Host headers, also with one value; a blank, a slash or the like in it (400)"),
  framing("head_too_large", "more than 16 KiB (431)"),
  framing("too_slow", "10 s for the head, 15 s for all of it (408); a connection on which nothing has come is closed without an answer"),
  framing("unknown_expectation", "a header Expect (417)"),
];

/** Where people sign in to the console; a test of theirs provokes each. */
const logins: readonly CatalogueRow[] = [
  elsewhere("COFRE-110", "Nobody is signed in, or the session has ended", "calls of the console"),
  elsewhere(
    "COFRE-111",
    "Name, password or code is wrong, or the name cannot sign in now",
    "/__cofre/session, /__cofre/password: one answer for a wrong, unknown, locked and disabled name",
  ),
  elsewhere(
    "COFRE-112",
    "The request does not come from this server's own page",
    "no header X-Cofre-CSRF or another session's, another origin's page, or GET where it would put something secret into an address",
  ),
  elsewhere("COFRE-113", "Your role does not allow this", "calls of the console"),
  elsewhere("COFRE-114", "The invitation is not known, was used, or is over", "/__cofre/enrolment"),
  elsewhere(
    "COFRE-115",
    "A password has 12 to 128 characters, does not hold the name, and is none of the last four",
    "/__cofre/enrolment, /__cofre/password",
  ),
  elsewhere("COFRE-116", "The six digits are wrong or were used before", "/__cofre/enrolment"),
  elsewhere("COFRE-117", "A name has 3 to 64 letters, digits and . _ @ + -, and is nobody else's", "/__cofre/people"),
  elsewhere("COFRE-118", "There must be an active admin: make somebody else one before", "/__cofre/people"),
  elsewhere(
    "COFRE-119",
    "{Parameter | Header} {name} is invalid",
    "/__cofre/session, /__cofre/people, /__cofre/audit; X-Cofre-Account of no account",
  ),
  elsewhere(
    "COFRE-124",
    "No other node of this installation has led this request here: nothing was done",
    "X-Cofre-Person that no other node has written for this request, or that came before",
  ),
  elsewhere("COFRE-123", "Too many tries to sign in failed: wait and try again", "/__cofre/session, HTTP 429 with Retry-After"),
];

/** Every code of interface 7 and 5 that concerns cards, and ours. Messages that a public source quotes are its own to the letter. */
export const catalogue: readonly CatalogueRow[] = [
  told("BP-SA-1", "{Field integration_key is required | Parameter integration_key not informed}", "no key, or an empty one"),
  told("BP-SA-2", "Invalid integration key", "a key that opens nothing, operations with parameters"),
  told("DA-1", "Invalid integration key", "a key that opens nothing, operations with a JSON body"),
  never("BP-DPAR-4", "Invalid integration key", "what older hosts said for DA-1"),
  never("BP-CH-1", "Payment type group is not active: {group_code}", "card payments cannot be switched off here"),

  told(
    "BP-DR-0",
    "Payment already exists with merchant_payment_code: {code} (created on {time}, status is {status})",
    "the code was used before, whatever became of that payment",
  ),
  told("BP-DR-1", "Mode must be either full or iframe", "another mode; another operation than request"),
  needed(2, "payment"),
  needed(3, "payment.currency_code"),
  told("BP-DR-4", "Currency is not active in the system: {currency}", "neither the country's currency nor USD nor EUR"),
  told(
    "BP-DR-5",
    "Field payment.amount_total is {required | invalid}",
    "missing, or not a plain amount; more than two decimals where strictAmounts is on",
  ),
  told("BP-DR-6", "Amount reported is less than the minimum amount", "below the country's minimum in its own currency; zero"),
  told("BP-DR-7", "Amount must be less than {currency} {amount}", "above the account's limit"),
  told("BP-DR-8", "If passed, amount_itens + amount_shipping must be equal to amount_total", "their sum is another"),
  told(
    "BP-DR-9",
    "Field payment.merchant_payment_code is {required | invalid}",
    "missing; with control characters; holds the number of the card",
  ),
  told("BP-DR-10", "Parameter merchant_payment_code can have {40 | 128} characters maximum", "longer; 128 on profile B"),
  told("BP-DR-11", "Parameter payment.order_number can have 40 characters maximum", "longer"),
  told("BP-DR-12", "Parameter {user_value_n} can have 20 characters maximum", "a longer user value"),
  needed(13, "payment.name"),
  told("BP-DR-14", "Field payment.name can have 100 characters maximum", "longer"),
  needed(15, "payment.email"),
  told("BP-DR-16", "Field payment.email can have 100 characters maximum", "longer"),
  told("BP-DR-17", "Field payment.email is invalid", "no e-mail address"),
  never("BP-DR-18", "Customer is suspended", "nobody is suspended here"),
  never("BP-DR-19", "Field payment.birth_date is required", "required once; public tests pass without"),
  told("BP-DR-20", "Field payment.birth_date must be in the format dd/mm/yyyy", "another format, or no day of the calendar"),
  told("BP-DR-21", "Customer must be at least 16 years old", "younger"),
  needed(22, "payment.document"),
  told("BP-DR-23", "Field payment.document is invalid", "check digits or length are wrong for the country"),
  told(
    "BP-DR-24",
    "Field payment.zipcode {is required | is invalid | can have 20 characters maximum}",
    "missing where needed; not 5 to 9 letters and digits in Brazil",
  ),
  told("BP-DR-25", "Field payment.address {is required | can have 100 characters maximum}", "missing where needed, or longer"),
  told("BP-DR-26", "Field payment.street_number {is required | can have 30 characters maximum}", "missing where needed, or longer"),
  told("BP-DR-27", "Field payment.city {is required | can have 80 characters maximum}", "missing where needed, or longer"),
  told("BP-DR-28", "Field payment.state {is required | can have 80 characters maximum}", "missing where needed, or longer"),
  told("BP-DR-29", "Field payment.state is invalid", "no state of Brazil"),
  never("BP-DR-30", "Country must be br", "of the time when there was one country"),
  needed(31, "payment.phone_number"),
  told("BP-DR-32", "Field payment.phone_number is invalid", "not 8 to 15 digits"),
  told("BP-DR-33", "Field payment.instalments is invalid", "no whole number"),
  told(
    "BP-DR-34",
    "Invalid value for instalments: {count} ({range})",
    "the country or the brand has no such plan, or each instalment is too small",
  ),
  told("BP-DR-35", "Invalid payment_type_code: {type}", "unknown; missing without a card (Field payment.payment_type_code is required)"),
  told("BP-DR-36", "Payment type is not active", "a brand that the country does not have, or no card"),
  told("BP-DR-38", "Payment type not allowed in Direct API (full mode): {type}", "a name of the hosted page's"),
  never("BP-DR-39", "CPF, name and birth date do not match", "nothing here knows persons"),
  never("BP-DR-40", "Customer reached the payment limit for the period", "nothing here sums up by customer"),
  told("BP-DR-41", "Field payment.person_type must contain a valid person_type", "neither personal nor business"),
  needed(42, "payment.responsible"),
  told("BP-DR-43", "Field payment.responsible.name {is required | can have 100 characters maximum}", "missing of a company, or longer"),
  never("BP-DR-44", "Field payment.responsible.document is invalid", "public tests pass with wrong documents"),
  never("BP-DR-45", "Field payment.responsible.birth_date is invalid", "not looked at, as its document"),
  never("BP-DR-46", "Responsible person does not match", "nothing here knows persons"),
  never("BP-DR-47", "Bank field is too long", bank),
  told("BP-DR-48", "Field creditcard is required for this payment type", "no card node and no token"),
  needed(49, "payment.creditcard.card_number"),
  needed(51, "payment.creditcard.card_name"),
  told("BP-DR-52", "Field payment.creditcard.card_name can have {50 | 64} characters maximum", "longer; 64 for tokens"),
  told("BP-DR-54", "Field {payment.creditcard.card_cvv | card_cvv} is required", "missing where the account wants it"),
  told("BP-DR-55", "Field {payment.creditcard.card_cvv | card_cvv} must have 3 or 4 digits", "other than 3 or 4 digits"),
  needed(56, "payment.creditcard.card_due_date"),
  told("BP-DR-57", "Field payment.creditcard.card_due_date must be in the format mm/yyyy", "another format"),
  told("BP-DR-58", "Field payment.creditcard.card_due_date is invalid", "no such month"),
  told("BP-DR-59", "Field payment.creditcard.card_due_date is invalid", "more than 50 years ahead"),
  told("BP-DR-61", "Token could not be created for a network token", "create_token with a network token"),
  told("BP-DR-62", "Recurring is not enabled for this merchant", "create_token where the account has it off"),
  never("BP-DR-63", "Token not found for this acquirer", "a token belongs to no acquirer here"),
  told("BP-DR-64", "{Token not found | Field token is required}", "unknown, expired and foreign tokens alike; none where one is needed"),
  told("BP-DR-65", "Token to create already exists", "the chosen token is taken"),
  told(
    "BP-DR-66",
    "Field {payment.token | token} {must have between 32 and 128 characters | must not hold a card number | is accepted with the integration_key only}",
    "a chosen token of another length, with the number of the card in it, or with the public key",
  ),
  told("BP-DR-67", "Field payment.creditcard.card_due_date is in the past", "its month is over everywhere"),
  ...[68, 69, 70, 71, 72, 73].map((number) => never(`BP-DR-${number}`, "Direct debit", bank)),
  told(
    "BP-DR-75",
    "Field payment.creditcard.card_number is {invalid | not a test card number: COFRE_SANDBOX_CARDS=any takes every number}",
    "length or check digit are wrong, or no brand has such numbers; in the sandbox, a number that is not for tests",
  ),
  told(
    "BP-DR-76",
    "Field {payment.country | country} is required",
    "missing of a payment; a list or an object (tokens and verifications without one are of the account's country)",
  ),
  told("BP-DR-77", "Field {payment.country | country} is not an allowed country", "no country where payments are taken"),
  told("BP-DR-83", "Foreign cards are not processed", "the acquirer's tables say so (sandbox: scenario card)"),
  never(
    "BP-DR-84",
    "Duplicate payment for the same customer and amount within {minutes} minutes",
    "no source knows the time; merchant_payment_code guards against doubles",
  ),
  never("BP-DR-90", "Contact support", "COFRE-14 says what to do"),
  never("BP-DR-93", "PSE error", bank),
  told("BP-DR-95", "Field payment.creditcard.card_name must not be a card number", "a holder's name that holds a card number"),
  told("BP-DR-97", "Instalments are not allowed for prepaid cards", "the acquirer's tables say prepaid (sandbox: scenario card)"),
  never("BP-DR-98", "Payment country must match customer's country", "the wire has one country: there is nothing to compare"),
  told("BP-DR-100", "Instalments are not allowed for debit cards", "debitcard was asked for, or the acquirer's tables say debit"),
  told("BP-DR-101", "Card is not eligible for e-commerce", "the acquirer's tables say so (sandbox: scenario card)"),
  told("BP-DR-102", "Too many attempts", "the acquirer's tables say so (sandbox: scenario card)"),
  elsewhere(
    "BP-DR-119",
    "The outcome is not known yet: query the payment before you send it again",
    "the store cannot say whether the intention was written",
  ),
  told("BP-DR-136", "Field network_token_expire_date is invalid", "missing, another format, or past"),

  told("BP-CAP-1", "Parameters hash or merchant_payment_code not informed", "neither is given"),
  told("BP-CAP-2", "Payment not found", "no payment of this merchant"),
  told("BP-CAP-3", "Payment cannot be captured, status is: CA", "declined, cancelled, expired, or its window is over"),
  told("BP-CAP-4", "Payment has already been captured, status is: CO", "captured before"),
  told("BP-CAP-5", "Payment cannot be captured, it is still open", "under review, or the acquirer has not answered"),
  told("BP-CAP-6", "Parameter amount is invalid", "no amount, or above what is authorized"),
  told("BP-CAP-7", "Capture refused by the acquirer", "refused"),
  told("BP-CAP-11", "Partial capture not available", "less than everything where the account has it off"),

  told("BP-CAN-1", "Parameters hash or merchant_payment_code not informed", "neither is given"),
  told("BP-CAN-2", "Payment not found", "no payment of this merchant"),
  told("BP-CAN-3", "Only open or pending payments can be cancelled", "CO or CA"),
  told("BP-CAN-4", "Cancellation refused by the acquirer", "refused"),

  told("BP-REF-1", "Parameters hash or merchant_payment_code not informed", "neither is given"),
  told("BP-REF-2", "Parameter operation must be request or cancel", "another operation"),
  told("BP-REF-3", "Parameter amount not informed", "missing, empty or zero"),
  told("BP-REF-4", "Parameter amount is invalid", "no amount"),
  told("BP-REF-5", "Amount is above what is left of the payment", "above what was captured and is not refunded yet"),
  told("BP-REF-6", "Parameter {description | merchant_refund_code} can have {1500 | 40} characters maximum", "longer"),
  told("BP-REF-7", "Only confirmed payments can be refunded", "not CO"),
  told("BP-REF-8", "Parameters refund_id or merchant_refund_code not informed", "a cancel that names no refund"),
  told("BP-REF-9", "Refund not found", "no refund of this merchant"),
  told("BP-REF-10", "Refund cannot be cancelled", "sent already, or over; pending ones too where the account is strict"),
  told("BP-REF-11", "Refund already exists with this merchant_refund_code", "the code was used before"),
  told("BP-REF-12", "Payment has already been refunded", "nothing is left"),
  told("BP-REF-CAN-2", "Payment not found with this {hash | merchant_payment_code}: {name}", "no payment of this merchant"),

  told("BP-QRY-1", "Parameters hash or merchant_payment_code not informed", "neither is given: query, resendNotification"),
  told("BP-QRY-2", "Payment not found", "no payment of this merchant: query, resendNotification"),
  ...hostedPage.map(([number, message]) => never(`BP-R-${number}`, message, page)),

  told("BP-ZIP-1", "Zipcode code not informed", "missing"),
  told("BP-ZIP-2", "Zipcode code not valid", "not eight digits"),
  told("BP-ZIP-3", "Address could not be retrieved", "none of the few codes that are known here"),

  told("COFRE-1", "The request body is not valid JSON", "JSON that does not parse"),
  told("COFRE-2", "The request is too large", "a body above the limit"),
  told("COFRE-3", "The request is nested too deeply", "nested beyond the limit"),
  told("COFRE-4", "The request has too many fields", "more than the limit"),
  told("COFRE-5", "The request has a field whose name is too long", "a name beyond the limit"),
  told("COFRE-6", "Field {name} is given more than once", "twice, with two values, what identifies a merchant, payment, card or amount"),
  told("COFRE-7", "The request body is neither a JSON object nor a form", "an array that is not empty, or the like"),
  told("COFRE-8", "The form is not percent-encoded", "JSON cut by a raw &, where the account is strict"),
  told("COFRE-9", "There is no such operation{: use /ws/token/setCVV | }", "an unknown path below /ws; /ws/setCvv"),
  told("COFRE-10", "The method is not GET or POST", "another method"),
  told("COFRE-11", "There is nothing at this address", "an unknown path outside of /ws (404)"),
  elsewhere("COFRE-12", "Too many requests are in progress, try again later", "overload (503)"),
  elsewhere(
    "COFRE-165",
    "Too many requests of this account are in progress, try again later",
    "the account's share of the places, or that of all worlds (429)",
  ),
  elsewhere(
    "COFRE-166",
    "Nothing was done, because this server's clock is off: send it again later",
    "the clock of this server differs from those of the other nodes, or was set, by more than two seconds (503)",
  ),
  elsewhere("COFRE-13", "The server is stopping, try again later", "a stop is under way (503)"),
  elsewhere("COFRE-14", "The request failed inside; query the payment before you send it again", "a failure of ours"),
  told(
    "COFRE-164",
    "The text of the request is not UTF-8: send UTF-8, or name ISO-8859-1 or windows-1252 as charset in Content-Type",
    "%E9, or a raw byte of another charset, where Content-Type names no charset",
  ),
  elsewhere(
    "COFRE-163",
    "Header {name} is given more than once, with different values",
    "two Idempotency-Key headers, two of the X-EBANX- ones, two charsets",
  ),
  told("COFRE-20", "Another request about this payment is waiting for the acquirer", "two at once, or an earlier one without an answer"),
  told("COFRE-21", "Nothing was done: the request could not be recorded, send it again later", "the store cannot write (503)"),
  told("COFRE-22", "The acquirer did not answer: query the payment to learn the outcome", "capture or void without an answer"),
  told("COFRE-23", "The operation {name} is not available yet", "a known operation that this version does not have"),
  told("COFRE-24", "The time in which this payment can be refunded is over", "the account's refund window"),
  told("COFRE-25", "The issuer has taken the money back already", "a refund of a payment that is charged back"),
  told("COFRE-26", "Field cof_info.{cof_type | initiator} is invalid", "another word than initial and stored, CIT and MIT"),
  told(
    "COFRE-27",
    "Field payment.creditcard.{threeds_eci | threeds_cryptogram | network_token_cryptogram} is invalid",
    "an ECI other than 00 01 02 05 06 07, or one of 01 02 05 06 without a cryptogram (then: is required); a cryptogram with characters outside of base64 and base64url, or over 64 characters",
  ),
  told(
    "COFRE-28",
    "Field payment.cof_info.mandate_id is of no initial payment with this card",
    "where the account is strict about mandates",
  ),
  told("COFRE-29", "Nothing has been announced of this payment yet", "resendNotification of a payment that was never announced"),
  told("COFRE-30", "Parameter settings must be an object, in a form such as settings[partialCapture]=true", "/__cofre/settings"),
  told("COFRE-31", "{problems}", "/__cofre/settings: unknown names or values that are not allowed"),
  told("COFRE-32", "Parameter next must be one of {list}", "/__cofre/simulator"),
  told("COFRE-33", "Parameter of must be one of {list}", "/__cofre/simulator"),
  told("COFRE-34", "Parameter times must be a whole number from 1 to 9999", "/__cofre/simulator"),
  told(
    "COFRE-35",
    "The simulator does not take this instruction: its queue is full, or that message cannot be declined or echoed",
    "/__cofre/simulator",
  ),
  told("COFRE-50", "Parameter connector must be one of {list}", "/__cofre/simulator, where there are several simulators"),
  told("COFRE-36", "Parameter action must be one of {list}", "/__cofre/payment"),
  told("COFRE-37", "The payment does not wait for a reviewer", "/__cofre/payment: accept_review, reject_review"),
  told(
    "COFRE-38",
    "Only a captured payment that has neither been refunded nor disputed can be charged back, and only a charged back one credited",
    "/__cofre/payment: chargeback, chargeback_credit",
  ),
  told("COFRE-39", "Parameter {name} is invalid", "merchantIntegrationProperties/edit: no address, or no e-mail address"),
  told("COFRE-40", "Parameter currency_code not informed", "exchange"),
  told("COFRE-41", "There is no rate from {currency} to {currency}", "exchange: a currency that is not known, or two that have no rate"),
  told("COFRE-42", "Parameter document is invalid or not informed", "documentbalance"),
  told("COFRE-43", "The payment has as many refunds as it can have", "a hundred refunds of one payment, cancelled ones counted"),
  told("COFRE-44", "This Idempotency-Key came with another request before", "the same key, another request"),
  told("COFRE-48", "Parameter replay must be failed (from), payment (hash) or range (from, to)", "/__cofre/notifications"),
  told("COFRE-55", "Parameter state must be one or more of {list}, with commas between them", "/__cofre/payments"),
  told("COFRE-56", "Parameter brand must be one of {list}", "/__cofre/payments"),
  told("COFRE-57", "Parameter limit must be a whole number from 1 to 100, and before the next of another page", "/__cofre/payments"),
  told("COFRE-70", "Parameters of a world are {list}", "/__cofre/worlds"),
  told("COFRE-71", "Parameter new_integration_key or new_public_integration_key is in use already", "/__cofre/worlds"),
  elsewhere("COFRE-72", "There are as many worlds as there can be", "/__cofre/worlds: 10,000, each of them used within the last hour"),
  elsewhere(
    "COFRE-162",
    "The world was reset or restored meanwhile: its time was moved no further",
    "/__cofre/clock: while a move was under way, or waited for another one",
  ),
  told("COFRE-73", "Parameter {name} must be {form}", "/__cofre/worlds, /__cofre/world, /__cofre/clock"),
  told("COFRE-74", "This account is no world: its time is the system's, and it is never reset", "/__cofre/world, /__cofre/clock"),
  told("COFRE-75", "Parameter do must be one of {list}", "/__cofre/world"),
  told(
    "COFRE-76",
    "There is no room for another snapshot",
    "/__cofre/world: ten of a world, and 300,000 records in those of all worlds together",
  ),
  told("COFRE-77", "The world has no snapshot of this name", "/__cofre/world"),
  told("COFRE-78", "Only one of the parameters set, advance and run can be given", "/__cofre/clock"),
  told(
    "COFRE-90",
    "Parameter add must be an object with a kind, in a form such as add[kind]=fail_before_commit, which is one of {list}",
    "/__cofre/faults",
  ),
  told("COFRE-91", "Parameter add.times must be a whole number from 1 to 1000, or 0 for all until it is cleared", "/__cofre/faults"),
  told("COFRE-92", "Parameter add.path must be {an operation}", "/__cofre/faults: no operation, or one that the kind is not for"),
  told(
    "COFRE-93",
    "Parameter add.merchant_payment_code must have between 1 and 128 characters, and no card number in it",
    "/__cofre/faults",
  ),
  told(
    "COFRE-94",
    "Parameter add.delay_ms must be a whole number from 1 to 120000, and is for stall_in_body, late_answer, slow alone",
    "/__cofre/faults",
  ),
  told("COFRE-95", "Parameter add.reason is for decline alone, which needs one of {list}", "/__cofre/faults"),
  told("COFRE-96", "No more faults can wait: an account has 100 at most. Clear some", "/__cofre/faults"),
  told("COFRE-97", "Parameter clear must be all, or the id of a fault that waits", "/__cofre/faults"),
  told("COFRE-98", "Either add or clear, not both", "/__cofre/faults"),
  told("COFRE-99", "Parameter add has members other than {list}", "/__cofre/faults"),
  elsewhere(
    "COFRE-100",
    "Another server carries this account's payments out: there are no faults",
    "/__cofre/faults, with COFRE_UPSTREAM_URL",
  ),
  told("COFRE-85", "Parameter after must be a whole number, and hash a payment's", "/__cofre/requests, /__cofre/notifications"),
  told("COFRE-60", "Parameter order must be newest, and state one of {list}", "/__cofre/notifications"),
  told("COFRE-61", "Parameter limit must be a whole number from 1 to 100, and before the next of another page", "/__cofre/notifications"),
  told(
    "COFRE-145",
    "Parameter switch_on or switch_off must be the id of one of the account's endpoints, and go without replay",
    "/__cofre/notifications",
  ),
  told("COFRE-62", "Parameter per must be one of {list}", "/__cofre/figures"),
  told("COFRE-63", "Parameters from and to must be times in UTC with at most 100 hours or days between them", "/__cofre/figures"),
  told("COFRE-64", "Parameter limit must be a whole number from 1 to 1000, and after the next of another page", "/__cofre/tokens"),
  elsewhere("COFRE-45", "Another request with this Idempotency-Key is under way", "the same key at the same time, on another node"),
  ...logins,
  elsewhere(
    "COFRE-168",
    "The database took longer than 2 seconds for this list, and it was ended: send the request again, or ask for less",
    "PostgreSQL: a list, figures, a history or deliveries at /__cofre/ (503)",
  ),
  elsewhere(
    "COFRE-120",
    "Nothing was done: the node that has this world cannot be reached, send it again later",
    "several nodes: the one with the world has just died, or is not at its COFRE_NODE_URL (503)",
  ),
  elsewhere(
    "COFRE-121",
    "The node that has this world did not say what became of the request: query the payment before you send it again",
    "several nodes: no answer in time, or one of somebody else at its COFRE_NODE_URL",
  ),
  elsewhere("COFRE-122", "The request is for another node: nothing was done", "between nodes only: a header names another node (421)"),
  told(
    "COFRE-150",
    "From another site's page, or under a name that is not in COFRE_OWN_NAMES, worlds take the secret integration_key of the server's own account",
    "/__cofre/worlds, where nobody signs in: Origin or Sec-Fetch-Site of another page, or a Host such as cofre.example.com",
  ),
  ...framings,
  told(
    "COFRE-151",
    "Header Idempotency-Key holds a card number",
    "the number of the card of this request or payment; the account's refuseCardLikeCodes allows it",
  ),
  told("COFRE-46", "Header Idempotency-Key must have between 1 and 255 characters without blanks", "an empty or too long key"),
  told("COFRE-47", "Parameter merchant_refund_code is invalid", "the number of the payment's card, a list or an object"),
];

/** The catalogue as two tables: what is told, and what never is. */
export function catalogueAsMarkdown(part: "told" | "never"): string {
  const rows = catalogue.filter((row) => (row.told === "never") === (part === "never"));
  const cell = (text: string): string => text.replaceAll("|", "\\|");
  return [
    part === "told" ? "| Code | Message | When |" : "| Code | Meaning there | Why not here |",
    "| --- | --- | --- |",
    ...rows.map(({ code, message, when }) => `| ${code} | ${cell(message)} | ${cell(when)} |`),
  ].join("\n");
}
