import type { MerchantId, TokenDigest } from "../../server/src/kernel/ids.ts";
import type { Instant } from "../../server/src/kernel/instant.ts";
import type { Change } from "../../server/src/stores/change.ts";
import type { Store } from "../../server/src/stores/store.ts";
import type { StoredCard } from "../../server/src/vault/stored-card.ts";
import { tokenDiesAt } from "./audit-tables.ts";

/** What the auditor knows of a stored card, independently of the store. */
interface ExpectedCard {
  /** Its latest use that was committed, or that a client received an answer about. */
  usedAt: number;
  /** Its latest use that may have been committed. */
  mayBeUsedAt: number;
  /** It is certain that the card was stored. */
  sure: boolean;
  /** A deletion was requested after its expiry, so it may be gone. */
  erasable: boolean;
}

/** The job runs once a day, and leaves expired cards for an hour. */
const longestKeptMs = 26 * 3_600_000;

/** The digest by which the store finds a token. */
export type DigestOf = (merchantId: MerchantId, token: string) => TokenDigest;

/** What the auditor needs of the keys. */
export interface AuditedKeys {
  readonly digestOf: DigestOf;
  /** Whether a card opens with the stored keys alone. */
  readonly opens: (card: StoredCard) => Promise<boolean>;
}

/**
 * The independent judge of stored cards: no card is charged that its merchant did not store,
 * deleted while it is in use, or kept after its time.
 */
export class CardAuditor {
  readonly #store: Store;
  readonly #digestOf: DigestOf;
  readonly #opens: AuditedKeys["opens"];
  readonly #violation: (text: string) => void;
  /** Also after an older copy of the store was restored. */
  readonly #alwaysViolation: (text: string) => void;
  readonly #mark: (what: string) => void;
  readonly #expected = new Map<string, ExpectedCard>();
  #isPutBack = false;

  constructor(
    store: Store,
    { digestOf, opens }: AuditedKeys,
    violation: (text: string) => void,
    mark: (what: string) => void,
  ) {
    this.#store = store;
    this.#digestOf = digestOf;
    this.#opens = opens;
    this.#alwaysViolation = violation;
    this.#violation = (text) => {
      if (!this.#isPutBack) violation(text);
    };
    this.#mark = mark;
  }

  /**
   * An older copy of the store is restored: which cards exist, and their age, is unknown from now
   * on.
   */
  forgets(): void {
    this.#isPutBack = true;
  }

  /** Whether this merchant ever stored a card with this token. */
  knows(merchantId: MerchantId, token: string): boolean {
    return this.#expected.has(keyOf(merchantId, this.#digestOf(merchantId, token)));
  }

  /** Until when a card with this token is certainly valid; undefined if none is known. */
  goodUntil(merchantId: MerchantId, token: string): number | undefined {
    const known = this.#expected.get(keyOf(merchantId, this.#digestOf(merchantId, token)));
    return known?.sure === true ? tokenDiesAt(known.usedAt) : undefined;
  }

