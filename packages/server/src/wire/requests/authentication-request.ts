import type { Money } from "../../kernel/money.ts";
import type { Account } from "../../merchant/account.ts";
import { brandOf } from "../../vault/bin.ts";
import type { Brand } from "../../vault/brand.ts";
import { Pan } from "../../vault/pan.ts";
import { textOf, type Tree, type TreeObject } from "../decode/tree.ts";
import { refusal } from "../errors/refusal.ts";
import { amountIn } from "./amounts.ts";
import { fieldOf, liftedOf, nodeOf } from "./fields.ts";

/** The longest text in which the library sends the key. */
const longestAdditionalData = 1_000;

/**
 * The public key of the browser library's 3-D Secure calls: a field of its own, or a member of the
 * JSON text in `additionalData` (interface 2.7).
 */
export function publicKeyIn(params: TreeObject): Tree | undefined {
  const { publicIntegrationKey } = params;
  if (publicIntegrationKey !== undefined) return publicIntegrationKey;
  const text = textOf(params, "additionalData") ?? "";
  return text.length > longestAdditionalData ? undefined : keyInText(text);
}

function keyInText(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" &&
      value !== null &&
      "publicIntegrationKey" in value &&
      typeof value.publicIntegrationKey === "string"
      ? value.publicIntegrationKey
      : undefined;
  } catch {
    return undefined;
  }
}

/** The card and the amount of an authentication. The caller wipes the PAN. */
export function readAuthentication(
  params: TreeObject,
  account: Account,
): { readonly pan: Pan; readonly brand: Brand; readonly amount: Money } {
  const details = nodeOf(nodeOf(params, "orderInformation") ?? params, "amountDetails") ?? params;
  const currency = fieldOf(details, "currency")?.toUpperCase();
  const total = fieldOf(details, "totalAmount");
  if (total === undefined)
    throw refusal("COFRE-179", { field: "totalAmount", problem: "required" });
  if (currency === undefined)
    throw refusal("COFRE-179", { field: "currency", problem: "required" });
  const amount = amountIn(total, currency, account);
  if (amount === undefined || amount.minor === 0n)
    throw refusal("COFRE-179", { field: "totalAmount", problem: "invalid" });
  const card = nodeOf(nodeOf(params, "paymentInformation") ?? params, "card") ?? params;
  const number = liftedOf(card, "number");
  if (number === undefined) throw refusal("COFRE-179", { field: "number", problem: "required" });
  const pan = number.wellFormed ? Pan.from(number.copy()) : undefined;
  const brand = pan === undefined ? undefined : brandOf(pan);
  if (pan === undefined || brand === undefined) {
    pan?.wipe();
    throw refusal("COFRE-179", { field: "number", problem: "invalid" });
  }
  return { pan, brand, amount };
}
