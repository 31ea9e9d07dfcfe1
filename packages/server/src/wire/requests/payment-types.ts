import { brands, type Brand } from "../../vault/brand.ts";
import { echo } from "../decode/card-like.ts";
import type { ValuesOf } from "../errors/refusal.ts";

/** The meaning of a payment_type_code. */
export type PaymentTypeKind =
  /**
   * A card, charged as credit or debit. `brand` is the sender's guess, which is never checked
   * against the card number (interface 2.6).
   */
  | {
      readonly kind: "card";
      readonly paymentType: "credit" | "debit";
      readonly brand: Brand | undefined;
    }
  /** A payment method that this server does not support. */
  | { readonly kind: "inactive" }
  /** A name that only the hosted page accepts. */
  | { readonly kind: "hosted" };

const hostedOnly = ["_all", "_creditcard", "_debitcard"];

/** Payment methods of the interface's countries that are not cards. */
const withoutCard = (
  "account baloto bank_transfer boleto boletoba cash cupon debit directdebit ebanxaccount ebanx-account eft eft-pse enrollment flow flowcl " +
  "khipu mercadopago multicaja nequi nupay oxxo pagoefectivo pagofacil paypal picpay pix pse rapipago safetypay safetypay-cash " +
  "safetypay-online sencillito servipag spei tef webpay yape"
).split(" ");

/**
 * Other spellings of the codes, without the separators between their words: public clients and
 * shops have sent each for years.
 */
const aliases: readonly (readonly [alias: string, code: string])[] = [
  ["master", "mastercard"],
  ["mastercardcredit", "mastercard"],
  ["hiper", "hipercard"],
  ["americanexpress", "amex"],
  ["dinersclub", "diners"],
  ["dinersclubinternational", "diners"],
  ["discovercard", "discover"],
  ["elocard", "elo"],
  ["visacard", "visa"],
  ["visacredit", "visa"],
  ["credit", "creditcard"],
  ["card", "creditcard"],
];

const kinds: ReadonlyMap<string, PaymentTypeKind> = new Map<string, PaymentTypeKind>([
  ...hostedOnly.map((code) => [code, { kind: "hosted" }] as const),
  ...withoutCard.map((code) => [code, { kind: "inactive" }] as const),
  ...brands.map((brand) => [brand, { kind: "card", paymentType: "credit", brand }] as const),
  ["creditcard", { kind: "card", paymentType: "credit", brand: undefined }],
  ["debitcard", { kind: "card", paymentType: "debit", brand: undefined }],
]);

const codeOfAlias: ReadonlyMap<string, string> = new Map(aliases);

/**
 * Undefined for an unknown code (BP-DR-35). Letter case is ignored. The code of a card may have
 * blanks, dashes and underscores between its words (`master_card`, `American Express`), or be a
 * name in the table of aliases.
 */
export function paymentTypeOf(code: string): PaymentTypeKind | undefined {
  const written = code.toLowerCase();
  const exact = kinds.get(written);
  if (exact !== undefined) return exact;
  const joined = written.replaceAll(/[ _-]/g, "");
  const kind = kinds.get(codeOfAlias.get(joined) ?? joined);
  return kind?.kind === "card" ? kind : undefined;
}

export function unknownType(text: string): ValuesOf<"BP-DR-35"> {
  return { text: "Invalid payment_type_code: {type}", type: echo(text) };
}
