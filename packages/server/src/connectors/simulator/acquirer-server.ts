import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { assert } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import { Pan } from "../../vault/pan.ts";
import type { Approval, Decline } from "../connector.ts";
import type { InquiryAnswer, OriginalMessage, VerifyAnswer } from "./messages-and-books.ts";
import { type Echo, echoOf, lastingEcho } from "./echo.ts";
import type { CardVerdict } from "./magic-cards.ts";
import { InstructionRefused } from "./network.ts";
import type { Received } from "./network.ts";
import type { Personal } from "./messages-and-books.ts";
import { buildAcquirer, defaultPersonality } from "./personality.ts";
import type { AcquirerSite, Personality } from "./personality.ts";
import {
  decode,
  encode,
  Malformed,
  readAuthorizeMessage,
  readFollowUpMessage,
  readInstruction,
  readOriginalMessage,
  readVerifyMessage,
} from "./wire.ts";
import type { CardMessage } from "./wire.ts";

interface Ports {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
}

export interface AcquirerServerOptions extends Ports, Partial<Personality> {
  /** 0: any free port. */
  readonly port: number;
}

export interface AcquirerServer {
  readonly port: number;
  /** Closes every connection. */
  close(): Promise<void>;
}

/** `echoes` has how to repeat the card of each reference, for an acquirer that echoes. */
type Site = AcquirerSite & { readonly echoes: Map<string, Echo> | undefined };

/** Undefined: no answer is sent. */
type Reply = { readonly body: unknown; readonly afterMs: number } | undefined;

/** Authorize requests have about 700 bytes. */
const largestBody = 8_192;
const maxConnections = 1_024;

/**
 * The simulated acquirer as a separate server, so that its books survive a killed Cofre process.
 * Loopback only, because it has no access control.
 *
 * `POST /authorize`, `/verify`, `/capture`, `/void`, `/refund`, `/reverse`, `/inquire`,
 * `/instruct`; `GET /capabilities`, `/books`. A message lost on the simulated network is a request
 * that stays unanswered until the client disconnects.
 */
export async function startAcquirerServer({
  clock,
  scheduler,
  port,
  ...options
}: AcquirerServerOptions): Promise<AcquirerServer> {
  const personality = { ...defaultPersonality, ...options };
  const echoes = personality.echoes ? new Map<string, Echo>() : undefined;
  const site = { ...buildAcquirer({ clock, scheduler }, personality), echoes };
  const server = createServer(
    (request, response) => void serve(site, { clock, scheduler }, request, response),
  );
  server.maxConnections = maxConnections;
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  assert(
    typeof address === "object" && address !== null,
    "a server that listens on TCP has a port",
  );
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  site: Site,
  { clock, scheduler }: Ports,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const reply = await answer(site, clock, request);
    if (reply === undefined) return;
    if (reply.afterMs > 0) await scheduler.sleep(reply.afterMs);
    send(response, 200, reply.body);
  } catch (failure) {
    const refused = failure instanceof Malformed || failure instanceof InstructionRefused;
    send(response, refused ? 400 : 500, {
      error: refused ? failure.message : "the acquirer failed",
    });
  }
}

async function answer(site: Site, clock: Clock, request: IncomingMessage): Promise<Reply> {
  const { method, url } = request;
  if (method === "GET" && url === "/books") return { body: site.acquirer.books(), afterMs: 0 };
  if (method === "GET" && url === "/capabilities") return { body: site.capabilities, afterMs: 0 };
  if (method !== "POST") throw new Malformed();
  const body = await read(request);
  try {
    return route(site, clock, url, body);
  } finally {
    body.fill(0);
  }
}

