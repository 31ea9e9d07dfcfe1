import { day, hour, minute, second } from "../../server/src/kernel/instant.ts";
import { creditChargeback, openChargeback } from "../../server/src/operations/chargeback.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { acceptReview, rejectReview } from "../../server/src/operations/review.ts";
import type { Payment } from "../../server/src/payment/payment.ts";
import { tokenDiesAt } from "./audit-tables.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import type { Answer, Installation } from "./installation.ts";
import { pay, storeCard, textOf, verify } from "./purchases.ts";
import { type PaymentView, paymentViewOf } from "./payment-view.ts";
import { ask, query, wish } from "./shop-client.ts";
import { note, someHash, type Shop } from "./shop.ts";
import type { Fields } from "./wire-request.ts";

/**
 * Events of a payment after its creation, caused by its merchant, its reviewer, its issuer, or
 * time.
 */

type OfMerchant = "capture" | "cancel";
type OfOperator = "accept" | "reject" | "dispute" | "credit";
type Verb = OfMerchant | OfOperator;

/** What each verb leaves when it has won; only one verb of a pair below can win. */
const wins: Readonly<Record<OfOperator, (payment: Payment) => boolean>> = {
  accept: ({ review }) => review === "accepted",
  reject: ({ state }) => state === "voided",
  dispute: ({ chargeback }) => chargeback !== undefined,
  credit: ({ chargeback }) => chargeback?.state === "credited",
};

const exclusive: ReadonlySet<string> = new Set([
  "capture,capture",
  "capture,cancel",
  "cancel,cancel",
  "accept,accept",
  "accept,reject",
  "reject,reject",
  "reject,cancel",
  "dispute,dispute",
  "credit,credit",
]);

/** Payments that a verb may apply to. */
const suits: Readonly<Record<Verb, (payment: PaymentView) => boolean>> = {
  capture: ({ captureAvailable }) => captureAvailable,
  cancel: ({ preApproved, status }) => preApproved && status === "PE",
  accept: isUncaptured,
  reject: isUncaptured,
  dispute: isPaid,
  credit: ({ chargeback }) => chargeback === "opened",
};

function isUncaptured({ preApproved, captureAvailable, status }: PaymentView): boolean {
  return preApproved && !captureAvailable && status === "PE";
}

function isPaid({ status, chargeback }: PaymentView): boolean {
  return status === "CO" && chargeback === "none";
}

/** Runs the verbs concurrently on one payment. */
export async function act(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  verbs: readonly [Verb, ...Verb[]],
): Promise<void> {
  const hash = someHash(shop, chance, suits[verbs[0]]);
  if (hash !== undefined) await actOn(installation, shop, chance, verbs, hash);
}

async function actOn(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  verbs: readonly Verb[],
  hash: string,
): Promise<void> {
  const won = await Promise.all(
    verbs.map((verb) =>
      verb === "capture" || verb === "cancel"
        ? askFor(installation, shop, chance, verb, hash)
        : operate(installation, shop, verb, hash),
    ),
  );
  if (exclusive.has(verbs.join()) && won.filter(Boolean).length > 1) {
    installation.auditor.violation(`I5: of ${verbs.join(" and ")} one wins`);
  }
}

async function askFor(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  verb: OfMerchant,
  hash: string,
): Promise<boolean> {
  const amount =
    verb === "cancel" || chance.happens(500)
      ? undefined
      : chance.pick([100n, 333n, 0n, 9_999_900n]);
  const wished = wish(installation, shop, chance, {
    verb,
    hash,
    amount: amount === 0n ? undefined : amount,
  });
  const fields = { hash, ...(amount === undefined ? {} : { amount: textOf(amount) }) };
  return (await ask(installation, shop, chance, wished, fields)).kind === "done";
}

