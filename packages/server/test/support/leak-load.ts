import { connect } from "node:net";
import type { Chance } from "./chance.ts";
import { sensitiveMark } from "./leak-scanner.ts";
import type { WireClient } from "./wire-client.ts";

/** One card, used once: its number, its security code, and its index among the cards. */
export interface Canary {
  readonly pan: string;
  readonly cvv: string;
  readonly index: number;
}

export interface LeakTarget {
  readonly client: WireClient;
  readonly port: number;
  readonly integrationKey: string;
}

/**
 * One way to send a card number to the server, valid or one of the many invalid ones. Resolves with
 * the answer.
 */
export interface Way {
  readonly name: string;
  /**
   * The number is in its proper field of a body: then it must not stay in memory either. A URL
   * becomes a string before it can be wiped.
   */
  readonly wiped: boolean;
  send(target: LeakTarget, canary: Canary): Promise<string>;
}

/** The lane's acquirer approves all numbers with these prefixes. They are known test ranges. */
export const approvedBins = ["411111", "555555", "378282"];
export const declinedBins = ["400000", "510510"];

/** `count` different numbers that pass the Luhn check; every fourth is declined. */
export function canaries(count: number, chance: Chance): Canary[] {
  const seen = new Set<string>();
  const made: Canary[] = [];
  while (made.length < count) {
    const bin = made.length % 4 === 3 ? chance.pick(declinedBins) : chance.pick(approvedBins);
    const length = bin.startsWith("37") ? 15 : 16;
    const middle = Array.from({ length: length - 7 }, () => chance.below(10)).join("");
    const pan = withCheckDigit(bin + middle);
    if (seen.has(pan)) continue;
    seen.add(pan);
    made.push({ pan, cvv: String(chance.between(101, 998)), index: made.length });
  }
  return made;
}