function route(site: Site, clock: Clock, url: string | undefined, body: Buffer): Reply {
  const { network } = site;
  if (url === "/authorize") {
    return withCardMessage(site, clock, body, readAuthorizeMessage, (message, verdict, echo) =>
      network.authorize(message, verdict, echo),
    );
  }
  if (url === "/verify") {
    return withCardMessage(site, clock, body, readVerifyMessage, (message, verdict, echo) =>
      network.verify(message, verdict, echo),
    );
  }
  const message = decode(body.toString("utf8"));
  switch (url) {
    case "/capture": {
      const capture = readFollowUpMessage(message);
      return delayedReply(capture, network.capture(capture));
    }
    case "/void": {
      const cancel = readFollowUpMessage(message);
      return delayedReply(cancel, network.void(cancel));
    }
    case "/refund": {
      const refund = readFollowUpMessage(message);
      return delayedReply(refund, network.refund(refund));
    }
    case "/reverse": {
      const reverse = readOriginalMessage(message);
      return delayedReply(reverse, network.reverse(reverse));
    }
    case "/inquire": {
      const inquiry = readOriginalMessage(message);
      return delayedReply(inquiry, echoedInquiry(site, inquiry, network.inquire(inquiry)));
    }
    case "/instruct": {
      const { merchantId, instruction } = readInstruction(message);
      network.instruct(merchantId, instruction);
      return { body: { queued: true }, afterMs: 0 };
    }
    default:
      throw new Malformed();
  }
}

/** Handles a message with a card; evaluates the card and wipes it. */
function withCardMessage<
  Message extends Pick<OriginalMessage, "merchantId" | "reference"> & Personal,
  Answer extends Approval | Decline | VerifyAnswer,
>(
  site: Site,
  clock: Clock,
  body: Buffer,
  readMessage: (value: unknown) => CardMessage<Message>,
  deliver: (message: Message, verdict: CardVerdict, echo: Echo) => Received<Answer>,
): Reply {
  const jsonFrom = 1 + (body[0] ?? 0);
  const pan = Pan.from(Uint8Array.from(body.subarray(1, jsonFrom)));
  if (pan === undefined) throw new Malformed();
  try {
    const { message, expiry } = readMessage(decode(body.toString("utf8", jsonFrom)));
    const verdict = site.judgeCard({ pan, ...expiry, holderName: "" }, clock.now());
    const answer = deliver(message, verdict, echoOf({ pan }, undefined, message));
    if (site.echoes === undefined) return delayedReply(message, answer);
    const echo = lastingEcho({ pan }, undefined, message);
    site.echoes.set(`${message.merchantId} ${message.reference}`, echo);
    return delayedReply(message, answer === undefined ? undefined : echo(answer));
  } finally {
    pan.wipe();
  }
}

function echoedInquiry(
  { echoes }: Site,
  { merchantId, original }: OriginalMessage,
  received: Received<InquiryAnswer>,
): Received<InquiryAnswer> {
  const echo = echoes?.get(`${merchantId} ${original.reference}`);
  return received?.kind !== "found" || echo === undefined
    ? received
    : { ...received, authorization: echo(received.authorization) };
}

/** The account's latency is spent on the answer (see network.ts). */
function delayedReply<Answer>({ settings }: Personal, received: Received<Answer>): Reply {
  return received === undefined
    ? undefined
    : { body: received, afterMs: settings.simulator.latencyMs };
}

/** Reads the whole body into one buffer that the caller wipes; the chunks are wiped here. */
async function read(request: IncomingMessage): Promise<Buffer> {
  const length = Number(request.headers["content-length"]);
  if (!Number.isSafeInteger(length) || length < 1 || length > largestBody) throw new Malformed();
  const body = Buffer.alloc(length);
  let filled = 0;
  for await (const piece of request) {
    if (!Buffer.isBuffer(piece)) throw new Malformed();
    piece.copy(body, filled);
    filled += piece.length;
    piece.fill(0);
  }
  if (filled !== length) throw new Malformed();
  return body;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  const bytes = Buffer.from(encode(body));
  response
    .writeHead(status, { "content-type": "application/json", "content-length": bytes.length })
    .end(bytes);
}
