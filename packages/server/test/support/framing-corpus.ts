/**
 * Requests whose framing two servers could read differently, so that one of them takes the rest of
 * a first request for a second one. `{inner}` is a whole request that must never be run.
 */
export interface Framing {
  readonly name: string;
  readonly bytes: string;
}

const inner = "GET /ws/open?smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
const post = "POST /ws/open HTTP/1.1\r\nHost: x\r\n";
const chunkedInner = `0\r\n\r\n${inner}`;
const hex = (text: string): string => text.length.toString(16);
const oneChunk = (size: string, data: string, end = "\r\n"): string =>
  `${post}Transfer-Encoding: chunked\r\n\r\n${size}\r\n${data}${end}0\r\n\r\n`;

function withHeaders(name: string, headers: readonly string[], body: string): Framing {
  return { name, bytes: `${post}${headers.map((header) => `${header}\r\n`).join("")}\r\n${body}` };
}

/** Each must be answered with 400 or by closing the connection, without running anything. */
export const refusedFramings: readonly Framing[] = [
  withHeaders(
    "both lengths, length first",
    [`Content-Length: ${chunkedInner.length}`, "Transfer-Encoding: chunked"],
    chunkedInner,
  ),
  withHeaders(
    "both lengths, chunked first",
    ["Transfer-Encoding: chunked", `Content-Length: ${chunkedInner.length}`],
    chunkedInner,
  ),
  withHeaders(
    "both lengths, length of the chunk head",
    ["Content-Length: 4", "Transfer-Encoding: chunked"],
    `${hex(inner)}\r\n${inner}\r\n0\r\n\r\n`,
  ),
  withHeaders(
    "two lengths that differ",
    ["Content-Length: 0", `Content-Length: ${inner.length}`],
    inner,
  ),
  withHeaders("two lengths that agree", ["Content-Length: 1", "Content-Length: 1"], `x${inner}`),
  withHeaders("lengths in a list", ["Content-Length: 0, 5"], inner),
  withHeaders("length with a sign", ["Content-Length: +5"], `hello${inner}`),
  withHeaders("negative length", ["Content-Length: -1"], inner),
  withHeaders("length in hexadecimal", ["Content-Length: 0x5"], `hello${inner}`),
  withHeaders("length with a letter", ["Content-Length: 5a"], `hello${inner}`),
  withHeaders("length with a blank inside", ["Content-Length: 1 0"], inner),
  withHeaders("empty length", ["Content-Length: "], inner),
  withHeaders("length beyond 64 bits", ["Content-Length: 18446744073709551621"], `hello${inner}`),
  withHeaders("length with an underscore", ["Content-Length: 1_0"], inner),
  withHeaders("blank before the colon", ["Content-Length : 5"], `hello${inner}`),
  withHeaders("blank before the colon of chunked", ["Transfer-Encoding : chunked"], chunkedInner),
  withHeaders("tab in a name", ["Content\tLength: 5"], `hello${inner}`),
  withHeaders("NUL in a name", ["Content-Length\0: 5"], `hello${inner}`),
  withHeaders("NUL in a value", ["X: a\0b"], inner),
  withHeaders("line feed in a value", ["X: a\nContent-Length: 5"], `hello${inner}`),
  withHeaders("bare carriage return in a value", ["X: a\rContent-Length: 5"], `hello${inner}`),
  withHeaders(
    "bare carriage return before chunked",
    ["X: a\rTransfer-Encoding: chunked"],
    chunkedInner,
  ),
  withHeaders("folded length", ["Content-Length:\r\n 5"], `hello${inner}`),
  withHeaders("folded chunked", ["Transfer-Encoding:\r\n chunked"], chunkedInner),
  withHeaders("folded header", ["X: a", " b"], inner),
  withHeaders("blank before the first header", [" X: a"], inner),
  withHeaders("header without a colon", ["Content-Length"], inner),
  withHeaders("empty header name", [": 5"], inner),
  withHeaders("chunked not last", ["Transfer-Encoding: chunked, identity"], chunkedInner),
  withHeaders("unknown encoding", ["Transfer-Encoding: xchunked"], chunkedInner),
  withHeaders("identity", ["Transfer-Encoding: identity"], inner),
  withHeaders("gzip alone", ["Transfer-Encoding: gzip"], inner),
  withHeaders("quoted chunked", ['Transfer-Encoding: "chunked"'], chunkedInner),
  withHeaders("chunked with a vertical tab", ["Transfer-Encoding: \vchunked"], chunkedInner),
  withHeaders(
    "two encodings of which one is none",
    ["Transfer-Encoding: chunked", "Transfer-Encoding: x"],
    chunkedInner,
  ),
  { name: "chunk size with a sign", bytes: oneChunk("+5", "hello") },
  { name: "negative chunk size", bytes: oneChunk("-5", "hello") },
  { name: "chunk size with 0x", bytes: oneChunk("0x5", "hello") },
  { name: "chunk size with a blank before it", bytes: oneChunk(" 5", "hello") },
  { name: "chunk size that is no number", bytes: oneChunk("g", "hello") },
  { name: "empty chunk size", bytes: oneChunk("", "hello") },
  { name: "chunk size beyond 64 bits", bytes: oneChunk("10000000000000005", "hello") },
  { name: "chunk longer than its size", bytes: oneChunk("4", "hello") },
  { name: "chunk without a line end", bytes: oneChunk("5", "hello", "") },
  { name: "chunk that ends with a line feed", bytes: oneChunk("5", "hello", "\n") },
  { name: "chunk that ends with other bytes", bytes: oneChunk("5", "hello", "xx") },
  {
    name: "chunk size that ends with a line feed",
    bytes: `${post}Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n`,
  },
  { name: "chunk extension with a line feed", bytes: oneChunk("5;a=b\n", "hello") },
  { name: "chunk extension with a bare carriage return", bytes: oneChunk("5;a\rb", "hello") },
  { name: "endless chunk extension", bytes: oneChunk(`5;${"a".repeat(40_000)}`, "hello") },
  { name: "line feeds only", bytes: `${post.replaceAll("\r\n", "\n")}\n${inner}` },
  { name: "blank line with a bare carriage return", bytes: `${post}\r${inner}` },
  { name: "tab in the request line", bytes: `POST\t/ws/open\tHTTP/1.1\r\nHost: x\r\n\r\n${inner}` },
  { name: "blank in the target", bytes: `POST /ws/open x HTTP/1.1\r\nHost: x\r\n\r\n${inner}` },
  { name: "no version", bytes: `GET /ws/open\r\n\r\n${inner}` },
  { name: "version 0.9", bytes: `GET /ws/open HTTP/0.9\r\n\r\n${inner}` },
  { name: "version 2.0", bytes: `GET /ws/open HTTP/2.0\r\nHost: x\r\n\r\n${inner}` },
  { name: "version 1.10", bytes: `GET /ws/open HTTP/1.10\r\nHost: x\r\n\r\n${inner}` },
  { name: "preface of HTTP/2", bytes: `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n` },
  { name: "unknown method", bytes: `SMUGGLE /ws/open HTTP/1.1\r\nHost: x\r\n\r\n${inner}` },
  { name: "method with small letters", bytes: `get /ws/open HTTP/1.1\r\nHost: x\r\n\r\n${inner}` },
  withHeaders("no length", ["Content-Type: application/json"], inner),
  withHeaders("no length and no type", [], inner),
  { name: "no Host", bytes: "GET /ws/open HTTP/1.1\r\n\r\n" },
  withHeaders("two Hosts", ["Host: y"], inner),
  {
    name: "head above its limit",
    bytes: `GET /ws/open?${"a".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n${inner}`,
  },
  { name: "TLS instead of HTTP", bytes: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" },
];

/** Sound framings, as a control: each is one request, and is run. */
export const soundFramings: readonly Framing[] = [
  {
    name: "two blanks in the request line",
    bytes: "POST  /ws/open HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
  },
  { name: "length", bytes: `${post}Content-Length: 5\r\n\r\na=b&c` },
  { name: "chunks", bytes: oneChunk("5", "a=b&c") },
  {
    name: "chunks in capitals, with an extension and a trailer",
    bytes: `${post}transfer-encoding: CHUNKED\r\n\r\n005;x=y\r\na=b&c\r\n0\r\nT: u\r\n\r\n`,
  },
  {
    name: "what looks like a request inside of a body",
    bytes: `${post}Content-Length: ${inner.length + 2}\r\n\r\na=${inner}`,
  },
];
