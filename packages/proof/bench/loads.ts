import { memberAfter, saysSuccess, type Answer } from "./framing.ts";
import { patchCardNumber, patchNumber, patchText, RequestTemplate } from "./template.ts";
import type { Load } from "./window.ts";

/** What the product has acknowledged; the store is compared with these numbers afterwards. */
export interface Acknowledged {
  tokens: number;
  payments: number;
  /** Payments that were captured, by a sale or by a capture. */
  captured: number;
}

/** How many of the newest payments count as recent. */
export const recentPayments = 100;

const codeMarker = "0000000000";
const hashMarker = "c0ffee".repeat(8);
const tokenMarker = "70ce".repeat(32);
const cardMarker = "4111110000000000";
const tokenMember = Buffer.from('"token":"', "latin1");
const hashMember = Buffer.from('"hash":"', "latin1");

/** A test card that the simulated acquirer approves (interface 9). */
const approvedCard = {
  card_number: "4111111111111111",
  card_name: "JOSE DA SILVA",
  card_due_date: "12/2060",
  card_cvv: "123",
};

/** Sends one kind of request, patched for each request, and checks each answer. */
class TemplateLoad implements Load {
  readonly #template: RequestTemplate;
  readonly #patch: (bytes: Buffer, template: RequestTemplate) => boolean;
  readonly #take: (answer: Answer) => void;
  readonly #copies: Buffer[] = [];

  /**
   * `patch` returns false when no request is left to send; `take` gets answers that say SUCCESS.
   */
  constructor(
    template: RequestTemplate,
    patch: (bytes: Buffer, template: RequestTemplate) => boolean,
    take: (answer: Answer) => void,
  ) {
    this.#template = template;
    this.#patch = patch;
    this.#take = take;
  }

  request(lane: number): Buffer | undefined {
    const bytes = (this.#copies[lane] ??= this.#template.copy());
    return this.#patch(bytes, this.#template) ? bytes : undefined;
  }

  answered(_lane: number, answer: Answer): void {
    if (!saysSuccess(answer)) {
      throw new Error(
        `status ${String(answer.status)}: ${answer.bytes.toString("utf8", answer.bodyStart, Math.min(answer.bodyEnd, answer.bodyStart + 300))}`,
      );
    }
    this.#take(answer);
  }
}

/** Alternates two loads on each lane: an authorization, then the capture of that authorization. */
class TurnsLoad implements Load {
  readonly #first: Load;
  readonly #second: (lane: number) => Load;
  readonly #atSecond: boolean[] = [];

  constructor(first: Load, second: (lane: number) => Load) {
    this.#first = first;
    this.#second = second;
  }

  request(lane: number): Buffer | undefined {
    return this.#atSecond[lane] === true
      ? this.#second(lane).request(lane)
      : this.#first.request(lane);
  }

  answered(lane: number, answer: Answer): void {
    if (this.#atSecond[lane] === true) this.#second(lane).answered(lane, answer);
    else this.#first.answered(lane, answer);
    this.#atSecond[lane] = this.#atSecond[lane] !== true;
  }
}

/**
 * All requests of one run against one server. `real` is false for the floor: it gets the same
 * bytes, patched the same way, but with placeholders where a real server's answers would supply the
 * values.
 */
export class Loads {
  readonly acknowledged: Acknowledged = { tokens: 0, payments: 0, captured: 0 };
  readonly #key: string;
  readonly #run: string;
  readonly #real: boolean;
  #sequence = 0;
  #cards = 0;
  #tokenTurn = 0;
  #queryTurn = 0;
  readonly #tokens: string[] = [];
  readonly #authorized: string[] = [];
  readonly #queried: string[] = [];
  readonly #refundable: string[] = [];

  /** `run` makes the payment codes of this run unique: six letters or digits. */
  constructor(integrationKey: string, run: string, real: boolean) {
    this.#key = integrationKey;
    this.#run = run;
    this.#real = real;
    if (!real) {
      this.#tokens.push(tokenMarker);
      this.#queried.push(hashMarker);
    }
  }

  /** /ws/token with a new card each time: a vault's fingerprint index gets no two equal entries. */
  token(): Load {
    return this.#token({ ...approvedCard, card_number: cardMarker }, () => {});
  }

  /** /ws/token of a card that the acquirer approves; the tokens are kept for directByToken. */
  approvedToken(): Load {
    return this.#token(approvedCard, (token) => this.#tokens.push(token));
  }

  /** `keep` gets the hash of each payment. */
  directByToken(keep?: (hash: string) => unknown): Load {
    return this.#direct({ token: tokenMarker }, keep);
  }

  directByPan(): Load {
    return this.#direct(approvedCard, undefined);
  }

  /** Authorizations for capture(). */
  authorize(): Load {
    return this.#direct({ token: tokenMarker, auto_capture: false }, (hash) =>
      this.#authorized.push(hash),
    );
  }

  /** Payments for query(). */
  paymentsToQuery(): Load {
    return this.#direct({ token: tokenMarker }, (hash) => this.#queried.push(hash));
  }

  get authorizedWaiting(): number {
    return this.#authorized.length;
  }

  capture(): Load {
    return this.#capture(() => (this.#real ? this.#authorized.pop() : hashMarker));
  }

