"""Opens the keys and cards of an installation with shares of its recovery key, without Cofre.

    python3 recover.py DIRECTORY [--out FILE] < shares.txt

DIRECTORY has cofre.db and, if the installation has them, the files keys.<n>.json. Standard input has
one share per line, as many as the recovery key needs. Prints how many keys and cards were opened.
FILE gets a JSON line with each card: protect it like the cards. Exit code 1 when something does not
open. Needs Python 3.10 and the package `cryptography` (requirements.txt); the
formats are in docs/operate/recovery.md and in the comments of the files that are named below.
"""

import argparse, hashlib, hmac, json, os, pathlib, sqlite3, sys
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap

WORDS = (pathlib.Path(__file__).parent / "slip39-words.txt").read_text().split()
GENERATOR = (0xE0E040, 0x1C1C080, 0x3838100, 0x7070200, 0xE0E0009, 0x1C0C2412, 0x38086C24, 0x3090FC48, 0x21B1F890, 0x3F3F120)


def read_share(line):
    """One share of SLIP-39: its set, its number, how many open the secret, and its value."""
    words = [WORDS.index(word) for word in line.lower().split()]
    checksum = 1
    for value in [*b"shamir_extendable", *words]:
        top, checksum = checksum >> 20, (checksum & 0xFFFFF) << 10 ^ value
        for bit, term in enumerate(GENERATOR):
            checksum ^= term if top >> bit & 1 else 0
    if len(words) != 33 or checksum != 1:
        raise ValueError("a line is not a share of 33 words, or a word is wrong")
    number = 0
    for index in words[:-3]:
        number = number << 10 | index
    head, value = number >> 260, (number & (1 << 260) - 1).to_bytes(33, "big")
    return head >> 8, head >> 4 & 15, (head & 15) + 1, value[1:]


EXP, LOG, element = [0] * 255, [0] * 256, 1
for exponent in range(255):
    EXP[exponent], LOG[element] = element, exponent
    element ^= element << 1 ^ (0x11B if element & 0x80 else 0)


def interpolate(points, x):
    value = bytearray(32)
    for at, share in points.items():
        basis = sum(LOG[other ^ x] - LOG[other ^ at] for other in points if other != at)
        for index, byte in enumerate(share):
            value[index] ^= EXP[(LOG[byte] + basis) % 255] if byte else 0
    return bytes(value)


def seed_of(lines):
    shares = [read_share(line) for line in lines if line.strip()]
    points = {number: value for _, number, _, value in shares}
    if len({share[0] for share in shares}) != 1 or len(points) != shares[0][2]:
        raise ValueError("the shares are of different sets, too few or too many")
    secret, digest = interpolate(points, 255), interpolate(points, 254)
    if hmac.digest(digest[4:], secret, "sha256")[:4] != digest[:4]:
        raise ValueError("the shares do not fit each other")
    left, right = secret[:16], secret[16:]
    for step in (3, 2, 1, 0):
        mask = hashlib.pbkdf2_hmac("sha256", bytes([step]), right, 2500, 16)
        left, right = right, bytes(a ^ b for a, b in zip(left, mask))
    return right + left


def private_key_of(seed):
    """DeriveKeyPair of RFC 9180, section 7.1.3."""
    suite = b"HPKE-v1KEM\x00\x12"
    extracted = hmac.digest(b"", suite + b"dkp_prk" + seed, "sha512")
    for counter in range(256):
        info = b"\x00\x42" + suite + b"candidate" + bytes([counter])
        first = hmac.digest(extracted, info + b"\x01", "sha512")
        scalar = (first + hmac.digest(extracted, first + info + b"\x02", "sha512"))[:66]
        try:
            return ec.derive_private_key(int.from_bytes(bytes([scalar[0] & 1]) + scalar[1:], "big"), ec.SECP521R1())
        except ValueError:
            continue


def recovered(wrapped, label, private_key):
    """A key by its wrap for the recovery key, which follows the wrap by the root key."""
    magic = b"cofre recovery 1\n"
    if not wrapped.startswith(magic):
        raise ValueError("a key was not sealed for a recovery key")
    by_root = int.from_bytes(wrapped[len(magic) : len(magic) + 2], "big")
    sealed = wrapped[len(magic) + 2 + by_root + 32 :]
    suite = hpke.Suite(hpke.KEM.P521, hpke.KDF.HKDF_SHA512, hpke.AEAD.AES_256_GCM)
    return suite.decrypt(sealed[1:], private_key, f"cofre recovery 1\0{label}".encode())


