import { formatInstant, parseInstant } from "../../kernel/calendar.ts";
import { Secret } from "../../kernel/secret.ts";
import { ClientProblem } from "../client-problem.ts";
import { type CofreClient, isRecord } from "../cofre-client.ts";
import { fault, payment, settings, testCard } from "../fixture/fixture-table.ts";
import type { FixtureFault, FixturePayment } from "../fixture/fixtures.ts";
import { schemaOf } from "../fixture/json-schema.ts";
import { addFault, makePayment } from "../fixture/load-fixtures.ts";
import { problemsOf } from "../fixture/read-fixtures.ts";
import {
  amount,
  flag,
  form,
  type Member,
  type Members,
  object,
  oneOf,
  text,
  time,
  whole,
} from "../fixture/rules.ts";
import { chargebackReasons } from "../../payment/chargeback.ts";
import { causeEvent, eventDetails, eventNamed, eventNames } from "../payment-events.ts";
import type { ListedTool } from "./protocol.ts";

type Input = Readonly<Record<string, unknown>>;

/** The accounts that tools reach. */
export interface McpAccounts {
  /** For calls about all worlds. */
  readonly worlds: () => CofreClient;
  /** The account of the command line, or that of a key. Throws ClientProblem. */
  readonly account: (key: Secret<string> | undefined) => CofreClient;
}

interface Tool {
  readonly title: string;
  readonly description: string;
  readonly input: Members;
  /** `reads`: changes nothing; `adds`: removes nothing; `removes`: the rest. */
  readonly effect: "reads" | "adds" | "removes";
  readonly run: (accounts: McpAccounts, input: Input) => Promise<unknown>;
}

const key: Member = {
  doc: "Secret key of the world or account, such as integration_key of list_worlds. Default: the account with whose key the server was started.",
  rule: text(1, 100),
};
const paymentName: Member = {
  doc: "The payment: its merchant_payment_code, or its hash.",
  required: true,
  rule: text(1, 128),
};

function keyed(
  tool: Omit<Tool, "run"> & {
    readonly run: (client: CofreClient, input: Input) => Promise<unknown>;
  },
): Tool {
  return {
    ...tool,
    input: { ...tool.input, key },
    run: async (accounts, { key: given, ...input }) =>
      tool.run(accounts.account(typeof given === "string" ? new Secret(given) : undefined), input),
  };
}

/** Without the list of all published numbers, which list_test_cards has with their results. */
const card: Member = {
  doc: "A published test card number; list_test_cards has them with their results. Default: a card that is approved.",
  rule: { ...testCard, schema: { type: "string" } },
};

