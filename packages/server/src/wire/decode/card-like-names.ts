import type { MerchantId } from "../../kernel/ids.ts";
import type { Account } from "../../merchant/account.ts";
import { withWarnings } from "../answers/answer.ts";
import { namesCard } from "./card-like.ts";
import { isOfKnownBrand } from "../requests/direct-request.ts";
import type { KeyedEndpoint, WireRequest } from "../endpoint.ts";
import { textOf } from "./tree.ts";

/** The names that merchants choose and that are stored unchanged (docs/decisions/0007). */
export const keptNames = [
  "merchant_payment_code",
  "merchant_refund_code",
  "Idempotency-Key",
] as const;
export type KeptName = (typeof keptNames)[number];

/**
 * Number of accepted names that looked like a card number, per account, since the process started.
 */
export class CardLikeNames {
  readonly #counts = new Map<string, number>();

  add(merchantId: MerchantId, name: KeptName): void {
    const key = `${merchantId} ${name}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  count(merchantId: MerchantId, name: KeptName): number {
    return this.#counts.get(`${merchantId} ${name}`) ?? 0;
  }
}

/**
 * Adds a warning and a count for each name of an accepted request that looks like a card number and
 * is not the number of the request's card. Nothing is refused: one in forty codes of sixteen digits
 * looks like a card number by chance.
 */
export function warningOfNames(endpoint: KeyedEndpoint, names: CardLikeNames): KeyedEndpoint {
  return {
    ...endpoint,
    async handle(request) {
      const answer = await endpoint.handle(request);
      if (answer.code !== undefined) return answer;
      const found = keptNames.filter((name) =>
        isCardLike(nameIn(request, endpoint, name), request.account),
      );
      for (const name of found) names.add(request.account.id, name);
      return withWarnings(
        answer,
        found.map(
          (name) =>
            `${name} looks like a card number; it is not the number of this card, and is kept unchanged`,
        ),
      );
    },
  };
}

function nameIn(
  { params, headers }: WireRequest,
  { newPaymentCode }: KeyedEndpoint,
  name: KeptName,
): string | undefined {
  if (name === "Idempotency-Key") return headers.idempotencyKey;
  if (name === "merchant_refund_code") return textOf(params, name);
  return newPaymentCode?.(params);
}

function isCardLike(name: string | undefined, { settings }: Account): boolean {
  return settings.refuseCardLikeCodes && name !== undefined && namesCard(name, isOfKnownBrand);
}