function withCheckDigit(digits: string): string {
  let sum = 0;
  for (const [index, digit] of Array.from(digits).toReversed().entries()) {
    const value = index % 2 === 0 ? Number(digit) * 2 : Number(digit);
    sum += value > 9 ? value - 9 : value;
  }
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

function cardNode({ pan, cvv }: Canary): Record<string, unknown> {
  return { card_number: pan, card_name: "Ana Lima", card_due_date: "12/2060", card_cvv: cvv };
}

function tokenBody(key: string, canary: Canary): Record<string, unknown> {
  return {
    integration_key: key,
    country: "pe",
    payment_type_code: "creditcard",
    creditcard: cardNode(canary),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function directBody(
  key: string,
  canary: Canary,
  payment: Fields = {},
  creditcard: Fields = {},
): Record<string, unknown> {
  return {
    integration_key: key,
    operation: "request",
    payment: {
      amount_total: "25.50",
      currency_code: "PEN",
      merchant_payment_code: `leak-${canary.index}`,
      name: "Ana Lima",
      email: "ana.lima@example.com",
      country: "pe",
      phone_number: "51987654321",
      payment_type_code: "creditcard",
      creditcard: { ...cardNode(canary), ...creditcard },
      ...payment,
    },
  };
}

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };

async function post(
  { client, port }: LeakTarget,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>> = json,
): Promise<string> {
  return (await client.send({ port, path, headers, body }))?.body ?? "";
}

function way(name: string, send: Way["send"], wiped = false): Way {
  return { name, wiped, send };
}

function jsonWay(
  name: string,
  path: string,
  body: (key: string, canary: Canary) => unknown,
  wiped = false,
): Way {
  return way(
    name,
    (target, canary) => post(target, path, JSON.stringify(body(target.integrationKey, canary))),
    wiped,
  );
}

/** Valid requests. */
const rightWays: readonly Way[] = [
  jsonWay("token, JSON", "/ws/token", tokenBody, true),
  way(
    "token, form with request_body",
    (target, canary) => {
      const body = new URLSearchParams({
        request_body: JSON.stringify(tokenBody(target.integrationKey, canary)),
      });
      return post(target, "/ws/token", body.toString(), form);
    },
    true,
  ),
  way(
    "token, raw form",
    (target, canary) =>
      post(
        target,
        "/ws/token",
        `request_body=${JSON.stringify(tokenBody(target.integrationKey, canary))}`,
        form,
      ),
    true,
  ),
  way(
    "token, bracketed form",
    (target, canary) => {
      const body = new URLSearchParams({
        integration_key: target.integrationKey,
        country: "pe",
        payment_type_code: "creditcard",
      });
      for (const [name, value] of Object.entries(cardNode(canary)))
        body.set(`creditcard[${name}]`, String(value));
      return post(target, "/ws/token", body.toString(), form);
    },
    true,
  ),
  way(
    "token, multipart",
    (target, canary) => {
      const part = `content-disposition: form-data; name="request_body"\r\n\r\n${JSON.stringify(tokenBody(target.integrationKey, canary))}`;
      return post(target, "/ws/token", `--edge\r\n${part}\r\n--edge--\r\n`, {
        "content-type": "multipart/form-data; boundary=edge",
      });
    },
    true,
  ),
  way(
    "token, GET",
    async ({ client, port, integrationKey }, canary) => {
      const query = new URLSearchParams({
        request_body: JSON.stringify(tokenBody(integrationKey, canary)),
      });
      return (
        (await client.send({ port, method: "GET", path: `/ws/token?${query.toString()}` }))?.body ??
        ""
      );
    },
    false,
  ),
  jsonWay("direct, sale", "/ws/direct", (key, canary) => directBody(key, canary), true),
  jsonWay(
    "direct, authorization",
    "/ws/direct",
    (key, canary) => directBody(key, canary, {}, { auto_capture: false }),
    true,
  ),
  jsonWay(
    "direct, create_token",
    "/ws/direct",
    (key, canary) => directBody(key, canary, { create_token: true }),
    true,
  ),
  jsonWay(
    "direct, number in groups",
    "/ws/direct",
    (key, canary) => directBody(key, canary, {}, { card_number: grouped(canary.pan, " ") }),
    true,
  ),
  jsonWay(
    "direct, number with dashes",
    "/ws/direct",
    (key, canary) => directBody(key, canary, {}, { card_number: grouped(canary.pan, "-") }),
    true,
  ),
  way(
    "direct, number without quotes",
    (target, canary) => {
      const body = JSON.stringify(directBody(target.integrationKey, canary));
      return post(
        target,
        "/ws/direct",
        body.replace(`"${canary.pan}"`, canary.pan).replace(`"${canary.cvv}"`, canary.cvv),
      );
    },
    true,
  ),
  jsonWay(
    "direct, network token",
    "/ws/direct",
    (key, canary) =>
      directBody(key, canary, {
        creditcard: {
          network_token_pan: canary.pan,
          network_token_expire_date: "12/2060",
          network_token_cryptogram: "AJ9kVyGkTLKLAAKT5cJrAAADFA==",
        },
      }),
    true,
  ),
  // Issues a token, charges it and queries the payment, so stored data is read again.
  way(
    "token, charged and queried",
    async (target, canary) => {
      const made = await post(
        target,
        "/ws/token",
        JSON.stringify(tokenBody(target.integrationKey, canary)),
      );
      const token = /"token":"([0-9a-f]{128})"/.exec(made)?.[1] ?? "";
      const charge = directBody(target.integrationKey, canary, {
        creditcard: { token, card_cvv: canary.cvv },
      });
      const charged = await post(target, "/ws/direct", JSON.stringify(charge));
      const query = {
        integration_key: target.integrationKey,
        merchant_payment_code: `leak-${canary.index}`,
      };
      return made + charged + (await post(target, "/ws/query", JSON.stringify(query)));
    },
    true,
  ),
];

function grouped(pan: string, separator: string): string {
  return (pan.match(/\d{1,4}/g) ?? []).join(separator);
}

/** Ways in which people type a number into a field that is not for it. */
const spellings: readonly ((pan: string) => string)[] = [
  (pan) => pan,
  (pan) => grouped(pan, " "),
  (pan) => grouped(pan, "-"),
  (pan) => grouped(pan, "."),
  (pan) => grouped(pan, "/"),
  (pan) => grouped(pan, "_"),
  (pan) => grouped(pan, ", "),
  (pan) => `Ana ${pan}`,
  (pan) => `card:${pan}, thanks`,
  (pan) => `Ana${pan}Lima`,
];

/**
 * Payment fields with text of the customer or the merchant. merchant_payment_code is stored
 * unmasked, by decision.
 */
const paymentFields = [
  "name",
  "order_number",
  "note",
  "user_value_1",
  "user_value_3",
  "user_value_5",
  "address",
  "street_number",
  "street_complement",
  "city",
  "state",
  "zipcode",
  "document",
  "phone_number",
  "birth_date",
  "customer_ip",
  "device_id",
  "person_type",
  "amount_total",
  "currency_code",
  "country",
  "instalments",
  "payment_type_code",
  "token",
  "comment",
];
const cardFields = [
  "card_name",
  "card_due_date",
  "soft_descriptor",
  "token",
  "card_cvv",
  "number",
  "cardNumber",
  "auto_capture",
];

/**
 * The number in a field that is not for it; the card beside it is a public test card, so that the
 * payment succeeds if the field accepts the text.
 */
function misplaced(key: string, canary: Canary, payment: Fields, creditcard: Fields = {}): unknown {
  return directBody(key, { ...canary, pan: "4111111111111111" }, payment, creditcard);
}

function spelled({ pan, index }: Canary): string {
  return spellings[index % spellings.length]?.(pan) ?? pan;
}

const misplacedWays: readonly Way[] = [
  ...paymentFields.map((name) =>
    jsonWay(`in ${name}`, "/ws/direct", (key, canary) =>
      misplaced(key, canary, { [name]: spelled(canary) }),
    ),
  ),
  ...cardFields.map((name) =>
    jsonWay(`in creditcard.${name}`, "/ws/direct", (key, canary) =>
      misplaced(key, canary, {}, { [name]: spelled(canary) }),
    ),
  ),
  jsonWay("in email", "/ws/direct", (key, canary) =>
    misplaced(key, canary, { email: `${canary.pan}@example.com` }),
  ),
  // The number of the charged card: another number in an address may be an order number, and is
  // stored by decision, like a code.
  jsonWay("in notification_url", "/ws/direct", (key, canary) =>
    directBody(key, canary, {
      notification_url: `https://shop.example.com/paid?card=${canary.pan}`,
    }),
  ),
  jsonWay("in responsible", "/ws/direct", (key, canary) =>
    misplaced(key, canary, { person_type: "business", responsible: { name: spelled(canary) } }),
  ),
  jsonWay("in an item", "/ws/direct", (key, canary) =>
    misplaced(key, canary, {
      items: [
        {
          name: spelled(canary),
          sku: canary.pan,
          description: spelled(canary),
          quantity: canary.pan,
        },
      ],
    }),
  ),
  jsonWay("as a name", "/ws/direct", (key, canary) =>
    misplaced(key, canary, { [canary.pan]: canary.pan }),
  ),
  jsonWay("security code in the payment", "/ws/direct", (key, canary) =>
    misplaced(key, canary, { card_number: canary.pan, card_cvv: canary.cvv, cvv: canary.cvv }),
  ),
  jsonWay("in operation", "/ws/direct", (key, canary) => ({
    ...directBody(key, canary),
    operation: canary.pan,
  })),
  jsonWay("in mode", "/ws/direct", (key, canary) => ({
    ...directBody(key, canary),
    mode: canary.pan,
  })),
  jsonWay("in integration_key", "/ws/direct", (_, canary) => directBody(canary.pan, canary)),
  jsonWay("in hash, query", "/ws/query", (key, { pan }) => ({ integration_key: key, hash: pan })),
  jsonWay("in merchant_payment_code, query", "/ws/query", (key, { pan }) => ({
    integration_key: key,
    merchant_payment_code: pan,
  })),
  jsonWay("in hash, capture", "/ws/capture", (key, { pan }) => ({
    integration_key: key,
    hash: pan,
    amount: pan,
  })),
  jsonWay("in settings", "/__cofre/settings", (key, { pan }) => ({
    integration_key: key,
    settings: { descriptor: pan.slice(0, 8), [pan]: pan },
  })),
  jsonWay("in an instruction", "/__cofre/simulator", (key, { pan }) => ({
    integration_key: key,
    next: pan,
    reason: pan,
    times: pan,
  })),
  jsonWay("for an unknown path", "/ws/unknown", tokenBody),
  jsonWay("a token's card outside of its node", "/ws/token", (key, canary) => ({
    ...cardNode(canary),
    integration_key: key,
  })),
  jsonWay("number as an array", "/ws/token", (key, canary) =>
    withNumber(key, canary, [canary.pan]),
  ),
  jsonWay("number as an object", "/ws/token", (key, canary) =>
    withNumber(key, canary, { value: canary.pan, cvv: canary.cvv }),
  ),
  jsonWay("number as a number in an array", "/ws/direct", (key, canary) =>
    directBody(key, canary, {}, { card_number: [Number(canary.pan)] }),
  ),
  jsonWay("card as a text", "/ws/token", (key, canary) => ({
    ...tokenBody(key, canary),
    creditcard: JSON.stringify(cardNode(canary)),
  })),
  jsonWay("card as an array", "/ws/token", (key, canary) => ({
    ...tokenBody(key, canary),
    creditcard: [cardNode(canary)],
  })),
  jsonWay("payment as a text", "/ws/direct", (key, canary) => ({
    ...directBody(key, canary),
    payment: JSON.stringify(cardNode(canary)),
  })),
  jsonWay("number longer than any", "/ws/token", (key, canary) =>
    withNumber(key, canary, canary.pan.repeat(10)),
  ),
  jsonWay("number with a digit too many", "/ws/token", (key, canary) =>
    withNumber(key, canary, `${canary.pan}00000`),
  ),
  jsonWay("security code of the wrong type", "/ws/token", (key, canary) => ({
    ...tokenBody(key, canary),
    creditcard: { ...cardNode(canary), card_cvv: [canary.cvv] },
  })),
  jsonWay("too deep", "/ws/direct", (key, canary) =>
    directBody(key, canary, { deep: nested(canary.pan, 40) }),
  ),
  jsonWay("too many members", "/ws/direct", (key, canary) =>
    directBody(
      key,
      canary,
      Object.fromEntries(
        Array.from({ length: 600 }, (_, index) => [`${canary.pan}-${index}`, index]),
      ),
    ),
  ),
];

function withNumber(key: string, canary: Canary, card_number: unknown): unknown {
  return { ...tokenBody(key, canary), creditcard: { ...cardNode(canary), card_number } };
}

function nested(value: unknown, depth: number): unknown {
  return depth === 0 ? value : { in: nested(value, depth - 1) };
}

/**
 * Texts that people copy from a card, a terminal or a chat: the security code, or the stripe data
 * after the number.
 */
const sensitiveTexts: readonly ((canary: Canary) => string)[] = [
  ({ pan, cvv }) => `card ${grouped(pan, " ")} exp 12/35 cvv ${cvv}`,
  ({ pan, cvv }) => `${pan} 12/35 ${cvv}`,
  ({ pan, cvv }) => `${pan}${cvv}`,
  ({ pan, cvv }) => `${pan} ${cvv}`,
  ({ pan, cvv }) => `${grouped(pan, " ")} ${cvv}`,
  ({ pan, cvv }) => `${grouped(pan, "-")}${cvv}`,
  ({ pan, cvv }) => `${pan} 1235${cvv}`,
  ({ pan, cvv }) => `${pan} 12/35${cvv}`,
  ({ cvv }) => `o código de segurança é ${cvv}`,
  ({ pan, cvv }) => `${grouped(pan, "-")} cod seg: ${cvv}`,
  ({ pan, cvv }) => `tarjeta ${pan}, código de seguridad ${cvv}`,
  ({ pan, cvv }) => `cartão ${pan} validade 12/35 CVC2=${cvv}`,
  ({ pan, cvv }) => `csc ${cvv} for ${pan}, cid ${cvv}`,
  ({ pan, cvv }) => `%B${pan}^LIMA/ANA^35121010000${cvv}000?`,
  ({ pan, cvv }) => `;${pan}=35121010000${cvv}000?`,
  ({ pan, cvv }) => `${pan}D35121010000${cvv}000F`,
];

const sensitiveFields = [
  "note",
  "name",
  "address",
  "street_complement",
  "city",
  "user_value_1",
  "user_value_5",
  "order_number",
  "comment",
];

/** A text without digits, so that it is not taken for a code. */
function lettersOf(index: number): string {
  return Array.from(String(index), (digit) => "abcdefghij"[Number(digit)]).join("");
}

/** Sends the texts in free-text fields; any that is found later was not masked. */
export function sensitiveWayOf({ index }: Canary): Way {
  const field = sensitiveFields[index % sensitiveFields.length] ?? "note";
  const number = Math.floor(index / sensitiveFields.length) % sensitiveTexts.length;
  const text = sensitiveTexts[number];
  return jsonWay(`sensitive text ${number} in ${field}`, "/ws/direct", (key, canary) =>
    misplaced(key, canary, {
      [field]: `${text?.(canary) ?? ""} ${sensitiveMark}${lettersOf(index)}`,
    }),
  );
}

/** Outside the body: paths, queries, headers; and requests that are not HTTP or end too early. */
const outsideWays: readonly Way[] = [
  way("in the path", (target, { pan }) => post(target, `/ws/token/${pan}`, "")),
  way("in a path of our own", (target, { pan }) => post(target, `/${pan}/__cofre/settings`, "")),
  way("in the query string", (target, canary) =>
    post(
      target,
      `/ws/direct?card=${canary.pan}&payment[note]=${canary.pan}`,
      JSON.stringify(misplaced(target.integrationKey, canary, {})),
    ),
  ),
  way("card in the query string", (target, { pan, cvv }) =>
    post(
      target,
      `/ws/token?integration_key=${target.integrationKey}&creditcard[card_number]=${pan}&creditcard[card_cvv]=${cvv}`,
      "",
    ),
  ),
  ...[
    "user-agent",
    "referer",
    "cookie",
    "x-card",
    "content-type",
    "accept-language",
    "x-ebanx-api-processing-type",
  ].map((name) =>
    way(`in the header ${name}`, (target, canary) =>
      post(target, "/ws/direct", JSON.stringify(misplaced(target.integrationKey, canary, {})), {
        [name]: `shop/1.0 (${canary.pan})`,
      }),
    ),
  ),
  way("in the method", ({ port }, { pan }) =>
    speak(port, `${pan} /ws/token HTTP/1.1\r\nhost: x\r\n\r\n`),
  ),
  way("in a broken request line", ({ port }, { pan }) =>
    speak(port, `GET /ws/token?card=${pan} and more HTTP/1.1\r\nhost: x\r\n\r\n`),
  ),
  way("in a broken header", ({ port }, { pan }) =>
    speak(port, `GET /ws/token HTTP/1.1\r\nhost: x\r\ncard ${pan}\r\n\r\n`),
  ),
  way("in a head that is too long", ({ port }, { pan }) =>
    speak(port, `GET /ws/token HTTP/1.1\r\nhost: x\r\nx-card: ${pan.repeat(2_000)}\r\n\r\n`),
  ),
  way("with a wrong length", (target, canary) => {
    const body = JSON.stringify(tokenBody(target.integrationKey, canary));
    return speak(
      target.port,
      `POST /ws/token HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length - 40}\r\n\r\n${body}`,
    );
  }),
  way("in a body that never ends", (target, canary) => {
    const body = JSON.stringify(directBody(target.integrationKey, canary));
    return speak(
      target.port,
      `POST /ws/direct HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length + 100}\r\n\r\n${body}`,
      20,
    );
  }),
];

/**
 * Sends a text to the server's port and reads the answer, or closes the connection after
 * `hangUpMs`.
 */
function speak(port: number, text: string, hangUpMs = 2_000): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.setTimeout(hangUpMs, () => socket.destroy());
    socket.setEncoding("latin1").on("data", (piece: string) => {
      received += piece;
      socket.end();
    });
    socket.on("error", () => resolve(received));
    socket.on("close", () => resolve(received));
  });
}

