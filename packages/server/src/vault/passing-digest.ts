import { createHmac } from "node:crypto";
import type { Random } from "../kernel/random.ts";
import type { Pan } from "./pan.ts";

/**
 * Digests of card numbers under a random key that is never stored: equal numbers have equal digests
 * within this process, until it ends. For counters in memory.
 */
export function passingDigests(random: Random): (pan: Pan) => string {
  const key = random.bytes(32);
  return (pan) => createHmac("sha256", key).update(pan.reveal()).digest("base64url");
}
