import { runsWithDeliveries } from "./022-runs-with-deliveries.ts";
import { withReplaced } from "./replaced.ts";

/**
 * A change may delete Idempotency-Keys (stores/change.ts). A node of the previous version does not
 * send it. The job that requests it reads which keys are old, and no answers.
 */
export const deletedRequests = `
-- Each key is found by the whole of the primary key. The conditions are apart from it: with them a plan could take the index of answered keys, and read
-- all that are old for each one.
CREATE FUNCTION delete_requests_1(owner bytea, part jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM named_request WHERE ctid = ANY (ARRAY(
    SELECT found.row_at FROM jsonb_array_elements_text(part -> 0) AS asked (name)
    CROSS JOIN LATERAL (
      SELECT ctid AS row_at, claimed_at, status FROM named_request WHERE merchant = owner AND key = asked.name OFFSET 0
    ) AS found
    WHERE found.status IS NOT NULL AND found.claimed_at < (part ->> 1)::bigint));
END
$$;
REVOKE ALL ON FUNCTION delete_requests_1(bytea, jsonb) FROM PUBLIC;

${withReplaced(
  "write_change_1",
  [
    [
      "PERFORM park_queue_1(owner, message -> 9); END IF;\n",
      "PERFORM park_queue_1(owner, message -> 9); END IF;\n  IF message -> 10 <> 'null' THEN PERFORM delete_requests_1(owner, message -> 10); END IF;\n",
    ],
  ],
  runsWithDeliveries,
)}
GRANT SELECT (merchant, key, claimed_at, status) ON named_request TO cofre_jobs;
`;
