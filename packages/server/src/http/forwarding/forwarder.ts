import type { IncomingMessage, ServerResponse } from "node:http";
import { sha256Hex } from "../../kernel/digest.ts";
import type { KeyDigest, MerchantId } from "../../kernel/ids.ts";
import { second } from "../../kernel/instant.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { Log } from "../../logging/log-event.ts";
import { digestOfKey } from "../../operations/account-directory.ts";
import { read } from "../../operations/commit.ts";
import { answers, cutAnswer } from "../fixed-answers.ts";
import type { WireAnswer } from "../../wire/answers/answer.ts";
import type { WireHeaders } from "../../wire/endpoint.ts";
import { type NodeAnswer, type NodeExchanges, openNodeExchanges } from "./node-exchange.ts";

/** Names the node that a request is led to. One that carries it is never led on, so that none goes in circles, whatever addresses say. */
const forNodeHeader = "x-cofre-for-node";
/** Who is signed in where the request came from, where people sign in (people/node-pass.ts). */
const passHeader = "x-cofre-person";
/** With every answer to such a request: the node that gives it. Whatever else listens at an address knows no such name. */
export const nodeHeader = "x-cofre-node";

/** Where a world lives that a key opens. */
export interface Owner {
  readonly node: string;
  readonly url: string;
  readonly world: MerchantId;
}

export interface OtherNodes {
  placeOf(key: KeyDigest): Promise<Owner | undefined>;
  placeOfWorld(world: MerchantId): Promise<Owner | undefined>;
  nodes(): Promise<readonly { readonly node: string; readonly url: string }[]>;
}

export interface ForwarderOptions {
  /** What this node is called. */
  readonly node: string;
  /** Reject with StoreError. */
  readonly others: OtherNodes;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly limits: ForwardLimits;
}

export interface ForwardLimits {
  /** From the beginning to the end of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Forwarded requests under way; further ones are refused as overload. */
  readonly mostUnderWay: number;
}

/** A request as it came. */
export interface Letter {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly target: string;
  readonly headers: WireHeaders;
  /** Handed over: it is wiped. */
  readonly body: Buffer | undefined;
  /** Of a person's, who brings no key. */
  readonly pass?: string | undefined;
}

/** What became of a forwarded request. `isWritten`: the client has what there is of the answer; else it is to be written, or cut (`cutAnswer`). */
export interface Forwarded {
  readonly answer: WireAnswer;
  readonly isWritten: boolean;
}

/** The worlds that another node lists, as it shows them; undefined when it did not say. */
export interface NodeWorlds {
  readonly node: string;
  readonly worlds: readonly unknown[] | undefined;
}

/** `digest`: of no body. */
const listRequest = { method: "GET", target: "/__cofre/worlds", digest: sha256Hex("") } as const;
const listMs = 5 * second;
/** 10,000 worlds, each with texts as long as they may be. */
const longestList = 32 * 1024 * 1024;
const reportMs = second;
/** How often it is looked which nodes live, while requests are under way to any. */
const lookMs = 4 * second;

/** What is between two nodes alone, and what each side of a connection says for itself. */
const ownHeaders: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding", "date", nodeHeader]);

