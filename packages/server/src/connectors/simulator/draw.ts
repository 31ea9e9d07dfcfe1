import { hash } from "node:crypto";

/**
 * Returns 48 bits derived from the seed and the parts, always the same for the same input. This is
 * the only randomness in the simulator, so that a run can be repeated. A keyed SHA-256 without the
 * outer hash of HMAC: a digest cut to 48 of 256 bits cannot be extended, and `createHmac` alone
 * would cost 4 us of the 5 us that a simulated authorization may take (`hash` takes 1 us).
 */
export function draw(seed: string, parts: string): number {
  return Number.parseInt(hash("sha256", `${seed.length}:${seed}${parts}`, "hex").slice(0, 12), 16);
}
