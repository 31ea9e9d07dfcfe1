"""The reference implementation of SLIP-39 for the recovery lane: one JSON request on standard input, one answer."""

import json, sys
from shamir_mnemonic import MnemonicError, combine_mnemonics, generate_mnemonics

request = json.load(sys.stdin)
if "secret" in request:
    secret = bytes.fromhex(request["secret"])
    (shares,) = generate_mnemonics(1, [(request["threshold"], request["count"])], secret, iteration_exponent=0)
    print(json.dumps({"shares": shares}))
else:
    try:
        print(json.dumps({"opened": combine_mnemonics(request["shares"]).hex()}))
    except MnemonicError as error:
        print(json.dumps({"refused": str(error)}))
