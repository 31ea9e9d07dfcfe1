// Makes a root key for Cofre in a token of PKCS#11, with the attributes that Cofre demands, and prints the settings.
// Needs Node 26.1 or later on 64-bit Linux or macOS. Log in as a role that may generate keys: Cofre's own user needs
// no such right, and none to destroy keys.
//
//   node make-pkcs11-key.ts MODULE TOKEN-LABEL PIN-FILE OBJECT-LABEL ID-IN-HEX
//
// For example: node make-pkcs11-key.ts /usr/lib/softhsm/libsofthsm2.so cofre pin cofre-root-1 01
import { dlopen, getRawPointer } from "node:ffi";
import { readFileSync } from "node:fs";

type Attribute = readonly [type: number, value: Buffer];

const [, , modulePath = "", tokenLabel = "", pinFile = "", object = "", id = ""] = process.argv;
if (!/^(?:[0-9a-f]{2}){1,32}$/i.test(id)) {
  process.stderr.write(
    "usage: make-pkcs11-key.ts MODULE TOKEN-LABEL PIN-FILE OBJECT-LABEL ID-IN-HEX\n",
  );
  process.exit(2);
}

/** Memory that stays where it is. */
const memory = (length: number): Buffer => Buffer.from(new ArrayBuffer(length));
const kept: Buffer[] = [];
const pinned = (bytes: Uint8Array): Buffer => {
  const copy = memory(bytes.length);
  copy.set(bytes);
  kept.push(copy);
  return copy;
};
const ulong = (value: number): Buffer => {
  const bytes = memory(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return pinned(bytes);
};
const yes = pinned(Uint8Array.of(1));
const no = pinned(Uint8Array.of(0));

const { lib } = dlopen(modulePath);
const call = (
  name: string,
  types: readonly ("uint8" | "uint64" | "pointer")[],
  ...given: readonly (number | bigint | Buffer | null)[]
): void => {
  const rv = Number(lib.getFunction(name, { arguments: types, return: "uint64" })(...given));
  if (rv !== 0) throw new Error(`${name} returned 0x${rv.toString(16)}`);
};

/** A list of CK_ATTRIBUTE: type, address and length of the value. */
const template = (values: readonly Attribute[]): Buffer => {
  const bytes = memory(values.length * 24);
  for (const [index, [type, value]] of values.entries()) {
    bytes.writeBigUInt64LE(BigInt(type), index * 24);
    bytes.writeBigUInt64LE(getRawPointer(value), index * 24 + 8);
    bytes.writeBigUInt64LE(BigInt(value.length), index * 24 + 16);
  }
  return bytes;
};

call("C_Initialize", ["pointer"], null);
const count = memory(8);
call("C_GetSlotList", ["uint8", "pointer", "pointer"], 1, null, count);
const slots = memory(Number(count.readBigUInt64LE()) * 8);
call("C_GetSlotList", ["uint8", "pointer", "pointer"], 1, slots, count);
const info = memory(208);
const tokens = Array.from({ length: slots.length / 8 }, (_, index) => {
  const slot = slots.readBigUInt64LE(index * 8);
  call("C_GetTokenInfo", ["uint64", "pointer"], slot, info);
  const text = (from: number, to: number): string => info.toString("utf8", from, to).trimEnd();
  return { slot, label: text(0, 32), serial: text(80, 96) };
}).filter(({ label }) => label === tokenLabel);
const [token] = tokens;
if (token === undefined || tokens.length > 1)
  throw new Error(`${tokens.length} tokens have the label ${tokenLabel}`);

const handle = memory(8);
call(
  "C_OpenSession",
  ["uint64", "uint64", "pointer", "pointer", "pointer"],
  token.slot,
  6n,
  null,
  null,
  handle,
);
const session = handle.readBigUInt64LE();
const pin = pinned(Buffer.from(readFileSync(pinFile, "utf8").replace(/\r?\n$/, "")));
call("C_Login", ["uint64", "uint64", "pointer", "uint64"], session, 1n, pin, BigInt(pin.length));
pin.fill(0);

// One key by this label and id, or Cofre refuses both.
const search = template([
  [0x3, pinned(Buffer.from(object))],
  [0x102, pinned(Buffer.from(id, "hex"))],
]);
call("C_FindObjectsInit", ["uint64", "pointer", "uint64"], session, search, 2n);
call("C_FindObjects", ["uint64", "pointer", "uint64", "pointer"], session, handle, 1n, count);
call("C_FindObjectsFinal", ["uint64"], session);
if (count.readBigUInt64LE() > 0n) throw new Error(`the token has an object ${object} with this id`);

const attributes = template([
  [0x0, ulong(4)], // CKA_CLASS: CKO_SECRET_KEY
  [0x100, ulong(0x1f)], // CKA_KEY_TYPE: CKK_AES
  [0x161, ulong(32)], // CKA_VALUE_LEN: 256 bits
  [0x3, pinned(Buffer.from(object))], // CKA_LABEL
  [0x102, pinned(Buffer.from(id, "hex"))], // CKA_ID
  [0x1, yes], // CKA_TOKEN
  [0x2, yes], // CKA_PRIVATE
  [0x103, yes], // CKA_SENSITIVE
  [0x162, no], // CKA_EXTRACTABLE
  [0x104, yes], // CKA_ENCRYPT
  [0x105, yes], // CKA_DECRYPT
  [0x106, no], // CKA_WRAP
  [0x107, no], // CKA_UNWRAP
  [0x108, no], // CKA_SIGN
  [0x10a, no], // CKA_VERIFY
  [0x10c, no], // CKA_DERIVE
  [0x170, no], // CKA_MODIFIABLE
  [0x171, no], // CKA_COPYABLE
  [0x172, no], // CKA_DESTROYABLE: not even by Cofre's own user; remove the line if the token does not know it
]);
const mechanism = template([[0x1080, memory(0)]]); // CKM_AES_KEY_GEN
const types = ["uint64", "pointer", "pointer", "uint64", "pointer"] as const;
call(
  "C_GenerateKey",
  types,
  session,
  mechanism,
  attributes,
  BigInt(attributes.length / 24),
  handle,
);
call("C_Finalize", ["pointer"], null);

const octets = id.replace(/../g, "%$&");
process.stdout.write(
  `COFRE_ROOT_KEY=pkcs11:token=${encodeURIComponent(tokenLabel)};serial=${encodeURIComponent(token.serial)};object=${encodeURIComponent(object)};id=${octets}\n` +
    `COFRE_PKCS11_MODULE=${modulePath}\n`,
);
