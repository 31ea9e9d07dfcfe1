import { reading } from "../../src/wire/permission.ts";
import { connect } from "node:net";
import type { TestContext } from "node:test";
import {
  createHttpServer,
  defaultHttpLimits,
  type HttpLimits,
  type HttpServer,
} from "../../src/http/server.ts";
import type { WireResponse } from "../../src/wire/answers/answer.ts";
import type { Endpoint, OpenRequest } from "../../src/wire/endpoint.ts";
import { Lifted, type Tree } from "../../src/wire/decode/tree.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { instant } from "../../src/kernel/instant.ts";
import type { Account } from "../../src/merchant/account.ts";
import { defaultAccountSettings } from "../../src/merchant/settings.ts";
import type { LogEvent } from "../../src/logging/log-event.ts";

export const secretKey = "test_ik_secret";
export const publicKey = "test_pk_public";
export const strictKey = "test_ik_strict";

export interface TrivialServer {
  readonly server: HttpServer;
  readonly port: number;
  /** What reached an endpoint: its path and what it was given. */
  readonly calls: { readonly path: string; readonly request: OpenRequest }[];
  readonly events: LogEvent[];
  /** /ws/slow answers when this is called. */
  readonly openGate: () => void;
  readonly setReady: (isReady: boolean) => void;
  readonly setClockOff: () => void;
  /** Jobs that can't read. */
  readonly failingJobs: string[];
  readonly moveClock: (ms: number) => void;
}

/**
 * The real server on a loopback port, with endpoints that say what they were asked and do nothing.
 */
export async function startTrivialServer(
  test: TestContext | undefined,
  {
    areWorlds = [],
    ...limits
  }: Partial<HttpLimits> & { readonly areWorlds?: readonly string[] } = {},
): Promise<TrivialServer> {
  const calls: TrivialServer["calls"] = [];
  const events: LogEvent[] = [];
  let openGate = (): void => undefined;
  const gate = new Promise<void>((resolve) => (openGate = resolve));
  let isReady = true;
  let isClockOff = false;
  const failingJobs: string[] = [];
  let now = 0;

  const answering =
    (path: string, answer: (request: OpenRequest) => Promise<WireResponse>) =>
    async (request: OpenRequest): Promise<WireResponse> => {
      calls.push({ path, request });
      return answer(request);
    };
  const names = async ({ params }: OpenRequest): Promise<WireResponse> => ({
    status: 200,
    body: JSON.stringify({ fields: shapeOf(params), status: "SUCCESS" }),
  });
  const row = { doc: "page", permission: reading, recorded: false } as const;
  const secretJson = { ...row, key: "secret", family: "json", cors: false } as const;
  const endpoints: readonly Endpoint[] = [
    { ...secretJson, movesMoney: true, path: "/ws/direct", handle: answering("/ws/direct", names) },
    {
      ...row,
      key: "public",
      family: "json",
      cors: true,
      path: "/ws/token",
      handle: answering("/ws/token", names),
    },
    {
      ...row,
      key: "secret",
      family: "parameters",
      cors: false,
      path: "/ws/capture",
      handle: answering("/ws/capture", names),
    },
    {
      doc: "page",
      key: "none",
      family: "parameters",
      cors: false,
      path: "/ws/open",
      handle: answering("/ws/open", names),
    },
    {
      ...secretJson,
      path: "/ws/slow",
      handle: answering("/ws/slow", async (request) => (await gate, names(request))),
    },
    {
      ...secretJson,
      key: "none",
      isPage: true,
      path: "/page",
      handle: async () => ({ status: 200, type: "text/html", body: "<p>page</p>" }),
    },
    {
      ...secretJson,
      key: "none",
      path: "/ws/large",
      handle: async () => ({ status: 200, body: JSON.stringify("x".repeat(2 ** 20)) }),
    },
    {
      ...secretJson,
      path: "/ws/broken",
      handle: answering("/ws/broken", async () =>
        Promise.reject(new RangeError("a text with 4111111111111111")),
      ),
    },
  ];
  const server = createHttpServer({
    endpoints,
    resolveKey: async (key) => {
      if (key === "key of a broken store") throw new Error("no store");
      if (key === secretKey) return { account, grants: "secret" };
      if (key === publicKey) return { account, grants: "public" };
      return key === strictKey
        ? {
            account: {
              ...account,
              id: strictId,
              settings: { ...account.settings, strictForms: true },
            },
            grants: "secret",
          }
        : undefined;
    },
    isWorld: (id) => areWorlds.includes(id === strictId ? strictKey : secretKey),
    clock: { now: () => instant(now) },
    log: { write: (event) => events.push(event) },
    health: {
      state: () => (isClockOff ? "clock_off" : isReady ? "ready" : "not_writing"),
      failingJobs: () => failingJobs,
    },
    limits: { ...defaultHttpLimits, ...limits },
  });
  const { port } = await server.listen(0, "127.0.0.1");
  test?.after(async () => {
    openGate();
    server.closeAllConnections();
    await server.close();
  });
  return {
    server,
    port,
    calls,
    events,
    openGate,
    setReady: (ready) => (isReady = ready),
    setClockOff: () => (isClockOff = true),
    failingJobs,
    moveClock: (ms) => (now += ms),
  };
}

const strictId = "0a0b0c0e" as MerchantId;
const account: Account = {
  id: "0a0b0c0d" as MerchantId,
  version: 1,
  name: "Trivial",
  settings: defaultAccountSettings(),
};

/**
 * What is where, without any value: an endpoint that echoes nothing of a request, as real ones echo
 * no card.
 */
function shapeOf(tree: Tree): unknown {
  if (tree instanceof Lifted) return "lifted";
  if (typeof tree === "string") return "text";
  if (Array.isArray(tree)) return (tree as readonly Tree[]).map(shapeOf);
  return Object.keys(tree).length;
}

/**
 * Sends bytes as they are, then the end, and resolves with everything that came back when the
 * server has closed the connection.
 */
export async function sendRaw(port: number, text: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => socket.end(text));
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    // A reset is one way of being refused.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      resolve(Buffer.concat(chunks).toString("latin1"));
    });
  });
}
