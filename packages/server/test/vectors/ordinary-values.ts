/*
 * Generators of what shops send every day. None of it is a card number, however much some of it
 * looks like one. Every value is drawn from the chance that is passed in, so that a run can be
 * repeated.
 */

/** A whole number from 0 to below the bound. */
export type Chance = (below: number) => number;

export interface Kind {
  readonly kind: string;
  readonly make: (chance: Chance) => string;
}

export function chanceOf(seed: number): Chance {
  let state = BigInt(seed);
  return (below) => {
    state =
      (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) &
      0xff_ff_ff_ff_ff_ff_ff_ffn;
    return Number((state >> 33n) % BigInt(below));
  };
}

const digits = (chance: Chance, count: number): string =>
  Array.from({ length: count }, () => chance(10)).join("");
const hex = (chance: Chance, count: number): string =>
  Array.from({ length: count }, () => chance(16).toString(16)).join("");
const from = (chance: Chance, alphabet: string, count: number): string =>
  Array.from({ length: count }, () => alphabet[chance(alphabet.length)] ?? "").join("");
const oneOf = <Value>(chance: Chance, values: readonly [Value, ...Value[]]): Value =>
  values[chance(values.length)] ?? values[0];
const pad = (value: number, width = 2): string => String(value).padStart(width, "0");

/** Some time of the years 2026 to 2030, in milliseconds. */
const time = (chance: Chance): number =>
  Date.UTC(2026, 0, 1) + chance(5 * 365 * 86_400) * 1_000 + chance(1_000);
const dateOf = (chance: Chance): readonly [year: string, month: string, day: string] => {
  const at = new Date(time(chance));
  return [String(at.getUTCFullYear()), pad(at.getUTCMonth() + 1), pad(at.getUTCDate())];
};
const uuid = (chance: Chance): string =>
  `${hex(chance, 8)}-${hex(chance, 4)}-4${hex(chance, 3)}-${oneOf(chance, ["8", "9", "a", "b"])}${hex(chance, 3)}-${hex(chance, 12)}`;

/** State, month, CNPJ, model, series, number and code, and a check digit modulo 11. */
function invoiceKey(chance: Chance): string {
  const body = `35${dateOf(chance).join("").slice(2, 6)}${digits(chance, 37)}`;
  const sum = Array.from(body, Number).reduceRight(
    (total, digit, index) => total + digit * (2 + ((42 - index) % 8)),
    0,
  );
  return `${body}${sum % 11 < 2 ? 0 : 11 - (sum % 11)}`;
}

