/**
 * A role for each part of the program. None may log in: the connecting user takes one on for the
 * session. No role writes a table; the gateway and the jobs write through the functions, which
 * belong to the owner and name the merchant in every statement.
 *
 * Only the vault's role reads cards; the jobs see only the columns that show which cards are
 * unused, the reader sees none. Row-level security limits the reads of the gateway and the vault to
 * one merchant, whatever a statement says, as a second line of defence. It does not apply to the
 * writer, whose batches contain many merchants, nor to the jobs, which serve all.
 */
export const roles = `
DO $$
DECLARE
  part text;
BEGIN
  FOREACH part IN ARRAY ARRAY['cofre_gateway', 'cofre_vault', 'cofre_jobs', 'cofre_reader'] LOOP
    -- Roles are the whole server's: another database of it may be making them at the same time.
    BEGIN
      IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = part) THEN EXECUTE format('CREATE ROLE %I NOLOGIN', part); END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    IF NOT pg_has_role(current_user, part, 'MEMBER') THEN EXECUTE format('GRANT %I TO %I', part, current_user); END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), part);
  END LOOP;
  EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', current_schema());
  EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM PUBLIC', current_schema());
  -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
  EXECUTE format('ALTER FUNCTION write_batch_1(jsonb) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;

-- Statements of the writer are planned when a table may still be empty: a scan that is cheap then would be kept for good.
ALTER FUNCTION write_batch_1(jsonb) SET enable_seqscan = off;
ALTER FUNCTION write_batch_1(jsonb) SET enable_bitmapscan = off;
ALTER FUNCTION write_batch_1(jsonb) SET enable_sort = off;
ALTER FUNCTION write_batch_1(jsonb) SET enable_hashjoin = off;
ALTER FUNCTION write_batch_1(jsonb) SET enable_mergejoin = off;
ALTER FUNCTION write_batch_1(jsonb) SET jit = off;

GRANT EXECUTE ON FUNCTION write_batch_1(jsonb) TO cofre_gateway;

GRANT SELECT ON account, account_key, payment, refund, history, outbox, delivery, named_request TO cofre_gateway;
GRANT SELECT ON card TO cofre_vault;
GRANT SELECT ON account, payment, refund, outbox, delivery TO cofre_jobs;
GRANT SELECT (no, merchant, token_digest, last_used_at) ON card TO cofre_jobs;
GRANT SELECT ON account, payment, refund, history, outbox, delivery TO cofre_reader;

DO $$
DECLARE
  walled text;
BEGIN
  FOREACH walled IN ARRAY ARRAY['payment', 'refund', 'history', 'outbox', 'delivery', 'named_request', 'card'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
    EXECUTE format('CREATE POLICY one_merchant ON %I FOR SELECT TO cofre_gateway, cofre_vault
      USING (merchant = (SELECT decode(current_setting(''cofre.merchant'', true), ''hex'')))', walled);
    EXECUTE format('CREATE POLICY all_merchants ON %I FOR SELECT TO cofre_jobs, cofre_reader USING (true)', walled);
  END LOOP;
END
$$;
`;