/** Actions of console users, which do not come through the interface. */
async function operate(
  installation: Installation,
  shop: Shop,
  verb: OfOperator,
  hash: string,
): Promise<boolean> {
  const { requests } = installation.auditor;
  const since = installation.time.elapsed();
  const answer = await operations[verb](
    (operation, input) => installation.call(operation, shop.account, input),
    hash,
  );
  if (answer.kind === "refusal")
    await requests.onOperatorResult(shop.account.id, hash, answer.code, since);
  if (answer.kind !== "answer") return false;
  note(installation, shop, paymentViewOf(answer.value));
  return wins[verb](answer.value);
}

const operations: Readonly<
  Record<OfOperator, (call: Call, hash: string) => Promise<Answer<Payment>>>
> = {
  accept: (call, hash) => call(acceptReview, { hash }),
  reject: (call, hash) => call(rejectReview, { hash }),
  dispute: (call, hash) =>
    call(openChargeback, { selector: { hash }, claim: { description: "not known" } }),
  credit: (call, hash) => call(creditChargeback, { hash }),
};

type Call = <Input, Output>(
  operation: Operation<Input, Output>,
  input: Input,
) => Promise<Answer<Output>>;

/**
 * One to four concurrent refunds of one payment; sometimes the issuer makes a chargeback or its
 * credit at the same moment.
 */
export async function refundBunch(
  installation: Installation,
  shop: Shop,
  chance: Chance,
): Promise<void> {
  const hash = someHash(shop, chance, isPaid);
  if (hash === undefined) return;
  const bunch = Array.from({ length: chance.between(1, 4) }, () =>
    refundOnce(installation, shop, chance, hash),
  );
  if (chance.happens(200))
    bunch.push(
      actOn(
        installation,
        shop,
        chance,
        [chance.pick(["dispute", "credit", "capture"] as const)],
        hash,
      ),
    );
  await Promise.all(bunch);
}

async function refundOnce(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  hash: string,
): Promise<void> {
  // Shared by all clients of the shop, so that codes collide.
  const code = chance.happens(300) ? `refund-${chance.below(6)}` : undefined;
  const texts: Fields = { hash, description: "changed their mind", merchant_refund_code: code };
  if (chance.happens(200)) {
    await ask(
      installation,
      shop,
      chance,
      wish(installation, shop, chance, { verb: "refund_or_cancel", hash }),
      texts,
    );
    return;
  }
  const whole = shop.payments.get(hash)?.amount ?? 100n;
  const amount = chance.happens(250) ? whole : chance.pick([1n, 100n, 333n, 15_000n, 99_999_900n]);
  const wished = wish(installation, shop, chance, { verb: "refund", hash, amount });
  await ask(installation, shop, chance, wished, {
    ...texts,
    operation: "request",
    amount: textOf(amount),
  });
}

/** Cancels a refund, by its id or its code; sometimes two clients do so concurrently. */
export async function takeBack(
  installation: Installation,
  shop: Shop,
  chance: Chance,
): Promise<void> {
  const newest = shop.refunds.at(-1 - chance.below(3));
  if (newest === undefined) return;
  const { id, code, payment } = newest;
  const name: Fields =
    code !== undefined && chance.happens(500)
      ? { merchant_refund_code: code }
      : { refund_id: String(id) };
  const times = chance.happens(300) ? 2 : 1;
  const answers = await Promise.all(
    Array.from({ length: times }, () => {
      const wished = wish(installation, shop, chance, {
        verb: "refund_cancel",
        hash: payment,
        refundId: id,
      });
      return ask(installation, shop, chance, wished, { operation: "cancel", ...name });
    }),
  );
  if (answers.filter(({ kind }) => kind === "done").length > 1)
    installation.auditor.violation("I5: a refund is cancelled once");
}

/**
 * Takes a copy of the store and soon restores it, so requests of the shop in between are lost: the
 * shop then requests the opposite, while the acquirer knows the first request.
 */
