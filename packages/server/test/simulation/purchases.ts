import { assert } from "../../src/kernel/assert.ts";
import type { Instant } from "../../src/kernel/instant.ts";
import type { CardSource, DirectInput } from "../../src/operations/direct-input.ts";
import { direct } from "../../src/operations/direct.ts";
import { query } from "../../src/operations/query.ts";
import { setCvv } from "../../src/operations/set-cvv.ts";
import { tokenize } from "../../src/operations/tokenize.ts";
import { verifyCard } from "../../src/operations/verify-card.ts";
import type { StoredCredential } from "../../src/payment/payment.ts";
import type { Card } from "../../src/vault/card.ts";
import { Cvv, Pan } from "../../src/vault/pan.ts";
import type { Chance } from "./chance.ts";
import type { Installation } from "./installation.ts";
import { ownUrl } from "./receivers.ts";
import { note, type Shop } from "./shop.ts";

/** What a client does with cards: stores them, has them verified, and pays. */

/** Test cards of interface 9 that approve, two that are declined, and one that the sandbox does not know. */
const good = ["4111111111111111", "5555555555554444", "6362970000457013", "6011111111111117"];
const bad = ["4716909774636285", "5102026827345142", "4242424242424242"];

export async function storeCard(installation: Installation, shop: Shop, chance: Chance): Promise<void> {
  const card = newCard(chance);
  const token = chance.happens(200) ? "t".repeat(32) + chance.below(3) : undefined;
  const at = installation.time.now();
  const answer = await installation.call(tokenize, shop.account, { card, token });
  card.pan.wipe();
  if (answer.kind === "answer") await hasToken(installation, shop, answer.value.token, at);
}

async function hasToken({ auditor, tokens, time }: Installation, shop: Shop, token: string, at: Instant): Promise<void> {
  shop.tokens.push(token);
  tokens.push(token);
  await auditor.cards.told(shop.account.id, token, at, time.now());
}

/** The shop's page leaves a security code for the newest stored card. */
export async function leaveCode(installation: Installation, shop: Shop): Promise<void> {
  const token = shop.tokens.at(-1);
  const cvv = newCvv();
  if (token !== undefined) await installation.call(setCvv, shop.account, { token, cvv });
  cvv.wipe();
}

export async function verify(installation: Installation, shop: Shop, chance: Chance, token?: string): Promise<void> {
  const source = newSource(shop, chance, token);
  const at = installation.time.now();
  const input = { source, country: "br", paymentType: "credit", storedCredential: undefined } as const;
  const answer = await installation.call(verifyCard, shop.account, input);
  wipe(source);
  if (answer.kind !== "answer") return;
  installation.auditor.mark(`verified ${answer.value.kind}`);
  if (source.kind === "token") await installation.auditor.cards.told(shop.account.id, source.token, at, installation.time.now());
}

export async function pay(installation: Installation, shop: Shop, chance: Chance, code: string): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const known = await payOnce(installation, shop, chance, code);
    if (known) return;
    await installation.time.sleep(chance.pick([0, 1_000, 60_000]));
  }
}

const refusalsBeforePayment = ["token_not_found", "mandate_mismatch"];

/** Resolves with whether the client knows that a payment with this code exists, or that there will be none. */
export async function payOnce(installation: Installation, shop: Shop, chance: Chance, code: string, by?: string): Promise<boolean> {
  shop.codes.add(code);
  const at = installation.time.now();
  installation.auditor.asks(shop.account.id, code, at);
  const input = directInput(installation, shop, chance, code, by);
  const answer = await installation.call(direct, shop.account, input);
  wipe(input.source);
  if (answer.kind === "answer") {
    const { payment, token } = answer.value;
    note(installation, shop, payment);
    if (token !== undefined) await hasToken(installation, shop, token, at);
    return true;
  }
  if (answer.kind === "refusal" && answer.code === "payment_code_taken") {
    const found = await installation.call(query, shop.account, { code });
    if (found.kind === "answer") note(installation, shop, found.value);
    return found.kind === "answer";
  }
  const refused = answer.kind === "refusal" && refusalsBeforePayment.includes(answer.code);
  if (refused) installation.auditor.mark(`refused ${answer.code}`);
  if (refused && input.source.kind === "token" && !installation.auditor.cards.knows(shop.account.id, input.source.token))
    installation.auditor.mark("another merchant's token is refused");
  return refused;
}

function directInput({ plan, tokens }: Installation, shop: Shop, chance: Chance, code: string, by?: string): DirectInput {
  // Now and then somebody else's, which must be as good as none.
  const source = newSource(shop, chance, by ?? (chance.happens(20) ? tokens.at(-1 - chance.below(5)) : undefined));
  const createToken =
    source.kind === "pan" && chance.happens(200) ? { token: chance.happens(300) ? "c".repeat(32) : undefined } : undefined;
  return {
    source,
    createToken,
    local: chance.happens(100),
    order: {
      code,
      orderNumber: undefined,
      amount: { minor: BigInt(chance.between(100, 99_999)), currency: "USD" },
      instalments: 1,
      autoCapture: chance.happens(500),
      manualReview: chance.happens(150),
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
      notificationUrl: chance.happens(plan.receivers.ownAddressPerMille) ? ownUrl(shop.index, chance.below(3)) : undefined,
      deviceId: undefined,
      storedCredential: newCredential(shop, chance),
      threeDSecure: undefined,
    },
  };
}

/** Now and then a first payment under a mandate, or one that follows: of the same card, of another one, or of none. */
function newCredential(shop: Shop, chance: Chance): StoredCredential | undefined {
  const kind = chance.below(100);
  if (kind < 80) return undefined;
  if (kind < 90) return { use: "initial", initiator: "CIT", reason: "SCHEDULED_RECURRING", mandateId: undefined };
  const mandateId = shop.mandates.at(-1 - chance.below(3)) ?? (chance.happens(500) ? "000000000000000" : undefined);
  return { use: "stored", initiator: "MIT", reason: "SCHEDULED_RECURRING", mandateId };
}

/** A card, or one of the shop's newest tokens; `by`: this one. */
function newSource(shop: Shop, chance: Chance, by?: string): CardSource {
  const token = by ?? (chance.happens(500) ? shop.tokens.at(-1 - chance.below(3)) : undefined);
  const cvv = chance.happens(800) ? newCvv() : undefined;
  return token === undefined
    ? { kind: "pan", card: newCard(chance), cvv, cryptogram: undefined }
    : { kind: "token", token, cvv, cryptogram: undefined };
}

function wipe(source: CardSource): void {
  if (source.kind !== "token") source.card.pan.wipe();
  source.cvv?.wipe();
}

function newCvv(): Cvv {
  const cvv = Cvv.from(Uint8Array.from(Buffer.from("123")));
  assert(cvv !== undefined, "three digits are a security code");
  return cvv;
}

function newCard(chance: Chance): Card {
  const pan = Pan.from(Uint8Array.from(Buffer.from(chance.pick(chance.happens(800) ? good : bad))));
  assert(pan !== undefined, "test cards pass the Luhn check");
  return { pan, expiryMonth: 12, expiryYear: 2030, holderName: "ANA LIMA" };
}