export const codes: readonly Kind[] = [
  {
    kind: "WooCommerce: order id and seconds",
    make: (chance) => `${1 + chance(500_000)}_${Math.floor(time(chance) / 1_000)}`,
  },
  {
    kind: "WooCommerce: wc_order_ and a key",
    make: (chance) => `wc_order_${from(chance, "abcdefghijkmnopqrstuvwxyz0123456789", 13)}`,
  },
  {
    kind: "shop, order id and milliseconds",
    make: (chance) => `shop-${1 + chance(999_999)}-${time(chance)}`,
  },
  {
    kind: "Magento: increment id",
    make: (chance) => `${1 + chance(9)}${pad(chance(99_999_999), 8)}`,
  },
  {
    kind: "Magento: increment id and a dash",
    make: (chance) => `${pad(chance(99_999_999), 9)}-${1 + chance(9)}`,
  },
  {
    kind: "VTEX: thirteen digits and a sequence",
    make: (chance) => `${digits(chance, 13)}-0${1 + chance(9)}`,
  },
  { kind: "VTEX: transaction id", make: (chance) => hex(chance, 32).toUpperCase() },
  { kind: "Shopify: id of an order", make: (chance) => `${4 + chance(3)}${digits(chance, 12)}` },
  {
    kind: "Shopify: id of a checkout, fourteen digits",
    make: (chance) => `${1 + chance(9)}${digits(chance, 13)}`,
  },
  {
    kind: "PrestaShop: reference",
    make: (chance) => from(chance, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 9),
  },
  {
    kind: "PrestaShop: cart, customer and seconds",
    make: (chance) => `${chance(99_999)}.${chance(99_999)}.${Math.floor(time(chance) / 1_000)}`,
  },
  { kind: "milliseconds", make: (chance) => String(time(chance)) },
  { kind: "microseconds", make: (chance) => `${time(chance)}${digits(chance, 3)}` },
  { kind: "nanoseconds", make: (chance) => `${time(chance)}${digits(chance, 6)}` },
  {
    kind: "date and time",
    make: (chance) =>
      `${dateOf(chance).join("")}${pad(chance(24))}${pad(chance(60))}${pad(chance(60))}`,
  },
  {
    kind: "yymmdd and ten digits",
    make: (chance) => `${dateOf(chance).join("").slice(2)}${digits(chance, 10)}`,
  },
  {
    kind: "yyyymmdd and eight digits",
    make: (chance) => `${dateOf(chance).join("")}${digits(chance, 8)}`,
  },
  {
    kind: "ddmmyyyy, a dash and eight digits",
    make: (chance) => `${dateOf(chance).toReversed().join("")}-${digits(chance, 8)}`,
  },
  { kind: "ULID", make: (chance) => `01J${from(chance, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 23)}` },
  { kind: "UUID", make: uuid },
  { kind: "UUID without dashes", make: (chance) => uuid(chance).replaceAll("-", "") },
  { kind: "Snowflake", make: (chance) => `1${digits(chance, 18)}` },
  {
    kind: "invoice number",
    make: (chance) => `F${pad(chance(999), 3)}-${pad(chance(99_999_999), 8)}`,
  },
  { kind: "Brazilian invoice key", make: invoiceKey },
  {
    kind: "dotted id",
    make: (chance) => [4, 4, 4, 4].map((width) => digits(chance, width)).join("."),
  },
  {
    kind: "groups of four with blanks",
    make: (chance) => [4, 4, 4, 4].map((width) => digits(chance, width)).join(" "),
  },
  ...[12, 13, 14, 15, 16, 17, 18, 19].map((count) => ({
    kind: `${count} random digits`,
    make: (chance: Chance) => digits(chance, count),
  })),
];

const given = [
  "José",
  "María",
  "João",
  "Conceição",
  "Íñigo",
  "Zoë",
  "Günther",
  "Ana",
  "Luís",
  "Estêvão",
  "Ñusta",
  "Núria",
  "D'Ávila",
  "Cid",
] as const;
const family = [
  "Muñoz",
  "González",
  "Araújo",
  "Brandão",
  "Müller",
  "da Silva",
  "de la Cruz",
  "O'Higgins",
  "Peña-Nieto",
  "Gonçalves",
  "Ybáñez",
  "Assunção",
] as const;

export const names: readonly Kind[] = [
  { kind: "a name", make: (chance) => `${oneOf(chance, given)} ${oneOf(chance, family)}` },
  {
    kind: "four names",
    make: (chance) =>
      `${oneOf(chance, given)} ${oneOf(chance, given)} ${oneOf(chance, family)} ${oneOf(chance, family)}`,
  },
  {
    kind: "a name decomposed",
    make: (chance) => `${oneOf(chance, given)} ${oneOf(chance, family)}`.normalize("NFD"),
  },
  {
    kind: "a company with its CNPJ",
    make: (chance) =>
      `Loja ${oneOf(chance, family)} ${digits(chance, 2)}.${digits(chance, 3)}.${digits(chance, 3)}`,
  },
  {
    kind: "a name with a number",
    make: (chance) => `${oneOf(chance, given)} ${oneOf(chance, family)} ${1 + chance(9_999)}`,
  },
];

