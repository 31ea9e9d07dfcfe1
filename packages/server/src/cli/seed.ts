import { wirePaths } from "../interface/paths.ts";
import { parseInstant } from "../kernel/calendar.ts";
import { exampleDueDate } from "../vault/card-due-date.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, type CofreClient, isRecord, printable } from "./cofre-client.ts";
import { type ClientCommand, type CommandCall, type CommandHost, exitCodes } from "./command.ts";
import { reportingProgress } from "./progress.ts";
import { type Fate, fates, type PlannedPayment, seedPlan } from "./seed-plan.ts";

type Fields = Readonly<Record<string, unknown>>;

const defaultCount = 300;
const mostPayments = 5_000;
const defaultPrefix = "seed";

/** Longer than any time limit of the acquirer that is usual, in milliseconds. */
const unknownTimeoutMs = 120_000;

/** Fills an account with payments of all kinds, the same each time. */
export const seedCommand: ClientCommand = {
  summary: "make 300 payments of all kinds in an account",
  details: "Countries, brands, instalments, declines, refunds, disputes and lost answers.",
  options: {
    "--count": { form: "N", doc: `number of payments, 1 to ${mostPayments}; 300 by default` },
    "--prefix": {
      form: "TEXT",
      doc: `beginning of their codes, such as ${defaultPrefix} for ${defaultPrefix}-001; each can be used once per account`,
    },
    ...clientOptions,
  },
  examples: ["cofre seed", "cofre seed --count 30 --prefix demo"],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const client = clientOf(call, host);
      const plan = seedPlan(countIn(call), prefixIn(call));
      await refuseRepetition(client, plan);
      const counts = await make(client, host, plan);
      if (call.flags.has("--json")) host.print(JSON.stringify(Object.fromEntries(counts)));
      else {
        for (const [fate, count] of counts)
          host.print(`${host.styled("name", fate.replaceAll("_", " ").padEnd(16))}  ${count}`);
        host.say(`\`cofre payment timeline ${plan[0]?.code ?? ""}\` shows the first one.`);
      }
      return exitCodes.done;
    }),
};

function countIn({ flags }: CommandCall): number {
  const text = flags.get("--count") ?? String(defaultCount);
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= mostPayments) return count;
  throw new ClientProblem(`--count must be a whole number from 1 to ${mostPayments}.`, {
    misuse: true,
  });
}

function prefixIn({ flags }: CommandCall): string {
  const prefix = flags.get("--prefix") ?? defaultPrefix;
  if (/^[A-Za-z][\w-]{0,39}$/.test(prefix)) return prefix;
  throw new ClientProblem(
    "--prefix must be a letter and up to 39 letters, digits, dashes and underscores.",
    { misuse: true },
  );
}

async function refuseRepetition(
  client: CofreClient,
  [first]: readonly PlannedPayment[],
): Promise<void> {
  const { payments } = await client.findPayment(first?.code ?? "");
  if (payments.some((payment) => payment["merchant_payment_code"] === first?.code))
    throw new ClientProblem(
      `This account already has the payment ${first?.code ?? ""}. --prefix TEXT makes payments with other codes; a world can be reset with \`cofre world reset\`.`,
    );
}

async function make(
  client: CofreClient,
  host: CommandHost,
  plan: readonly PlannedPayment[],
): Promise<ReadonlyMap<Fate, number>> {
  const { clock } = await client.clock();
  const time = isRecord(clock) ? clock : {};
  const dueDate = exampleDueDate(parseInstant(printable(time["now"])) ?? host.clock.now());
  // Where the clock is stopped the acquirer's time limit passes at once.
  const isStopped = time["running"] === false;
  const unknown: Promise<void>[] = [];
  let made = 0;
  const all = async (): Promise<void> => {
    for (const payment of plan) {
      const paying = pay(client, payment, dueDate);
      // The others are made in the meantime.
      if (payment.fate === "outcome_unknown" && !isStopped) unknown.push(paying);
      else await paying;
      made += 1;
    }
    await Promise.all(unknown);
  };
  await reportingProgress(host, all(), async () =>
    made < plan.length
      ? `${made} of ${plan.length} payments were made`
      : `waiting for the acquirer's time limit for payments whose outcome is unknown: ${unknown.length}`,
  );
  const counts = fates.map(
    (fate) => [fate, plan.filter((payment) => payment.fate === fate).length] as const,
  );
  return new Map(counts.filter(([, count]) => count > 0));
}

