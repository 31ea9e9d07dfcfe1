import { memory } from "./pkcs11-frames.ts";

/**
 * Base64 from bytes to bytes. Keys in a service's messages are encoded with it: Buffer's own
 * conversions make a string of the key, which cannot be wiped.
 */

const alphabet = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const padding = 0x3d;
/** 255: not a character of base64. */
const values = Buffer.alloc(256, 255);
for (const [value, character] of alphabet.entries()) values[character] = value;

/** With padding (RFC 4648 section 4). The caller wipes it. */
export function encodeBase64(bytes: Uint8Array): Buffer {
  const text = memory(Math.ceil(bytes.length / 3) * 4);
  // What the last bytes do not overwrite.
  if (bytes.length % 3 !== 0) text.set([padding, padding], text.length - 2);
  let at = 0;
  for (let from = 0; from < bytes.length; from += 3) {
    const left = bytes.length - from;
    const group =
      ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0);
    for (let digit = 0; digit <= Math.min(left, 3); digit += 1)
      text[at + digit] = alphabet[(group >> (18 - 6 * digit)) & 63] ?? 0;
    at += 4;
  }
  return text;
}

/** undefined for anything but complete groups with padding. The caller wipes it. */
export function decodeBase64(text: Uint8Array): Buffer | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padded = text.at(-1) !== padding ? 0 : text.at(-2) !== padding ? 1 : 2;
  const digits = text.length - padded;
  const bytes = memory((text.length / 4) * 3 - padded);
  let group = 0;
  for (let at = 0; at < text.length; at += 1) {
    const value = at < digits ? (values[text[at] ?? 0] ?? 255) : 0;
    if (value === 255) {
      bytes.fill(0);
      return undefined;
    }
    group = (group << 6) | value;
    if (at % 4 !== 3) continue;
    const to = (at >> 2) * 3;
    // Writes after the end, where the padding is, have no effect.
    bytes[to] = group >> 16;
    bytes[to + 1] = group >> 8;
    bytes[to + 2] = group;
    group = 0;
  }
  return bytes;
}
