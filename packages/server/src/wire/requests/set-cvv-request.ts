import { Cvv } from "../../vault/pan.ts";
import { cardNodeOf, fieldOf, liftedOf } from "./fields.ts";
import { refusal } from "../errors/refusal.ts";
import type { TreeObject } from "../decode/tree.ts";

/**
 * Whether a request to /ws/token is meant for /ws/token/setCVV: published samples post it there by
 * mistake (interface 2.4).
 */
export function isSetCvv(params: TreeObject): boolean {
  return (
    cardNodeOf(params) === undefined &&
    fieldOf(params, "token") !== undefined &&
    liftedOf(params, "card_cvv") !== undefined
  );
}

/**
 * The token and the security code to keep for it, with the rule numbers of /ws/direct. The caller
 * wipes `cvv`.
 */
export function readSetCvv(params: TreeObject): { readonly token: string; readonly cvv: Cvv } {
  const lifted = liftedOf(params, "card_cvv");
  if (lifted === undefined) throw refusal("BP-DR-54", { field: "card_cvv" });
  const token = fieldOf(params, "token");
  const cvv = lifted.wellFormed ? Cvv.from(lifted.copy()) : undefined;
  if (cvv === undefined) throw refusal("BP-DR-55", { field: "card_cvv" });
  if (token === undefined) {
    cvv.wipe();
    throw refusal("BP-DR-64", { text: "Field token is required" });
  }
  return { token, cvv };
}
