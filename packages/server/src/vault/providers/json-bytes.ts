const quote = 0x22;
const backslash = 0x5c;
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const [colon, comma] = [0x3a, 0x2c];

/**
 * The bytes between the quotes of a string in a JSON object, by the names that lead to it, such as
 * `["data", "plaintext"]`; undefined when there is none. A view of `json`: JSON.parse would make a
 * string of a key, which cannot be wiped. For answers of services: escapes in it are not resolved,
 * and a name with escapes is not found.
 */
export function stringAt(json: Uint8Array, path: readonly string[]): Uint8Array | undefined {
  const names = path.map((name) => Buffer.from(name));
  /** Depth of objects and lists, and how much of the path leads to here. */
  let [depth, found] = [0, 0];
  let isWanted = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (isWanted && byte === openBrace) found += 1;
      isWanted = false;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      found = Math.min(found, Math.max(0, depth - 1));
    }
    if (byte === comma) isWanted = false;
    if (byte !== quote) continue;
    const end = endOfString(json, at + 1);
    if (end === undefined) return undefined;
    const text = json.subarray(at + 1, end);
    at = end;
    if (isWanted && found === names.length - 1) return text;
    isWanted =
      depth === found + 1 &&
      nextByte(json, end + 1) === colon &&
      names[found]?.equals(text) === true;
  }
  return undefined;
}

function endOfString(json: Uint8Array, from: number): number | undefined {
  for (let at = from; at < json.length; at += 1) {
    if (json[at] === backslash) at += 1;
    else if (json[at] === quote) return at;
  }
  return undefined;
}

/** The next byte that is not a space, tab or line break. */
function nextByte(json: Uint8Array, from: number): number | undefined {
  return json.subarray(from).find((byte) => byte > 0x20);
}
