import type { MerchantId, TokenDigest } from "../../src/kernel/ids.ts";
import type { Instant } from "../../src/kernel/instant.ts";
import type { Change } from "../../src/stores/change.ts";
import type { Store } from "../../src/stores/store.ts";
import { tokenDiesAt } from "./audit-tables.ts";

/** What is on record of a stored card, apart from the store. */
interface Known {
  /** Its latest use that was written down, or that a client was told of. */
  usedAt: number;
  /** Its latest use that may have been written down. */
  mayBeUsedAt: number;
  /** Somebody knows that it was stored; else nobody knows. */
  sure: boolean;
  /** It was to be erased when its time had come: then it may be gone. */
  erasable: boolean;
}

/** The job's rounds are a day apart, and it leaves what has expired for an hour. */
const longestKeptMs = 26 * 3_600_000;

/** What the store knows a token by. */
export type DigestOf = (merchantId: MerchantId, token: string) => TokenDigest;

/**
 * The independent judge of stored cards: none is charged that its merchant did not store, lost
 * while it is used, or kept when it is not.
 */
export class CardAuditor {
  readonly #store: Store;
  readonly #digestOf: DigestOf;
  readonly #violation: (text: string) => void;
  readonly #mark: (what: string) => void;
  readonly #known = new Map<string, Known>();
  #isPutBack = false;

  constructor(
    store: Store,
    digestOf: DigestOf,
    violation: (text: string) => void,
    mark: (what: string) => void,
  ) {
    this.#store = store;
    this.#digestOf = digestOf;
    this.#violation = (text) => {
      if (!this.#isPutBack) violation(text);
    };
    this.#mark = mark;
  }

  /**
   * An older copy of the store is put back: nobody knows any more which cards there are, and how
   * old they are.
   */
  forgets(): void {
    this.#isPutBack = true;
  }

  /** Whether this merchant ever stored a card under this token. */
  knows(merchantId: MerchantId, token: string): boolean {
    return this.#known.has(keyOf(merchantId, this.#digestOf(merchantId, token)));
  }

  /**
   * Until when a card under this token is good for all that is known now; undefined when nobody
   * knows of one.
   */
  goodUntil(merchantId: MerchantId, token: string): number | undefined {
    const known = this.#known.get(keyOf(merchantId, this.#digestOf(merchantId, token)));
    return known?.sure === true ? tokenDiesAt(known.usedAt) : undefined;
  }

