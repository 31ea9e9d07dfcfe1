#!/bin/bash
# The primary of examples/compose.yaml: PostgreSQL as the image starts it, with TLS. Its private key
# must belong to the server's user and be closed to others.
set -eu
secrets=${SECRETS:-/run/secrets}
own=${OWN:-/tmp}
install -o postgres -g postgres -m 0600 "$secrets/server_key" "$own/server_key"
install -o postgres -g postgres -m 0644 "$secrets/server_certificate" "$own/server_certificate"
exec docker-entrypoint.sh postgres -c ssl=on -c ssl_key_file="$own/server_key" -c ssl_cert_file="$own/server_certificate"
