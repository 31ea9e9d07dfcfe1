import type { ElapsedMs } from "../../kernel/elapsed.ts";
import { RootKeyError } from "../key-provider.ts";
import { isObject, objectIn, type ServiceClient } from "./service-client.ts";

/**
 * Reads a file with credentials as it is now; the caller wipes the content. Rejects with
 * RootKeyError (`unauthorized`) when it cannot be read.
 */
export type ReadCredentials = () => Promise<Uint8Array>;

export interface TransitTokenOptions {
  readonly client: ServiceClient;
  readonly read: ReadCredentials;
  readonly elapsedMs: ElapsedMs;
}

/**
 * The token of a transit service. It is read from its file before each use, so a replaced token is
 * used at once, and is renewed when two thirds of its time to live have passed.
 */
export class TransitToken {
  readonly #options: TransitTokenOptions;
  #text = "";
  /** By elapsedMs. undefined: never, or not known yet. */
  #renewAt: number | undefined;
  #isLookedUp = false;

  constructor(options: TransitTokenOptions) {
    this.#options = options;
  }

  /** The token for one call. A failed renewal is repeated with the next use. */
  async current(signal: AbortSignal | undefined): Promise<string> {
    const content = await this.#options.read();
    const text = Buffer.from(content).toString("latin1").trim();
    content.fill(0);
    if (!/^[\x21-\x7e]{1,8192}$/.test(text))
      throw new RootKeyError("unauthorized", "the file of COFRE_ROOT_KEY_SECRET_FILE has no token");
    if (text !== this.#text) {
      this.#text = text;
      this.#isLookedUp = false;
      this.#renewAt = undefined;
    }
    if (!this.#isLookedUp) await this.#lookUp(signal);
    else if (this.#renewAt !== undefined && this.#options.elapsedMs() >= this.#renewAt)
      await this.#renew(signal);
    return text;
  }

  /**
   * Without the permission for it, the token is used and never renewed: the call itself shows
   * whether it is accepted.
   */
  async #lookUp(signal: AbortSignal | undefined): Promise<void> {
    // Set before the answer arrives, so that concurrent calls do not ask too.
    this.#isLookedUp = true;
    const answer = await this.#ask("GET", "lookup-self", signal).catch((error: unknown) => {
      this.#isLookedUp = false;
      throw error;
    });
    const data = answer?.["data"];
    if (!isObject(data) || data["renewable"] !== true) return;
    const { ttl, creation_ttl: full } = data;
    if (typeof ttl !== "number" || typeof full !== "number" || ttl <= 0) return;
    this.#renewIn(ttl - Math.max(full, ttl) / 3);
  }

  async #renew(signal: AbortSignal | undefined): Promise<void> {
    const auth = (await this.#ask("POST", "renew-self", signal))?.["auth"];
    if (!isObject(auth) || typeof auth["lease_duration"] !== "number") return;
    this.#renewIn((auth["lease_duration"] * 2) / 3);
  }

  #renewIn(seconds: number): void {
    this.#renewAt = this.#options.elapsedMs() + Math.max(0, seconds) * 1_000;
  }

  async #ask(method: "GET" | "POST", call: string, signal: AbortSignal | undefined) {
    const { status, body } = await this.#options.client({
      method,
      path: `/v1/auth/token/${call}`,
      headers: { "x-vault-token": this.#text },
      body: undefined,
      signal,
    });
    return status === 200 ? objectIn(body) : undefined;
  }
}