/** JSON that is truncated or corrupted, at another position for each card. */
const brokenWays: readonly Way[] = [
  brokenWay("token cut", "/ws/token", tokenBody, cut),
  brokenWay("direct cut", "/ws/direct", directBody, cut),
  brokenWay(
    "direct cut, in a form",
    "/ws/direct",
    directBody,
    (body, pan, turn) => `request_body=${encodeURIComponent(cut(body, pan, turn))}`,
  ),
  ...["}", '"', "\\", "\u0000", "\u00ff", "[", ",", "&"].map((byte) =>
    brokenWay(
      `token with ${JSON.stringify(byte)} in it`,
      "/ws/token",
      tokenBody,
      (body, _, turn) => {
        const at = spread(body, turn);
        return body.slice(0, at) + byte + body.slice(at);
      },
    ),
  ),
  brokenWay("direct spoilt", "/ws/direct", directBody, (body, _, turn) => {
    const at = spread(body, turn);
    return `${body.slice(0, at)}~${body.slice(at + 1)}`;
  }),
];

function brokenWay(
  name: string,
  path: string,
  bodyOf: (key: string, canary: Canary) => Fields,
  spoil: (body: string, pan: string, turn: number) => string,
): Way {
  let turn = 0;
  return way(name, (target, canary) => {
    turn += 1;
    return post(
      target,
      path,
      spoil(JSON.stringify(bodyOf(target.integrationKey, canary)), canary.pan, turn),
    );
  });
}

