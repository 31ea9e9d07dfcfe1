#!/bin/bash
# Runs once, on the primary's first start, while it accepts no outside connections: creates the
# database and the users of docs/operate/postgres.md. The synchronous standby is set last, in the
# configuration that the next start reads: a commit that waits for it here would wait indefinitely.
set -eu
secrets=${SECRETS:-/run/secrets}
psql -v ON_ERROR_STOP=1 -U postgres -d postgres -v cofre="$(cat "$secrets/database_password")" -v standby="$(cat "$secrets/standby_password")" <<'SQL'
CREATE ROLE cofre LOGIN PASSWORD :'cofre' CREATEROLE;
CREATE DATABASE cofre OWNER cofre ENCODING 'UTF8' TEMPLATE template0;
ALTER ROLE cofre SET log_parameter_max_length = 0;
CREATE ROLE standby LOGIN REPLICATION PASSWORD :'standby';
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SQL
cat >"$PGDATA/pg_hba.conf" <<'HBA'
local   all          postgres                    peer
hostssl cofre        cofre     all               scram-sha-256
hostssl replication  standby   all               scram-sha-256
HBA
