import type { StoredCard } from "../vault/stored-card.ts";
import type { Cvv } from "../vault/pan.ts";
import { usableCard } from "./with-card.ts";
import { defineOperation } from "./operation.ts";

/**
 * Keeps a security code for the next payment with a token: in memory, for one use, 15 minutes at
 * most (interface 2.4). The caller wipes `cvv`.
 */
export const setCvv = defineOperation<{ readonly token: string; readonly cvv: Cvv }, StoredCard>({
  name: "set_cvv",
  errors: ["token_not_found", "card_not_readable"],

  async run(context, { token, cvv }) {
    const stored = await usableCard(context, token);
    context.cvvCache.put(stored.merchantId, stored.tokenDigest, cvv, context.clock.now());
    return stored;
  },
});
