import { assert } from "../kernel/assert.ts";

/** What becomes of a payment of `cofre seed`, in the order of the summary. */
export const fates = [
  "captured",
  "captured_later",
  "authorized",
  "cancelled",
  "refunded",
  "partly_refunded",
  "disputed",
  "dispute_won",
  "declined",
  "answer_lost",
  "outcome_unknown",
] as const;
export type Fate = (typeof fates)[number];

export interface PlannedPayment {
  readonly code: string;
  readonly fate: Fate;
  readonly currency: string;
  /** Decimal text. */
  readonly amount: string;
  readonly instalments: number;
  readonly cardNumber: string;
  readonly cvv: string;
  readonly name: string;
  readonly email: string;
  /** Country, telephone number, and the fields that the country requires. */
  readonly customer: Readonly<Record<string, string>>;
}

/** The fates of 25 payments in a row: most are simply paid. */
const cycle: readonly Fate[] = [
  "captured",
  "declined",
  "captured",
  "captured_later",
  "refunded",
  "captured",
  "authorized",
  "captured",
  "disputed",
  "captured_later",
  "captured",
  "partly_refunded",
  "declined",
  "captured",
  "cancelled",
  "captured",
  "answer_lost",
  "captured",
  "authorized",
  "dispute_won",
  "captured",
  "captured_later",
  "declined",
  "partly_refunded",
  "captured",
];

/**
 * At these payments the acquirer's answer is lost. They are few: outside a world with a stopped
 * clock each takes the acquirer's time limit.
 */
const unknownAt: ReadonlySet<number> = new Set([18, 118, 218]);

interface Market {
  readonly currency: string;
  /** Whole units of the currency. */
  readonly smallest: number;
  readonly largest: number;
  readonly hasCents: boolean;
  readonly instalments: readonly number[];
  readonly customer: Readonly<Record<string, string>>;
}

const brazilianCustomer = {
  country: "br",
  phone_number: "8522847035",
  document: "85351346893",
  zipcode: "61919230",
  address: "Rua E",
  street_number: "1040",
  city: "Maracanaú",
  state: "CE",
};

/** Countries and currencies, with what each requires of a customer. */
const markets: readonly Market[] = [
  market("BRL", 60, 1_900, [1, 3, 6], brazilianCustomer),
  market("MXN", 300, 9_000, [1, 3], {
    country: "mx",
    phone_number: "5555555555",
    zipcode: "06600",
    address: "Paseo de la Reforma",
    street_number: "222",
    city: "Ciudad de México",
    state: "CDMX",
  }),
  market("PEN", 15, 1_500, [1, 2, 6], { country: "pe", phone_number: "51987654321" }),
  {
    ...market("CLP", 5_000, 400_000, [1, 3], { country: "cl", phone_number: "56987654321" }),
    hasCents: false,
  },
  market("USD", 8, 450, [1], brazilianCustomer),
  {
    ...market("COP", 30_000, 900_000, [1, 12, 36], {
      country: "co",
      phone_number: "573001234567",
      document: "1020304050",
      zipcode: "110111",
      address: "Carrera 7",
      street_number: "71",
      city: "Bogotá",
      state: "DC",
    }),
    hasCents: false,
  },
  market("UYU", 300, 15_000, [1, 2, 6], {
    country: "uy",
    phone_number: "59899123456",
    document: "12345672",
  }),
  market("USD", 10, 600, [1, 3], { country: "ec", phone_number: "593987654321" }),
];

function market(
  currency: string,
  smallest: number,
  largest: number,
  instalments: readonly number[],
  customer: Readonly<Record<string, string>>,
): Market {
  return { currency, smallest, largest, hasCents: true, instalments, customer };
}

/** Published test cards of brands that every country accepts. */
const cards = ["4111111111111111", "5555555555554444", "4000000000001000", "5555556355564617"];

const amexCountries = ["br", "mx", "pe", "cl", "co"];

/** Published test cards that are declined, each for another reason. Elsewhere not every brand is accepted. */
const declinedCards: readonly {
  readonly number: string;
  readonly cvv?: string;
  readonly countries?: readonly string[];
}[] = [
  { number: "4716909774636285" },
  { number: "5102026827345142" },
  { number: "4000000000001109" },
  { number: "6011088896715918", countries: ["br"] },
  { number: "378568775709157", cvv: "1234", countries: amexCountries },
];

/** American Express has security codes of four digits, and not every country accepts it. */
const amex = { number: "378282246310005", cvv: "1234", countries: amexCountries };

const names = [
  "Ana Lima",
  "José Álvarez",
  "María Fernanda Gómez",
  "João Souza",
  "Lucía Pérez",
  "Pedro Castillo",
  "Camila Rojas",
  "Rafael Nunes",
  "Valentina Ortiz",
];

/** Steps without a common divisor with the lengths of the lists, so that the parts mix. */
const steps = { amount: 7_919, name: 5, instalments: 3 } as const;

/** The first `count` payments: the same each time, and every kind among the first 30. */
export function seedPlan(count: number, prefix: string): readonly PlannedPayment[] {
  return Array.from({ length: count }, (_, index) => planned(index, prefix));
}

function planned(index: number, prefix: string): PlannedPayment {
  const number = index + 1;
  const fate = unknownAt.has(number) ? "outcome_unknown" : at(cycle, index);
  const place = at(markets, index);
  const round = Math.floor(index / markets.length);
  const country = place.customer["country"] ?? "";
  const card = fate === "declined" ? declinedCard(index, country) : paidCard(index, round, country);
  const name = at(names, index * steps.name);
  return {
    code: `${prefix}-${String(number).padStart(3, "0")}`,
    fate,
    currency: place.currency,
    amount: amountIn(place, index),
    instalments: at(place.instalments, round * steps.instalments + index),
    cardNumber: card.number,
    cvv: card.cvv ?? "123",
    name,
    email: `${name
      .normalize("NFD")
      .toLowerCase()
      .replaceAll(/[^a-z ]/g, "")
      .replaceAll(" ", ".")}@example.com`,
    customer: place.customer,
  };
}

function paidCard(index: number, round: number, country: string) {
  return (index + 1) % 7 === 0 && amex.countries.includes(country)
    ? amex
    : { number: at(cards, index + round), cvv: undefined };
}

/** The next reason with each declined payment, of those that occur in the country. */
function declinedCard(index: number, country: string) {
  const isDecline = (fate: Fate): boolean => fate === "declined";
  const rounds = Math.floor(index / cycle.length);
  const before = cycle.slice(0, index % cycle.length).filter(isDecline).length;
  const accepted = declinedCards.filter(({ countries = [country] }) => countries.includes(country));
  return at(accepted, rounds * cycle.filter(isDecline).length + before);
}

function amountIn({ smallest, largest, hasCents }: Market, index: number): string {
  const whole = smallest + ((index * steps.amount) % (largest - smallest));
  return `${whole}.${hasCents ? String((index * 37) % 100).padStart(2, "0") : "00"}`;
}

function at<Item>(list: readonly [Item, ...Item[]] | readonly Item[], index: number): Item {
  const item = list[index % list.length];
  assert(item !== undefined, "the list is not empty");
  return item;
}
