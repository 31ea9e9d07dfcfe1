import { type HttpExchanges, openExchanges } from "../../http-client/exchange.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { Card } from "../../vault/card.ts";
import type { AuthorizeRequest, Connector, NotSent, Unknown, VerifyRequest } from "../connector.ts";
import { withIssuerRules } from "./issuer-rules.ts";
import type { AcquirerBooks, Personal } from "./messages-and-books.ts";
import { traitsOf } from "./magic-cards.ts";
import type { Instruction } from "./network.ts";
import {
  decode,
  encode,
  readAuthorizeOutcome,
  readBooks,
  readCapabilities,
  readFollowUpOutcome,
  readInquiryOutcome,
  readReverseOutcome,
  readVerifyOutcome,
} from "./wire.ts";

export interface RemoteSimulatorOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** URL of the acquirer process, such as `http://127.0.0.1:4321`. */
  readonly address: string;
}

/** A connector to an acquirer in a separate process (acquirer-server.ts). */
export interface RemoteSimulator extends Connector {
  /**
   * Queues an instruction for the merchant's next messages. Rejects when the acquirer refuses it.
   */
  instruct(merchantId: MerchantId, instruction: Instruction): Promise<void>;
  /** A copy of the acquirer's books. */
  books(): Promise<AcquirerBooks>;
  /** Closes idle connections. */
  close(): void;
}

type Timed = Personal & { readonly deadline: Instant };
type CompleteAnswer = { readonly kind: "complete"; readonly body: unknown };

/** An inquiry returns up to 400 refund references (follow-up-answers.ts) of 64 characters each. */
const maxOutcomeBytes = 65_536;
const maxBooksBytes = 256 * 1_024 * 1_024;
const housekeepingMs = 10_000;
const maxSockets = 256;

const timedOut: Unknown = { kind: "unknown", cause: "timeout" };
const disconnected: Unknown = { kind: "unknown", cause: "connection" };
const garbled: Unknown = { kind: "unknown", cause: "garbled" };
const notSent: NotSent = { kind: "not_sent" };

/**
 * Connects to an acquirer process and requests its capabilities. Rejects when there is no answer.
 */
export async function connectSimulator(options: RemoteSimulatorOptions): Promise<RemoteSimulator> {
  const link = new Link(options);
  let capabilities;
  try {
    capabilities = readCapabilities(await link.housekeeping("GET", "/capabilities"));
  } catch (failure) {
    link.close();
    throw failure;
  }

  return {
    name: "remote_simulator",
    capabilities,
    authorize: (request, { card }) =>
      link.send(
        "/authorize",
        request,
        () => bodyWithCard(withIssuerRules(request), card),
        readAuthorizeOutcome,
      ),
    verify: (request, { card }) =>
      link.send("/verify", request, () => bodyWithCard(request, card), readVerifyOutcome),
    capture: (request) => link.follow("/capture", request, readFollowUpOutcome),
    void: (request) => link.follow("/void", request, readFollowUpOutcome),
    refund: (request) => link.follow("/refund", request, readFollowUpOutcome),
    reverse: (request) => link.follow("/reverse", request, readReverseOutcome),
    inquire: (request) => link.follow("/inquire", request, readInquiryOutcome),
    // The acquirer uses the same tables.
    cardTraits: traitsOf,
    instruct: async (merchantId, instruction) => {
      const body = Buffer.from(encode({ merchantId, ...instruction }));
      await link.housekeeping("POST", "/instruct", body);
    },
    books: async () => readBooks(await link.housekeeping("GET", "/books")),
    close: () => link.close(),
  };
}

/** The connections to an acquirer process. */
class Link {
  readonly #clock: Clock;
  readonly #address: string;
  readonly #exchanges: HttpExchanges;

  constructor({ clock, scheduler, address }: RemoteSimulatorOptions) {
    this.#clock = clock;
    this.#address = address;
    this.#exchanges = openExchanges({
      scheduler,
      protocol: "http:",
      keepsConnections: true,
      maxSockets,
    });
  }

  close(): void {
    this.#exchanges.close();
  }

  async housekeeping(method: "GET" | "POST", path: string, body?: Buffer): Promise<unknown> {
    const answer = await this.#exchange({
      method,
      path,
      body,
      leftMs: housekeepingMs,
      largestAnswer: maxBooksBytes,
    });
    if (answer.kind === "not_sent")
      throw new Error(`the acquirer process could not be reached for ${path}`);
    if (answer.kind === "unknown")
      throw new Error(`the acquirer process did not answer ${path}: ${answer.cause}`);
    return answer.body;
  }

  async send<Outcome>(
    path: string,
    request: Timed,
    body: () => Buffer,
    read: (body: unknown) => Outcome,
  ): Promise<Outcome | NotSent | Unknown> {
    const leftMs = request.deadline - this.#clock.now();
    if (leftMs <= 0) return timedOut;
    const answer = await this.#exchange({
      method: "POST",
      path,
      body: body(),
      leftMs,
      largestAnswer: maxOutcomeBytes,
    });
    if (answer.kind !== "complete") return answer;
    try {
      return read(answer.body);
    } catch {
      return garbled;
    }
  }

  /**
   * A follow-up that was not sent stays open: recovery inquires, and sends it again where that is
   * safe.
   */
  async follow<Outcome>(
    path: string,
    request: Timed,
    read: (body: unknown) => Outcome,
  ): Promise<Outcome | Unknown> {
    const body = (): Buffer => Buffer.from(encode(messageOf(request)));
    const answer = await this.send(path, request, body, read);
    return isNotSent(answer) ? disconnected : answer;
  }

  /** Sends one request once. Never rejects. */
  async #exchange({
    path,
    body,
    ...request
  }: Exchange): Promise<CompleteAnswer | NotSent | Unknown> {
    const headers =
      body === undefined
        ? {}
        : {
            "content-type": "application/octet-stream",
            "content-length": String(body.length),
          };
    const url = new URL(path, this.#address);
    const outcome = await this.#exchanges.exchange({ ...request, url, headers, body });
    body?.fill(0);
    if (outcome.kind === "failed") {
      if (!outcome.isConnected) return notSent;
      if (outcome.cause === "timeout") return timedOut;
      return outcome.cause === "too_long" ? garbled : disconnected;
    }
    if (outcome.status !== 200) return garbled;
    try {
      return { kind: "complete", body: decode(outcome.body.toString("utf8")) };
    } catch {
      return garbled;
    }
  }
}

/** The body of a request with a card, as bytes that include the PAN. */
function bodyWithCard(
  request: (AuthorizeRequest | VerifyRequest) & Personal,
  { pan, expiryMonth, expiryYear }: Card,
): Buffer {
  const digits = pan.reveal();
  const json = encode({ ...messageOf(request), expiry: { expiryMonth, expiryYear } });
  const body = Buffer.alloc(1 + digits.length + Buffer.byteLength(json));
  body[0] = digits.length;
  body.set(digits, 1);
  body.write(json, 1 + digits.length);
  return body;
}

/** Of the account's settings, only those of the simulator are sent. */
function messageOf({ settings, ...message }: Personal): object {
  return { ...message, simulator: settings.simulator };
}

interface Exchange {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Owned and wiped by the exchange: it may hold a PAN. */
  readonly body: Buffer | undefined;
  readonly leftMs: number;
  readonly largestAnswer: number;
}

function isNotSent(answer: unknown): answer is NotSent {
  return answer === notSent;
}
