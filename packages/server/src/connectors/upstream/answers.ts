import { isCurrency, scaleOf } from "../../kernel/currency.ts";
import { type Money, parseAmount } from "../../kernel/money.ts";
import type { DeclineReason } from "../../payment/payment.ts";
import type { Approval, Decline, VerifyOutcome } from "../connector.ts";
import { responseCodeOf } from "../response-codes.ts";
import { saleMark } from "./requests.ts";

/**
 * Readers of the upstream's answers (interface 1.3, 3.4, 4.4). They are strict: any deviation is
 * `Malformed`.
 */
export class Malformed extends Error {
  override readonly name = "Malformed";
  constructor() {
    super("not an answer of the interface");
  }
}

export interface SeenPayment {
  readonly hash: string;
  readonly status: "OP" | "PE" | "CO" | "CA";
  /** transaction_status.code: OK, NOK, RETRY, or another word while the outcome is unknown. */
  readonly verdict: string;
  readonly description: string | undefined;
  readonly authorizationCode: string | undefined;
  readonly isoCode: string | undefined;
  readonly adviceCode: string | undefined;
  readonly captureAvailable: boolean;
  /**
   * amount_ext in currency_ext: the requested amount, and the captured amount once the status is
   * CO.
   */
  readonly amount: Money;
  /** Requested by us as a sale (immediate capture). */
  readonly sale: boolean;
  readonly mandateId: string | undefined;
  readonly refunds: readonly SeenRefund[];
}

export interface SeenRefund {
  readonly code: string | undefined;
  readonly status: "RE" | "PE" | "CO" | "CA";
  /** Minor units of the payment's currency. */
  readonly amount: bigint;
}

export type Answer = { readonly kind: "payment"; readonly payment: SeenPayment } | Refusal;
/** The error envelope; only its code carries information. */
export type Refusal = { readonly kind: "refusal"; readonly code: string };

/**
 * An answer about the payment with this code. An answer about another payment does not match the
 * request.
 */
export function readAnswer(value: unknown, code: string): Answer {
  const envelope = fields(value);
  const refusal = readRefusal(envelope);
  if (refusal !== undefined) return refusal;
  const payment = readPayment(fields(envelope["payment"]), code);
  return { kind: "payment", payment };
}

export function readVerification(answer: unknown): VerifyOutcome | Refusal {
  const envelope = fields(answer);
  const refusal = readRefusal(envelope);
  if (refusal !== undefined) return refusal;
  const verification = fields(envelope["card_verification"]);
  const {
    code,
    description,
    iso_code: iso,
    mac_code: advice,
  } = fields(verification["transaction_status"]);
  const method =
    verification["transaction_type"] === "GHOST AUTHORIZATION"
      ? "ghost_authorization"
      : "zero_amount";
  if (code === "OK")
    return { kind: "good", method, networkTransactionId: detail(verification["mandate_id"]) };
  const reason = reasonOf(detail(description));
  if (code === "NOK") return { ...declineOf(reason, detail(iso), detail(advice)), method };
  // A verification holds nothing, so there is nothing to recover: the client may repeat it.
  if (code === "RETRY")
    return { kind: "unknown", cause: reason === "timeout" ? "timeout" : "refused_to_say" };
  throw new Malformed();
}

export function approvalOf(payment: SeenPayment): Approval {
  return {
    kind: "approved",
    authorizationCode: payment.authorizationCode ?? "",
    responseCode: "00",
    acquirerReference: payment.hash,
    networkTransactionId: payment.mandateId,
  };
}

/** The decline reason of a payment with status CA that was never approved. */
export function declineOfPayment({
  verdict,
  description,
  isoCode,
  adviceCode,
}: SeenPayment): Decline {
  return declineOf(
    reasonOf(description) ?? (verdict === "RETRY" ? "acquirer_error" : "not_accepted"),
    isoCode,
    adviceCode,
  );
}

/**
 * The decline for a refusal by /ws/direct or /ws/verifycard, if it is certain that nothing was sent
 * to an issuer: the numbers of interface 7.2, which are checks before any authorization, and an
 * invalid key. Undefined: the outcome is unknown.
 */
export function declineOfRefusal(code: string): Decline | undefined {
  if (/^(?:DA-1|BP-DPAR-4|BP-SA-[12]|BP-CH-1)$/.test(code)) return refused("acquirer_error");
  const number = /^BP-DR-(\d{1,3})$/.exec(code)?.[1];
  if (number === undefined || uncertainNumbers.has(number)) return undefined;
  return refused(
    refusalReasons.get(number) ??
      (isAboutCustomer(Number(number)) ? "incorrect_customer_data" : "acquirer_error"),
  );
}

/**
 * 0: the code exists, so query its state. 64 and 65: tokens, which this connector never sends, so
 * this request was not the refused one, or an earlier copy was carried out. 90: a generic problem.
 * 119: an internal failure that leaves the payment unknown (interface 7.2).
 */
const uncertainNumbers: ReadonlySet<string> = new Set(["0", "64", "65", "90", "119"]);

const refusalReasons: ReadonlyMap<string, DeclineReason> = new Map([
  ["18", "high_risk"],
  ["40", "not_accepted"],
  ["54", "security_code_mismatch"],
  ["55", "security_code_mismatch"],
  ["56", "expired_card"],
  ["57", "expired_card"],
  ["58", "expired_card"],
  ["59", "expired_card"],
  ["67", "expired_card"],
  ["75", "invalid_card_number"],
  ["83", "invalid_card"],
  ["84", "not_accepted"],
  ["95", "incorrect_customer_data"],
  ["97", "invalid_card"],
  ["100", "invalid_card"],
  ["101", "invalid_card"],
  ["102", "not_accepted"],
  ["136", "expired_card"],
]);

