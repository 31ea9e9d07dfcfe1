import { formatMoney, type Money } from "../../kernel/money.ts";
import type { Customer, StoredCredential, ThreeDSecure } from "../../payment/payment.ts";
import type { AuthorizeRequest, CardToAuthorize, VerifyRequest } from "../connector.ts";
import { orderNumberOf } from "./references.ts";

/**
 * The bodies of requests to the upstream (interface 3, 5). Card numbers, security codes and
 * cryptograms are copied from their buffers into the body's and are never a string; the sender
 * wipes the body.
 */

/** Echoed with the payment: shows in an answer whether the payment was requested as a sale. */
export const saleMark = "sale";
export const holdMark = "hold";

type Value = string | number | boolean | undefined | Fields;
interface Fields {
  readonly [name: string]: Value;
}
type Piece = string | Uint8Array;

export function directBody(
  key: string,
  code: string,
  request: AuthorizeRequest,
  card: CardToAuthorize,
): Buffer {
  const {
    amount,
    capture,
    country,
    customer,
    descriptor,
    instalments,
    reference,
    storedCredential,
    threeDSecure,
  } = request;
  const payment = {
    merchant_payment_code: code,
    order_number: orderNumberOf(reference),
    amount_total: formatMoney(amount),
    currency_code: amount.currency,
    country,
    instalments,
    payment_type_code: request.paymentType === "debit" ? "debitcard" : "creditcard",
    user_value_1: capture ? saleMark : holdMark,
    ...customerFields(customer),
    cof_info: credentialFields(storedCredential),
  };
  const options = {
    auto_capture: capture,
    soft_descriptor: descriptor,
    ...threeDSecureFields(threeDSecure),
  };
  return join([
    `{${members({ integration_key: key, operation: "request", mode: "full" })},"payment":{${members(payment)},"creditcard":{`,
    ...cardPieces(card, customer?.name, options),
    "}}}",
  ]);
}

export function verifyBody(
  key: string,
  { country, storedCredential }: VerifyRequest,
  card: CardToAuthorize,
): Buffer {
  const request = {
    integration_key: key,
    payment_type_code: "creditcard",
    country,
    cof_info: credentialFields(storedCredential),
  };
  return join([`{${members(request)},"card":{`, ...cardPieces(card, undefined, {}), "}}"]);
}

export function captureBody(key: string, code: string, amount: Money): Buffer {
  return bodyOf({ integration_key: key, merchant_payment_code: code, amount: formatMoney(amount) });
}

/** Body of a cancellation and of a query. */
export function namingBody(key: string, code: string): Buffer {
  return bodyOf({ integration_key: key, merchant_payment_code: code });
}

export function refundBody(key: string, code: string, refundCode: string, amount: Money): Buffer {
  return bodyOf({
    integration_key: key,
    operation: "request",
    merchant_payment_code: code,
    merchant_refund_code: refundCode,
    amount: formatMoney(amount),
    description: "refund",
  });
}

const longestHolderName = 50;

function cardPieces(
  { card, networkToken: isNetworkToken = false, cvv, cryptogram }: CardToAuthorize,
  customerName: string | undefined,
  options: Fields,
): Piece[] {
  const due = `${String(card.expiryMonth).padStart(2, "0")}/${card.expiryYear}`;
  const holder = card.holderName === "" ? customerName : card.holderName;
  const rest = {
    card_name:
      holder === undefined ? undefined : Array.from(holder).slice(0, longestHolderName).join(""),
    [isNetworkToken ? "network_token_expire_date" : "card_due_date"]: due,
    ...options,
  };
  return [
    `"${isNetworkToken ? "network_token_pan" : "card_number"}":"`,
    card.pan.reveal(),
    `",${members(rest)}`,
    ...(cvv === undefined ? [] : [',"card_cvv":"', cvv.reveal(), '"']),
    ...(cryptogram === undefined
      ? []
      : [
          `,"${isNetworkToken ? "network_token_cryptogram" : "threeds_cryptogram"}":"`,
          cryptogram.reveal(),
          '"',
        ]),
  ];
}

function customerFields(customer: Customer | undefined): Fields {
  if (customer === undefined) return {};
  const { name, email, document, birthDate, personType, phone, responsible } = customer;
  return {
    name,
    email,
    document,
    birth_date: birthDate?.replace(/^(\d{4})-(\d{2})-(\d{2})$/, "$3/$2/$1"),
    person_type: personType,
    responsible: responsible === undefined ? undefined : { name: responsible },
    phone_number: phone,
    zipcode: customer.zipcode,
    address: customer.address,
    street_number: customer.streetNumber,
    street_complement: customer.streetComplement,
    city: customer.city,
    state: customer.state,
    customer_ip: customer.ip,
  };
}

function credentialFields(credential: StoredCredential | undefined): Fields | undefined {
  if (credential === undefined) return undefined;
  const { use, initiator, reason, mandateId } = credential;
  return { cof_type: use, initiator, trans_type: reason, mandate_id: mandateId };
}

function threeDSecureFields(found: ThreeDSecure | undefined): Fields {
  if (found === undefined) return {};
  const { eci, version, transactionId, xid } = found;
  return {
    threeds_eci: eci,
    threeds_version: version,
    threeds_trxid: transactionId,
    threeds_xid: xid,
  };
}

/** The members of a JSON object, without its braces and without undefined ones. */
function members(fields: Fields): string {
  return JSON.stringify(fields).slice(1, -1);
}

function bodyOf(fields: Fields): Buffer {
  return join([JSON.stringify(fields)]);
}

/** A separate buffer, filled piece by piece: no card data stays in a shared one. */
function join(pieces: readonly Piece[]): Buffer {
  const lengths = pieces.map((piece) =>
    typeof piece === "string" ? Buffer.byteLength(piece) : piece.length,
  );
  const body = Buffer.alloc(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    if (typeof piece === "string") body.write(piece, at);
    else body.set(piece, at);
    at += lengths[index] ?? 0;
  }
  return body;
}
