import { ownValue } from "../kernel/own.ts";
import { type AccountSettings, pageAuthentications, type SimulatorSettings } from "./account.ts";
import { suggestionFor } from "../kernel/suggestion.ts";
import {
  maximumEndpoints,
  maximumHashesPerCall,
  type NotificationChaos,
  type NotificationEndpoint,
  readEndpoints,
  signatureKinds,
} from "../notification/endpoint.ts";
import { longestFieldOrigins, maximumFieldOrigins, readFieldOrigins } from "./field-origins.ts";
import { type AddressCheck, isHidden, effectiveAddress } from "./receiver-address.ts";
import { maximumRoutes, readRoutes, type Route } from "./routing.ts";
import {
  longestViewName,
  maximumViews,
  readSavedViews,
  type SavedView,
  viewFieldNames,
} from "./saved-views.ts";
import { countryCodes } from "../payment/countries.ts";
import { rateTableNames, taxPolicyNames } from "../payment/pricing-tables.ts";

interface Setting<Value> {
  readonly default: Value;
  readonly allows: (value: unknown) => value is Value;
  /** The allowed values in words, for error messages. */
  readonly allowed: string;
  /** All allowed values, if they are few. */
  readonly values?: readonly Value[];
  /** The least and the greatest number, or number of characters. */
  readonly between?: readonly [least: number, greatest: number];
  /** A probability is a whole number of thousandths, displayed and entered in percent. */
  readonly unit?: "thousandths";
  /** One sentence for users. */
  readonly doc: string;
}

type SettingTable<Settings> = { readonly [Name in keyof Settings]: Setting<Settings[Name]> };

/** One row per setting of the simulated acquirer. */
export const simulatorSettings = {
  seed: {
    ...text("cofre", 1, 100),
    doc: "Seed of the simulator's random generator: equal seeds and requests give equal answers.",
  },
  latencyMs: {
    ...wholeNumber(0, 0, 60_000),
    doc: "How long the simulated acquirer takes to answer, in milliseconds.",
  },
  loseAnswer: { ...chance(), doc: "How often the acquirer does the work and its answer is lost." },
  loseRequest: { ...chance(), doc: "How often a request is lost before it reaches the acquirer." },
  lateAnswer: { ...chance(), doc: "How often the answer comes after the deadline." },
  doubleRequest: { ...chance(), doc: "How often the network delivers a request twice." },
} satisfies SettingTable<SimulatorSettings>;

/** One row per fault that the sandbox injects into notifications to test a receiver. */
export const chaosSettings = {
  seed: {
    ...text("cofre", 1, 100),
    doc: "Seed of the random generator: equal seeds treat the same notifications equally.",
  },
  drop: { ...chance(), doc: "How often a notification is not sent and counts as delivered." },
  delay: {
    ...chance(),
    doc: "How often a notification is sent later, and the payment's next ones with it.",
  },
  reorder: {
    ...chance(),
    doc: "How often a notification is sent later and the payment's next ones overtake it.",
  },
  delayMs: { ...wholeNumber(10_000, 0, 3_600_000), doc: "How much later, in milliseconds." },
  double: { ...chance(), doc: "How often a notification is sent twice." },
  breakSignature: { ...chance(), doc: "How often all signatures of a notification are wrong." },
  beforeAnswer: {
    ...chance(),
    doc: "How often a request is answered only after the first attempt to deliver what it caused, or five seconds.",
  },
} satisfies SettingTable<NotificationChaos>;

