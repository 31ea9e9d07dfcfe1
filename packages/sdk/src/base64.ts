export type Bytes = Uint8Array<ArrayBuffer>;

/** Undefined if the text is not base64. */
export function bytesOf(base64: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