/**
 * Leads requests with keys of worlds on other nodes there, whole, and their answers back as they are. A request is sent once. When nothing has left
 * this process the client is told so, and may send it again; when something has and there is no answer, the client's connection is cut as the
 * node's was, or it is told that nothing is known: a forwarded charge is never said not to have happened.
 */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #exchanges: NodeExchanges;
  #underWay = 0;
  /** Who waits for each node, and ends with it: else one that hangs would hold all places for minutes. */
  readonly #waiting = new Map<string, Set<AbortController>>();
  #cancelLook: (() => void) | undefined;
  #failed = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#exchanges = openNodeExchanges(options.scheduler);
  }

  get node(): string {
    return this.#options.node;
  }

  /** The node on which a world lives that this key opens; undefined when there is none. Rejects with `store_unavailable`. */
  async ownerOf(key: string): Promise<Owner | undefined> {
    const owner = await read(this.#options.others.placeOf(digestOfKey(key)));
    // What is left over of a world that was here.
    return owner?.node === this.node ? undefined : owner;
  }

  /** The node on which the world with this id lives, as `ownerOf`. */
  async ownerOfWorld(id: MerchantId): Promise<Owner | undefined> {
    const owner = await read(this.#options.others.placeOfWorld(id));
    return owner?.node === this.node ? undefined : owner;
  }

  /** Never rejects. */
  async forward(owner: Owner, { method, target, headers, body, pass }: Letter, response: ServerResponse): Promise<Forwarded> {
    const { limits } = this.#options;
    if (this.#underWay >= limits.mostUnderWay) {
      body?.fill(0);
      return toWrite(answers.overloaded);
    }
    this.#underWay += 1;
    const waiting = this.#waitFor(owner.node);
    try {
      const { url } = owner;
      const gone = waiting.signal;
      const head = { ...meaningOf(headers, owner), ...passing(pass) };
      const sent = { url, method, target, headers: head, body, leftMs: limits.timeoutMs, gone };
      return await this.#answered(owner, await this.#exchanges.send(sent), response);
    } finally {
      this.#underWay -= 1;
      this.#leave(owner.node, waiting);
    }
  }

  /** What each of the other nodes lists for whoever has this pass, in the order of their names. Rejects with `store_unavailable`. */
  async worldsElsewhere(passTo?: (node: string, request: typeof listRequest) => Promise<string>): Promise<readonly NodeWorlds[]> {
    const others = (await read(this.#options.others.nodes())).filter(({ node }) => node !== this.node);
    return Promise.all(
      others.map(async ({ node, url }) => ({ node, worlds: await this.#worldsOf(node, url, await passTo?.(node, listRequest)) })),
    );
  }

  close(): void {
    this.#waiting.clear();
    this.#cancelLook?.();
    this.#exchanges.close();
  }

  #waitFor(node: string): AbortController {
    const waiting = new AbortController();
    const others = this.#waiting.get(node);
    if (others === undefined) this.#waiting.set(node, new Set([waiting]));
    else others.add(waiting);
    this.#cancelLook ??= this.#options.scheduler.after(lookMs, () => void this.#look());
    return waiting;
  }

  #leave(node: string, waiting: AbortController): void {
    const all = this.#waiting.get(node);
    all?.delete(waiting);
    if (all?.size === 0) this.#waiting.delete(node);
  }

  /** Nobody waits for a node whose lease has run out. Never rejects. */
  async #look(): Promise<void> {
    const before = new Map(Array.from(this.#waiting, ([node, all]) => [node, [...all]]));
    try {
      const living = before.size === 0 ? [] : await this.#options.others.nodes();
      for (const [node, all] of before) if (!living.some((each) => each.node === node)) for (const waiting of all) waiting.abort();
    } catch {
      // Who cannot be asked says of nobody that it is dead.
    }
    this.#cancelLook = this.#waiting.size === 0 ? undefined : this.#options.scheduler.after(lookMs, () => void this.#look());
  }

  async #answered(owner: Owner, heard: NodeAnswer, response: ServerResponse): Promise<Forwarded> {
    if (heard.kind !== "answering") {
      this.#report(owner.node, heard.kind);
      if (heard.kind === "cut") return toWrite(cutAnswer);
      return toWrite(heard.kind === "late" ? answers.node_silent : answers.node_unreachable);
    }
    try {
      const status = heard.response.statusCode ?? 0;
      const from = heard.response.headers[nodeHeader];
      if (from !== owner.node) {
        // Another Cofre has taken the address, and says that it did nothing; of anything else nothing is known.
        const isOther = from !== undefined && status === answers.other_node.status;
        this.#report(owner.node, isOther ? "other_node" : "unknown_server");
        return toWrite(isOther ? answers.node_unreachable : answers.node_silent);
      }
      const head = headOf(heard.response);
      response.writeHead(status, head);
      for await (const chunk of heard.response as AsyncIterable<Buffer>) await written(response, chunk, heard.response);
      if (!heard.response.complete) throw new Error("half an answer");
      response.end();
      return { answer: { status, body: "" }, isWritten: true };
    } catch {
      this.#report(owner.node, "cut");
      return toWrite(cutAnswer);
    } finally {
      heard.end();
    }
  }

  async #worldsOf(node: string, url: string, pass: string | undefined): Promise<readonly unknown[] | undefined> {
    if (this.#underWay >= this.#options.limits.mostUnderWay) return undefined;
    this.#underWay += 1;
    const { method, target } = listRequest;
    const sent = { url, method, target, headers: { [forNodeHeader]: node, ...passing(pass) }, body: undefined, leftMs: listMs };
    const heard = await this.#exchanges.send(sent);
    try {
      if (heard.kind === "answering" && heard.response.headers[nodeHeader] === node) return worldsIn(await textOf(heard.response));
      this.#report(node, heard.kind === "answering" ? "unknown_server" : heard.kind);
      return undefined;
    } catch {
      this.#report(node, "cut");
      return undefined;
    } finally {
      if (heard.kind === "answering") heard.end();
      this.#underWay -= 1;
    }
  }

  #report(node: string, kind: string): void {
    const { clock, log } = this.#options;
    this.#failed += 1;
    const now = clock.now();
    // Below zero the clock was set back.
    const sinceMs = now - this.#reportedAt;
    if (0 <= sinceMs && sinceMs < reportMs) return;
    log.write({ event: "forward_failed", node, kind, failed: this.#failed });
    this.#failed = 0;
    this.#reportedAt = now;
  }
}

function toWrite(answer: WireAnswer): Forwarded {
  return { answer, isWritten: false };
}

/** The few headers that have a meaning (interface 1.4, idempotency.ts), and whom the request is for. */
function meaningOf(
  { simulateInternalError, processingType, idempotencyKey, charset = "utf-8" }: WireHeaders,
  { node }: Owner,
): Record<string, string> {
  return {
    [forNodeHeader]: node,
    ...(simulateInternalError === undefined ? {} : { "x-ebanx-simulate-internal-error": simulateInternalError }),
    ...(processingType === undefined ? {} : { "x-ebanx-api-processing-type": processingType }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(charset === "utf-8" ? {} : { "content-type": `text/plain; charset=${charset}` }),
  };
}

function passing(pass: string | undefined): Record<string, string> {
  return pass === undefined ? {} : { [passHeader]: pass };
}

/** Names and values in turns, as they came. */
function headOf({ rawHeaders }: IncomingMessage): string[] {
  const head: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = [rawHeaders[index], rawHeaders[index + 1]];
    if (!ownHeaders.has(name.toLowerCase())) head.push(name, value);
  }
  return head;
}

/** Resolves when the client has room for more, or is gone: what it asked for goes on without it. Or when there will be no more. */
async function written(response: ServerResponse, chunk: Buffer, from: IncomingMessage): Promise<void> {
  if (response.destroyed || response.write(chunk)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("drain", resolve);
  response.once("close", resolve);
  from.once("close", resolve);
  await promise;
  response.off("drain", resolve);
  response.off("close", resolve);
  from.off("close", resolve);
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > longestList) throw new Error("a list is not so long");
    chunks.push(chunk);
  }
  if (!response.complete) throw new Error("half an answer");
  return Buffer.concat(chunks).toString();
}

function worldsIn(text: string): readonly unknown[] {
  const answer: unknown = JSON.parse(text);
  const worlds: unknown = typeof answer === "object" && answer !== null && "worlds" in answer ? answer.worlds : undefined;
  if (!Array.isArray(worlds)) throw new Error("no list");
  return worlds;
}