/** One row per tool. */
const tools: ReadonlyMap<string, Tool> = new Map(
  Object.entries({
    list_worlds: {
      title: "List worlds",
      description: "Lists the test worlds: isolated accounts with a clock, and their keys.",
      input: {},
      effect: "reads",
      run: async ({ worlds }) => ({ worlds: await worlds().worlds() }),
    },
    create_world: {
      title: "Create a world",
      description:
        "Creates a test world and returns its keys. With a seed, equal requests get equal answers, and the clock is stopped at the beginning of 2026.",
      input: {
        name: { doc: "A label.", rule: text(1, 100) },
        seed: { doc: "Seed of the random generator.", rule: text(1, 100) },
        clock: { doc: "Start time in UTC.", rule: time },
        running: { doc: "Whether the clock runs.", rule: flag },
        settings: {
          doc: "Account settings, such as country and partialCapture.",
          rule: { kind: "other", problems: problemsOfSettings, schema: { type: "object" } },
        },
      },
      effect: "adds",
      run: async ({ worlds }, { running, ...fields }) => ({
        world: await worlds().createWorld({
          ...fields,
          ...(running === undefined ? {} : { running: running === true ? "true" : "false" }),
        }),
      }),
    },
    change_world: keyed({
      title: "Reset, save, restore or delete a world",
      description: "A snapshot saves the state of a world under a name, restore returns to it.",
      input: {
        action: {
          doc: "What is done.",
          required: true,
          rule: oneOf(["reset", "snapshot", "restore", "delete"]),
        },
        name: {
          doc: "The snapshot's name.",
          rule: form(/^[\w.-]{1,50}$/, "1 to 50 letters, digits and . _ -"),
        },
      },
      effect: "removes",
      run: async (client, { action, ...fields }) => {
        if (action !== "delete") return { world: await client.world({ action, ...fields }) };
        await client.deleteWorld();
        return { deleted: true };
      },
    }),
    get_clock: keyed({
      title: "Show the clock",
      description: "Shows the account's time, and when work falls due next.",
      input: {},
      effect: "reads",
      run: async (client) => ({ clock: (await client.clock())["clock"] }),
    }),
    move_clock: keyed({
      title: "Move the clock",
      description:
        "Moves, starts or stops the clock of a world. Everything that falls due on the way is done: captures expire, refunds are sent, notifications are repeated. Give one of set, advance and run.",
      input: {
        set: { doc: "The new time in UTC.", rule: time },
        advance: {
          doc: "A span, or next: until work falls due.",
          rule: form(
            /^(?:next|\d{1,9}(?:s|min|h|d|months))$/,
            "a span such as 10s, 30min, 36h, 4d, 14months, or next",
          ),
        },
        run: { doc: "true starts the clock, false stops it.", rule: flag },
      },
      effect: "removes",
      run: moveClock,
    }),
    list_faults: keyed({
      title: "List faults",
      description: "Lists the active faults of the account's requests.",
      input: {},
      effect: "reads",
      run: async (client) => ({ faults: (await client.faults({})).faults }),
    }),
    add_fault: keyed({
      title: "Add a fault",
      description:
        "Makes the account's next requests fail: a cut connection, a late or lost answer, a decline, an unknown outcome.",
      input: fault,
      effect: "adds",
      run: async (client, input) => ({
        fault: (await addFault(client, input as object as FixtureFault)).fault,
      }),
    }),
    clear_faults: keyed({
      title: "Clear faults",
      description: "Removes a fault by its id, or all.",
      input: { id: { doc: "Default: all.", rule: text(1, 40) } },
      effect: "removes",
      run: async (client, { id = "all" }) => ({
        cleared: (await client.faults({ clear: id })).cleared ?? 0,
      }),
    }),
    list_payments: keyed({
      title: "List payments",
      description: "Lists payments, the newest first. Card numbers are masked.",
      input: {
        search: { doc: "A code, hash, name or e-mail address.", rule: text(1, 200) },
        limit: { doc: "Number of payments. Default: 20.", rule: whole(1, 100) },
      },
      effect: "reads",
      run: async (client, { limit = 20, ...fields }) => {
        const { payments, next } = await client.operate("/__cofre/payments", { ...fields, limit });
        return { payments, more: next !== null && next !== undefined };
      },
    }),
    get_payment: keyed({
      title: "Explain a payment",
      description: "Shows a payment's state, its history and what became of its money.",
      input: { payment: paymentName },
      effect: "reads",
      run: async (client, { payment: name }) => client.explain(String(name)),
    }),
    get_timeline: keyed({
      title: "Show the timeline of a payment",
      description:
        "Shows everything that happened to a payment: requests with answers, acquirer calls, facts, notifications and attempts to deliver them.",
      input: { payment: paymentName },
      effect: "reads",
      run: async (client, { payment: name }) => client.timeline(String(name)),
    }),
    make_payment: keyed({
      title: "Make a payment",
      description:
        "Charges or authorizes a test card, with the example customer of the country. Returns the payment; a decline is a payment too.",
      input: {
        code: payment.code,
        amount: payment.amount,
        currency: payment.currency,
        country: payment.country,
        instalments: payment.instalments,
        card,
        capture: {
          doc: "false: the payment is only authorized. Default: true.",
          rule: flag,
        },
      },
      effect: "adds",
      run: async (client, input) => {
        const made = input as object as FixturePayment;
        await makePayment(client, made);
        return found(client, made.code);
      },
    }),
    trigger_event: keyed({
      title: "Cause an event of a payment",
      description: `What the merchant, an issuer, a reviewer or the time does. ${eventNames.map((name) => `${name}: ${eventNamed(name)?.doc ?? ""}.`).join(" ")}`,
      input: {
        payment: paymentName,
        event: { doc: "The event.", required: true, rule: oneOf(eventNames) },
        amount: { doc: "Of refunded: the amount. Default: all that is left.", rule: amount },
        description: { doc: "Of refunded and dispute: the text.", rule: text(1, 200) },
        reason: { doc: "Of dispute: the scheme's category.", rule: oneOf(chargebackReasons) },
      },
      effect: "removes",
      run: async (client, { payment: name, event, ...details }) => {
        const row = eventNamed(String(event));
        if (row === undefined) throw new ClientProblem("There is no such event.");
        for (const detail of eventDetails)
          if (detail in details && row.takes?.includes(detail) !== true)
            throw new ClientProblem(`${detail} is not for the event ${String(event)}.`);
        await causeEvent(client, row, { name: String(name), ...details });
        return found(client, String(name));
      },
    }),
    list_requests: keyed({
      title: "List requests",
      description:
        "Lists the account's requests with their answers, up to fifty from a number on, oldest first. Card numbers are masked, security codes are left out.",
      input: {
        after: {
          doc: "Only requests with a higher number. Default: 0.",
          rule: whole(0, 999_999_999),
        },
      },
      effect: "reads",
      run: async (client, { after = 0 }) => {
        const { requests, next } = await client.requests(Number(after));
        return { requests, ...(next === undefined ? {} : { next }) };
      },
    }),
    list_test_cards: keyed({
      title: "List test cards",
      description:
        "Lists published test card numbers and what the simulated issuer does with them.",
      input: {},
      effect: "reads",
      run: async (client) => {
        const { cards } = await client.operate("/__cofre/test-cards", {});
        const listed: unknown[] = Array.isArray(cards) ? cards : [];
        return {
          cards: listed.filter(isRecord).map(({ card_number: number, brand, result, reason }) => ({
            number,
            brand,
            result,
            reason,
          })),
        };
      },
    }),
  } satisfies Readonly<Record<string, Tool>>),
);

