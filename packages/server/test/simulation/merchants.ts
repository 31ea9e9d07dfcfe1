import { instant } from "../../src/kernel/instant.ts";
import { assert } from "../../src/kernel/assert.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import type { Account } from "../../src/merchant/account.ts";
import { cancel } from "../../src/operations/cancel.ts";
import { capture } from "../../src/operations/capture.ts";
import type { CardSource, DirectInput } from "../../src/operations/direct-input.ts";
import { direct } from "../../src/operations/direct.ts";
import { query } from "../../src/operations/query.ts";
import { tokenize } from "../../src/operations/tokenize.ts";
import type { Payment } from "../../src/payment/payment.ts";
import type { Card } from "../../src/vault/card.ts";
import { Cvv, Pan } from "../../src/vault/pan.ts";
import type { Chance } from "./chance.ts";
import type { Installation } from "./installation.ts";

/** Test cards of interface 9: three that approve, two that are declined, one that the sandbox does not know. */
const cards = ["4111111111111111", "5555555555554444", "6362970000457013", "4716909774636285", "5102026827345142", "4242424242424242"];

/** What the clients of one merchant share: as a shop does, they act on the same orders. */
export interface Shop {
  readonly account: Account;
  readonly codes: Set<string>;
  readonly tokens: string[];
  /** The newest payments first in line for whatever comes: races need company. */
  readonly hashes: string[];
}

/** One client of a shop: sends commands one after the other, and does what real ones do when an answer is lost: tries again. */
export async function runClient(installation: Installation, shop: Shop, chance: Chance, name: string, commands: number): Promise<void> {
  for (let command = 0; command < commands; command += 1) {
    await installation.time.sleep(chance.pick([0, 0, 1, 500, 40_000]));
    await oneCommand(installation, shop, chance, `${name}-${command}`);
  }
}

async function oneCommand(installation: Installation, shop: Shop, chance: Chance, name: string): Promise<void> {
  const choice = chance.below(100);
  if (choice < 10) await storeCard(installation, shop, chance);
  else if (choice < 45) await pay(installation, shop, chance, name);
  else if (choice < 55) {
    // A double click: the same code, at the same moment.
    const code = name;
    await Promise.all([payOnce(installation, shop, chance, code), payOnce(installation, shop, chance, code)]);
  } else if (choice < 70) await takeOrGiveUp(installation, shop, chance, ["capture"]);
  else if (choice < 80) await takeOrGiveUp(installation, shop, chance, ["capture", "capture"]);
  else if (choice < 90) await takeOrGiveUp(installation, shop, chance, ["capture", "cancel"]);
  else if (choice < 96) await takeOrGiveUp(installation, shop, chance, ["cancel"]);
  else await look(installation, shop, chance);
}

async function storeCard(installation: Installation, shop: Shop, chance: Chance): Promise<void> {
  const card = newCard(chance);
  const token = chance.happens(200) ? "t".repeat(32) + chance.below(3) : undefined;
  const answer = await installation.call(tokenize, shop.account, { card, token });
  card.pan.wipe();
  if (answer.kind === "answer") shop.tokens.push(answer.value.token);
}

async function pay(installation: Installation, shop: Shop, chance: Chance, code: string): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const known = await payOnce(installation, shop, chance, code);
    if (known) return;
    await installation.time.sleep(chance.pick([0, 1_000, 60_000]));
  }
}

/** Resolves with whether the client knows that a payment with this code exists, or that there will be none. */
async function payOnce(installation: Installation, shop: Shop, chance: Chance, code: string): Promise<boolean> {
  shop.codes.add(code);
  const input = directInput(shop, chance, code);
  const answer = await installation.call(direct, shop.account, input);
  if (input.source.kind !== "token") input.source.card.pan.wipe();
  input.source.cvv?.wipe();
  if (answer.kind === "answer") {
    const { payment, token } = answer.value;
    installation.auditor.told(payment);
    shop.hashes.push(payment.id);
    if (token !== undefined) shop.tokens.push(token);
    return true;
  }
  if (answer.kind === "refusal" && answer.code === "payment_code_taken") {
    const found = await installation.call(query, shop.account, { code });
    if (found.kind === "answer") {
      installation.auditor.told(found.value);
      shop.hashes.push(found.value.id);
    }
    return found.kind === "answer";
  }
  return answer.kind === "refusal" && answer.code === "token_not_found";
}

