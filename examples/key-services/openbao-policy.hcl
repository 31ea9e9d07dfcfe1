# The permissions of Cofre's token: wrap and unwrap with one key, and renew the token itself.
# "create" is left out on purpose: with it, a wrong name in COFRE_ROOT_KEY makes a new key.
path "transit/encrypt/cofre" {
  capabilities = ["update"]
}
path "transit/decrypt/cofre" {
  capabilities = ["update"]
}
# Whether the key may be exported. Production mode asks for it; it reveals no key.
path "transit/keys/cofre" {
  capabilities = ["read"]
}
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
path "auth/token/renew-self" {
  capabilities = ["update"]
}
