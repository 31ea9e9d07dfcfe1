import { createHash, timingSafeEqual } from "node:crypto";
import { memory, type openFields, wrapRandomLength } from "./pkcs11-frames.ts";
import {
  gcmParameters,
  pinned,
  type Pkcs11Call,
  ReturnedError,
  structureOf,
  templateOf,
  ulongOf,
  UnusableError,
} from "./pkcs11-module.ts";

/**
 * One key of one token, after one login. Runs in the helper process only. Each wrap and unwrap has
 * a session of its own, in which the key is searched for and checked again, so that a key that was
 * removed or replaced is noticed. Constants are those of PKCS#11 2.40 and 3.0 (OASIS, pkcs11t.h).
 */

/** The fields of the request `open` (pkcs11-frames.ts). */
export type Pkcs11Opening = Readonly<Record<(typeof openFields)[number], Buffer>>;

/** First byte of a wrapped key. Stored: numbers are never used again. */
export const mechanisms = { gcm: 1, kwp: 2 } as const;

const CKM_AES_GCM = 0x1087;
const CKM_AES_KEY_WRAP_KWP = 0x210b;
const CKF_SERIAL_SESSION = 0x4;
const CKU_USER = 1;
const CKA_CLASS = 0x0;
const CKA_TOKEN = 0x1;
const CKA_LABEL = 0x3;
const CKA_ID = 0x102;
const CKO_SECRET_KEY = 4;
const CKK_AES = 0x1f;
const CKR_ARGUMENTS_BAD = 0x7;
const CKR_CANT_LOCK = 0xa;
/** CKR_ATTRIBUTE_SENSITIVE, CKR_ATTRIBUTE_TYPE_INVALID: the token does not report it. */
const unreported = [0x11, 0x12];
/**
 * The mechanism or its parameters do not exist here: CKR_ARGUMENTS_BAD, CKR_FUNCTION_NOT_SUPPORTED,
 * CKR_KEY_TYPE_INCONSISTENT, CKR_MECHANISM_INVALID, CKR_MECHANISM_PARAM_INVALID.
 */
const unknownMechanism = [CKR_ARGUMENTS_BAD, 0x54, 0x63, 0x70, 0x71];

/** CK_TOKEN_INFO: texts are padded with spaces. */
const tokenTexts = [
  { name: "token", from: 0, to: 32 },
  { name: "manufacturer", from: 32, to: 64 },
  { name: "model", from: 64, to: 80 },
  { name: "serial", from: 80, to: 96 },
] as const;
const tokenInfoLength = 208;
const flagsAt = 96;
/** Flags of CK_TOKEN_INFO with which no login is tried, the gravest first. */
const refusedFlags = [
  [0x40000, "pin_locked"],
  [0x20000, "pin_final_try"],
  [0x10000, "pin_count_low"],
  [0x80000, "pin_to_be_changed"],
] as const;
const CKF_USER_PIN_INITIALIZED = 0x8;

/**
 * What a root key must and must not be able to do. WRAP or UNWRAP beside DECRYPT lets a user with
 * the PIN read other keys of the token; the value of an EXTRACTABLE key may leave the token; a
 * MODIFIABLE key, or a copy of it, may get other attributes. `known`: checked only where the token
 * has the attribute.
 */
const attributes: readonly {
  readonly name: string;
  readonly type: number;
  readonly must: number;
  readonly length?: number;
  readonly known?: true;
}[] = [
  { name: "CKA_KEY_TYPE", type: 0x100, must: CKK_AES, length: 8 },
  { name: "CKA_VALUE_LEN", type: 0x161, must: 32, length: 8 },
  { name: "CKA_ENCRYPT", type: 0x104, must: 1 },
  { name: "CKA_DECRYPT", type: 0x105, must: 1 },
  { name: "CKA_SENSITIVE", type: 0x103, must: 1 },
  { name: "CKA_EXTRACTABLE", type: 0x162, must: 0 },
  { name: "CKA_WRAP", type: 0x106, must: 0 },
  { name: "CKA_UNWRAP", type: 0x107, must: 0 },
  { name: "CKA_SIGN", type: 0x108, must: 0 },
  { name: "CKA_DERIVE", type: 0x10c, must: 0 },
  { name: "CKA_MODIFIABLE", type: 0x170, must: 0 },
  { name: "CKA_COPYABLE", type: 0x171, must: 0, known: true },
];

type Way = "gcm" | "gcm_device_iv" | "kwp";

export class Pkcs11Token {
  readonly #call: Pkcs11Call;
  readonly #slot: bigint;
  readonly #search: Omit<Pkcs11Opening, "pin">;
  readonly #way: Way;

  /**
   * Logs in and determines how the token wraps. Keeps one session open, because the login ends with
   * the last one. Throws UnusableError and ReturnedError.
   */
  constructor(call: Pkcs11Call, opening: Pkcs11Opening) {
    this.#call = call;
    const { pin, ...search } = opening;
    this.#search = search;
    initialize(call);
    this.#slot = this.#findSlot();
    this.#refuseFlags();
    this.#logIn(this.#openSession(), pin);
    this.#way = this.#probe();
  }

