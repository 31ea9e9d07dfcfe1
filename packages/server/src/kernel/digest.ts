import { hash } from "node:crypto";

/** SHA-256 of a text's UTF-8 bytes. */
export function sha256(text: string): Uint8Array {
  return hash("sha256", text, "buffer");
}

/** SHA-256 of bytes, or of a text's UTF-8 bytes, as 64 lower-case hex characters. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash("sha256", content, "hex");
}
