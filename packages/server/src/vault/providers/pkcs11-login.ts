import { createHmac } from "node:crypto";
import type { ElapsedMs } from "../../kernel/elapsed.ts";
import { minute, second } from "../../kernel/instant.ts";
import type { Random } from "../../kernel/random.ts";
import { doesNotUnwrap, RootKeyError, type RootKeyFailure } from "../key-provider.ts";
import { answers, encodeFrame, openFields, probeRandomLength, requests } from "./pkcs11-frames.ts";
import {
  HelperEnded,
  type HelperOptions,
  HelperProcess,
  unsupportedHere,
} from "./pkcs11-helper-process.ts";
import { isWrongPin, notUnwrapped, refusalOf } from "./pkcs11-refusals.ts";
import type { ReadCredentials } from "./transit-token.ts";

/** Attributes of a token and of a key in it, as an address of RFC 7512 names them. */
interface Pkcs11Key {
  readonly token: string | undefined;
  readonly serial: string;
  readonly manufacturer: string | undefined;
  readonly model: string | undefined;
  /** CKA_LABEL. */
  readonly object: string;
  /** CKA_ID, in hexadecimal. */
  readonly id: string;
}

export interface Pkcs11LoginOptions extends HelperOptions {
  readonly key: Pkcs11Key;
  readonly keyId: string;
  /** Reads the PIN, which may end with one line break. */
  readonly read: ReadCredentials;
  readonly random: Random;
  readonly elapsedMs: ElapsedMs;
}

const shortestPauseMs = 5 * second;
const longestPauseMs = 5 * minute;

/**
 * The login at a token: at most one helper process, which is replaced after a failure. The pause
 * before that is 5 seconds and doubles up to 5 minutes, less up to a half at random, so that a slow
 * HSM is not flooded with logins. A PIN that the token has refused is not sent again by this
 * process: HSMs lock a PIN after some tries.
 */
export class Pkcs11Login {
  readonly #options: Pkcs11LoginOptions;
  /** Of the digests of PINs, which do not leave this process. */
  readonly #digestKey: Uint8Array;
  #helper: HelperProcess | undefined;
  /** Ends with the last request. */
  #queue: Promise<unknown> = Promise.resolve();
  #refusedPin: Buffer | undefined;
  #failed: RootKeyError | undefined;
  #pauseMs = 0;
  /** By elapsedMs. */
  #nextAt = 0;
  #isClosed = false;

  constructor(options: Pkcs11LoginOptions) {
    this.#options = options;
    this.#digestKey = options.random.bytes(32);
  }