/** What follows the charge. */
const afterwards: Readonly<
  Record<Fate, (client: CofreClient, of: PlannedPayment) => Promise<void>>
> = {
  captured: nothing,
  captured_later: act("confirm"),
  authorized: nothing,
  cancelled: act("cancel"),
  refunded: (client, payment) => refund(client, payment, payment.amount),
  partly_refunded: (client, payment) => refund(client, payment, partOf(payment.amount)),
  disputed: act("chargeback"),
  dispute_won: async (client, payment) => {
    await act("chargeback")(client, payment);
    await act("chargeback_credit")(client, payment);
  },
  declined: nothing,
  answer_lost: nothing,
  outcome_unknown: nothing,
};

const faults: Partial<Record<Fate, string>> = {
  answer_lost: "drop_after_commit",
  outcome_unknown: "acquirer_unknown_then_yes",
};

async function pay(client: CofreClient, payment: PlannedPayment, dueDate: string): Promise<void> {
  const { fate, code } = payment;
  const kind = faults[fate];
  if (kind !== undefined)
    await client.faults({ add: { kind, merchant_payment_code: code, path: wirePaths.direct } });
  const charging = client.operate(
    wirePaths.direct,
    chargeOf(payment, dueDate),
    fate === "outcome_unknown" ? unknownTimeoutMs : undefined,
  );
  const answer = await charging.catch((error: unknown): Fields => {
    // The connection was cut after the charge was carried out.
    if (fate === "answer_lost" && error instanceof ClientProblem) return {};
    throw error instanceof ClientProblem
      ? new ClientProblem(
          `${code}: ${error.message} Faults or settings of this account may prevent the payments: \`cofre fault clear\` removes faults, a new world has neither.`,
        )
      : error;
  });
  const made = isRecord(answer["payment"]) ? printable(answer["payment"]["status"]) : "";
  // A decline that was not planned, such as one by a fault, has nothing to capture or refund.
  if (made !== "CA") await afterwards[fate](client, payment);
}

function chargeOf(payment: PlannedPayment, dueDate: string): Fields {
  const { fate, code, amount, currency, instalments, cardNumber, cvv, name, email, customer } =
    payment;
  const isHold = fate === "authorized" || fate === "captured_later" || fate === "cancelled";
  return {
    operation: "request",
    payment: {
      merchant_payment_code: code,
      amount_total: amount,
      currency_code: currency,
      instalments: String(instalments),
      name,
      email,
      ...customer,
      payment_type_code: "creditcard",
      creditcard: {
        card_number: cardNumber,
        card_name: name,
        card_due_date: dueDate,
        card_cvv: cvv,
        ...(isHold ? { auto_capture: false } : {}),
      },
    },
  };
}

async function nothing(): Promise<void> {
  // The charge is all.
}

function act(action: string) {
  return async (client: CofreClient, { code }: PlannedPayment): Promise<void> =>
    void (await client.operate("/__cofre/payment", { merchant_payment_code: code, action }));
}

async function refund(
  client: CofreClient,
  { code }: PlannedPayment,
  amount: string,
): Promise<void> {
  await client.operate(wirePaths.refund, {
    merchant_payment_code: code,
    operation: "request",
    amount,
    description: "made by cofre seed",
  });
}

/** A third of an amount, in whole units. */
function partOf(amount: string): string {
  return `${BigInt(amount.split(".")[0] ?? "0") / 3n}.00`;
}
