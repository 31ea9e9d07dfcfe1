import { ServiceError } from "../payment/service-error.ts";
import type { Account } from "../merchant/account.ts";
import { maskOf } from "../vault/mask.ts";
import { containsPan } from "../vault/contains-pan.ts";
import type { Pan } from "../vault/pan.ts";
import type { DirectOrder } from "./direct-input.ts";

/**
 * An order's code, its notification address and the ids of mandates and of 3-D Secure are stored
 * unchanged, even if they resemble card numbers (docs/decisions/0007), unless they contain the
 * number of the order's own card. Then a code is refused if the account has `refuseCardLikeCodes`,
 * an id is replaced by the card's mask, and an address is removed.
 */
export function withoutCardNumber(
  order: DirectOrder,
  pan: Pan,
  { settings }: Pick<Account, "settings">,
): DirectOrder {
  if (settings.refuseCardLikeCodes && containsPan(order.code, pan))
    throw new ServiceError("payment_code_holds_card");
  const isOwn = (text: string | undefined): boolean => text !== undefined && containsPan(text, pan);
  const masked = <Text extends string | undefined>(text: Text): Text | string =>
    isOwn(text) ? maskOf(pan) : text;
  const { customer, storedCredential, threeDSecure } = order;
  return {
    ...order,
    notificationUrl: isOwn(order.notificationUrl) ? undefined : order.notificationUrl,
    customer: isOwn(customer.document)
      ? { ...customer, document: masked(customer.document) }
      : customer,
    storedCredential:
      storedCredential === undefined
        ? undefined
        : { ...storedCredential, mandateId: masked(storedCredential.mandateId) },
    threeDSecure:
      threeDSecure === undefined
        ? undefined
        : {
            ...threeDSecure,
            transactionId: masked(threeDSecure.transactionId),
            xid: masked(threeDSecure.xid),
          },
  };
}
