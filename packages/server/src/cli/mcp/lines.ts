/**
 * The lines of a stream in UTF-8, without their ends and without empty ones. A longer line is
 * skipped, and given as undefined.
 */
export async function* linesOf(
  input: AsyncIterable<Uint8Array>,
  longest: number,
): AsyncGenerator<string | undefined> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  const line = (): string | undefined => {
    const text = length > longest ? undefined : Buffer.concat(pieces).toString("utf8").trim();
    pieces = [];
    length = 0;
    return text;
  };
  const add = (piece: Uint8Array): void => {
    length += piece.length;
    if (length <= longest) pieces.push(piece);
    else pieces = [];
  };
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      add(chunk.subarray(from, end));
      from = end + 1;
      const text = line();
      if (text !== "") yield text;
    }
    add(chunk.subarray(from));
  }
  const last = line();
  if (last !== "") yield last;
}