  /** An authorization followed by its capture, in turn. */
  authorizeAndCapture(): Load {
    let fresh = hashMarker;
    const hashes: string[] = [];
    const captures: Load[] = [];
    const authorize = this.#direct({ token: tokenMarker, auto_capture: false }, (hash) => {
      fresh = hash;
    });
    const keeping: Load = {
      request: (lane) => authorize.request(lane),
      answered: (lane, answer) => {
        authorize.answered(lane, answer);
        hashes[lane] = fresh;
      },
    };
    return new TurnsLoad(keeping, (lane) => (captures[lane] ??= this.#capture(() => hashes[lane])));
  }

  get refundableWaiting(): number {
    return this.#refundable.length;
  }

  /** Payments for refund(). */
  paymentsToRefund(): Load {
    return this.#direct({ token: tokenMarker }, (hash) => this.#refundable.push(hash));
  }

  /** Refunds one cent, of another payment each time. */
  refund(): Load {
    const fields = {
      integration_key: this.#key,
      operation: "request",
      hash: hashMarker,
      amount: "0.01",
      description: "damaged box",
    };
    return this.#once("/ws/refund", fields, () =>
      this.#real ? this.#refundable.pop() : hashMarker,
    );
  }

  /**
   * Keeps refunds in the requested state for longer than a run, because the audit compares with
   * what was captured.
   */
  refundsThatWait(): Load {
    const settings = { refundRequestedMinutes: 100_000 };
    return new TemplateLoad(
      RequestTemplate.post("/__cofre/settings", { integration_key: this.#key, settings }, {}),
      () => true,
      () => {},
    );
  }

  /** /ws/verifycard, always the same card: nothing of it is stored. */
  verify(): Load {
    const body = {
      integration_key: this.#key,
      payment_type_code: "creditcard",
      country: "br",
      card: approvedCard,
    };
    return new TemplateLoad(
      RequestTemplate.post("/ws/verifycard", body, {}),
      () => true,
      () => {},
    );
  }

  /** Queries all payments that paymentsToQuery() made. */
  query(): Load {
    return this.#query(Number.POSITIVE_INFINITY);
  }

  /** Queries the payments that were made last. */
  queryRecent(): Load {
    return this.#query(recentPayments);
  }

  #query(latest: number): Load {
    const template = RequestTemplate.post(
      "/ws/query",
      { integration_key: this.#key, hash: hashMarker },
      { hash: hashMarker },
    );
    return new TemplateLoad(
      template,
      (bytes) => {
        const count = Math.min(latest, this.#queried.length);
        const hash = this.#queried.at(-1 - (this.#queryTurn++ % count));
        if (hash === undefined) return false;
        patchText(bytes, template.slot("hash"), hash);
        return true;
      },
      () => {},
    );
  }

  #token(card: object, keep: (token: string) => unknown): Load {
    const varied = JSON.stringify(card).includes(cardMarker);
    const template = RequestTemplate.post(
      "/ws/token",
      {
        integration_key: this.#key,
        operation: "request",
        payment_type_code: "creditcard",
        country: "br",
        creditcard: card,
      },
      varied ? { card: cardMarker } : {},
    );
    return new TemplateLoad(
      template,
      (bytes) => {
        // The step is coprime to 10^9, so every number occurs once, in an order that is bad for any
        // index.
        if (varied)
          patchCardNumber(
            bytes,
            template.slot("card"),
            (this.#cards++ * 381_966_011) % 1_000_000_000,
          );
        return true;
      },
      (answer) => {
        this.acknowledged.tokens++;
        if (this.#real) keep(wanted(memberAfter(answer, tokenMember), "token"));
      },
    );
  }

  #direct(
    card: Readonly<Record<string, unknown>>,
    keep: ((hash: string) => unknown) | undefined,
  ): Load {
    const byToken = card["token"] === tokenMarker;
    const template = RequestTemplate.post(
      "/ws/direct",
      {
        integration_key: this.#key,
        operation: "request",
        mode: "full",
        payment: {
          merchant_payment_code: `bench-${this.#run}-${codeMarker}`,
          order_number: "41700",
          amount_total: "100.00",
          currency_code: "BRL",
          name: "José da Silva",
          email: "jose.silva@example.com",
          document: "853.513.468-93",
          birth_date: "12/04/1979",
          zipcode: "64919-123",
          address: "Rua Engenheiro Sampaio",
          street_number: "1040",
          city: "Maracanaú",
          state: "CE",
          country: "br",
          phone_number: "8522847035",
          payment_type_code: "creditcard",
          instalments: "1",
          creditcard: card,
        },
      },
      byToken ? { code: codeMarker, token: tokenMarker } : { code: codeMarker },
    );
    return new TemplateLoad(
      template,
      (bytes) => {
        patchNumber(bytes, template.slot("code"), this.#sequence++);
        if (!byToken) return true;
        const token = this.#tokens[this.#tokenTurn++ % this.#tokens.length];
        if (token === undefined) return false;
        patchText(bytes, template.slot("token"), token);
        return true;
      },
      (answer) => {
        this.acknowledged.payments++;
        if (card["auto_capture"] !== false) this.acknowledged.captured++;
        if (keep !== undefined && this.#real) keep(wanted(memberAfter(answer, hashMember), "hash"));
      },
    );
  }

  #capture(nextHash: () => string | undefined): Load {
    return this.#once(
      "/ws/capture",
      { integration_key: this.#key, hash: hashMarker },
      nextHash,
      () => {
        this.acknowledged.captured++;
      },
    );
  }

  /** A request about one payment, another one each time. */
  #once(
    path: string,
    fields: object,
    nextHash: () => string | undefined,
    take: () => void = () => {},
  ): Load {
    const template = RequestTemplate.post(path, fields, { hash: hashMarker });
    return new TemplateLoad(
      template,
      (bytes) => {
        const hash = nextHash();
        if (hash === undefined) return false;
        patchText(bytes, template.slot("hash"), hash);
        return true;
      },
      take,
    );
  }
}

function wanted(value: string | undefined, name: string): string {
  if (value === undefined) throw new Error(`an answer says SUCCESS and has no ${name}`);
  return value;
}