async function takeOrGiveUp(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  verbs: readonly ("capture" | "cancel")[],
): Promise<void> {
  const hash = shop.hashes.at(-1 - chance.below(4));
  if (hash === undefined) return;
  const wins = await Promise.all(
    verbs.map(async (verb) => {
      const answer = await act(installation, shop, chance, verb, hash);
      if (answer.kind !== "answer") return undefined;
      installation.auditor.told(answer.value);
      return verb;
    }),
  );
  if (wins.filter((win) => win !== undefined).length > 1) installation.auditor.violation(`I5: of ${verbs.join(" and ")} one wins`);
}

function act(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  verb: "capture" | "cancel",
  hash: string,
): ReturnType<typeof installation.call<unknown, Payment>> {
  if (verb === "cancel") return installation.call(cancel, shop.account, { hash });
  const amount = chance.happens(500) ? undefined : chance.pick(["1.00", "3.33", "0", "50000.00"]);
  return installation.call(capture, shop.account, { selector: { hash }, amount });
}

async function look(installation: Installation, shop: Shop, chance: Chance): Promise<void> {
  const hash = shop.hashes.at(-1 - chance.below(4));
  if (hash === undefined) return;
  const answer = await installation.call(query, shop.account, { hash });
  if (answer.kind === "answer") installation.auditor.told(answer.value);
}

function directInput(shop: Shop, chance: Chance, code: string): DirectInput {
  const token = chance.happens(500) ? shop.tokens.at(-1 - chance.below(3)) : undefined;
  const cvv = chance.happens(800) ? Cvv.from(Uint8Array.from(Buffer.from("123"))) : undefined;
  const source: CardSource = token === undefined ? { kind: "pan", card: newCard(chance), cvv } : { kind: "token", token, cvv };
  const createToken =
    source.kind === "pan" && chance.happens(200) ? { token: chance.happens(300) ? "c".repeat(32) : undefined } : undefined;
  return {
    source,
    createToken,
    order: {
      code,
      orderNumber: undefined,
      amount: { minor: BigInt(chance.between(100, 99_999)), currency: "USD" },
      instalments: 1,
      autoCapture: chance.happens(400),
      manualReview: chance.happens(100),
      country: "br",
      paymentType: "credit",
      customer: {
        name: "Ana Lima",
        email: "ana.lima@example.com",
        document: "85351346893",
        birthDate: undefined,
        personType: "personal",
        phone: "8522847035",
        zipcode: "61919230",
        address: "Rua E",
        streetNumber: "1040",
        streetComplement: undefined,
        city: "Maracanau",
        state: "CE",
        ip: undefined,
        responsible: undefined,
      },
      softDescriptor: undefined,
      note: undefined,
      userValues: [],
      notificationUrl: undefined,
      deviceId: undefined,
    },
  };
}

function newCard(chance: Chance): Card {
  const pan = Pan.from(Uint8Array.from(Buffer.from(chance.pick(cards))));
  assert(pan !== undefined, "test cards pass the Luhn check");
  return { pan, expiryMonth: 12, expiryYear: 2030, holderName: "ANA LIMA" };
}

function newShop(account: Account): Shop {
  return { account, codes: new Set(), tokens: [], hashes: [] };
}

export async function openShop(installation: Installation, index: number, settings: Account["settings"]): Promise<Shop> {
  const account: Account = { id: `0000000${index}` as MerchantId, version: 1, name: `Shop ${index}`, settings };
  const result = await installation.store.commit({
    merchantId: account.id,
    at: instant(installation.time.now()),
    account: { next: account, replaces: undefined, keys: [] },
    facts: [],
    entries: [],
    notifications: [],
  });
  assert(result.outcome === "committed", "an account can be set up");
  return newShop(account);
}