/** One row per setting of an account; a setting without a row does not compile. */
export const accountSettings = {
  country: {
    ...oneOf<string>("br", countryCodes),
    doc: "The country of a token or a verification that names none.",
  },
  profile: {
    ...oneOf("X", ["X", "B"]),
    doc: "Imitated hosts: X (cross-border) or B (local to Brazil).",
  },
  rateTable: {
    ...oneOf<string>("sandbox-2024", rateTableNames),
    doc: "The table of exchange rates that prices payments.",
  },
  // The fixtures and remote tests of public clients have 0.38 % (interface 8); 3.5 % occurs only in
  // one client's arithmetic.
  taxPolicy: {
    ...oneOf<string>("brazil-cross-border", taxPolicyNames),
    doc: "The tax that is added to payments, per country.",
  },
  taxPaidBy: {
    ...oneOf("customer", ["customer", "merchant"]),
    doc: "Whether the tax is added to what the customer pays or borne by the merchant.",
  },
  // Public clients expect BP-CAP-11 from an account without configuration (interface 5.1).
  partialCapture: {
    ...flag(false),
    doc: "Whether less than the authorized amount may be captured.",
  },
  reviewAboveUsd: {
    ...wholeNumber(0, 0, 1_000_000_000),
    doc: "Payments above this many whole US dollars wait for a reviewer; 0 for none.",
  },
  captureWindowDays: {
    ...wholeNumber(4, 1, 30),
    doc: "Days in which an authorization can be captured before it expires.",
  },
  refundWindowDays: {
    ...wholeNumber(0, 0, 3_650),
    doc: "Days after the capture in which a refund may be requested; 0 for no limit.",
  },
  refundRequestedMinutes: {
    ...wholeNumber(1, 0, 100_000),
    doc: "Minutes that a refund stays requested before it is pending.",
  },
  refundPendingMinutes: {
    ...wholeNumber(1, 0, 100_000),
    doc: "Minutes that a refund stays pending before it is sent to the acquirer.",
  },
  strictRefundCancel: {
    ...flag(false),
    doc: "Whether only a requested refund can be cancelled, not a pending one.",
  },
  strictMandates: {
    ...flag(false),
    doc: "Whether a stored-credential payment must name the mandate of an initial one with the same card.",
  },
  declineCodes: { ...flag(false), doc: "Whether a decline has iso_code and mac_code." },
  legacyDescriptions: {
    ...flag(false),
    doc: "Whether outcomes are described in the sandbox texts of 2017.",
  },
  // Plugins recognize a sandbox decline only if the acquirer has this name (clients.md).
  acquirerName: { ...text("EBANX", 1, 64), doc: "The acquirer's name in answers." },
  createToken: {
    ...flag(true),
    doc: "Whether a payment may ask for its card to be stored; otherwise it is refused with BP-DR-62.",
  },
  pageAuthentication: {
    ...oneOf("off", pageAuthentications),
    doc: "Whether a card on the hosted page must pass 3-D Secure; normal also takes credit cards whose bank could not authenticate.",
  },
  requireCvv: {
    ...flag(true),
    doc: "Whether a card number without its security code is refused with BP-DR-54.",
  },
  // Acquirers in Brazil require 3-D Secure for debit cards; whether the original's sandbox does is
  // unknown.
  requireDebitThreeDSecure: {
    ...flag(false),
    doc: "Whether the simulated issuer declines Brazilian debit payments that come without 3-D Secure.",
  },
  fieldOrigins: {
    default: "",
    allows: (value): value is string =>
      typeof value === "string" && readFieldOrigins(value) !== undefined,
    allowed: `at most ${maximumFieldOrigins} origins separated by spaces, with https, or http on this machine`,
    between: [0, longestFieldOrigins],
    doc: "Origins of the pages that may contain the card fields, such as `https://shop.example`. Empty: pages of this machine (localhost).",
  },
  publicRequestsPerMinute: {
    ...wholeNumber(0, 0, 10_000),
    doc: "Requests with the public key that one network may make in a minute; 0: no limit.",
  },
  publicCardsPerTenMinutes: {
    ...wholeNumber(0, 0, 1_000),
    doc: "Different cards that one network may store with the public key in ten minutes; 0: no limit.",
  },
  publicFailuresPerTenMinutes: {
    ...wholeNumber(0, 0, 10_000),
    doc: "Requests with the public key that may be refused in ten minutes before the network must wait; 0: no limit.",
  },
  maximumAmountUsd: {
    ...wholeNumber(10_000, 1, 1_000_000_000),
    doc: "The highest amount of one payment in whole US dollars, converted by the rate table.",
  },
  notificationUrl: {
    ...webAddress(),
    doc: "Address for notifications of payments without their own address.",
  },
  responseUrl: { ...webAddress(), doc: "Where the hosted page sends customers back to." },
  receiptEmail: { ...text("", 0, 100), doc: "E-mail address for receipts." },
  imageUrl: { ...webAddress(), doc: "The merchant's picture on the hosted page." },
  descriptor: {
    ...text("COFRE*SANDBOX", 0, 64),
    doc: "Text on card statements for payments without a soft_descriptor.",
  },
  strictForms: {
    ...flag(false),
    doc: "Whether a form body whose JSON is cut by a raw & is refused instead of repaired.",
  },
  strictAmounts: {
    ...flag(false),
    doc: "Whether an amount with more than two decimals is refused instead of rounded half up.",
  },
  refuseCardLikeCodes: {
    ...flag(true),
    doc: "Whether a merchant_payment_code, merchant_refund_code or Idempotency-Key that holds the number of the card is refused instead of kept.",
  },
  notifySynchronous: {
    ...flag(true),
    doc: "Whether a payment that is paid or declined within its own request is notified as well.",
  },
  routes: {
    default: [],
    allows: (value: unknown): value is readonly Route[] => readRoutes(value) !== undefined,
    allowed: `a list of at most ${maximumRoutes} objects with connectors, and brands, bins, currencies, countries, fromUsd or belowUsd`,
    doc: "Acquirers for payments: the first matching route, otherwise the installation's first acquirer.",
  },
  notificationEndpoints: {
    default: [],
    allows: (value: unknown): value is readonly NotificationEndpoint[] =>
      readEndpoints(value) !== undefined,
    allowed: `a list of at most ${maximumEndpoints} objects with an id (1 to 32 of a-z, 0-9 and dashes, a letter first) and a url (http or https), and enabled, signatures (a list of ${signatureKinds.join(", ")}) or hashesPerCall (1 to ${maximumHashesPerCall})`,
    doc: "Receivers of all notifications except those of payments with their own address.",
  },
  notificationChaos: {
    default: defaultsOf<NotificationChaos>(chaosSettings),
    allows: (value: unknown): value is NotificationChaos =>
      problemsOf(chaosSettings, value, "notificationChaos.", "all").length === 0,
    allowed: "an object with all of its settings",
    doc: "What the sandbox does to notifications so that a receiver can be tested.",
  },
  simulator: {
    default: defaultsOf<SimulatorSettings>(simulatorSettings),
    allows: (value: unknown): value is SimulatorSettings =>
      problemsOf(simulatorSettings, value, "simulator.", "all").length === 0,
    allowed: "an object with all of the simulator's settings",
    doc: "How the simulated acquirer behaves towards this account.",
  },
  savedViews: {
    default: [],
    allows: (value: unknown): value is readonly SavedView[] => readSavedViews(value) !== undefined,
    allowed: `a list of at most ${maximumViews} objects with a name (1 to ${longestViewName} characters, each name once), and ${viewFieldNames.join(", ")}`,
    doc: "Searches of the console's payment list, saved with a name; /__cofre/views changes them.",
  },
} satisfies SettingTable<AccountSettings>;

