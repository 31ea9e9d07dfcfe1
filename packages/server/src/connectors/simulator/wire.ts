import type { MerchantId } from "../../kernel/ids.ts";
import { instant } from "../../kernel/instant.ts";
import type { Money } from "../../kernel/money.ts";
import type { AcquirerFault, SimulatorBehaviour } from "../../merchant/account.ts";
import type { Card } from "../../vault/card.ts";
import { brands } from "../../vault/brand.ts";
import { declineReasons, storedCredentialReasons } from "../../payment/payment.ts";
import type { StoredCredential, ThreeDSecure } from "../../payment/payment.ts";
import type {
  Approval,
  AuthorizeOutcome,
  ConnectorCapabilities,
  Decline,
  FollowUpOutcome,
  InquiryOutcome,
  OriginalAuthorization,
  ReverseOutcome,
  VerifyOutcome,
} from "../connector.ts";
import type {
  AcquirerBooks,
  AuthorizeMessage,
  BookedAuthorization,
  FollowUpMessage,
  MerchantBooks,
  OriginalMessage,
  VerifyMessage,
} from "./messages-and-books.ts";
import { instructable, messageKinds } from "./network.ts";
import type { Instruction } from "./network.ts";
import type { Personal } from "./messages-and-books.ts";

/**
 * Format of the messages to the acquirer process and its answers: JSON, with amounts as decimal
 * text in minor units. A request with a card (authorize, verify) is one byte with the number of PAN
 * digits, the digits, and then the JSON, so that the PAN stays bytes on both sides; the JSON has
 * the card's expiry. Security codes and cryptograms are not sent: the sandbox accepts any
 * (interface 9). Readers are strict: any deviation is `Malformed`.
 */
export class Malformed extends Error {
  override readonly name = "Malformed";
  constructor() {
    super("not a message of the simulated acquirer");
  }
}

export function encode(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "bigint" ? member.toString() : member,
  );
}

export function decode(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Malformed();
  }
}

/** A message with a card, without the card number. */
export interface CardMessage<Message> {
  readonly message: Message;
  readonly expiry: Pick<Card, "expiryMonth" | "expiryYear">;
}

export function readAuthorizeMessage(value: unknown): CardMessage<AuthorizeMessage & Personal> {
  const message = fields(value);
  const { maskedPan } = fields(message["card"]);
  return {
    message: {
      ...readAddress(message),
      amount: readMoney(message["amount"]),
      capture: flag(message["capture"]),
      card: { maskedPan: text(maskedPan) },
      storedCredential: optional(message["storedCredential"], readStoredCredential),
      threeDSecure: optional(message["threeDSecure"], readThreeDSecure),
    },
    expiry: readExpiry(message),
  };
}

export function readVerifyMessage(value: unknown): CardMessage<VerifyMessage & Personal> {
  const message = fields(value);
  const { maskedPan, brand } = fields(message["card"]);
  return {
    message: {
      ...readAddress(message),
      currency: text(message["currency"]),
      card: { maskedPan: text(maskedPan), brand: oneOf(brands, brand) },
      storedCredential: optional(message["storedCredential"], readStoredCredential),
    },
    expiry: readExpiry(message),
  };
}

export function readFollowUpMessage(value: unknown): FollowUpMessage & Personal {
  return { ...readOriginalMessage(value), amount: readMoney(fields(value)["amount"]) };
}

export function readOriginalMessage(value: unknown): OriginalMessage & Personal {
  const message = fields(value);
  return { ...readAddress(message), original: readOriginal(message["original"]) };
}

export function readInstruction(value: unknown): {
  readonly merchantId: MerchantId;
  readonly instruction: Instruction;
} {
  const { merchantId, next, times, message } = fields(value);
  return {
    merchantId: readMerchantId(merchantId),
    instruction: {
      next:
        typeof next === "object"
          ? { decline: oneOf(declineReasons, fields(next)["decline"]) }
          : oneOf(instructable, next),
      times: wholeNumber(times),
      ...(message === undefined ? {} : { message: oneOf(messageKinds, message) }),
    },
  };
}

export function readAuthorizeOutcome(value: unknown): AuthorizeOutcome {
  return readVerdict(value);
}

export function readVerifyOutcome(value: unknown): VerifyOutcome {
  const answer = fields(value);
  const method = oneOf(["zero_amount", "ghost_authorization"] as const, answer["method"]);
  if (answer["kind"] === "good")
    return {
      kind: "good",
      networkTransactionId: optional(answer["networkTransactionId"], detail),
      method,
    };
  return { ...readDecline(answer), method };
}

