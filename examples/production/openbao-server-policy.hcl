# A server in production: it unwraps keys and wraps nothing but its canary, so a stolen token adds no key.
# cHJvZHVjdGlvbi9jYW5hcnk= is the label production/canary.
path "transit/encrypt/cofre" {
  capabilities = ["update"]
  allowed_parameters = {
    "plaintext"       = []
    "associated_data" = ["cHJvZHVjdGlvbi9jYW5hcnk="]
  }
}
path "transit/decrypt/cofre" {
  capabilities = ["update"]
}
# Whether the key may be exported.
path "transit/keys/cofre" {
  capabilities = ["read"]
}
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
path "auth/token/renew-self" {
  capabilities = ["update"]
}
