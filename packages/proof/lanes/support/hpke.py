"""HPKE of the package cryptography for the recovery lane: one JSON request on standard input, one answer."""

import json, sys
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric import ec

request = json.load(sys.stdin)
suite = hpke.Suite(hpke.KEM.P521, hpke.KDF.HKDF_SHA512, hpke.AEAD.AES_256_GCM)
info, text = bytes.fromhex(request["info"]), bytes.fromhex(request["text"])
if "public_key" in request:
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP521R1(), bytes.fromhex(request["public_key"]))
    print(json.dumps({"text": suite.encrypt(text, key, info).hex()}))
else:
    key = ec.derive_private_key(int(request["private_key"], 16), ec.SECP521R1())
    print(json.dumps({"text": suite.decrypt(text, key, info).hex()}))
