import { withReplaced } from "./replaced.ts";

/**
 * `message`: groups deliveries into one message (notification/events.ts). Few endpoints request
 * that, so most rows are in no index of it (018).
 *
 * Two functions of 002 handle it, under the same names: a node of the previous version does not
 * send it, so deliveries that it creates go alone, and deliveries that it moves stay in their
 * message.
 */
export const messages = `
ALTER TABLE delivery ADD COLUMN message bigint;
ALTER TABLE delivery ADD CONSTRAINT delivery_message_check CHECK (message >= 0) NOT VALID;

${withReplaced("write_payment_1", [
  ["outcome, in_order)", "outcome, in_order, message)"],
  [
    "(deliveries -> 2 ->> 6)::smallint",
    "(deliveries -> 2 ->> 6)::smallint, CASE WHEN deliveries -> 3 ? told THEN 0 END",
  ],
])}
${withReplaced("move_deliveries_1", [
  ["outcome, in_order)", "outcome, in_order, message)"],
  [
    "fresh ->> 5, (fresh ->> 6)::smallint);",
    "fresh ->> 5, (fresh ->> 6)::smallint,\n        (fresh ->> 7)::bigint);",
  ],
  [
    "in_order = (fresh ->> 6)::smallint\n",
    "in_order = (fresh ->> 6)::smallint,\n        message = CASE WHEN jsonb_array_length(fresh) > 7 THEN (fresh ->> 7)::bigint ELSE message END\n",
  ],
])}`;
