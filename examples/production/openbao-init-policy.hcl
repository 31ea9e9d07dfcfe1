# cofre init, and acts that make keys: they wrap too. "create" is left out on purpose: with it, a wrong name in
# COFRE_ROOT_KEY makes a new key.
path "transit/encrypt/cofre" {
  capabilities = ["update"]
}
path "transit/decrypt/cofre" {
  capabilities = ["update"]
}
path "transit/keys/cofre" {
  capabilities = ["read"]
}
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
path "auth/token/renew-self" {
  capabilities = ["update"]
}