async function restoreCopy(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  name: string,
): Promise<void> {
  const { plan, auditor, time } = installation;
  const held = (): string | undefined => [...shop.payments.values()].findLast(suits.capture)?.id;
  if (held() === undefined) await pay(installation, shop, chance, name);
  const hash = held();
  installation.backUpOrPutBack();
  if (hash === undefined || auditor.isPutBack) return;
  const [lost, other] = chance.pick([
    ["capture", "cancel"],
    ["cancel", "capture"],
  ] as const);
  await actOn(installation, shop, chance, [lost], hash);
  await time.sleep(chance.pick([0, second, minute]));
  if (!auditor.isPutBack) installation.backUpOrPutBack();
  await time.sleep(plan.restartMs + 5 * second);
  auditor.mark("the opposite is asked for when a copy was put back");
  await actOn(installation, shop, chance, [other], hash);
}

/**
 * The acquirer will refuse something, the disk is full, the clock is set, or an older copy of the
 * store is restored.
 */
export async function upset(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  name: string,
): Promise<void> {
  const { plan, auditor, time } = installation;
  if (plan.putsBack && chance.happens(500)) {
    await restoreCopy(installation, shop, chance, name);
    return;
  }
  if (plan.diskFills && chance.happens(300)) {
    installation.fillDisk(chance.pick([second, 10 * second, minute, 10 * minute]));
    return;
  }
  if (plan.clockSets !== "none" && chance.happens(600)) {
    const back = plan.clockSets === "back" || chance.happens(500);
    auditor.mark(`the clock is set ${back ? "back" : "forward"}`);
    time.set((back ? -1 : 1) * chance.pick([1, second, 30 * second, 5 * minute, hour]));
    return;
  }
  const message = chance.pick(["capture", "void", "refund", "refund"] as const);
  // A refusal of the repeated request says nothing about a refund that is still on its way.
  if (message === "refund" && plan.simulator.lateAnswer > 0)
    installation.simulator.instruct(shop.account.id, { next: "late_answer", times: 1, message });
  installation.simulator.instruct(shop.account.id, {
    next: { decline: "not_accepted" },
    times: 1,
    message,
  });
}

/** Jumps the clock past or to just before a due time; then clients act concurrently. */
export async function sleepLong(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  jumps: "days" | "months",
  name: string,
): Promise<void> {
  const { time } = installation;
  if (jumps === "months" && chance.happens(750)) {
    await toExpiry(installation, shop, chance, name);
    return;
  }
  const hash = someHash(shop, chance, suits.cancel);
  const captureBy =
    hash === undefined ? undefined : await installation.captureBy(shop.account.id, hash);
  if (hash === undefined || captureBy === undefined || captureBy < time.now()) {
    time.jump(chance.pick([day / 2, day]));
    return;
  }
  time.jump(Math.max(0, captureBy - time.now() - chance.pick([-1_000, 0, 0, 1, 5, 300, 900])));
  await actOn(
    installation,
    shop,
    chance,
    chance.pick([["capture"], ["capture", "cancel"], ["accept"], ["accept", "capture"]] as const),
    hash,
  );
}

/**
 * Jumps to the moment when one of the newest tokens expires, so that it is used while it is being
 * deleted.
 */
async function toExpiry(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  name: string,
): Promise<void> {
  const { time, store } = installation;
  if (chance.happens(700)) await storeCard(installation, shop, chance);
  const token = shop.tokens.at(-1 - chance.below(2));
  const card =
    token === undefined
      ? undefined
      : await store.cardByToken(shop.account.id, installation.digestOf(shop.account.id, token));
  if (token === undefined || card === undefined || chance.happens(150)) {
    time.jump(chance.pick([423, 424, 425, 426, 427]) * day);
    return;
  }
  const early = chance.pick([-hour, 0, 1, 5, 20, 100, 300]);
  time.jump(Math.max(0, tokenDiesAt(card.lastUsedAt) - time.now() - early));
  const uses = [
    pay(installation, shop, chance, name, token),
    verify(installation, shop, chance, token),
  ];
  await (chance.happens(500) ? uses[0] : Promise.all(uses));
}

export async function look(installation: Installation, shop: Shop, chance: Chance): Promise<void> {
  const hash = someHash(shop, chance, () => true);
  if (hash === undefined) return;
  await query(installation, shop, chance, { hash });
}