  /**
   * Sends a request after the earlier ones, and wipes it. The caller wipes the answer. `label` is
   * for the error.
   */
  async ask(request: Buffer, label: string, signal: AbortSignal | undefined): Promise<Buffer> {
    const answer = this.#queue.then(() => this.#ask(request, label, signal));
    this.#queue = answer.catch(() => undefined);
    if (signal === undefined) return await answer;
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => {
      reject(this.#givenUp());
      answer.then(
        (bytes) => bytes.fill(0),
        () => undefined,
      );
    };
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    try {
      return await Promise.race([answer, promise]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  close(): void {
    const helper = this.#helper;
    this.#isClosed = true;
    this.#helper = undefined;
    helper?.close();
  }

  async #ask(request: Buffer, label: string, signal: AbortSignal | undefined): Promise<Buffer> {
    try {
      if (signal?.aborted === true) throw this.#givenUp();
      const answer = await this.#exchange(await this.#openHelper(), request, label);
      this.#pauseMs = 0;
      return answer;
    } finally {
      request.fill(0);
    }
  }

  async #openHelper(): Promise<HelperProcess> {
    if (this.#isClosed) throw this.#error("unavailable", "Cofre is ending");
    if (this.#helper !== undefined) return this.#helper;
    const problem = unsupportedHere();
    if (problem !== undefined) throw this.#error("unavailable", problem);
    if (this.#failed !== undefined && this.#options.elapsedMs() < this.#nextAt) throw this.#failed;
    const content = await this.#options.read();
    try {
      const pin = withoutLineBreak(content);
      const digest = createHmac("sha256", this.#digestKey).update(pin).digest();
      if (this.#refusedPin?.equals(digest) === true)
        throw this.#error(
          "unauthorized",
          "the token has refused the PIN in the file of COFRE_ROOT_KEY_SECRET_FILE, which is not tried again until the file has another one",
        );
      const helper: HelperProcess = new HelperProcess(this.#options, ({ message }) => {
        if (this.#helper === helper) this.#fail(helper, "unavailable", message);
      });
      await this.#exchange(helper, this.#openRequest(pin), "", digest);
      this.#refusedPin = undefined;
      if (this.#isClosed) helper.close();
      this.#helper = helper;
      return helper;
    } finally {
      content.fill(0);
    }
  }

  #openRequest(pin: Uint8Array): Buffer {
    const { key, random } = this.#options;
    const values = {
      ...key,
      corrected: this.#refusedPin === undefined ? "" : "1",
      token: key.token ?? "",
      manufacturer: key.manufacturer ?? "",
      model: key.model ?? "",
    };
    const secrets = {
      id: Buffer.from(key.id, "hex"),
      pin,
      random: random.bytes(probeRandomLength),
    };
    const request = encodeFrame(
      requests.open,
      openFields.map((name) =>
        name === "id" || name === "pin" || name === "random"
          ? secrets[name]
          : Buffer.from(values[name]),
      ),
    );
    secrets.random.fill(0);
    return request;
  }

  /** `pinDigest`: of the PIN in the request, when it opens the helper. */
  async #exchange(
    helper: HelperProcess,
    request: Buffer,
    label: string,
    pinDigest?: Buffer,
  ): Promise<Buffer> {
    const { kind, fields } = await helper
      .ask(request)
      .catch((error: unknown) => {
        if (!(error instanceof HelperEnded)) throw error;
        throw this.#fail(helper, "unavailable", error.message);
      })
      // Written, or never to be.
      .finally(() => request.fill(0));
    const [first = Buffer.alloc(0), ...others] = fields;
    if (kind === answers.done) return first;
    const [name = "", detail = "", rv] = [first, ...others].map(String);
    if (name === notUnwrapped) throw doesNotUnwrap(label);
    if (pinDigest !== undefined && isWrongPin(name, detail, Number(rv)))
      this.#refusedPin = pinDigest;
    const { failure, text, keepsHelper } = refusalOf(name, detail, Number(rv));
    if (keepsHelper === true && pinDigest === undefined) throw this.#error(failure, text);
    throw this.#fail(helper, failure, text);
  }

  /** Ends the helper; until the end of the pause, every call fails in the same way. */
  #fail(helper: HelperProcess, failure: RootKeyFailure, text: string): RootKeyError {
    const { random, elapsedMs } = this.#options;
    this.#helper = undefined;
    helper.kill("was ended");
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, shortestPauseMs), longestPauseMs);
    const [fraction = 0] = random.bytes(1);
    this.#nextAt = elapsedMs() + this.#pauseMs * (1 - fraction / 512);
    this.#failed = this.#error(failure, text);
    return this.#failed;
  }

  #givenUp(): RootKeyError {
    return this.#error("unavailable", "the call was given up");
  }

  #error(failure: RootKeyFailure, text: string): RootKeyError {
    return new RootKeyError(failure, `the root key ${this.#options.keyId}: ${text}`);
  }
}

/** Editors end a file with a line break, which belongs to no PIN. */
function withoutLineBreak(content: Uint8Array): Uint8Array {
  const [feed, carriage] = [0x0a, 0x0d];
  let { length } = content;
  if (content[length - 1] === feed) length -= 1;
  if (content[length - 1] === carriage) length -= 1;
  return content.subarray(0, length);
}
