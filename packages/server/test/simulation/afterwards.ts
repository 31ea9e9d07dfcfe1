import { day, hour, minute, second } from "../../src/kernel/instant.ts";
import { cancel } from "../../src/operations/cancel.ts";
import { capture } from "../../src/operations/capture.ts";
import { creditChargeback, openChargeback } from "../../src/operations/chargeback.ts";
import type { Operation } from "../../src/operations/operation.ts";
import { query } from "../../src/operations/query.ts";
import { cancelRefund, refund, refundOrCancel, type Refunded } from "../../src/operations/refund.ts";
import { acceptReview, rejectReview } from "../../src/operations/review.ts";
import type { Payment } from "../../src/payment/payment.ts";
import { tokenDiesAt } from "./audit-tables.ts";
import type { Chance } from "./chance.ts";
import type { Answer, Installation } from "./installation.ts";
import { payOnce, storeCard, verify } from "./purchases.ts";
import { note, someHash, type Shop } from "./shop.ts";

/** What happens to a payment after it was made, by its merchant, its reviewer, its issuer, or time. */

type Verb = "capture" | "cancel" | "accept" | "reject" | "dispute" | "credit";

/** What each verb leaves when it has won; of the pairs below only one can. */
const wins: Readonly<Record<Verb, (payment: Payment) => boolean>> = {
  capture: ({ state }) => state === "captured",
  cancel: ({ state }) => state === "voided",
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

/** To what a verb may have something to do. */
const suits: Readonly<Record<Verb, (payment: Payment) => boolean>> = {
  capture: ({ state }) => state === "authorized",
  cancel: ({ state }) => state === "authorized" || state === "in_review",
  accept: ({ state }) => state === "in_review",
  reject: ({ state }) => state === "in_review",
  dispute: isPaid,
  credit: ({ chargeback }) => chargeback?.state === "opened",
};

function isPaid({ state, chargeback }: Payment): boolean {
  return state === "captured" && chargeback === undefined;
}

/** The verbs at once, on one payment. */
export async function act(installation: Installation, shop: Shop, chance: Chance, verbs: readonly [Verb, ...Verb[]]): Promise<void> {
  const hash = someHash(shop, chance, suits[verbs[0]]);
  if (hash !== undefined) await actOn(installation, shop, chance, verbs, hash);
}

async function actOn(installation: Installation, shop: Shop, chance: Chance, verbs: readonly Verb[], hash: string): Promise<void> {
  const won = await Promise.all(
    verbs.map(async (verb) => {
      const answer = await ask[verb]((operation, input) => installation.call(operation, shop.account, input), chance, hash);
      if (answer.kind !== "answer") return false;
      note(installation, shop, answer.value);
      return wins[verb](answer.value);
    }),
  );
  if (exclusive.has(verbs.join()) && won.filter(Boolean).length > 1) {
    installation.auditor.violation(`I5: of ${verbs.join(" and ")} one wins`);
  }
}

const ask: Readonly<Record<Verb, (call: Call, chance: Chance, hash: string) => Promise<Answer<Payment>>>> = {
  capture: (call, chance, hash) => {
    const amount = chance.happens(500) ? undefined : chance.pick(["1.00", "3.33", "0", "50000.00"]);
    return call(capture, { selector: { hash }, amount });
  },
  cancel: (call, _, hash) => call(cancel, { hash }),
  accept: (call, _, hash) => call(acceptReview, { hash }),
  reject: (call, _, hash) => call(rejectReview, { hash }),
  dispute: (call, _, hash) => call(openChargeback, { selector: { hash }, description: "not known" }),
  credit: (call, _, hash) => call(creditChargeback, { hash }),
};

type Call = <Input, Output>(operation: Operation<Input, Output>, input: Input) => Promise<Answer<Output>>;

/** One to four refunds of one payment at once; now and then the issuer takes the money back, or gives it again, at the same moment. */
export async function refundBunch(installation: Installation, shop: Shop, chance: Chance): Promise<void> {
  const hash = someHash(shop, chance, isPaid);
  if (hash === undefined) return;
  const bunch = Array.from({ length: chance.between(1, 4) }, () => refundOnce(installation, shop, chance, hash));
  if (chance.happens(200)) bunch.push(actOn(installation, shop, chance, [chance.pick(["dispute", "credit", "capture"] as const)], hash));
  await Promise.all(bunch);
}

async function refundOnce(installation: Installation, shop: Shop, chance: Chance, hash: string): Promise<void> {
  const input = {
    selector: { hash },
    amount: chance.happens(250) ? undefined : chance.pick(["0.01", "1.00", "3.33", "150.00", "50000.00"]),
    description: "changed their mind",
    // Shared by all clients of the shop, so that codes meet.
    code: chance.happens(300) ? `refund-${chance.below(6)}` : undefined,
    request: chance.happens(500) ? `request-${chance.next()}` : undefined,
  };
  if (chance.happens(800)) {
    const first = await installation.call(refund, shop.account, input);
    told(installation, shop, first);
    // Who named the request may send it again without knowing what became of it: it is one refund.
    if (input.request !== undefined && chance.happens(400)) told(installation, shop, await installation.call(refund, shop.account, input));
    return;
  }
  const answer = await installation.call(refundOrCancel, shop.account, input);
  if (answer.kind !== "answer") return;
  const { payment, refund: refunded } = answer.value;
  note(installation, shop, payment, refunded);
}

/** Takes a refund back, by either of its names; now and then twice at once. */
export async function takeBack(installation: Installation, shop: Shop, chance: Chance): Promise<void> {
  const newest = shop.refunds.at(-1 - chance.below(3));
  if (newest === undefined) return;
  const { id, code } = newest;
  const selector = code !== undefined && chance.happens(500) ? { code } : { id };
  const times = chance.happens(300) ? 2 : 1;
  const answers = await Promise.all(Array.from({ length: times }, () => installation.call(cancelRefund, shop.account, selector)));
  for (const answer of answers) told(installation, shop, answer);
  if (answers.filter(({ kind }) => kind === "answer").length > 1) installation.auditor.violation("I5: a refund is cancelled once");
}

function told(installation: Installation, shop: Shop, answer: Answer<Refunded>): void {
  if (answer.kind === "refusal") installation.auditor.mark(`refused ${answer.code}`);
  if (answer.kind !== "answer") return;
  note(installation, shop, answer.value.payment, answer.value.refund);
}

/** The acquirer is about to refuse something, the disk is full, or somebody sets the clock. */
export function upset(installation: Installation, shop: Shop, chance: Chance): void {
  const { plan, auditor, time } = installation;
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
  const of = chance.pick(["capture", "void", "refund", "refund"] as const);
  installation.simulator.instruct(shop.account.id, { next: { decline: "not_accepted" }, times: 1, of });
}

/** The clock jumps: past something that falls due, or to just before it, and then clients act at once. */
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
  const answer = hash === undefined ? undefined : await installation.call(query, shop.account, { hash });
  const captureBy = answer?.kind === "answer" ? answer.value.captureBy : undefined;
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

/** To the moment in which one of the newest tokens expires: it is used then, while it is forgotten. */
async function toExpiry(installation: Installation, shop: Shop, chance: Chance, name: string): Promise<void> {
  const { time, store } = installation;
  if (chance.happens(700)) await storeCard(installation, shop, chance);
  const token = shop.tokens.at(-1 - chance.below(2));
  const card = token === undefined ? undefined : await store.cardByToken(shop.account.id, installation.digestOf(shop.account.id, token));
  if (token === undefined || card === undefined || chance.happens(150)) {
    time.jump(chance.pick([423, 424, 425, 426, 427]) * day);
    return;
  }
  const early = chance.pick([-hour, 0, 1, 5, 20, 100, 300]);
  time.jump(Math.max(0, tokenDiesAt(card.lastUsedAt) - time.now() - early));
  const uses = [payOnce(installation, shop, chance, name, token), verify(installation, shop, chance, token)];
  await (chance.happens(500) ? uses[0] : Promise.all(uses));
}

export async function look(installation: Installation, shop: Shop, chance: Chance): Promise<void> {
  const hash = someHash(shop, chance, () => true);
  if (hash === undefined) return;
  const answer = await installation.call(query, shop.account, { hash });
  if (answer.kind === "answer") note(installation, shop, answer.value);
}
