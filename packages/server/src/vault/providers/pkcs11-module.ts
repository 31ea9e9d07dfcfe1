import { dlopen, getRawPointer, type WrappedFunction } from "node:ffi";
import { memory } from "./pkcs11-frames.ts";

/**
 * The functions of a PKCS#11 module that Cofre calls, by `node:ffi`. Structures are those of
 * PKCS#11 2.40 (OASIS, pkcs11t.h) where CK_ULONG and pointers have 8 bytes and natural alignment:
 * 64-bit Linux and macOS. Runs in the helper process only.
 */

/** A function of the module returned something else than CKR_OK. */
export class ReturnedError extends Error {
  readonly function: string;
  readonly rv: number;

  constructor(name: string, rv: number) {
    super(`${name} returned ${rv}`);
    this.function = name;
    this.rv = rv;
  }
}

/** The module is not usable; `reason` is a name of pkcs11-refusals.ts. */
export class UnusableError extends Error {
  readonly reason: string;
  readonly detail: string;

  constructor(reason: string, detail = "") {
    super(reason);
    this.reason = reason;
    this.detail = detail;
  }
}

const ulong = "uint64";
const pointer = "pointer";

const signatures = {
  C_Initialize: [pointer],
  C_Finalize: [pointer],
  C_GetSlotList: ["uint8", pointer, pointer],
  C_GetTokenInfo: [ulong, pointer],
  C_OpenSession: [ulong, ulong, pointer, pointer, pointer],
  C_CloseSession: [ulong],
  C_Login: [ulong, ulong, pointer, ulong],
  C_FindObjectsInit: [ulong, pointer, ulong],
  C_FindObjects: [ulong, pointer, ulong, pointer],
  C_FindObjectsFinal: [ulong],
  C_GetAttributeValue: [ulong, ulong, pointer, ulong],
  C_EncryptInit: [ulong, pointer, ulong],
  C_Encrypt: [ulong, pointer, ulong, pointer, pointer],
  C_DecryptInit: [ulong, pointer, ulong],
  C_Decrypt: [ulong, pointer, ulong, pointer, pointer],
} as const;

type Pkcs11Function = keyof typeof signatures;
type Argument = bigint | number | Uint8Array | null;
export type Pkcs11Call = (name: Pkcs11Function, ...given: readonly Argument[]) => void;

/** Loads the module. Throws UnusableError. Each call throws ReturnedError unless it returns CKR_OK. */
export function loadModule(path: string): Pkcs11Call {
  const functions = new Map<string, WrappedFunction>();
  const library = load(path);
  for (const [name, given] of Object.entries(signatures)) {
    try {
      functions.set(name, library.getFunction(name, { arguments: given, return: ulong }));
    } catch {
      throw new UnusableError("function_missing", name);
    }
  }
  return (name, ...given) => {
    const typed = given.map((value, index) =>
      signatures[name][index] === ulong && typeof value === "number" ? BigInt(value) : value,
    );
    const rv = Number(functions.get(name)?.(...typed));
    if (rv !== 0) throw new ReturnedError(name, rv);
  };
}

function load(path: string) {
  try {
    return dlopen(path).lib;
  } catch {
    throw new UnusableError("module_not_loaded");
  }
}

/** Copies into memory that does not move, so that a structure can point to it. */
export function pinned(bytes: Uint8Array): Buffer {
  const copy = memory(bytes.length);
  copy.set(bytes);
  return copy;
}

function addressOf(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : getRawPointer(bytes);
}

export function ulongOf(value: number): Buffer {
  const bytes = memory(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** What a structure points to lives as long as the structure. */
const pointedTo = new WeakMap<Buffer, readonly Buffer[]>();

/** CK_MECHANISM or CK_ATTRIBUTE: a type, and a value by its address and length. */
export function structureOf(type: number, value: Buffer): Buffer {
  const bytes = memory(24);
  pointedTo.set(bytes, [value]);
  bytes.writeBigUInt64LE(BigInt(type), 0);
  bytes.writeBigUInt64LE(addressOf(value), 8);
  bytes.writeBigUInt64LE(BigInt(value.length), 16);
  return bytes;
}

/** A list of CK_ATTRIBUTE. */
export function templateOf(values: readonly (readonly [type: number, value: Buffer])[]): Buffer {
  const structures = values.map(([type, value]) => structureOf(type, value));
  const bytes = pinned(Buffer.concat(structures));
  pointedTo.set(bytes, structures);
  return bytes;
}

const gcmTagBits = 128;

/** CK_GCM_PARAMS of PKCS#11 2.40, with ulIvBits. */
export function gcmParameters(iv: Buffer, aad: Buffer): Buffer {
  const bytes = memory(48);
  pointedTo.set(bytes, [iv, aad]);
  const values = [addressOf(iv), iv.length, iv.length * 8, addressOf(aad), aad.length, gcmTagBits];
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), index * 8);
  return bytes;
}
