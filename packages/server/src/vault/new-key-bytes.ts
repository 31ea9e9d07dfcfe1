import type { Random } from "../kernel/random.ts";
import { keyLength } from "./aes.ts";

/**
 * The random bytes of a new key, in memory of their own. The caller wipes them. V8 keeps typed
 * arrays of up to 64 bytes inside its heap, where a collection that moves one leaves a copy which
 * nothing wipes: a scan of a stopped server found keys that it had made.
 */
export function newKeyBytes(random: Random): Uint8Array {
  const bytes = new Uint8Array(new ArrayBuffer(keyLength));
  // Nothing is allocated, so nothing moves, until it is wiped.
  const drawn = random.bytes(keyLength);
  bytes.set(drawn);
  drawn.fill(0);
  return bytes;
}
