import { deletedRequests } from "./024-deleted-requests.ts";
import { withReplaced } from "./replaced.ts";

/**
 * A change may delete deliveries that ended (stores/change.ts). A node of the previous version does
 * not send it.
 */
export const deletedDeliveries = `
-- Each delivery is found by the whole of its key, and the conditions are apart from it, as in 024. No trigger sees it: no row of what is due is about one that ended.
CREATE FUNCTION delete_deliveries_1(owner bytea, part jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM delivery WHERE ctid = ANY (ARRAY(
    SELECT found.row_at FROM jsonb_array_elements(part -> 0) AS asked (named)
    CROSS JOIN LATERAL (
      SELECT ctid AS row_at, state, due_at FROM delivery
      WHERE merchant = owner AND endpoint = asked.named ->> 0 AND number = (asked.named ->> 1)::bigint OFFSET 0
    ) AS found
    WHERE found.state <> 'waiting' AND found.due_at < (part ->> 1)::bigint));
END
$$;
REVOKE ALL ON FUNCTION delete_deliveries_1(bytea, jsonb) FROM PUBLIC;

${withReplaced(
  "write_change_1",
  [
    [
      "PERFORM delete_requests_1(owner, message -> 10); END IF;\n",
      "PERFORM delete_requests_1(owner, message -> 10); END IF;\n  IF message -> 11 <> 'null' THEN PERFORM delete_deliveries_1(owner, message -> 11); END IF;\n",
    ],
  ],
  deletedRequests,
)}`;
