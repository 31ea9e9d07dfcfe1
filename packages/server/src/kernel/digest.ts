import { hash } from "node:crypto";

/** SHA-256 of bytes, or of a text's UTF-8 bytes, as 64 lower-case hex characters. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash("sha256", content, "hex");
}
