import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";

/** Decompresses a body; undefined when it is not what its encoding says, or longer than `most` bytes. */
export function decompressed(body: Buffer, encoding: string, most: number): Buffer | undefined {
  const limits = { maxOutputLength: most };
  let decoded = body;
  try {
    // The encoding that was applied last comes last.
    for (const name of encoding.toLowerCase().split(",").toReversed()) {
      switch (name.trim()) {
        case "":
        case "identity":
          break;
        case "gzip":
        case "x-gzip":
          decoded = gunzipSync(decoded, limits);
          break;
        case "deflate":
          decoded = inflateSync(decoded, limits);
          break;
        case "br":
          decoded = brotliDecompressSync(decoded, limits);
          break;
        case "zstd":
          decoded = zstdDecompressSync(decoded, limits);
          break;
        default:
          return undefined;
      }
    }
  } catch {
    return undefined;
  }
  return decoded;
}
