#!/bin/sh
# Makes the secrets of examples/compose.yaml: passwords, a key of the sandbox account, and a
# certificate authority with one server certificate. Existing files are kept. The folder is closed
# to other users; the files are not, because in a container another user reads them.
set -eu
umask 022
folder=${1:-$(dirname "$0")/secrets}
mkdir -p -m 0700 "$folder"
cd "$folder"

for name in superuser_password database_password standby_password; do
  [ -e "$name" ] || openssl rand -hex 24 | tr -d '\n' >"$name"
done
[ -e integration_key ] || printf 'test_ik_%s' "$(openssl rand -hex 16)" >integration_key
[ -e database_url ] || printf 'postgres://cofre:%s@primary/cofre?sslmode=verify-full&sslrootcert=/run/secrets/authority' "$(cat database_password)" >database_url

if [ ! -e authority ]; then
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=Cofre example authority" -keyout authority_key -out authority 2>/dev/null
  chmod 0600 authority_key
  openssl req -newkey rsa:2048 -nodes -subj "/CN=primary" -keyout server_key -out request 2>/dev/null
  printf 'subjectAltName=DNS:primary,DNS:standby,DNS:localhost,IP:127.0.0.1\n' >names
  openssl x509 -req -in request -CA authority -CAkey authority_key -CAcreateserial -days 3650 -extfile names -out server_certificate 2>/dev/null
  rm -f request names authority.srl
  chmod 0644 server_key
fi