export function readFollowUpOutcome(value: unknown): FollowUpOutcome {
  const { kind, responseCode } = fields(value);
  if (kind === "approved") return { kind };
  if (kind === "declined") return { kind, responseCode: detail(responseCode) };
  throw new Malformed();
}

export function readReverseOutcome(value: unknown): ReverseOutcome {
  const { kind, responseCode } = fields(value);
  if (kind === "reversed" || kind === "unknown_original") return { kind };
  if (kind === "refused") return { kind, responseCode: detail(responseCode) };
  throw new Malformed();
}

export function readInquiryOutcome(value: unknown): InquiryOutcome {
  const { kind, cause, authorization, captured, voided, refunds } = fields(value);
  if (kind === "not_found") return { kind };
  if (kind === "unknown" && cause === "refused_to_say") return { kind, cause };
  if (kind !== "found") throw new Malformed();
  return {
    kind,
    authorization: readVerdict(authorization),
    captured: minorUnits(captured),
    voided: flag(voided),
    refunds: list(refunds).map(detail),
  };
}

export function readCapabilities(value: unknown): ConnectorCapabilities {
  const answer = fields(value);
  return {
    dedupesByReference: flag(answer["dedupesByReference"]),
    answersInquiries: flag(answer["answersInquiries"]),
    partialCapture: flag(answer["partialCapture"]),
    repeatsFollowUps: flag(answer["repeatsFollowUps"]),
    reverses: flag(answer["reverses"]),
    lateArrivalMs: wholeNumber(answer["lateArrivalMs"]),
  };
}

export function readBooks(value: unknown): AcquirerBooks {
  const { merchants, forgottenReferences } = fields(value);
  return {
    merchants: list(merchants).map(readMerchantBooks),
    forgottenReferences: wholeNumber(forgottenReferences),
  };
}

function readMerchantBooks(value: unknown): MerchantBooks {
  const { merchantId, totals, money, authorizations } = fields(value);
  const { approvals, declines, captures, voids, refunds, reversals, verifications, duplicates } =
    fields(totals);
  return {
    merchantId: readMerchantId(merchantId),
    totals: {
      approvals: wholeNumber(approvals),
      declines: wholeNumber(declines),
      captures: wholeNumber(captures),
      voids: wholeNumber(voids),
      refunds: wholeNumber(refunds),
      reversals: wholeNumber(reversals),
      verifications: wholeNumber(verifications),
      duplicates: wholeNumber(duplicates),
    },
    money: list(money).map((balance) => {
      const { currency, held, captured, refunded } = fields(balance);
      return {
        currency: text(currency),
        held: minorUnits(held),
        captured: minorUnits(captured),
        refunded: minorUnits(refunded),
      };
    }),
    authorizations: list(authorizations).map(readBooked),
  };
}

function readBooked(value: unknown): BookedAuthorization {
  const booked = fields(value);
  return {
    reference: text(booked["reference"]),
    at: instant(wholeNumber(booked["at"])),
    sale: flag(booked["sale"]),
    maskedPan: optional(booked["maskedPan"], text),
    storedCredential: optional(booked["storedCredential"], readStoredCredential),
    threeDSecure: optional(booked["threeDSecure"], readThreeDSecure),
    amount: readMoney(booked["amount"]),
    answer: readVerdict(booked["answer"]),
    approvals: wholeNumber(booked["approvals"]),
    captures: wholeNumber(booked["captures"]),
    captured: minorUnits(booked["captured"]),
    held: minorUnits(booked["held"]),
    refunds: list(booked["refunds"]).map(readBookedRefund),
    voided: flag(booked["voided"]),
    reversed: flag(booked["reversed"]),
    duplicates: wholeNumber(booked["duplicates"]),
  };
}

function readBookedRefund(value: unknown): BookedAuthorization["refunds"][number] {
  const { reference, amount } = fields(value);
  return { reference: text(reference), amount: minorUnits(amount) };
}

type Fields = Readonly<Record<string, unknown>>;

function readExpiry(message: Fields): CardMessage<unknown>["expiry"] {
  const { expiryMonth, expiryYear } = fields(message["expiry"]);
  return { expiryMonth: monthNumber(expiryMonth), expiryYear: wholeNumber(expiryYear) };
}

function readStoredCredential(value: unknown): StoredCredential {
  const { use, initiator, reason, mandateId } = fields(value);
  return {
    use: oneOf(["initial", "stored"] as const, use),
    initiator: oneOf(["CIT", "MIT"] as const, initiator),
    reason: oneOf(storedCredentialReasons, reason),
    mandateId: optional(mandateId, text),
  };
}