export function defaultAccountSettings(): AccountSettings {
  return {
    ...defaultsOf<AccountSettings>(accountSettings),
    simulator: defaultsOf<SimulatorSettings>(simulatorSettings),
  };
}

/** The settings table of the documentation. */
export function settingsTableAsMarkdown(table: Readonly<Record<string, Setting<unknown>>>): string {
  const rows = Object.entries(table).map(([name, { default: initially, allowed, doc }]) => {
    const shown = typeof initially === "object" ? "" : `\`${JSON.stringify(initially)}\``;
    const range = allowed
      .replace("a whole number from ", "")
      .replace(", in thousandths: 300 is 30%", "");
    return `| \`${name}\` | ${shown} | ${range} | ${doc} |`;
  });
  return ["| setting | default | allowed | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

/** Description of a setting for users and programs. */
export interface DescribedSetting {
  readonly name: string;
  readonly default: unknown;
  readonly allowed: string;
  readonly values?: readonly unknown[];
  readonly between?: readonly [least: number, greatest: number];
  readonly unit?: "thousandths";
  readonly doc: string;
  /** The settings of an object. */
  readonly settings?: readonly DescribedSetting[];
}

/**
 * Every setting of an account in the order of its table; those of the simulator and of
 * notifications are nested.
 */
export function describedSettings(): readonly DescribedSetting[] {
  const inside: Readonly<Record<string, readonly DescribedSetting[]>> = {
    simulator: described(simulatorSettings),
    notificationChaos: described(chaosSettings),
  };
  return described(accountSettings).map((setting) => {
    const settings = ownValue(inside, setting.name);
    return settings === undefined ? setting : { ...setting, settings };
  });
}

function described(table: Readonly<Record<string, Setting<unknown>>>): readonly DescribedSetting[] {
  return Object.entries(table).map(([name, setting]) => {
    const { default: initially, allowed, values, between, unit, doc } = setting;
    return {
      name,
      default: initially,
      allowed,
      ...(values === undefined ? {} : { values }),
      ...(between === undefined ? {} : { between }),
      ...(unit === undefined ? {} : { unit }),
      doc,
    };
  });
}

export type SettingsResult =
  | { readonly settings: AccountSettings }
  | { readonly problems: readonly string[] };

/**
 * Merges `changes` into `current`; `simulator` and `notificationChaos` may be partial. Anything
 * unknown or not allowed is a problem, one sentence each, without values, and then nothing is
 * changed. `check` applies to new receiver addresses. An address in its shown form, without its
 * password, means the stored one.
 */
export function validateSettings(
  changes: Readonly<Record<string, unknown>>,
  current: AccountSettings = defaultAccountSettings(),
  check: AddressCheck = () => undefined,
): SettingsResult {
  const { simulator, notificationChaos, ...others } = withEffectiveAddresses(changes, current);
  const problems = [
    ...problemsOf(accountSettings, others, "", "some"),
    ...(simulator === undefined
      ? []
      : problemsOf(simulatorSettings, simulator, "simulator.", "some")),
    ...(notificationChaos === undefined
      ? []
      : problemsOf(chaosSettings, notificationChaos, "notificationChaos.", "some")),
  ];
  if (problems.length > 0) return { problems };
  const refused = addressProblems(others, current, check);
  if (refused.length > 0) return { problems: refused };
  const settings = {
    ...current,
    ...others,
    routes: readRoutes(others["routes"]) ?? current.routes,
    // With defaults for absent members.
    notificationEndpoints:
      readEndpoints(others["notificationEndpoints"]) ?? current.notificationEndpoints,
    notificationChaos: {
      ...current.notificationChaos,
      ...(isRecord(notificationChaos) ? notificationChaos : {}),
    },
    simulator: { ...current.simulator, ...(isRecord(simulator) ? simulator : {}) },
    savedViews: readSavedViews(others["savedViews"]) ?? current.savedViews,
  };
  return { settings };
}

function withEffectiveAddresses(
  changes: Readonly<Record<string, unknown>>,
  current: AccountSettings,
): Readonly<Record<string, unknown>> {
  const { notificationUrl, notificationEndpoints } = changes;
  const endpoints =
    notificationEndpoints === undefined ? undefined : readEndpoints(notificationEndpoints);
  return {
    ...changes,
    ...(typeof notificationUrl === "string"
      ? { notificationUrl: effectiveAddress(notificationUrl, current.notificationUrl) }
      : {}),
    ...(endpoints === undefined
      ? {}
      : {
          notificationEndpoints: endpoints.map((each) => ({
            ...each,
            url: effectiveAddress(each.url, currentUrl(current, each)),
          })),
        }),
  };
}

function currentUrl(
  { notificationEndpoints }: AccountSettings,
  { id }: NotificationEndpoint,
): string | undefined {
  return notificationEndpoints.find((each) => each.id === id)?.url;
}

/**
 * Only for new addresses: addresses that were accepted under an earlier configuration stay valid.
 */
function addressProblems(
  others: Readonly<Record<string, unknown>>,
  current: AccountSettings,
  check: AddressCheck,
): readonly string[] {
  const problem = (name: string, url: string, kept: string | undefined): readonly string[] => {
    if (url === "" || url === kept) return [];
    const reason = isHidden(url) ? "has *** for its password, which must be given" : check(url);
    return reason === undefined ? [] : [`${name}: the address ${reason}.`];
  };
  const { notificationUrl = "" } = others;
  const endpoints = readEndpoints(others["notificationEndpoints"]) ?? [];
  return [
    ...problem("notificationUrl", String(notificationUrl), current.notificationUrl),
    ...endpoints.flatMap((each, index) =>
      problem(`notificationEndpoints[${index}]`, each.url, currentUrl(current, each)),
    ),
  ];
}

function problemsOf(
  table: Readonly<Record<string, Setting<unknown>>>,
  values: unknown,
  prefix: string,
  expects: "some" | "all",
): string[] {
  if (!isRecord(values)) return [`${prefix.slice(0, -1)} must be an object.`];
  const unknown = Object.keys(values)
    .filter((name) => !Object.hasOwn(table, name))
    .map((name) => unknownName(name, prefix, Object.keys(table)));
  const refused = Object.entries(table)
    .filter(([name, setting]) =>
      Object.hasOwn(values, name) ? !setting.allows(values[name]) : expects === "all",
    )
    .map(([name, setting]) => `${prefix}${name} must be ${setting.allowed}.`);
  return [...unknown, ...refused];
}

/** A name is quoted only if it looks like one: anything else could be confidential data. */
function unknownName(name: string, prefix: string, known: readonly string[]): string {
  if (!/^[A-Za-z][A-Za-z_-]{0,39}$/.test(name))
    return `${prefix === "" ? "One of the names" : `One of the names in ${prefix.slice(0, -1)}`} is not a setting.`;
  const suggestion = suggestionFor(name, known);
  return `${prefix}${name} is not a setting.${suggestion === undefined ? "" : ` Did you mean ${prefix}${suggestion}?`}`;
}

function defaultsOf<Settings>(table: SettingTable<Settings>): Settings {
  const entries = Object.entries<Setting<unknown>>(table).map(([name, setting]) => [
    name,
    setting.default,
  ]);
  return Object.fromEntries(entries) as Settings;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type ValueRules<Value> = Omit<Setting<Value>, "doc">;

function flag(initially: boolean): ValueRules<boolean> {
  return {
    default: initially,
    allows: (value) => typeof value === "boolean",
    allowed: "true or false",
  };
}

function chance(): ValueRules<number> {
  return {
    ...wholeNumber(0, 0, 1_000),
    allowed: "a whole number from 0 to 1000, in thousandths: 300 is 30%",
    unit: "thousandths",
  };
}

function wholeNumber(initially: number, min: number, max: number): ValueRules<number> {
  return {
    default: initially,
    allows: (value): value is number =>
      typeof value === "number" && Number.isInteger(value) && value >= min && value <= max,
    allowed: `a whole number from ${min} to ${max}`,
    between: [min, max],
  };
}

function text(initially: string, shortest: number, longest: number): ValueRules<string> {
  return {
    default: initially,
    allows: (value): value is string =>
      typeof value === "string" && value.length >= shortest && value.length <= longest,
    allowed: `a text of ${shortest} to ${longest} characters`,
    between: [shortest, longest],
  };
}

/** Empty, or an http or https address. */
function webAddress(): ValueRules<string> {
  return {
    default: "",
    allows: (value): value is string =>
      value === "" ||
      (typeof value === "string" &&
        value.length <= 2_000 &&
        /^https?:\/\//i.test(value) &&
        URL.canParse(value)),
    allowed: "empty or an http or https address of at most 2000 characters",
  };
}

function oneOf<Value extends string>(
  initially: Value,
  values: readonly Value[],
): ValueRules<Value> {
  return {
    default: initially,
    allows: (value): value is Value => values.some((allowed) => allowed === value),
    allowed: `one of ${values.join(", ")}`,
    values,
  };
}
