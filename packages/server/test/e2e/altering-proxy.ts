import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface AlteredAnswer {
  status: number;
  headers: [string, string][];
  body: Record<string, unknown>;
}

export interface AlteringProxy extends AsyncDisposable {
  readonly url: URL;
  /** Methods, targets and bodies as received. */
  readonly received: { readonly line: string; readonly body: string }[];
}

/** A server in front of another one that changes its answers: what a test plants. */
export async function startAlteringProxy(
  target: string,
  alter: (answer: AlteredAnswer, path: string) => unknown = () => undefined,
): Promise<AlteringProxy> {
  const received: { line: string; body: string }[] = [];
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const { method = "GET", url = "/" } = incoming;
      const body = await textOf(incoming);
      received.push({ line: `${method} ${url}`, body });
      const upstream = await fetch(target + url, {
        method,
        headers: Object.fromEntries(
          Object.entries(incoming.headers).flatMap(([name, value]) =>
            typeof value === "string" && !["host", "connection", "content-length"].includes(name)
              ? [[name, value]]
              : [],
          ),
        ),
        ...(method === "GET" ? {} : { body: Buffer.from(body, "latin1") }),
      });
      const answer: AlteredAnswer = {
        status: upstream.status,
        headers: [["Content-Type", upstream.headers.get("content-type") ?? ""]],
        body: (await upstream.json()) as Record<string, unknown>,
      };
      const cors = upstream.headers.get("access-control-allow-origin");
      if (cors !== null) answer.headers.push(["Access-Control-Allow-Origin", cors]);
      await alter(answer, url.split("?")[0] ?? "");
      outgoing.writeHead(answer.status, answer.headers.flat()).end(JSON.stringify(answer.body));
    })().catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces).toString("latin1");
}