  /**
   * A client received at `now` the answer that this token does not exist; `goodUntil` was its
   * validity when the request was sent.
   */
  refused(merchantId: MerchantId, token: string, goodUntil: number, now: number): void {
    if (now < goodUntil)
      this.#violation(
        `I10: no token is refused before it expires: ${nameOf(merchantId, this.#digestOf(merchantId, token))}`,
      );
  }

  /**
   * A client that sent its request at `at` received at `now` that its card is stored with this
   * token, or whether the card is good.
   */
  async reported(merchantId: MerchantId, token: string, at: Instant, now: Instant): Promise<void> {
    const digest = this.#digestOf(merchantId, token);
    const card = await this.#store.cardByToken(merchantId, digest);
    // The server's time is earlier if its clock was set back in between.
    this.#use(merchantId, digest, Math.min(at, card?.lastUsedAt ?? at), true);
    // Between request and answer the clock may have advanced by more than a card's retention.
    if (card === undefined && now < tokenDiesAt(at))
      this.#violation(
        `I10: a card is kept that a client used just now: ${nameOf(merchantId, digest)}`,
      );
  }

  /**
   * A payment with this token was committed for the first time; its client first requested it at
   * `requested`.
   */
  async charged(
    merchantId: MerchantId,
    digest: TokenDigest,
    requested: Instant | undefined,
    at: Instant,
  ): Promise<void> {
    const known = this.#expected.get(keyOf(merchantId, digest));
    const name = nameOf(merchantId, digest);
    if (known === undefined || requested === undefined)
      this.#violation(`I12: a token that is charged is one that its merchant stored: ${name}`);
    if (await this.#isGone(merchantId, digest))
      this.#violation(`I10: a card that is charged is kept: ${name}`);
    this.#use(merchantId, digest, at, false);
  }

  /**
   * A change may be applied from now on, answered or not. `charge`: when a client first requested
   * this payment.
   */
  requested(
    { merchantId, at, card, cardUse, cardErasure }: Change,
    charge: Instant | undefined,
  ): void {
    if (cardUse !== undefined && charge !== undefined)
      this.#checkLive(merchantId, cardUse.tokenDigest, charge);
    // A card is not stored under a token that exists, so the known card suffices.
    if (card !== undefined && !this.#expected.has(keyOf(merchantId, card.next.tokenDigest)))
      this.#use(merchantId, card.next.tokenDigest, card.next.createdAt, false);
    if (card !== undefined) this.#mayUse(merchantId, card.next.tokenDigest, card.next.lastUsedAt);
    if (cardUse !== undefined) this.#mayUse(merchantId, cardUse.tokenDigest, cardUse.at);
    if (cardErasure === undefined) return;
    const known = this.#expected.get(keyOf(merchantId, cardErasure.tokenDigest));
    if (known === undefined) return;
    if (at >= tokenDiesAt(known.usedAt)) known.erasable = true;
    else this.#mark("an erasure comes too late for a card that was used");
  }

  async committed({ merchantId, card, cardUse, cardErasure }: Change): Promise<void> {
    if (card !== undefined) {
      this.#use(merchantId, card.next.tokenDigest, card.next.lastUsedAt, true);
      await this.#checkOpens(card.next);
    }
    if (cardUse !== undefined) await this.#wasUsed(merchantId, cardUse.tokenDigest, cardUse.at);
    if (cardErasure === undefined) return;
    const known = this.#expected.get(keyOf(merchantId, cardErasure.tokenDigest));
    if (known === undefined || !(await this.#isGone(merchantId, cardErasure.tokenDigest))) return;
    this.#mark("a card is erased");
    if (!known.erasable)
      this.#violation(
        `I10: no card is erased within 14 months of its last use: ${nameOf(merchantId, cardErasure.tokenDigest)}`,
      );
  }

  /** No card was deleted before its time, and none is kept long after its expiry. */
  async checkKept(now: Instant): Promise<void> {
    const kept = new Set<string>();
    for (const { merchantId, tokenDigest, lastUsedAt } of await this.#store.cardsAfter(
      0,
      1_000_000,
    )) {
      kept.add(keyOf(merchantId, tokenDigest));
      const card = await this.#store.cardByToken(merchantId, tokenDigest);
      if (card !== undefined) await this.#checkOpens(card);
      if (tokenDiesAt(lastUsedAt) + longestKeptMs <= now)
        this.#violation(
          `no card is kept that nobody has used for 14 months: ${nameOf(merchantId, tokenDigest)}`,
        );
    }
    for (const [key, { sure, erasable }] of this.#expected) {
      if (sure && !erasable && !kept.has(key))
        this.#violation(`I10: no card is lost: ${key.slice(0, 17)}`);
    }
  }

  /** A card's key is durable before the card is. */
  async #checkOpens(card: StoredCard): Promise<void> {
    if (!(await this.#opens(card)))
      this.#alwaysViolation(
        `K2: a stored card opens with the stored keys: ${nameOf(card.merchantId, card.tokenDigest)}`,
      );
  }

  async #wasUsed(merchantId: MerchantId, digest: TokenDigest, at: Instant): Promise<void> {
    const known = this.#expected.get(keyOf(merchantId, digest));
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

  /** Checks the card before the charge itself counts as a use. */
  #checkLive(merchantId: MerchantId, digest: TokenDigest, charge: Instant): void {
    const known = this.#expected.get(keyOf(merchantId, digest));
    if (known !== undefined && charge >= tokenDiesAt(Math.max(known.usedAt, known.mayBeUsedAt)))
      this.#violation(`I10: no token is charged after it expired: ${nameOf(merchantId, digest)}`);
  }

  #mayUse(merchantId: MerchantId, digest: TokenDigest, at: number): void {
    const known = this.#expected.get(keyOf(merchantId, digest));
    if (known !== undefined) known.mayBeUsedAt = Math.max(known.mayBeUsedAt, at);
  }

  async #isGone(merchantId: MerchantId, digest: TokenDigest): Promise<boolean> {
    return (await this.#store.cardByToken(merchantId, digest)) === undefined;
  }

  #use(merchantId: MerchantId, digest: TokenDigest, at: number, sure: boolean): void {
    const key = keyOf(merchantId, digest);
    const known = this.#expected.get(key);
    // A token chosen by the merchant may be stored again after its card was deleted.
    const usedAt = Math.max(at, known?.usedAt ?? 0);
    this.#expected.set(key, {
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

/** Short, but enough to find the card in a trace. */
function nameOf(merchantId: MerchantId, digest: TokenDigest): string {
  return `${merchantId} ${digest.slice(0, 8)}`;
}