function readThreeDSecure(value: unknown): ThreeDSecure {
  const { eci, version, transactionId, xid } = fields(value);
  return {
    eci: text(eci),
    version: optional(version, text),
    transactionId: optional(transactionId, text),
    xid: optional(xid, text),
  };
}

function readVerdict(value: unknown): Approval | Decline {
  const verdict = fields(value);
  return verdict["kind"] === "approved" ? readApproval(verdict) : readDecline(verdict);
}

function readApproval({
  authorizationCode,
  responseCode,
  acquirerReference,
  networkTransactionId,
}: Fields): Approval {
  return {
    kind: "approved",
    authorizationCode: detail(authorizationCode),
    responseCode: detail(responseCode),
    acquirerReference: optional(acquirerReference, detail),
    networkTransactionId: optional(networkTransactionId, detail),
  };
}

function readDecline({
  kind,
  reason,
  responseCode,
  adviceCode,
  refusedBeforeIssuer,
}: Fields): Decline {
  if (kind !== "declined") throw new Malformed();
  return {
    kind,
    reason: oneOf(declineReasons, reason),
    responseCode: detail(responseCode),
    adviceCode: optional(adviceCode, detail),
    refusedBeforeIssuer: flag(refusedBeforeIssuer),
  };
}

function readAddress({
  merchantId,
  reference,
  simulator,
}: Fields): Pick<OriginalMessage, "merchantId" | "reference"> & Personal {
  return {
    merchantId: readMerchantId(merchantId),
    reference: text(reference),
    settings: { simulator: readBehaviour(fields(simulator)) },
  };
}

function readBehaviour(value: Fields): SimulatorBehaviour {
  return {
    seed: text(value["seed"]),
    latencyMs: wholeNumber(value["latencyMs"]),
    loseAnswer: wholeNumber(value["loseAnswer"]),
    loseRequest: wholeNumber(value["loseRequest"]),
    lateAnswer: wholeNumber(value["lateAnswer"]),
    doubleRequest: wholeNumber(value["doubleRequest"]),
    ...(value["fault"] === undefined ? {} : { fault: readFault(value["fault"]) }),
  };
}

function readFault(value: unknown): AcquirerFault {
  return typeof value === "object"
    ? { decline: oneOf(declineReasons, fields(value)["decline"]) }
    : oneOf(["lose_request", "lose_answer"] as const, value);
}

function readOriginal(value: unknown): OriginalAuthorization {
  const { reference, amount, authorizationCode, acquirerReference } = fields(value);
  return {
    reference: text(reference),
    amount: readMoney(amount),
    authorizationCode: optional(authorizationCode, text),
    acquirerReference: optional(acquirerReference, text),
  };
}

function readMoney(value: unknown): Money {
  const { minor, currency } = fields(value);
  return { minor: minorUnits(minor), currency: text(currency) };
}

function readMerchantId(value: unknown): MerchantId {
  const id = text(value);
  if (!isMerchantId(id)) throw new Malformed();
  return id;
}

function isMerchantId(id: string): id is MerchantId {
  return /^[0-9a-f]{8}$/.test(id);
}

function fields(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Malformed();
  return Object.fromEntries(Object.entries(value));
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Malformed();
  return value;
}

function text(value: unknown): string {
  if (typeof value !== "string" || value.length > 128) throw new Malformed();
  return value;
}

/**
 * A detail of an outcome. The outcome is valid whatever the length of this text: strict-answers.ts
 * drops what does not fit.
 */
function detail(value: unknown): string {
  if (typeof value !== "string") throw new Malformed();
  return value;
}

function optional<Value>(value: unknown, read: (value: unknown) => Value): Value | undefined {
  return value === undefined ? undefined : read(value);
}

function flag(value: unknown): boolean {
  if (typeof value !== "boolean") throw new Malformed();
  return value;
}

function wholeNumber(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw new Malformed();
  return value;
}

function monthNumber(value: unknown): number {
  const month = wholeNumber(value);
  if (month < 1 || month > 12) throw new Malformed();
  return month;
}

function minorUnits(value: unknown): bigint {
  if (typeof value !== "string" || !/^\d{1,18}$/.test(value)) throw new Malformed();
  return BigInt(value);
}

function oneOf<Name extends string>(names: readonly Name[], value: unknown): Name {
  const name = names.find((candidate) => candidate === value);
  if (name === undefined) throw new Malformed();
  return name;
}
