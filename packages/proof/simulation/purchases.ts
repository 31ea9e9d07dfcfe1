import type { Instant } from "../../server/src/kernel/instant.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import type { Installation } from "./installation.ts";
import { ownUrl } from "./receivers.ts";
import { type Shop } from "./shop.ts";
import { ask, codeOf, query, wish } from "./shop-client.ts";
import { type Fields, wireRequest } from "./wire-request.ts";

/** Card actions of a client: storing, verification and payment. */

/**
 * Published test cards that approve, two that are declined, and one that the acquirer does not
 * know.
 */
const good = ["4111111111111111", "5555555555554444"];
/** With brands that only Brazil accepts. */
const brazilian = [...good, "6362970000457013", "6011111111111117"];
const bad = ["4716909774636285", "5102026827345142", "4242424242424242"];

export async function storeCard(
  installation: Installation,
  shop: Shop,
  chance: Chance,
): Promise<void> {
  const token = chance.happens(200)
    ? `chosen-token-of-the-merchant-no-${chance.below(3)}`
    : undefined;
  const at = installation.time.now();
  const fields: Fields = {
    payment_type_code: "creditcard",
    country: "br",
    token,
    creditcard: cardFields(chance, "br", "123"),
  };
  const answer = await installation.send(
    wireRequest(chance, "/ws/token", fields, shop.key, { hasCard: true }),
  );
  if (answer === "lost") return;
  const reported: unknown = JSON.parse(answer.body);
  const code = codeOf(reported);
  if (code !== undefined) installation.auditor.mark(`refused ${code}`);
  else await hasToken(installation, shop, (reported as { readonly token: string }).token, at);
}

async function hasToken(
  { auditor, tokens, time }: Installation,
  shop: Shop,
  token: string,
  at: Instant,
): Promise<void> {
  shop.tokens.push(token);
  tokens.push(token);
  await auditor.cards.reported(shop.account.id, token, at, time.now());
}

/** The shop's page sends a security code for the newest stored card. */
export async function leaveCode(
  installation: Installation,
  shop: Shop,
  chance: Chance,
): Promise<void> {
  const token = shop.tokens.at(-1);
  if (token === undefined) return;
  await installation.send(
    wireRequest(chance, "/ws/token/setCVV", { token, card_cvv: "123" }, shop.key, {
      hasCard: true,
    }),
  );
}

export async function verify(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  by?: string,
): Promise<void> {
  const { auditor, time } = installation;
  const token = by ?? (chance.happens(500) ? shop.tokens.at(-1 - chance.below(3)) : undefined);
  const at = time.now();
  const cvv = chance.happens(800) ? "123" : undefined;
  const fields: Fields = {
    payment_type_code: "creditcard",
    country: "br",
    card: token === undefined ? cardFields(chance, "br", cvv) : { token },
  };
  const goodUntil =
    token === undefined ? undefined : auditor.cards.goodUntil(shop.account.id, token);
  const answer = await installation.send(
    wireRequest(chance, "/ws/verifycard", fields, shop.key, { hasCard: true }),
  );
  if (answer === "lost") return;
  const reported: unknown = JSON.parse(answer.body);
  const code = codeOf(reported);
  if (code !== undefined) {
    auditor.mark(`refused ${code}`);
    if (token !== undefined && goodUntil !== undefined && code === "BP-DR-64")
      auditor.cards.refused(shop.account.id, token, goodUntil, time.now());
    return;
  }
  auditor.mark(`verified ${verdictOf(reported)}`);
  if (token !== undefined) await auditor.cards.reported(shop.account.id, token, at, time.now());
}

function verdictOf(reported: unknown): string {
  const { card_verification: verification } = reported as {
    readonly card_verification: { readonly transaction_status: { readonly code: string } };
  };
  return verification.transaction_status.code;
}

/**
 * Resolves with whether the client knows that a payment with this code exists, or that there will
 * be none.
 */
export async function pay(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  code: string,
  by?: string,
): Promise<boolean> {
  return order(installation, shop, chance, code, by)();
}

/** A double click: the same order at the same moment, under the same key or without one. */
export async function payTwice(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  code: string,
): Promise<void> {
  const send = order(installation, shop, chance, code);
  await Promise.all([send(), send()]);
}

