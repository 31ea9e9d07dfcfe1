import { messages } from "./009-messages.ts";
import { withReplaced } from "./replaced.ts";

/**
 * The order of a payment with a hosted page is written again with each version of the payment: the
 * customer adds the card and other data. A node of the previous version does not send it.
 */
export const ordersOfPages = withReplaced(
  "write_payment_1",
  [
    [
      "verdict = part ->> 12,\n      needs_review = (part ->> 13)::smallint, refunded",
      "verdict = part ->> 12,\n      order_json = coalesce(part ->> 21, order_json), needs_review = (part ->> 13)::smallint, refunded",
    ],
  ],
  messages,
);
