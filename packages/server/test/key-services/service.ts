import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface FakeService {
  readonly url: URL;
  /** Requests since the start, as `METHOD /path`. */
  readonly requests: readonly string[];
  /** What the service does with the next requests. */
  mode: "answers" | "silent" | "refuses";
  close(): void;
}

/**
 * A server on loopback that answers as `answer` says, whole and in JSON; or accepts requests and
 * stays silent; or closes every connection.
 */
export async function fakeService(
  answer: (request: IncomingMessage, body: Buffer) => Answer,
): Promise<FakeService> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    requests.push(`${request.method ?? ""} ${request.url ?? ""}`);
    const pieces: Buffer[] = [];
    request
      .on("data", (piece: Buffer) => pieces.push(piece))
      .on("end", () => {
        if (service.mode === "refuses") request.socket.destroy();
        if (service.mode !== "answers") return;
        const { status, body } = answer(request, Buffer.concat(pieces));
        response
          .writeHead(status, { "content-type": "application/json" })
          .end(typeof body === "string" ? body : JSON.stringify(body));
      });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  const service: FakeService = {
    url: new URL(`http://127.0.0.1:${address.port}`),
    requests,
    mode: "answers",
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return service;
}
