import { brands, type Brand } from "../../vault/brand.ts";
import { echo } from "../decode/card-like.ts";
import type { ValuesOf } from "../errors/refusal.ts";

/** What a payment_type_code asks for. */
export type PaymentTypeKind =
  /**
   * A card, to be taken as credit or debit; `brand` is the sender's guess, which is never held
   * against the card number (interface 2.6).
   */
  | {
      readonly kind: "card";
      readonly paymentType: "credit" | "debit";
      readonly brand: Brand | undefined;
    }
  /** A way of paying that this server has not. */
  | { readonly kind: "inactive" }
  /** A name that only the hosted page takes. */
  | { readonly kind: "hosted" };

const hostedOnly = ["_all", "_creditcard", "_debitcard"];

/** Ways of paying of the interface's countries that are no cards. */
const withoutCard = (
  "account baloto bank_transfer boleto boletoba cash cupon debit directdebit ebanxaccount ebanx-account eft eft-pse enrollment flow flowcl " +
  "khipu mercadopago multicaja nequi nupay oxxo pagoefectivo pagofacil paypal picpay pix pse rapipago safetypay safetypay-cash " +
  "safetypay-online sencillito servipag spei tef webpay yape"
).split(" ");

/**
 * Other spellings of the codes, without the signs between their words: public clients and shops
 * have sent each for years.
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
 * Undefined for an unknown code (BP-DR-35). Letter case does not count. A card's code may be
 * written with blanks, dashes and underscores between its words (`master_card`, `American
 * Express`), and by a name in the table of aliases.
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
