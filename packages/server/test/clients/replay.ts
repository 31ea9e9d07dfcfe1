import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** One raw request of a public client library, as it was recorded on loopback. */
export interface Capture {
  readonly name: string;
  readonly seq: number;
  readonly method: string;
  readonly target: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly refs: readonly {
    readonly value: string;
    readonly fromCapture: string;
    readonly jsonPath: string;
  }[];
}

export interface ReplayedAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

const folder = join(dirname(fileURLToPath(import.meta.url)), "captures");

/** All of them, in the order in which they were recorded. */
export function readCaptures(): readonly Capture[] {
  return readdirSync(folder)
    .map((file): Capture => {
      const recorded = JSON.parse(readFileSync(join(folder, file), "utf8")) as Omit<
        Capture,
        "name" | "body"
      > & {
        readonly bodyBase64: string;
      };
      return {
        ...recorded,
        name: file.replace(/\.json$/, ""),
        body: Buffer.from(recorded.bodyBase64, "base64"),
      };
    })
    .toSorted((left, right) => left.seq - right.seq);
}

/** Live values in place of recorded ones, in the target and in the body; lengths may differ. */
export function withLiveValues(capture: Capture, live: ReadonlyMap<string, string>): Capture {
  let { target } = capture;
  let body = capture.body.toString("latin1");
  for (const [recorded, now] of live) {
    target = target.replaceAll(recorded, now);
    body = body.replaceAll(recorded, now);
  }
  return { ...capture, target, body: Buffer.from(body, "latin1") };
}

/** Sends the bytes as the client did, with the length of the body that is really sent. */
export function send(capture: Capture, port: number): Promise<ReplayedAnswer> {
  const chunked = capture.headers.some(
    ([name, value]) => name.toLowerCase() === "transfer-encoding" && /chunked/i.test(value),
  );
  const head = capture.headers
    .filter(([name]) => !["connection", "host"].includes(name.toLowerCase()))
    .map(
      ([name, value]) =>
        `${name}: ${name.toLowerCase() === "content-length" ? capture.body.length : value}\r\n`,
    )
    .join("");
  const body = chunked
    ? Buffer.concat([
        Buffer.from(`${capture.body.length.toString(16)}\r\n`),
        capture.body,
        Buffer.from("\r\n0\r\n\r\n"),
      ])
    : capture.body;
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => {
      resolve(answerOf(Buffer.concat(chunks)));
    });
    const first = `${capture.method} ${capture.target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n`;
    socket.write(Buffer.concat([Buffer.from(first + head + "\r\n", "latin1"), body]));
  });
}

function answerOf(raw: Buffer): ReplayedAnswer {
  const end = raw.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = raw.toString("latin1", 0, end).split("\r\n");
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  return { status: Number(statusLine.split(" ")[1]), headers, text: raw.toString("utf8", end + 4) };
}