  /** Mechanism and its bytes. */
  wrap(label: Buffer, key: Buffer, nonce: Buffer): Buffer {
    return this.#wrapBy(this.#way, label, key, nonce);
  }

  /** The caller wipes the result. Throws UnusableError (`not_unwrapped`) for other bytes. */
  unwrap(label: Buffer, wrapped: Buffer): Buffer {
    try {
      return this.#unwrap(label, wrapped);
    } catch (error) {
      if (!(error instanceof ReturnedError) || error.function !== "C_Decrypt") throw error;
      // Tokens return many codes for a failed authentication, SoftHSM 2.6.1 CKR_GENERAL_ERROR.
      if (this.#roundTrips(this.#way)) throw new UnusableError("not_unwrapped");
      throw error;
    }
  }

  /** With a line break between them. */
  makerAndModel(): Buffer {
    const info = this.#tokenInfo(this.#slot);
    const [maker, model] = (["manufacturer", "model"] as const).map((name) => textIn(info, name));
    return Buffer.from(`${maker}\n${model}`);
  }

  finalize(): void {
    this.#call("C_Finalize", null);
  }

  #probe(): Way {
    // The caller's nonce first: a token without nonces of its own would use zeros.
    for (const way of ["gcm", "gcm_device_iv", "kwp"] as const) {
      try {
        if (this.#roundTrips(way)) return way;
      } catch (error) {
        if (!(error instanceof ReturnedError) || !unknownMechanism.includes(error.rv)) throw error;
      }
    }
    throw new UnusableError("no_mechanism");
  }

  #roundTrips(way: Way): boolean {
    const { random } = this.#search;
    const [nonce, key] = [random.subarray(0, wrapRandomLength), random.subarray(wrapRandomLength)];
    const label = Buffer.from("probe");
    const unwrapped = this.#unwrap(label, this.#wrapBy(way, label, key, nonce));
    const isSame = unwrapped.length === key.length && timingSafeEqual(unwrapped, key);
    unwrapped.fill(0);
    return isSame;
  }

