/** The entry for pages with card fields of their own: stores cards with the account's public key. */
import { addressOf } from "./address.ts";
import { type Card, cardNodeOf, codeOf, type Digits } from "./card.ts";
import { CofreConnectionError, CofreRequestError } from "./errors.ts";
import { exchange, type Fields } from "./exchange.ts";
import { operations } from "./generated/tables.ts";
import type { Country } from "./generated/types.ts";
import { encodeJson } from "./json.ts";
import { type CancelSignal, systemRuntime } from "./runtime.ts";

export { Card, type CardDetails, type Digits } from "./card.ts";
export { CofreConnectionError, CofreRequestError } from "./errors.ts";

export interface CofreBrowserOptions {
  /** Address of the server, such as `https://cofre.example`. */
  readonly url: string;
  /** The account's public key. The secret key has no place in a browser. */
  readonly publicIntegrationKey: string;
  /** true: http is used also for servers on other machines, for tests. */
  readonly allowHttp?: boolean | undefined;
  /** Limit for an answer, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

interface CallOptions {
  readonly signal?: CancelSignal | undefined;
}

/**
 * Stores cards from a page of the shop. Each call sends one request, which the browser does not
 * precede with another one.
 *
 * All calls reject with a `CofreRequestError` when the server refuses the request, and with a
 * `CofreConnectionError` when there is no answer.
 */
export class CofreBrowser {
  readonly #url: string;
  readonly #key: string;
  readonly #timeoutMs: number;

  /** @throws {TypeError} The address is invalid. */
  constructor(options: CofreBrowserOptions) {
    const { url, publicIntegrationKey, allowHttp = false, timeoutMs = 30_000 } = options;
    this.#url = addressOf(url, allowHttp);
    this.#key = publicIntegrationKey;
    this.#timeoutMs = timeoutMs;
  }

  /** Stores a card. The shop's server charges its token. */
  async tokenize(
    { card, country }: { readonly card: Card; readonly country?: Country | undefined },
    options: CallOptions = {},
  ): Promise<{ readonly token: string; readonly maskedCardNumber: string }> {
    const creditcard = cardNodeOf(card);
    const fields = { payment_type_code: "creditcard", country, creditcard };
    const answer = await this.#send(operations.token.path, fields, options);
    return {
      token: String(answer["token"]),
      maskedCardNumber: String(answer["masked_card_number"]),
    };
  }

  /** Keeps the security code for the next payment with a token, for 15 minutes at most. */
  async setCvv(token: string, securityCode: Digits, options: CallOptions = {}): Promise<void> {
    await this.#send(operations.setCvv.path, { token, ...codeOf(securityCode) }, options);
  }

  async #send(path: string, fields: Fields, { signal }: CallOptions): Promise<Fields> {
    const body = encodeJson({ ...fields, public_integration_key: this.#key });
    try {
      const attempt = {
        url: this.#url + path,
        // Another type would make the browser ask for permission first.
        headers: { "Content-Type": "text/plain" },
        body,
        timeoutMs: this.#timeoutMs,
        signal,
      };
      const ending = await exchange(attempt, systemRuntime);
      if (ending.kind === "answer") return ending.answer;
      if (ending.kind === "refusal") throw new CofreRequestError(ending.code, ending.message);
      throw new CofreConnectionError(ending.sent, ending.reason, 1, ending.code);
    } finally {
      body.fill(0);
    }
  }
}
