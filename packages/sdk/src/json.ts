/**
 * JSON as bytes. Values that are bytes (the digits of cards) become strings without ever being text
 * in this process. Undefined members are left out.
 */
export function encodeJson(value: unknown): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  write(value, parts);
  const body = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.length;
  }
  return body;
}

const encoder = new TextEncoder();
const quote = encoder.encode('"');

function write(value: unknown, parts: Uint8Array[]): void {
  const text = (piece: string): void => void parts.push(encoder.encode(piece));
  if (value instanceof Uint8Array) parts.push(quote, value, quote);
  else if (Array.isArray(value)) {
    text("[");
    for (const [index, member] of value.entries()) {
      if (index > 0) text(",");
      write(member ?? null, parts);
    }
    text("]");
  } else if (typeof value === "object" && value !== null) {
    text("{");
    let separator = "";
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      text(`${separator}${JSON.stringify(name)}:`);
      write(member, parts);
      separator = ",";
    }
    text("}");
  } else text(JSON.stringify(value) ?? "null");
}