  #wrapBy(way: Way, label: Buffer, key: Buffer, nonce: Buffer): Buffer {
    if (way === "kwp") {
      // The nonce makes two wraps of one key differ.
      const data = pinned(Buffer.concat([nonce, key, digestOf(label)]));
      const wrapped = this.#crypt("Encrypt", structureOf(CKM_AES_KEY_WRAP_KWP, memory(0)), data);
      data.fill(0);
      return Buffer.concat([Uint8Array.of(mechanisms.kwp), wrapped]);
    }
    const isOwn = way === "gcm_device_iv";
    const iv = isOwn ? memory(wrapRandomLength) : pinned(nonce);
    const aad = pinned(label);
    const parameters = gcmParameters(iv, aad);
    const data = pinned(key);
    const sealed = this.#crypt("Encrypt", structureOf(CKM_AES_GCM, parameters), data);
    data.fill(0);
    if (isOwn && iv.every((byte) => byte === 0)) throw new UnusableError("no_mechanism");
    // The token may have put its own nonce there in either way.
    return Buffer.concat([Uint8Array.of(mechanisms.gcm), iv, sealed]);
  }

  #unwrap(label: Buffer, wrapped: Buffer): Buffer {
    const [mechanism] = wrapped;
    const bytes = pinned(wrapped.subarray(1));
    if (mechanism === mechanisms.gcm && bytes.length > wrapRandomLength) {
      const [iv, aad] = [pinned(bytes.subarray(0, wrapRandomLength)), pinned(label)];
      const parameters = gcmParameters(iv, aad);
      const sealed = pinned(bytes.subarray(wrapRandomLength));
      return this.#crypt("Decrypt", structureOf(CKM_AES_GCM, parameters), sealed);
    }
    if (mechanism !== mechanisms.kwp) throw new UnusableError("not_unwrapped");
    const data = this.#crypt("Decrypt", structureOf(CKM_AES_KEY_WRAP_KWP, memory(0)), bytes);
    const digest = digestOf(label);
    const at = data.length - digest.length;
    const isBound = at > wrapRandomLength && timingSafeEqual(data.subarray(at), digest);
    const key = Buffer.from(data.subarray(wrapRandomLength, Math.max(at, wrapRandomLength)));
    data.fill(0);
    if (isBound) return key;
    key.fill(0);
    throw new UnusableError("not_unwrapped");
  }

  /** In a session of its own. */
  #crypt(direction: "Encrypt" | "Decrypt", mechanism: Buffer, data: Buffer): Buffer {
    const session = this.#openSession();
    const output = memory(data.length + 64);
    try {
      this.#call(`C_${direction}Init`, session, mechanism, this.#findKey(session));
      const length = ulongOf(output.length);
      this.#call(`C_${direction}`, session, data, data.length, output, length);
      return Buffer.from(output.subarray(0, Number(length.readBigUInt64LE())));
    } finally {
      output.fill(0);
      this.#call("C_CloseSession", session);
    }
  }

  #openSession(): bigint {
    const session = memory(8);
    this.#call("C_OpenSession", this.#slot, CKF_SERIAL_SESSION, null, null, session);
    return session.readBigUInt64LE();
  }

  #findSlot(): bigint {
    const count = memory(8);
    this.#call("C_GetSlotList", 1, null, count);
    const slots = memory(Number(count.readBigUInt64LE()) * 8);
    if (slots.length > 0) this.#call("C_GetSlotList", 1, slots, count);
    const found: bigint[] = [];
    for (let at = 0; at < slots.length; at += 8) {
      const slot = slots.readBigUInt64LE(at);
      if (this.#isSearched(slot)) found.push(slot);
    }
    const [slot] = found;
    if (slot === undefined) throw new UnusableError("token_missing");
    if (found.length > 1) throw new UnusableError("token_ambiguous", String(found.length));
    return slot;
  }

  #isSearched(slot: bigint): boolean {
    const info = this.#tokenInfo(slot);
    return tokenTexts.every(({ name }) => {
      const expected = this.#search[name].toString();
      return expected === "" || textIn(info, name) === expected;
    });
  }

  #tokenInfo(slot: bigint): Buffer {
    const info = memory(tokenInfoLength);
    this.#call("C_GetTokenInfo", slot, info);
    return info;
  }

  /**
   * HSMs lock a PIN after some wrong ones. After the first, only the process whose PIN it was tries
   * another one; the last try is left to the operator.
   */
  #refuseFlags(): void {
    const flags = Number(this.#tokenInfo(this.#slot).readBigUInt64LE(flagsAt));
    const isCorrected = this.#search.corrected.length > 0;
    for (const [flag, reason] of refusedFlags)
      if ((flags & flag) !== 0 && !(isCorrected && reason === "pin_count_low"))
        throw new UnusableError(reason);
    if ((flags & CKF_USER_PIN_INITIALIZED) === 0) throw new UnusableError("pin_not_set");
  }

  #logIn(session: bigint, pin: Buffer): void {
    const bytes = pinned(pin);
    try {
      this.#call("C_Login", session, CKU_USER, bytes, bytes.length);
    } finally {
      bytes.fill(0);
    }
  }

  #findKey(session: bigint): bigint {
    const values = [
      [CKA_CLASS, ulongOf(CKO_SECRET_KEY)],
      [CKA_TOKEN, pinned(Uint8Array.of(1))],
      [CKA_LABEL, pinned(this.#search.object)],
      [CKA_ID, pinned(this.#search.id)],
    ] as const;
    this.#call("C_FindObjectsInit", session, templateOf(values), values.length);
    const handles = memory(16);
    const count = memory(8);
    try {
      this.#call("C_FindObjects", session, handles, 2, count);
    } finally {
      this.#call("C_FindObjectsFinal", session);
    }
    const found = Number(count.readBigUInt64LE());
    if (found === 0) throw new UnusableError("key_missing");
    if (found > 1) throw new UnusableError("key_ambiguous");
    const key = handles.readBigUInt64LE();
    const unfit = attributes.filter((attribute) => !this.#fits(session, key, attribute));
    if (unfit.length === 0) return key;
    throw new UnusableError(
      "key_unfit",
      unfit.map(({ name, must }) => `${name} must be ${must}`).join(", "),
    );
  }

  #fits(session: bigint, key: bigint, attribute: (typeof attributes)[number]): boolean {
    const value = memory(attribute.length ?? 1);
    const template = structureOf(attribute.type, value);
    try {
      this.#call("C_GetAttributeValue", session, key, template, 1);
    } catch (error) {
      if (error instanceof ReturnedError && unreported.includes(error.rv))
        return attribute.known ?? false;
      throw error;
    }
    return value.readUIntLE(0, Math.min(value.length, 6)) === attribute.must;
  }
}

function textIn(info: Buffer, name: (typeof tokenTexts)[number]["name"]): string {
  const { from = 0, to = 0 } = tokenTexts.find((text) => text.name === name) ?? {};
  return info.toString("utf8", from, to).trimEnd();
}

function initialize(call: Pkcs11Call): void {
  // CK_C_INITIALIZE_ARGS with CKF_OS_LOCKING_OK: some modules have threads of their own.
  const given = memory(48);
  given[32] = 2;
  try {
    call("C_Initialize", given);
  } catch (error) {
    const isWithout =
      error instanceof ReturnedError && [CKR_ARGUMENTS_BAD, CKR_CANT_LOCK].includes(error.rv);
    if (!isWithout) throw error;
    call("C_Initialize", null);
  }
}

function digestOf(label: Buffer): Buffer {
  return createHash("sha256").update(label).digest();
}