def keys_of_files(path, private_key):
    """Of an installation with files: what cards are bound to, and its keys by purpose and number."""
    file = json.loads(path.read_text())
    name, rows = file["environment"], [(row["purpose"], row["id"], row["wrapped"]) for row in file["keys"]]
    return name, {row[:2]: recovered(bytes.fromhex(row[2]), f"{name}/{row[0]}/{row[1]}", private_key) for row in rows}


def keys_of_records(database, private_key):
    """The same of an installation with key records: epoch keys, and below them those of merchants."""
    ((name,),) = database.execute("SELECT keys FROM identity").fetchall()
    select = "SELECT hex(merchant), version, epoch, wraps FROM key_record WHERE purpose = ? AND state <> 'destroyed'"
    keys = {}
    for _, version, _, wraps in database.execute(select, ["epoch"]):
        wrapped = bytes.fromhex(json.loads(wraps)[0][1])
        keys["epoch", version] = recovered(wrapped, f"{name}/epoch/{version}", private_key)
    for merchant, version, epoch, wraps in database.execute(select, ["merchant"]):
        ((_, wrapped),) = json.loads(wraps)
        parts = ("cofre key wrap 1", name, "merchant", merchant.lower(), version, epoch)
        nonce, text = bytes.fromhex(wrapped)[1:13], bytes.fromhex(wrapped)[13:]
        keys[merchant.lower(), version] = AESGCM(keys["epoch", epoch]).decrypt(nonce, text, "\0".join(map(str, parts)).encode())
    return name, keys


def open_card(name, keys, merchant, token_digest, record_version, ref):
    """A card of format 1 or 2 (vault/envelope.ts, vault/derived-envelope.ts)."""
    card_format, version, number = ref[0], ref[1:5], int.from_bytes(ref[1:5], "big")
    if card_format == 1:
        data_key, rest, committed = aes_key_unwrap(keys["epoch", number], ref[37:77]), ref[77:], b""
    else:
        derivation = b"cofre card key 2" + version + ref[37:69]
        data_key, rest, committed = hmac.digest(keys[merchant.hex(), number], derivation, "sha256"), ref[69:], merchant.hex().encode()
    label = f"cofre data key {card_format}".encode()
    if hashlib.sha256(label + committed + version + data_key).digest() != ref[5:37]:
        raise ValueError("a card has another format or key")
    fields = [text.encode() for text in ("card", name, merchant.hex(), token_digest.hex())]
    fields += [value.to_bytes(4, "big") for value in (record_version, card_format, number)]
    aad = b"".join(len(field).to_bytes(2, "big") + field for field in fields)
    card = AESGCM(data_key).decrypt(rest[:12], rest[12:], aad)
    end = card[0] + 1
    return {"number": card[1:end].decode(), "month": card[end], "year": int.from_bytes(card[end + 1 : end + 3], "big"), "holder": card[end + 3 :].decode()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--out")
    given = parser.parse_args()
    private_key = private_key_of(seed_of(sys.stdin.readlines()))
    database = sqlite3.connect(f"{(given.directory / 'cofre.db').resolve().as_uri()}?mode=ro", uri=True)
    files = sorted(given.directory.glob("keys.*.json"), key=lambda path: int(path.name.split(".")[1]))
    name, keys = keys_of_files(files[-1], private_key) if files else keys_of_records(database, private_key)
    print(f"{len(keys)} keys opened")
    cards, unopened = [], 0
    for merchant, token_digest, version, ref in database.execute("SELECT merchant, token_digest, version, ref FROM card"):
        try:
            card = open_card(name, keys, merchant, token_digest, version, ref)
            cards.append({"merchant": merchant.hex(), "token_digest": token_digest.hex(), **card})
        except (ValueError, KeyError, IndexError, InvalidTag, InvalidUnwrap):
            unopened += 1
    print(f"{len(cards)} cards opened, {unopened} not")
    if given.out is not None:
        with os.fdopen(os.open(given.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.writelines(json.dumps(card) + "\n" for card in cards)
    if unopened:
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, InvalidTag, OSError, sqlite3.Error) as error:
        sys.exit(f"The keys do not open: {error}.")
