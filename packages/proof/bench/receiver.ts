import { once } from "node:events";
import { createServer, type Server } from "node:http";

/** Answers every message with the same status and counts the messages. */
export class Receiver {
  received = 0;
  messages = 0;
  readonly #server: Server;

  private constructor(status: number, receivedOf: (hash: string) => void) {
    this.#server = createServer((request, response) => {
      let body = "";
      request.setEncoding("latin1").on("data", (text: string) => (body += text));
      request.on("end", () => {
        this.messages += 1;
        const hashes = body.split("hash_codes=")[1]?.split(",") ?? [];
        this.received += hashes.length;
        for (const hash of hashes) receivedOf(hash);
        response.writeHead(status).end();
      });
    });
  }

  /** `receivedOf` is called with each payment when its message has arrived. */
  static async open(
    status = 200,
    receivedOf: (hash: string) => void = () => undefined,
  ): Promise<Receiver> {
    const receiver = new Receiver(status, receivedOf);
    await once(receiver.#server.listen(0, "127.0.0.1"), "listening");
    return receiver;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
    return `http://127.0.0.1:${String(address.port)}/`;
  }

  async reaches(count: number): Promise<void> {
    for (let looks = 0; looks < 6_000; looks += 1) {
      if (this.received >= count) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`${String(count - this.received)} notifications have not come within a minute`);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