/** A position after the first digit of the number; each position is used in turn. */
function cut(body: string, pan: string, turn: number): string {
  const first = body.indexOf(pan) + 1;
  return body.slice(0, first + (turn % (body.length - first)));
}

/**
 * Any position; consecutive positions are far apart, so that a few cards already cover a whole
 * body.
 */
function spread(body: string, turn: number): number {
  return (turn * 7) % body.length;
}

const oversized = way("too long", (target, canary) =>
  post(
    target,
    "/ws/direct",
    JSON.stringify(
      directBody(target.integrationKey, canary, { note: `${canary.pan} `.repeat(17_000) }),
    ),
  ),
);

const wrongWays = [...misplacedWays, ...outsideWays];
/**
 * Valid requests leave the most data, and broken JSON has many positions to break at: both are used
 * more often.
 */
const allWays: readonly Way[] = [
  ...rightWays,
  ...wrongWays,
  ...rightWays,
  ...brokenWays,
  ...brokenWays,
  ...rightWays,
  ...brokenWays,
];

const oversizedEvery = 500;

export function wayOf({ index }: Canary): Way {
  if (index % oversizedEvery === oversizedEvery - 1) return oversized;
  const way = allWays[index % allWays.length];
  if (way === undefined) throw new Error("there is a way for each card");
  return way;
}