/** Country code and the numbers of digits behind it (ITU-T E.164). */
const dialling: readonly (readonly [code: string, fewest: number, most: number])[] = [
  ...(["54", "55"] as const).map((code) => [code, 10, 11] as const),
  ...(["51", "52", "56", "57", "58"] as const).map((code) => [code, 9, 10] as const),
  ...(["591", "593", "595", "598", "502", "503", "504", "505", "506", "507"] as const).map(
    (code) => [code, 8, 9] as const,
  ),
  ["1", 10, 10],
  ["34", 9, 9],
  ["351", 9, 9],
  ["30", 10, 10],
  ["36", 8, 9],
  ["380", 9, 9],
  ["385", 8, 9],
  ["39", 9, 11],
  ["43", 7, 13],
  ["44", 10, 10],
  ["49", 8, 13],
  ["60", 9, 10],
  ["62", 9, 12],
  ["63", 10, 10],
  ["81", 9, 10],
  ["86", 11, 11],
  ["91", 10, 10],
];

const phoneDigits = (chance: Chance): readonly [code: string, number: string] => {
  const [code, fewest, most] = dialling[chance(dialling.length)] ?? ["55", 10, 11];
  return [code, digits(chance, fewest + chance(most - fewest + 1))];
};

export const phones: readonly Kind[] = [
  { kind: "E.164", make: (chance) => `+${phoneDigits(chance).join("")}` },
  { kind: "digits alone", make: (chance) => phoneDigits(chance).join("") },
  {
    kind: "with brackets and a dash",
    make: (chance) => {
      const [code, number] = phoneDigits(chance);
      return `+${code} (${number.slice(0, 2)}) ${number.slice(2, -4)}-${number.slice(-4)}`;
    },
  },
  {
    kind: "pasted",
    make: (chance) => {
      const [code, number] = phoneDigits(chance);
      return `\u202a+${code}\u00a0${number.slice(0, 2)}\u00a0${number.slice(2, -4)}\u2011${number.slice(-4)}\u202c`;
    },
  },
];

/**
 * Identity and tax numbers by country; those with check digits that are verified are left to
 * documents.test.ts.
 */
export const documents: readonly (Kind & { readonly country: string })[] = [
  {
    kind: "Argentina: DNI",
    country: "ar",
    make: (chance) => `${1 + chance(9)}${digits(chance, 7)}`,
  },
  {
    kind: "Argentina: CUIT",
    country: "ar",
    make: (chance) =>
      `${oneOf(chance, ["20", "23", "27", "30", "33"])}-${digits(chance, 8)}-${chance(10)}`,
  },
  {
    kind: "Mexico: CURP",
    country: "mx",
    make: (chance) =>
      `${from(chance, "ABCDEFGH", 4)}${digits(chance, 6)}H${from(chance, "DFCSLP", 5)}0${chance(10)}`,
  },
  {
    kind: "Mexico: RFC",
    country: "mx",
    make: (chance) =>
      `${from(chance, "ABCDEFGH", 4)}${digits(chance, 6)}${from(chance, "ABC0123456789", 3)}`,
  },
  { kind: "Mexico: social security", country: "mx", make: (chance) => digits(chance, 11) },
  { kind: "Colombia: cédula", country: "co", make: (chance) => `1${digits(chance, 9)}` },
  { kind: "Peru: DNI", country: "pe", make: (chance) => `${1 + chance(9)}${digits(chance, 7)}` },
  {
    kind: "Peru: RUC",
    country: "pe",
    make: (chance) => `${oneOf(chance, ["10", "20"])}${digits(chance, 9)}`,
  },
  {
    kind: "Ecuador: RUC",
    country: "ec",
    make: (chance) => `${pad(1 + chance(24))}${digits(chance, 8)}001`,
  },
  { kind: "Uruguay: RUT", country: "uy", make: (chance) => `21${digits(chance, 10)}` },
  { kind: "Bolivia: NIT", country: "bo", make: (chance) => `1${digits(chance, 11)}` },
  {
    kind: "Guatemala: CUI",
    country: "gt",
    make: (chance) =>
      `${1 + chance(9)}${digits(chance, 3)} ${digits(chance, 5)} ${pad(1 + chance(22))}${pad(1 + chance(17))}`,
  },
  {
    kind: "El Salvador: NIT",
    country: "sv",
    make: (chance) =>
      `${oneOf(chance, ["0", "1", "9"])}${digits(chance, 3)}-${digits(chance, 6)}-${digits(chance, 3)}-${chance(10)}`,
  },
  {
    kind: "Panama: RUC",
    country: "pa",
    make: (chance) => `${1 + chance(2)}${digits(chance, 6)}-${1 + chance(3)}-${digits(chance, 6)}`,
  },
  {
    kind: "Panama: RUC, older",
    country: "pa",
    make: (chance) => `${digits(chance, 5)}-${pad(1 + chance(60))}-${digits(chance, 6)}`,
  },
  { kind: "Costa Rica: DIMEX", country: "cr", make: (chance) => `1${digits(chance, 11)}` },
  {
    kind: "a passport",
    country: "pe",
    make: (chance) => `${from(chance, "ABCDEFGHPX", 2)}${digits(chance, 7)}`,
  },
];