function problemsOfSettings(value: Input): readonly string[] {
  return settings.kind === "other" ? settings.problems(value) : [];
}

async function found(client: CofreClient, name: string): Promise<unknown> {
  const { payments } = await client.findPayment(name);
  return { payment: payments[0] };
}

/** A long move takes several calls, of which each does a minute's work at most. */
async function moveClock(client: CofreClient, input: Input): Promise<unknown> {
  if (Object.keys(input).length !== 1) throw new ClientProblem("Give one of set, advance and run.");
  const { set, run, ...others } = input;
  const at = typeof set === "string" ? parseInstant(set) : undefined;
  const { clock, processed, complete, target } = await client.clock({
    ...others,
    ...(at === undefined ? {} : { set: formatInstant(at) }),
    ...(run === undefined ? {} : { run: run === true ? "true" : "false" }),
  });
  return complete === false
    ? { clock, processed, complete, target, hint: "Set the clock to target to continue." }
    : { clock, processed };
}

/** The tools as a client lists them. */
export const listedTools: readonly ListedTool[] = Array.from(
  tools,
  ([name, { title, description, input, effect }]) => ({
    name,
    title,
    description,
    inputSchema: schemaOf(object(input)),
    annotations: {
      readOnlyHint: effect === "reads",
      destructiveHint: effect === "removes",
      openWorldHint: false,
    },
  }),
);

/** Runs a tool; undefined when there is none of this name. */
export async function callTool(
  accounts: McpAccounts,
  name: string,
  input: unknown,
): Promise<{ readonly text: string; readonly isError: boolean } | undefined> {
  const tool = tools.get(name);
  if (tool === undefined) return undefined;
  const problems = problemsOf(object(tool.input), input);
  if (problems.length > 0) return { text: problems.join("\n"), isError: true };
  try {
    const result = await tool.run(accounts, input as Input);
    return { text: JSON.stringify(result), isError: false };
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    return { text: error.message, isError: true };
  }
}