/** One order of a shop, to be sent once or more. */
function order(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  code: string,
  by?: string,
): () => Promise<boolean> {
  const { auditor, plan, time, tokens } = installation;
  // Sometimes another merchant's token, which must be treated as unknown.
  const foreign = chance.happens(20) ? tokens.at(-1 - chance.below(5)) : undefined;
  const token =
    by ?? foreign ?? (chance.happens(500) ? shop.tokens.at(-1 - chance.below(3)) : undefined);
  const { country, currency } = chance.pick(places);
  const amount = BigInt(chance.between(100, 99_999)) * factorOf(currency);
  const cvv = chance.happens(800) ? "123" : undefined;
  const creates = token === undefined && chance.happens(200);
  const local = chance.happens(100);
  const node: Fields = {
    ...(token === undefined ? cardFields(chance, country, cvv) : { token, card_cvv: cvv }),
    auto_capture: chance.happens(500),
  };
  const fields: Fields = {
    operation: "request",
    mode: "full",
    payment: {
      merchant_payment_code: code,
      amount_total: textOf(amount),
      currency_code: currency,
      country,
      instalments: "1",
      payment_type_code: "creditcard",
      manual_review: chance.happens(150) ? true : undefined,
      name: "Ana Lima",
      email: "ana.lima@example.com",
      phone_number: "8522847035",
      ...customers[country],
      ...(creates
        ? {
            create_token: true,
            token: chance.happens(400)
              ? `created-token-of-the-merchant-no-${chance.below(3)}`
              : undefined,
          }
        : {}),
      notification_url: chance.happens(plan.receivers.ownAddressPerMille)
        ? ownUrl(shop.index, chance.below(3))
        : undefined,
      cof_info: credentialFields(shop, chance),
      creditcard: node,
    },
  };
  const wished = wish(installation, shop, chance, { verb: "direct", code, amount });
  shop.codes.add(code);
  return async () => {
    const at = time.now();
    auditor.asks(shop.account.id, code, at, { amount, currency, country, local });
    const goodUntil =
      token === undefined ? undefined : auditor.cards.goodUntil(shop.account.id, token);
    const received = await ask(installation, shop, chance, wished, fields, {
      hasCard: true,
      local,
    });
    if (received.kind === "done") {
      if (received.answer.token !== undefined)
        await hasToken(installation, shop, received.answer.token, at);
      return true;
    }
    if (received.kind === "lost")
      return (await query(installation, shop, chance, { code })).kind === "done";
    if (received.code === "BP-DR-0" || received.code === "BP-DR-119")
      return (await query(installation, shop, chance, { code })).kind === "done";
    if (token !== undefined && goodUntil !== undefined && received.code === "BP-DR-64")
      auditor.cards.refused(shop.account.id, token, goodUntil, time.now());
    if (
      received.code === "BP-DR-64" &&
      token !== undefined &&
      !auditor.cards.knows(shop.account.id, token)
    )
      auditor.mark("another merchant's token is refused");
    return true;
  };
}

/** The countries and currencies of payments. */
const places = [
  { country: "br", currency: "USD" },
  { country: "br", currency: "USD" },
  { country: "br", currency: "BRL" },
  { country: "br", currency: "EUR" },
  { country: "mx", currency: "USD" },
  { country: "mx", currency: "MXN" },
  { country: "co", currency: "COP" },
  { country: "pe", currency: "USD" },
  { country: "ec", currency: "USD" },
  { country: "ar", currency: "EUR" },
] as const;
type Country = (typeof places)[number]["country"];

const address = {
  zipcode: "61919230",
  address: "Rua E",
  street_number: "1040",
  city: "Maracanau",
  state: "CE",
};
const customers: Readonly<Record<Country, Fields>> = {
  br: { ...address, document: "85351346893" },
  mx: address,
  co: { ...address, document: "1234567890" },
  pe: {},
  ec: {},
  ar: { ...address, document: "20123456786" },
};

/** Amounts are between about one and a thousand dollars. */
function factorOf(currency: string): bigint {
  return currency === "COP" ? 2_000n : currency === "MXN" ? 20n : currency === "BRL" ? 5n : 1n;
}

/** Decimal text, as merchants write it. */
export function textOf(minor: bigint): string {
  const digits = String(minor).padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/**
 * Sometimes the initial payment of a mandate, or a subsequent one: of the same card, of another
 * one, or without an initial payment.
 */
function credentialFields(shop: Shop, chance: Chance): Fields | undefined {
  const kind = chance.below(100);
  if (kind < 80) return undefined;
  if (kind < 90)
    return { cof_type: "initial", initiator: "CIT", trans_type: "SCHEDULED_RECURRING" };
  const mandate =
    shop.mandates.at(-1 - chance.below(3)) ?? (chance.happens(500) ? "000000000000000" : undefined);
  return {
    cof_type: "stored",
    initiator: "MIT",
    trans_type: "SCHEDULED_RECURRING",
    mandate_id: mandate,
  };
}

function cardFields(chance: Chance, country: Country, cvv: string | undefined): Fields {
  const numbers = chance.happens(800) ? (country === "br" ? brazilian : good) : bad;
  return {
    card_number: chance.pick(numbers),
    card_name: "ANA LIMA",
    card_due_date: "12/2060",
    card_cvv: cvv,
  };
}