/**
 * BP-DR-13 to 32, 39 and 41 to 46: name, e-mail, document, address, telephone and responsible
 * person.
 */
function isAboutCustomer(number: number): boolean {
  return (number >= 13 && number <= 32) || number === 39 || (number >= 41 && number <= 46);
}

/** The texts of interface 4.3, and those of 2017 that follow "declined reason", in lower case. */
const reasons: ReadonlyMap<string, DeclineReason> = new Map([
  ["not accepted", "not_accepted"],
  ["insufficient funds", "insufficient_funds"],
  ["incorrect customer data", "incorrect_customer_data"],
  ["expired card", "expired_card"],
  ["security code mismatch", "security_code_mismatch"],
  ["invalid card or card type", "invalid_card"],
  ["invalid card number", "invalid_card_number"],
  ["3-d secure required", "three_d_secure_required"],
  ["high risk transaction", "high_risk"],
  ["timeout", "timeout"],
  ["no response from acquirer", "no_acquirer_response"],
  ["acquirer response error", "acquirer_error"],
  ["notapproved", "not_accepted"],
  ["insufficientfunds", "insufficient_funds"],
  ["incorrectcustomerdata", "incorrect_customer_data"],
  ["cardexpired", "expired_card"],
  ["securitycodemismatch", "security_code_mismatch"],
  ["invaliddata", "invalid_card"],
  ["invalidcardnumber", "invalid_card_number"],
]);

function reasonOf(description: string | undefined): DeclineReason | undefined {
  const words = description?.trim().toLowerCase() ?? "";
  return reasons.get(/declined reason (\w+)$/.exec(words)?.[1] ?? words);
}

function declineOf(
  reason: DeclineReason | undefined,
  isoCode: string | undefined,
  adviceCode: string | undefined,
): Decline {
  const known = reason ?? "not_accepted";
  return {
    kind: "declined",
    reason: known,
    responseCode: isoCode ?? responseCodeOf[known],
    adviceCode,
    refusedBeforeIssuer: false,
  };
}

function refused(reason: DeclineReason): Decline {
  return { ...declineOf(reason, undefined, undefined), refusedBeforeIssuer: true };
}

type Fields = Readonly<Record<string, unknown>>;

/** Undefined for a success; any other status is malformed. */
function readRefusal(envelope: Fields): Refusal | undefined {
  if (envelope["status"] === "SUCCESS") return undefined;
  if (envelope["status"] !== "ERROR") throw new Malformed();
  return { kind: "refusal", code: text(envelope["status_code"]) };
}

function readPayment(payment: Fields, code: string): SeenPayment {
  if (payment["merchant_payment_code"] !== code) throw new Malformed();
  const said = fields(payment["transaction_status"]);
  const currency = text(payment["currency_ext"]);
  if (!isCurrency(currency)) throw new Malformed();
  const scale = scaleOf(currency);
  return {
    hash: detail(payment["hash"]) ?? malformed(),
    status: oneOf(["OP", "PE", "CO", "CA"] as const, payment["status"]),
    verdict: text(said["code"]),
    description: detail(said["description"]),
    authorizationCode: detail(said["authcode"]),
    isoCode: detail(said["iso_code"]),
    adviceCode: detail(said["mac_code"]),
    captureAvailable: payment["capture_available"] === true,
    amount: { minor: minorUnits(payment["amount_ext"], scale), currency },
    sale: payment["user_value_1"] === saleMark,
    mandateId:
      payment["cof_info"] === undefined
        ? undefined
        : detail(fields(payment["cof_info"])["mandate_id"]),
    refunds: list(payment["refunds"]).map((refund) => readRefund(fields(refund), scale)),
  };
}

function readRefund(refund: Fields, scale: number): SeenRefund {
  return {
    code: optionalText(refund["merchant_refund_code"]),
    status: oneOf(["RE", "PE", "CO", "CA"] as const, refund["status"]),
    amount: minorUnits(refund["amount_ext"], scale),
  };
}

function fields(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Malformed();
  return Object.fromEntries(Object.entries(value));
}

function list(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Malformed();
  return value;
}

function text(value: unknown): string {
  if (typeof value !== "string" || value === "" || value.length > 200) throw new Malformed();
  return value;
}

/**
 * A detail of an outcome, which is valid whatever this is: strict-answers.ts drops what does not
 * fit. Undefined when there is none. Some servers send codes as numbers.
 */
function detail(value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  return typeof value === "string" || typeof value === "number" ? String(value) : "(no text)";
}

function malformed(): never {
  throw new Malformed();
}

function optionalText(value: unknown): string | undefined {
  return value === undefined || value === null || value === "" ? undefined : text(value);
}

function minorUnits(value: unknown, scale: number): bigint {
  const minor = typeof value === "string" ? parseAmount(value, scale) : undefined;
  if (minor === undefined) throw new Malformed();
  return minor;
}

function oneOf<Name extends string>(names: readonly Name[], value: unknown): Name {
  const name = names.find((candidate) => candidate === value);
  if (name === undefined) throw new Malformed();
  return name;
}
