import { hash } from "node:crypto";

/** SHA-256 of the UTF-8 text as 64 lower-case hex characters. For secrets with enough entropy of their own, never for a PAN. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}
