import { wirePaths } from "../interface/paths.ts";
import { formatInstant, parseInstant } from "../kernel/calendar.ts";
import { laterBy, second } from "../kernel/instant.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, type CofreClient, printable } from "./cofre-client.ts";
import { type ClientCommand, exitCodes } from "./command.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Details {
  /** The payment, as a member of a request. */
  readonly selector: Fields;
  /** Its code or hash, as it was given. */
  readonly name: string;
  readonly amount: string | undefined;
  readonly description: string;
}

interface Event {
  readonly doc: string;
  /** Options that apply to it, besides --code. */
  readonly takes?: readonly `--${string}`[];
  readonly cause: (client: CofreClient, details: Details) => Promise<unknown>;
}

const simulated =
  (action: string): Event["cause"] =>
  (client, { selector, description }) =>
    client.operate("/__cofre/payment", {
      ...selector,
      action,
      ...(description === "" ? {} : { description }),
    });

/** One row per event. */
const events: Readonly<Record<string, Event>> = {
  captured: { doc: "an authorized payment is captured", cause: simulated("confirm") },
  cancelled: { doc: "an uncaptured payment is voided", cause: simulated("cancel") },
  refunded: {
    doc: "a refund of --amount, otherwise of all that is left, is requested; it is sent minutes later",
    takes: ["--amount", "--description"],
    cause: refund,
  },
  dispute: {
    doc: "the issuer charges back what is left of a captured payment",
    takes: ["--description"],
    cause: simulated("chargeback"),
  },
  "dispute-won": { doc: "the merchant wins the dispute", cause: simulated("chargeback_credit") },
  "review-accepted": { doc: "a reviewer accepts the payment", cause: simulated("accept_review") },
  "review-rejected": { doc: "a reviewer rejects the payment", cause: simulated("reject_review") },
  expired: {
    doc: "the clock of the world moves to the end of the authorization, which expires",
    cause: expire,
  },
};

const eventNames = Object.keys(events);

/** Causes an event of a payment that otherwise an issuer, a reviewer or the time causes. */
export const triggerCommand: ClientCommand = {
  summary: "cause an event of a payment: a dispute, a refund, an expiry",
  words: eventNames,
  needsWord: true,
  options: {
    "--code": { form: "C", doc: "the payment: its merchant_payment_code or hash" },
    "--amount": { form: "A", doc: "refunded: amount in the payment's currency" },
    "--description": { form: "TEXT", doc: "refunded, dispute: the reason" },
    ...clientOptions,
  },
  choices: { Events: Object.entries(events).map(([name, { doc }]) => [name, doc]) },
  examples: [
    "cofre trigger captured --code order-1",
    "cofre trigger dispute --code order-1 --description fraud",
    "cofre trigger refunded --code order-1 --amount 25.00",
  ],

  run: (call, host) =>
    tellingProblems(host.say, async () => {
      const event = new Map(Object.entries(events)).get(call.word ?? "");
      const name = call.flags.get("--code");
      if (event === undefined || name === undefined)
        throw new ClientProblem("Name the payment with --code CODE, or --code HASH.", {
          misuse: true,
        });
      for (const option of ["--amount", "--description"] as const)
        if (call.flags.has(option) && event.takes?.includes(option) !== true)
          throw new ClientProblem(`${option} is not for ${printable(call.word)}.`, {
            misuse: true,
          });
      const client = clientOf(call, host);
      await event.cause(client, {
        selector: /^[0-9a-f]{48}$/.test(name) ? { hash: name } : { merchant_payment_code: name },
        name,
        amount: call.flags.get("--amount"),
        description: call.flags.get("--description") ?? "",
      });
      const { payments } = await client.findPayment(name);
      const [payment = {}] = payments;
      host.print(call.flags.has("--json") ? JSON.stringify(payment) : lineOf(payment));
      return exitCodes.done;
    }),
};

/** `0a1b...  captured, charged back`. */
function lineOf(payment: Fields): string {
  const { hash, state, charged_back: isChargedBack, disputed: wasDisputed, refunded } = payment;
  const facts = [
    printable(state),
    isChargedBack === true ? "charged back" : wasDisputed === true ? "dispute won" : "",
    minorOf(refunded) > 0n ? `refunded ${printable(refunded)}` : "",
  ];
  return `${printable(hash)}  ${facts.filter((fact) => fact !== "").join(", ")}`;
}

async function refund(
  client: CofreClient,
  { selector, name, amount, description }: Details,
): Promise<void> {
  await client.operate(wirePaths.refund, {
    ...selector,
    operation: "request",
    amount: amount ?? (await leftToRefund(client, name)),
    description: description === "" ? "requested with cofre trigger" : description,
  });
}

/** Decimal text: captured, less what was returned. */
async function leftToRefund(client: CofreClient, name: string): Promise<string> {
  const { payments } = await client.findPayment(name);
  const [payment = {}] = payments;
  const [captured, refunded] = [payment["captured"], payment["refunded"]].map(minorOf);
  const { length } = printable(payment["captured"]).split(".")[1] ?? "";
  const left = String((captured ?? 0n) - (refunded ?? 0n)).padStart(length + 1, "0");
  return length === 0 ? left : `${left.slice(0, -length)}.${left.slice(-length)}`;
}

/** Digits of decimal text. */
function minorOf(amount: unknown): bigint {
  const digits = printable(amount).replace(".", "");
  return /^\d+$/.test(digits) ? BigInt(digits) : 0n;
}

async function expire(client: CofreClient, { name }: Details): Promise<void> {
  const { payments } = await client.findPayment(name);
  const captureBy = payments[0]?.["capture_by"];
  const end = typeof captureBy === "string" ? parseInstant(captureBy) : undefined;
  if (end === undefined)
    throw new ClientProblem(`${printable(name)} is not an authorized payment, and cannot expire.`);
  // The shown time has no milliseconds. An account that is not a world is refused with a reason.
  await client.clock({ set: formatInstant(laterBy(end, second)) });
}