  /**
   * A client was told `now` that there is no such token, which was good until then when it asked.
   */
  refused(merchantId: MerchantId, token: string, goodUntil: number, now: number): void {
    if (now < goodUntil)
      this.#violation(
        `I10: no token is refused before it expires: ${nameOf(merchantId, this.#digestOf(merchantId, token))}`,
      );
  }

  /**
   * A client that asked `at` was told `now` that its card is stored under this token, or whether
   * the card under it is good.
   */
  async told(merchantId: MerchantId, token: string, at: Instant, now: Instant): Promise<void> {
    const digest = this.#digestOf(merchantId, token);
    const card = await this.#store.cardByToken(merchantId, digest);
    // Earlier by the server's account where the clock was set back meanwhile.
    this.#use(merchantId, digest, Math.min(at, card?.lastUsedAt ?? at), true);
    // Between question and answer the clock may have gone on by more than a card is kept.
    if (card === undefined && now < tokenDiesAt(at))
      this.#violation(
        `I10: a card is kept that a client used just now: ${nameOf(merchantId, digest)}`,
      );
  }

  /**
   * A payment by this token was written down for the first time; its client asked first when it
   * `asked`.
   */
  async charged(
    merchantId: MerchantId,
    digest: TokenDigest,
    asked: Instant | undefined,
    at: Instant,
  ): Promise<void> {
    const known = this.#known.get(keyOf(merchantId, digest));
    const name = nameOf(merchantId, digest);
    if (known === undefined || asked === undefined)
      this.#violation(`I12: a token that is charged is one that its merchant stored: ${name}`);
    if (await this.#isGone(merchantId, digest))
      this.#violation(`I10: a card that is charged is kept: ${name}`);
    this.#use(merchantId, digest, at, false);
  }

  /**
   * A change may be applied from now on, whether or not anybody hears of it. `charge`: a client
   * asked first for this payment then.
   */
  asked({ merchantId, at, card, cardUse, cardErasure }: Change, charge: Instant | undefined): void {
    if (cardUse !== undefined && charge !== undefined)
      this.#checkLive(merchantId, cardUse.tokenDigest, charge);
    // Under a token that is taken nothing is stored: who knows of the other card knows enough.
    if (card !== undefined && !this.#known.has(keyOf(merchantId, card.next.tokenDigest)))
      this.#use(merchantId, card.next.tokenDigest, card.next.createdAt, false);
    if (card !== undefined) this.#mayUse(merchantId, card.next.tokenDigest, card.next.lastUsedAt);
    if (cardUse !== undefined) this.#mayUse(merchantId, cardUse.tokenDigest, cardUse.at);
    if (cardErasure === undefined) return;
    const known = this.#known.get(keyOf(merchantId, cardErasure.tokenDigest));
    if (known === undefined) return;
    if (at >= tokenDiesAt(known.usedAt)) known.erasable = true;
    else this.#mark("an erasure comes too late for a card that was used");
  }

  async committed({ merchantId, card, cardUse, cardErasure }: Change): Promise<void> {
    if (card !== undefined)
      this.#use(merchantId, card.next.tokenDigest, card.next.lastUsedAt, true);
    if (cardUse !== undefined) await this.#wasUsed(merchantId, cardUse.tokenDigest, cardUse.at);
    if (cardErasure === undefined) return;
    const known = this.#known.get(keyOf(merchantId, cardErasure.tokenDigest));
    if (known === undefined || !(await this.#isGone(merchantId, cardErasure.tokenDigest))) return;
    this.#mark("a card is erased");
    if (!known.erasable)
      this.#violation(
        `I10: no card is erased within 14 months of its last use: ${nameOf(merchantId, cardErasure.tokenDigest)}`,
      );
  }

  /** No card is gone whose time had not come, and none is kept that has long expired. */
  async checkKept(now: Instant): Promise<void> {
    const kept = new Set<string>();
    for (const { merchantId, tokenDigest, lastUsedAt } of await this.#store.cardsAfter(
      0,
      1_000_000,
    )) {
      kept.add(keyOf(merchantId, tokenDigest));
      if (tokenDiesAt(lastUsedAt) + longestKeptMs <= now)
        this.#violation(
          `no card is kept that nobody has used for 14 months: ${nameOf(merchantId, tokenDigest)}`,
        );
    }
    for (const [key, { sure, erasable }] of this.#known) {
      if (sure && !erasable && !kept.has(key))
        this.#violation(`I10: no card is lost: ${key.slice(0, 17)}`);
    }
  }

  async #wasUsed(merchantId: MerchantId, digest: TokenDigest, at: Instant): Promise<void> {
    const known = this.#known.get(keyOf(merchantId, digest));
    if (known === undefined)
      this.#violation(
        `I12: a card that is used is one that its merchant stored: ${nameOf(merchantId, digest)}`,
      );
    const before = known?.usedAt ?? 0;
    const card = await this.#store.cardByToken(merchantId, digest);
    if (card === undefined)
      this.#violation(`I10: a card that is used is kept: ${nameOf(merchantId, digest)}`);
    else if (card.lastUsedAt < Math.max(before, at))
      this.#violation(`I10: a card's last use never goes back: ${nameOf(merchantId, digest)}`);
    this.#use(merchantId, digest, at, true);
  }

  /** Before the use that the charge itself is counts. */
  #checkLive(merchantId: MerchantId, digest: TokenDigest, charge: Instant): void {
    const known = this.#known.get(keyOf(merchantId, digest));
    if (known !== undefined && charge >= tokenDiesAt(Math.max(known.usedAt, known.mayBeUsedAt)))
      this.#violation(`I10: no token is charged after it expired: ${nameOf(merchantId, digest)}`);
  }

  #mayUse(merchantId: MerchantId, digest: TokenDigest, at: number): void {
    const known = this.#known.get(keyOf(merchantId, digest));
    if (known !== undefined) known.mayBeUsedAt = Math.max(known.mayBeUsedAt, at);
  }

  async #isGone(merchantId: MerchantId, digest: TokenDigest): Promise<boolean> {
    return (await this.#store.cardByToken(merchantId, digest)) === undefined;
  }

  #use(merchantId: MerchantId, digest: TokenDigest, at: number, sure: boolean): void {
    const key = keyOf(merchantId, digest);
    const known = this.#known.get(key);
    // A token of the merchant's choice may be stored again after its card was erased.
    const usedAt = Math.max(at, known?.usedAt ?? 0);
    this.#known.set(key, {
      usedAt,
      mayBeUsedAt: known?.mayBeUsedAt ?? usedAt,
      sure: sure || known?.sure === true,
      erasable: known?.erasable === true && at <= known.usedAt,
    });
  }
}

function keyOf(merchantId: MerchantId, digest: TokenDigest): string {
  return `${merchantId} ${digest}`;
}

/** Enough of it to find the card in a trace. */
function nameOf(merchantId: MerchantId, digest: TokenDigest): string {
  return `${merchantId} ${digest.slice(0, 8)}`;
}
