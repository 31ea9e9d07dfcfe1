import type { MerchantId } from "../../kernel/ids.ts";
import { isPaymentId } from "../../payment/payment-id.ts";
import { textOf, type TreeObject } from "../../wire/decode/tree.ts";

/**
 * The payment that a request names by its hash, also one that is searched for; otherwise the path.
 */
export function targetOf(path: string, params: TreeObject): string {
  const hash = textOf(params, "hash") ?? textOf(params, "search");
  return hash !== undefined && isPaymentId(hash) ? hash : path;
}

/** `account 0a1b2c3d`, and what else there is to say. */
export function detailOf(account: MerchantId, ...more: readonly (string | undefined)[]): string {
  return [`account ${account}`, ...more.filter((each) => each !== undefined)]
    .join(", ")
    .slice(0, 500);
}
