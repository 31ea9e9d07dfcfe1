import { withReplaced } from "./replaced.ts";

/**
 * MACs of rows, null on older rows (vault/row-mac.ts). Two functions of 002 handle them, under the
 * same names: a node of the previous version does not send them, and its rows get their MACs once
 * no such node is left.
 *
 * `node.keyed`: the node knows keyed digests and MACs. A node of the previous version never sets
 * it.
 */
export const macs = `
ALTER TABLE card ADD COLUMN mac bytea;
-- Of rows from now on: the check of those before would read the whole table under a lock that stops everything.
ALTER TABLE card ADD CONSTRAINT card_mac_check CHECK (length(mac) = 32) NOT VALID;
ALTER TABLE account_key ADD COLUMN mac bytea CHECK (length(mac) = 32);
ALTER TABLE node ADD COLUMN keyed boolean NOT NULL DEFAULT false;

${withReplaced("write_card_1", [
  ["masked_pan, fingerprint, ref)", "masked_pan, fingerprint, ref, mac)"],
  [
    "decode(part ->> 7, 'hex'), decode(part ->> 8, 'hex'))",
    "decode(part ->> 7, 'hex'), decode(part ->> 8, 'hex'), decode(part ->> 9, 'hex'))",
  ],
  [
    "ref = decode(part ->> 8, 'hex')\n  WHERE merchant = owner AND token_digest = decode(part ->> 0, 'hex') AND version = (part ->> 2)::integer;",
    `ref = decode(part ->> 8, 'hex'), mac = decode(part ->> 9, 'hex'),
    token_digest = decode(part ->> 0, 'hex')
  WHERE merchant = owner AND token_digest = decode(coalesce(part ->> 10, part ->> 0), 'hex') AND version = (part ->> 2)::integer
    AND (coalesce(part ->> 10, part ->> 0) = part ->> 0
      OR NOT EXISTS (SELECT 1 FROM card AS other WHERE other.merchant = owner AND other.token_digest = decode(part ->> 0, 'hex')));`,
  ],
])}
${withReplaced("write_account_1", [
  [
    "INSERT INTO account_key (digest, merchant, grants) VALUES (decode(added ->> 0, 'hex'), owner, added ->> 1) ON CONFLICT DO NOTHING;",
    `INSERT INTO account_key (digest, merchant, grants, mac) VALUES (decode(added ->> 0, 'hex'), owner, added ->> 1, decode(added ->> 2, 'hex'))
    ON CONFLICT (digest) DO UPDATE SET mac = excluded.mac
      WHERE account_key.mac IS NULL AND excluded.mac IS NOT NULL AND account_key.merchant = excluded.merchant AND account_key.grants = excluded.grants;`,
  ],
])}
CREATE FUNCTION hold_slots_2(me text, lease_ms bigint, give_back text, OUT share integer, OUT nodes integer, OUT slots text)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT held.share, held.nodes, held.slots INTO share, nodes, slots FROM hold_slots_1(me, lease_ms, give_back) AS held;
  UPDATE node SET keyed = true WHERE id = me AND NOT keyed;
END
$$;

CREATE FUNCTION has_older_nodes_1() RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT 1 FROM node WHERE NOT keyed AND until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;

-- A piece of one merchant's payments without the unkeyed token digests, from after an id on; gives the last id that it looked at, null when none is left.
CREATE FUNCTION drop_token_digests_1(owner text, after text, most integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  piece bytea[];
BEGIN
  piece := ARRAY(SELECT id FROM payment WHERE merchant = decode(owner, 'hex') AND id > decode(after, 'hex') ORDER BY id LIMIT most);
  UPDATE payment SET order_json = regexp_replace(order_json, '^(\\[(?:"[^"]*",){7}\\d+,\\d+,(?:"[^"]*",){3})"[A-Za-z0-9_-]{43}"', '\\10')
  WHERE merchant = decode(owner, 'hex') AND id = ANY (piece)
    AND order_json ~ '^\\[(?:"[^"]*",){7}\\d+,\\d+,(?:"[^"]*",){3}"[A-Za-z0-9_-]{43}"';
  RETURN encode(piece[cardinality(piece)], 'hex');
END
$$;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['hold_slots_2(text, bigint, text)', 'has_older_nodes_1()', 'drop_token_digests_1(text, text, integer)'] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO cofre_jobs', name);
    -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema());
  END LOOP;
END
$$;
`;
