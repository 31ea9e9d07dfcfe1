import { ownValue } from "../../kernel/own.ts";
import { type ErrorRow, errorTable } from "./error-table.ts";

/** A row of the error table as the documentation shows it. */
export interface DocumentedError {
  readonly code: keyof typeof errorTable;
  /** `{a | b}` for a placeholder with these values, `{name}` for one that takes any text. */
  readonly message: string;
  /** The message with the first choice of each placeholder, or its name where it takes any text. */
  readonly example: string;
  /** The refused field of the example. */
  readonly field: string | undefined;
  readonly httpStatuses: readonly number[];
  readonly condition: string;
  /** Undefined for a code that is never sent. */
  readonly remedy: string | undefined;
  readonly tested: NonNullable<ErrorRow["tested"]>;
}

export const documentedErrors: readonly DocumentedError[] = (
  Object.keys(errorTable) as (keyof typeof errorTable)[]
).map((code) => {
  const row: ErrorRow = errorTable[code];
  const { message, field, httpStatus = 200, otherStatus } = row;
  const { condition, remedy, tested = "by request" } = row;
  const httpStatuses = otherStatus === undefined ? [httpStatus] : [httpStatus, otherStatus];
  return {
    code,
    message: withChoices(row),
    example: withFirstChoices(message, row),
    field: field === undefined ? undefined : withFirstChoices(field, row),
    httpStatuses,
    condition,
    remedy,
    tested,
  };
});

function withChoices({ message, choices = {} }: ErrorRow): string {
  return message.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => {
    const values = ownValue(choices, name);
    if (values === undefined) return placeholder;
    return values.length === 1 ? String(values[0]) : `{${values.join(" | ")}}`;
  });
}

function withFirstChoices(text: string, { choices = {} }: ErrorRow): string {
  const chosen = text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    String(ownValue(choices, name)?.[0] ?? placeholder),
  );
  return chosen.replaceAll(/[{}]/g, "");
}

/** The table in two parts: the codes that are sent, and those that are never sent. */
export function errorsAsMarkdown(part: "sent" | "never sent"): string {
  const rows = documentedErrors.filter(
    ({ tested }) => (tested === "never sent") === (part === "never sent"),
  );
  return part === "sent" ? sentAsMarkdown(rows) : neverSentAsMarkdown(rows);
}

function sentAsMarkdown(rows: readonly DocumentedError[]): string {
  const statuses = ({ httpStatuses }: DocumentedError): string =>
    httpStatuses.join() === "200" ? "" : ` (${httpStatuses.join(", ")})`;
  return [
    "| Code | Message | When |",
    "| --- | --- | --- |",
    ...rows.map(
      (row) => `| ${row.code}${statuses(row)} | ${cell(row.message)} | ${cell(row.condition)} |`,
    ),
  ].join("\n");
}

/** A row with more codes than this names them without their meaning. */
const manyCodes = 10;

/** One row per reason, with all codes that have it. */
function neverSentAsMarkdown(rows: readonly DocumentedError[]): string {
  const reasons = Map.groupBy(rows, ({ condition }) => condition);
  const meanings = (of: readonly DocumentedError[]): string =>
    of.length > manyCodes
      ? of.map(({ code }) => code).join(", ")
      : of.map(({ code, message }) => `${code} ${cell(message)}`).join("<br>");
  return [
    "| Codes and their meaning there | Why not here |",
    "| --- | --- |",
    ...Array.from(reasons, ([condition, of]) => `| ${meanings(of)} | ${cell(condition)} |`),
  ].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
