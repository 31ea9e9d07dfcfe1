import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, isRecord, printable } from "./cofre-client.ts";
import { type ClientCommand, exitCodes } from "./command.ts";
import { plain, type Styled } from "./styled.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Shows a payment from the books and its history. */
export const paymentCommand: ClientCommand = {
  summary: "show payments by your code or by hash, or their timeline",
  details:
    "State, money and history of each. The timeline has requests, acquirer calls and notifications.",
  paths: "[timeline] CODE|HASH...",
  options: clientOptions,
  examples: [
    "cofre payment order-1",
    "cofre payment --json order-1",
    "cofre payment timeline order-1",
  ],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const client = clientOf(call, host);
      // `timeline` alone is the code of a payment.
      const isTimeline = call.paths[0] === "timeline" && call.paths.length > 1;
      for (const name of isTimeline ? call.paths.slice(1) : call.paths) {
        const reply = isTimeline ? client.timeline(name) : client.explain(name);
        const answer = await reply.catch((error: unknown) => {
          if (!(error instanceof ClientProblem)) throw error;
          const how = error.message.includes("BP-QRY-2")
            ? " A payment is named by your merchant_payment_code or its hash of 48 characters."
            : "";
          throw new ClientProblem(`${printable(name)}: ${error.message.replace(/\.$/, "")}.${how}`);
        });
        const lines = isTimeline ? timelineLines : linesOf;
        if (call.flags.has("--json")) host.print(JSON.stringify(answer));
        else for (const line of lines(answer, host.styled)) host.print(line);
      }
      return exitCodes.done;
    }),
};

function linesOf({ hash, state, facts, money, price, problems }: Fields, styled: Styled): string[] {
  return [
    styled("heading", `${printable(hash)}  ${printable(state)}`),
    styled("name", "  money"),
    ...recordsIn(money).map(({ currency, ...amounts }) => {
      const shown = Object.entries(amounts).map(
        ([name, amount]) => `${printable(name)} ${shownValue(amount)}`,
      );
      return `    ${printable(currency)}  ${shown.join("  ")}`;
    }),
    ...recordsIn(price).map(
      ({ part, text }) => `    ${printable(part).padEnd(8)}  ${printable(text)}`,
    ),
    styled("name", "  timeline"),
    ...recordsIn(facts).map(({ version, at, fact, attempt, by, ...detail }) => {
      const more = Object.entries({ by, attempt, ...detail }).flatMap(([name, value]) =>
        value === undefined || value === null ? [] : [`${printable(name)} ${shownValue(value)}`],
      );
      return `    ${printable(at)}  v${shownValue(version)}  ${printable(fact).padEnd(24)}  ${more.join("  ")}`.trimEnd();
    }),
    // Never, unless the books are broken.
    ...(Array.isArray(problems)
      ? problems.map((each) => styled("failure", `  PROBLEM: ${printable(each)}`))
      : []),
  ];
}

/** A payment's timeline as text. */
export function timelineLines(
  { hash, state, entries, recording }: Fields,
  styled: Styled = plain,
): string[] {
  const { since, complete } = isRecord(recording) ? recording : {};
  const missing = `Requests, acquirer calls and attempts are kept in memory only: ${
    typeof since === "string"
      ? `none before ${printable(since)} are available`
      : "none are available"
  }.`;
  return [
    styled("heading", `${printable(hash)}  ${printable(state)}`),
    ...recordsIn(entries).map(
      ({ at, kind, text }) =>
        `  ${printable(at)}  ${styled("name", printable(kind).padEnd(12))}  ${printable(text)}`,
    ),
    ...(complete === true ? [] : [`  ${missing}`]),
  ];
}

function recordsIn(list: unknown): Fields[] {
  const rows: unknown[] = Array.isArray(list) ? list : [];
  return rows.filter(isRecord);
}

function shownValue(value: unknown): string {
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}
