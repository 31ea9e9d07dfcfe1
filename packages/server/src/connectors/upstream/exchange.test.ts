import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { SeededRandom } from "../../kernel/seeded-random.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { openExchanges } from "./exchange.ts";

/** More than there are sockets: the last ones wait in the agent's queue. */
const atOnce = 300;

/**
 * A server that records which bodies reached it, in part or completely, and handles each connection
 * with `behave`.
 */
async function listening(behave: (socket: Socket, isRequested: boolean) => void) {
  const arrived = new Set<number>();
  const server = createServer((socket) => {
    let received = "";
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      received += piece.toString("latin1");
      const number = /"number":(\d+)\}/.exec(received)?.[1];
      if (number !== undefined) arrived.add(Number(number));
      behave(socket, number !== undefined);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  const exchanges = openExchanges({
    scheduler: systemScheduler,
    address: new URL(`http://127.0.0.1:${address.port}`),
    ca: undefined,
  });
  const send = async (number: number, leftMs: number) =>
    (
      await exchanges.exchange({
        path: "/ws/direct",
        body: Buffer.from(`{"number":${number}}`),
        leftMs,
      })
    ).kind;
  const close = async (): Promise<void> => {
    exchanges.close();
    // Resolves after every connection has ended, so that all data sent has been read.
    server.close();
    await once(server, "close");
  };
  return { arrived, send, close };
}

test("what is said not to have been sent never reached the other side, whenever time ran out", async () => {
  const random = new SeededRandom("exchange");
  const draw = (below: number): number => (random.bytes(1)[0] ?? 0) % below;
  const { arrived, send, close } = await listening((socket, isRequested) => {
    if (!isRequested) return;
    const fate = draw(4);
    if (fate === 0) socket.resetAndDestroy();
    else if (fate === 1) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
  });
  const kinds = new Map<number, string>();
  for (let round = 0; round < 8; round += 1) {
    const numbers = Array.from({ length: atOnce }, (_, index) => round * atOnce + index);
    await Promise.all(
      numbers.map(async (number) => kinds.set(number, await send(number, 1 + draw(120)))),
    );
  }
  await close();

  const lies = [...kinds].filter(([number, kind]) => kind === "not_sent" && arrived.has(number));
  assert.deepEqual(lies, []);
  assert.equal(kinds.size, 8 * atOnce);
});

test("what reached the other side without an answer is unknown; where no server listens nothing was sent", async () => {
  const { arrived, send, close } = await listening(() => undefined);
  const kinds = await Promise.all(
    Array.from({ length: atOnce }, (_, number) => send(number, 2_000)),
  );
  await close();

  assert(arrived.size > 0);
  assert.deepEqual(new Set([...arrived].map((number) => kinds[number])), new Set(["unknown"]));
  assert.equal(await send(atOnce, 2_000), "not_sent");
});
