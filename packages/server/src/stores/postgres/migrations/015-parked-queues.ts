import { withReplaced } from "./replaced.ts";

/**
 * A change may park a queue (stores/change.ts). A node of the previous version does not send it.
 */
export const parkedQueues = `
CREATE FUNCTION park_queue_1(owner bytea, part jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE due_queue SET parked_until = (part ->> 1)::bigint, due_at = greatest(first_at, (part ->> 1)::bigint)
  WHERE merchant = owner AND queue = part ->> 0
    AND (SELECT version FROM account WHERE merchant = owner) = (part ->> 2)::integer;
  IF FOUND THEN PERFORM place_merchant_1(owner); END IF;
END
$$;
REVOKE ALL ON FUNCTION park_queue_1(bytea, jsonb) FROM PUBLIC;

${withReplaced("write_change_1", [
  [
    "PERFORM move_deliveries_1(owner, message -> 8 -> 1); END IF;\n",
    "PERFORM move_deliveries_1(owner, message -> 8 -> 1); END IF;\n  IF message -> 9 <> 'null' THEN PERFORM park_queue_1(owner, message -> 9); END IF;\n",
  ],
])}`;