const streets = [
  "Rua E",
  "Av. Paulista",
  "Calle 26",
  "Jr. de la Unión",
  "Avenida El Cid",
  "Carrera 7",
  "Pasaje Cuzco",
] as const;

export const texts: readonly Kind[] = [
  ...names,
  {
    kind: "an address",
    make: (chance) => `${oneOf(chance, streets)}, ${1 + chance(9_999)} ap ${1 + chance(999)}`,
  },
  {
    kind: "an address with its zip code",
    make: (chance) =>
      `${oneOf(chance, streets)} ${1 + chance(9_999)}, ${digits(chance, 5)}-${digits(chance, 3)}`,
  },
  {
    kind: "a telephone number in a note",
    make: (chance) => `Ligar antes: +${phoneDigits(chance).join(" ")}`,
  },
  {
    kind: "two telephone numbers",
    make: (chance) =>
      `+55 (11) 9${digits(chance, 4)}-${digits(chance, 4)} / +55 (11) ${digits(chance, 4)}-${digits(chance, 4)}`,
  },
  {
    kind: "a date and a time",
    make: (chance) =>
      `Entregar ${dateOf(chance).toReversed().join("/")} ${pad(chance(24))}:${pad(chance(60))}`,
  },
  {
    kind: "an order",
    make: (chance) =>
      `Pedido ${1 + chance(999_999)} - ${1 + chance(20)} itens, total R$ ${chance(9_999)},${pad(chance(100))}`,
  },
  {
    kind: "an EAN",
    make: (chance) => `EAN ${oneOf(chance, ["789", "750", "779"])}${digits(chance, 10)}`,
  },
  {
    kind: "a parcel",
    make: (chance) => `${from(chance, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 2)}${digits(chance, 9)}BR`,
  },
  { kind: "a UUID", make: uuid },
  { kind: "an IMEI", make: (chance) => `IMEI 86${digits(chance, 13)}` },
  { kind: "an invoice", make: (chance) => `NF ${digits(chance, 9)} serie ${chance(99)}` },
  {
    kind: "a tax number",
    make: (chance) =>
      `CPF ${digits(chance, 3)}.${digits(chance, 3)}.${digits(chance, 3)}-${digits(chance, 2)}`,
  },
  {
    kind: "an address of the web",
    make: (chance) =>
      `https://shop.example.com/${dateOf(chance).join("/")}/paid?order=${1 + chance(999_999)}`,
  },
  {
    kind: "security as a word",
    make: (chance) =>
      `Segurança ${1 + chance(9)}: portaria ${digits(chance, 3)}, código do prédio ${digits(chance, 4)}`,
  },
];
