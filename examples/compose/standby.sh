#!/bin/bash
# The standby of examples/compose.yaml: a copy of the primary, made at the first start. It
# replicates with the name that the primary's synchronous commits wait for.
set -eu
secrets=${SECRETS:-/run/secrets}
own=${OWN:-/tmp}
install -o postgres -g postgres -m 0600 "$secrets/server_key" "$own/server_key"
install -o postgres -g postgres -m 0644 "$secrets/server_certificate" "$own/server_certificate"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  primary="host=${PRIMARY:-primary} port=${PRIMARY_PORT:-5432} user=standby application_name=standby"
  PGPASSWORD=$(cat "$secrets/standby_password") pg_basebackup -R -X stream -D "$PGDATA" \
    -d "$primary sslmode=verify-full sslrootcert=$secrets/authority"
fi
# The image's entrypoint changes the folder's owner to the server's user.
chmod 0700 "$PGDATA"
exec docker-entrypoint.sh postgres -c ssl=on -c ssl_key_file="$own/server_key" -c ssl_cert_file="$own/server_certificate"
