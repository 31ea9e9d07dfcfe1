import { Agent, request as openRequest } from "node:http";

/** A client's answer; undefined: the connection ended before the answer was complete. */
export type Received = { readonly status: number; readonly body: string } | undefined;

export interface Call {
  readonly port: number;
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends a request once, over kept connections, without retries. Never rejects. */
export class WireClient {
  readonly #agent: Agent;

  constructor(maxSockets: number) {
    this.#agent = new Agent({ keepAlive: true, maxSockets });
  }

  send({ port, method = "POST", path, headers = {}, body = "" }: Call): Promise<Received> {
    return new Promise((resolve) => {
      const length = { "content-length": Buffer.byteLength(body) };
      const request = openRequest({
        host: "127.0.0.1",
        port,
        method,
        path,
        agent: this.#agent,
        headers: { ...headers, ...length },
      });
      request.on("error", () => resolve(undefined));
      request.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
        });
        response.on("error", () => resolve(undefined));
        response.on("close", () =>
          resolve(response.complete ? { status: response.statusCode ?? 0, body: text } : undefined),
        );
      });
      request.end(body);
    });
  }

  /** Like `send` for a JSON request; undefined also when the answer is not a JSON object. */
  async ask(
    port: number,
    path: string,
    body: unknown,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const received = await this.send({
      port,
      path,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer: unknown =
      received === undefined || !received.body.startsWith("{")
        ? undefined
        : JSON.parse(received.body);
    return typeof answer === "object" && answer !== null
      ? (answer as Record<string, unknown>)
      : undefined;
  }

  close(): void {
    this.#agent.destroy();
  }
}
