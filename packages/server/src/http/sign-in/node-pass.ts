import type { Clock } from "../../kernel/clock.ts";
import { sha256Hex } from "../../kernel/digest.ts";
import { hexOf } from "../../kernel/ids.ts";
import { minute } from "../../kernel/instant.ts";
import type { Random } from "../../kernel/random.ts";
import type { SignedIn } from "../../sign-in/users.ts";
import type { Sealing } from "../../vault/sealed-secret.ts";

/** What a pass is for, and nothing else. */
export interface PassedRequest {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly target: string;
  /** SHA-256 of the body as it was sent, in hex; of no body as of an empty one. */
  readonly digest: string;
}

/** Who is signed in on the node that leads a request on, and where they are. */
export interface Passenger {
  readonly signedIn: SignedIn;
  readonly origin: string;
  /** Whose account is meant; undefined: nobody's in particular. */
  readonly account: string | undefined;
}

export interface NodePassParts {
  /** Every node of an installation has the root key, and nobody else: what opens under it was sealed by one of them. */
  readonly sealing: Sealing;
  readonly environment: string;
  /** What this node is called, anew with each start. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** From the request's arrival at one node to when its body is there at the other; nodes' clocks differ by seconds at most (start-check.ts). */
const passMs = minute;
/** In that time; more than people can cause. */
const mostPasses = 100_000;
const nonceLength = 12;
const longestPass = 8_192;

/**
 * Says to another node who is signed in here. A pass is sealed under the root key for one node, and good once, within a minute, for one request with that very
 * body. Owns the passes that were used of late.
 */
export class NodePasses {
  readonly #parts: NodePassParts;
  /** Until when each must be remembered, from the oldest on. */
  readonly #used = new Map<string, number>();

  constructor(parts: NodePassParts) {
    this.#parts = parts;
  }

  /** For a header. Rejects when it cannot be sealed. */
  async write(node: string, { method, target, digest }: PassedRequest, { signedIn, origin, account }: Passenger): Promise<string> {
    const { sealing, clock, random } = this.#parts;
    const content = Buffer.from(
      JSON.stringify({
        at: clock.now(),
        nonce: hexOf(random.bytes(nonceLength)),
        request: { method, target, digest },
        // What proves a session stays where it came to.
        signedIn: { ...signedIn, csrf: sha256Hex(signedIn.csrf) },
        origin,
        account,
      }),
    );
    return Buffer.from(await sealing.seal(content, this.#labelOf(node))).toString("base64url");
  }

  /** undefined: no other node has written it for this request, or it was used, or is too old. */
  async read(text: string, { method, target, digest }: PassedRequest): Promise<Passenger | undefined> {
    if (text.length > longestPass || !/^[\w-]+$/.test(text)) return undefined;
    const content = await this.#opened(Buffer.from(text, "base64url"));
    if (content === undefined) return undefined;
    // Whoever has the root key has written it, in the form above.
    const { at, nonce, request, ...passenger } = JSON.parse(content.toString()) as Passenger & {
      readonly at: number;
      readonly nonce: string;
      readonly request: PassedRequest;
    };
    const isThis = request.method === method && request.target === target && request.digest === digest;
    const now = this.#parts.clock.now();
    if (!isThis || Math.abs(now - at) >= passMs || !this.#isNew(nonce, now)) return undefined;
    return { signedIn: passenger.signedIn, origin: passenger.origin, account: passenger.account };
  }

  #isNew(nonce: string, now: number): boolean {
    for (const [each, until] of this.#used) {
      if (until > now) break;
      this.#used.delete(each);
    }
    if (this.#used.has(nonce) || this.#used.size >= mostPasses) return false;
    // One that is ahead of this clock is good for longer.
    this.#used.set(nonce, now + 2 * passMs);
    return true;
  }

  async #opened(sealed: Uint8Array): Promise<Buffer | undefined> {
    try {
      return Buffer.from(await this.#parts.sealing.open(sealed, this.#labelOf(this.#parts.node)));
    } catch {
      // Whatever is wrong with it, it lets nobody in.
      return undefined;
    }
  }

  #labelOf(node: string): string {
    return `${this.#parts.environment}/person led to ${node}`;
  }
}
