import { outsideStatements } from "../../src/stores/postgres/migrate.ts";

/**
 * The statements that a migration may contain (docs/decisions/0008). This is a list of allowed
 * forms, so an unknown statement is refused. For a migration that needs another form, add it here,
 * with its lock and what it reads.
 */

interface Token {
  readonly kind: "word" | "quoted" | "string" | "number" | "sign";
  /** Words in lower case. */
  readonly text: string;
}

type Statement = readonly Token[];

const forms: readonly (readonly [kind: Token["kind"] | "space" | "dollar", form: RegExp])[] = [
  ["space", /\s+|--[^\n]*/y],
  ["dollar", /\$(?:[a-z_]\w*)?\$/iy],
  ["quoted", /"((?:[^"]|"")*)"/y],
  ["string", /'((?:[^']|'')*)'/y],
  ["word", /[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/iy],
  ["number", /\d+(?:\.\d+)?/y],
  ["sign", /[^\s'"]/y],
];

/**
 * The statements of a text, without comments. Throws where this parser and the server would read
 * the text differently.
 */
function statementsOf(text: string): readonly Statement[] {
  const statements: Token[][] = [[]];
  for (let at = 0; at < text.length;) {
    if (text.startsWith("/*", at)) {
      at = endOfComment(text, at);
      continue;
    }
    const found = forms
      .map(([kind, form]) => {
        form.lastIndex = at;
        return [kind, form.exec(text)] as const;
      })
      .find(([, match]) => match !== null);
    const [kind, match] = found ?? [];
    if (kind === undefined || match === undefined || match === null)
      throw new Error("a quotation mark without its end");
    at += match[0].length;
    if (kind === "space") continue;
    if (kind === "dollar") {
      const end = text.indexOf(match[0], at);
      if (end < 0) throw new Error("a dollar quotation without its end");
      statements.at(-1)?.push({ kind: "string", text: text.slice(at, end) });
      at = end + match[0].length;
      continue;
    }
    if (match[0] === ";") {
      statements.push([]);
      continue;
    }
    // E'...', U&'...' and U&"..." have escapes, which this parser does not read.
    if (
      (kind === "string" || kind === "quoted") &&
      /[a-z&]/i.test(text.charAt(at - match[0].length - 1))
    ) {
      throw new Error("a quotation with escapes");
    }
    if (kind === "string")
      statements.at(-1)?.push({ kind, text: (match[1] ?? "").replaceAll("''", "'") });
    else
      statements
        .at(-1)
        ?.push({ kind, text: kind === "quoted" ? (match[1] ?? "") : match[0].toLowerCase() });
  }
  return statements.filter((statement) => statement.length > 0);
}

/** Comments nest. */
function endOfComment(text: string, begin: number): number {
  let depth = 0;
  for (let at = begin; at < text.length; at += 1) {
    if (text.startsWith("/*", at)) [depth, at] = [depth + 1, at + 1];
    else if (text.startsWith("*/", at)) [depth, at] = [depth - 1, at + 1];
    if (depth === 0) return at + 1;
  }
  throw new Error("a comment without its end");
}

/**
 * The statement with one space between tokens. Quoted text is replaced, so a form never matches a
 * word in it.
 */
function written(statement: Statement): string {
  return statement
    .map(({ kind, text }) => (kind === "string" ? "''" : kind === "quoted" ? '""' : text))
    .join(" ");
}

/** Splits at the commas outside parentheses. */
function partsOf(statement: Statement): readonly Statement[] {
  const parts: Token[][] = [[]];
  let depth = 0;
  for (const token of statement) {
    if (token.kind === "sign" && token.text === "(") depth += 1;
    if (token.kind === "sign" && token.text === ")") depth -= 1;
    if (token.kind === "sign" && token.text === "," && depth === 0) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

const constant = "(?:''|-? ?\\d+(?:\\.\\d+)?|true|false|null)";

/**
 * Actions on a table that may be large. Each changes only the catalogue, under a lock that is held
 * for milliseconds.
 */
const tableActions = [
  new RegExp(
    `^add column \\w+ (?:bigint|integer|smallint|text|bytea|boolean|timestamptz|json|jsonb)(?: collate "")?(?:(?: not null)? default ${constant}| default ${constant} not null)?$`,
  ),
  /^add constraint \w+ check \( .+ \) not valid$/,
  /^add constraint \w+ unique using index \w+$/,
  /^alter column \w+ (?:set default .+|drop default|drop not null|set statistics \d+)$/,
  /^drop constraint(?: if exists)? \w+$/,
  /^(?:re)?set \( .+ \)$/,
  /^enable row level security$/,
];

/**
 * For a table that this migration creates, which is empty, everything is allowed except what
 * involves another table.
 */
const othersTables =
  /\b(?:attach|detach|inherit|inherits|references|rename|partition of|of|as|like)\b/;

/**
 * Statements that only change the catalogue, whatever follows. A function's body runs when it is
 * called.
 */
const catalogueForms = [
  /^create sequence \w+/,
  /^create (?:or replace )?(?:function|procedure|view) \w+/,
  /^create (?:constraint )?trigger \w+/,
  /^create policy \w+ on \w+/,
  /^create role (?:\w+) nologin$/,
  /^drop (?:trigger|policy|function|procedure|view) (?!.*\bcascade\b)/,
  /^comment on /,
  /^grant /,
  /^revoke /,
  /^alter (?:function|procedure) /,
];

/**
 * `%s` of a `format` inserts text that this check cannot see: it is allowed in these statements
 * only.
 */
const withText = /^(?:grant|revoke|alter (?:function|procedure)) /;
const someName = "name_of_format";
const someText = "text_of_format";

/**
 * The refused statements of a step in a transaction. `made`: tables that the step has created so
 * far.
 */
function refusedOf(statement: Statement, made: Set<string>): readonly string[] {
  const text = written(statement);
  const refused = [text.length > 90 ? `${text.slice(0, 90)}...` : text];
  if (text.includes(someText) && !withText.test(text)) return refused;
  const table = /^create table (\w+) \( /.exec(text)?.[1];
  if (table !== undefined) {
    made.add(table);
    return othersTables.test(text.replaceAll(/''|""/g, "")) ? refused : [];
  }
  const indexed = /^create (?:unique )?index \w+ on (\w+) \(/.exec(text)?.[1];
  if (indexed !== undefined) return made.has(indexed) ? [] : refused;
  const filled = /^insert into (\w+) /.exec(text)?.[1];
  if (filled !== undefined)
    return made.has(filled) && readsNothing(statement, filled) ? [] : refused;
  const altered = /^alter table (\w+) /.exec(text)?.[1];
  if (altered !== undefined) {
    if (made.has(altered)) return othersTables.test(text) ? refused : [];
    return partsOf(statement.slice(3)).every((part) =>
      tableActions.some((form) => form.test(written(part)) && isOneCheck(part)),
    )
      ? []
      : refused;
  }
  if (/^do ''(?: language plpgsql)?$/.test(text))
    return refusedOfBlock(statement[1]?.text ?? "", made);
  return catalogueForms.some((form) => form.test(text)) ? [] : refused;
}

/** Whether the parenthesis after CHECK ends directly before NOT VALID. */
function isOneCheck(action: Statement): boolean {
  const begin = action.findIndex(({ text }) => text === "(");
  if (begin < 0 || action[begin - 1]?.text !== "check") return true;
  let depth = 0;
  const end = action.findIndex(({ kind, text }, at) => {
    if (kind !== "sign" || at < begin) return false;
    depth += text === "(" ? 1 : text === ")" ? -1 : 0;
    return depth === 0;
  });
  return written(action.slice(end + 1)) === "not valid";
}

/**
 * Whether the rows come from the text itself: no other table is read, and no function of the
 * database is called.
 */
function readsNothing(statement: Statement, table: string): boolean {
  const called = statement
    .filter(({ kind }, at) => kind !== "sign" && statement[at + 1]?.text === "(")
    .map(({ text }) => text);
  const words = statement.filter(({ kind }) => kind === "word").map(({ text }) => text);
  return (
    called.every((name) => [table, "values", "generate_series"].includes(name)) &&
    !words.some((word) => /^(?:from|table|with)$/.test(word))
  );
}

/**
 * Statements that may surround those of a block. Their conditions and arrays read none of our
 * tables.
 */
const around = [
  /^declare (?:\w+ text(?: |$))?/,
  /^begin(?: |$)/,
  /^foreach \w+ in array array \[ ''(?: , '')* \] loop(?: |$)/,
  /^if not exists \( select 1 from pg_roles where rolname = (?:''|\w+) \) then /,
  /^if not pg_has_role \( current_user , (?:''|\w+) , '' \) then /,
  /^exception when \w+(?: or \w+)* then /,
  /^null$/,
  /^end(?: loop| if)?$/,
];
const executed = /^execute (?:format \( '' (?:, (?:\w+|current_schema \( \)) )*\)|'')$/;

function refusedOfBlock(body: string, made: Set<string>): readonly string[] {
  const refused: string[] = [];
  for (const whole of statementsOf(body)) {
    let rest = whole;
    for (let size = -1; size !== rest.length;) {
      size = rest.length;
      for (const form of around) {
        const match = form.exec(written(rest));
        if (match !== null) rest = rest.slice(match[0].trim().split(" ").length);
      }
    }
    // A name in an array could contain a statement.
    if (whole.some(({ kind, text }) => kind === "string" && text.includes(";")))
      refused.push(`a string with a semicolon: ${written(whole)}`);
    if (rest.length === 0) continue;
    if (!executed.test(written(rest))) refused.push(...refusedOf(rest, made));
    else {
      const template = (rest.find(({ kind }) => kind === "string")?.text ?? "")
        .replaceAll("%I", someName)
        .replaceAll("%s", someText);
      for (const statement of statementsOf(template)) refused.push(...refusedOf(statement, made));
    }
  }
  return refused;
}

/** Whether the called procedure, outside a transaction, commits within a loop. */
function isCalledInPieces(call: string, before: readonly string[]): boolean {
  const name = /^CALL (\w+)\(\)$/.exec(call)?.[1] ?? "";
  const body = before
    .flatMap(statementsOf)
    .filter((statement) =>
      new RegExp(`^create (?:or replace )?procedure ${name} \\( \\) `).test(written(statement)),
    )
    .at(-1)
    ?.find(({ kind }) => kind === "string")?.text;
  if (body === undefined) return false;
  const steps = statementsOf(body).map(written);
  const commit = steps.indexOf("commit");
  return (
    commit >= 0 &&
    steps.slice(0, commit).some((step) => / loop$| loop /.test(` ${step}`)) &&
    steps.slice(commit).includes("end loop")
  );
}

/**
 * The refused statements of a migration, identified as far as possible; `before` are the texts of
 * the earlier migrations.
 */
export function refusedStatements(text: string, before: readonly string[]): readonly string[] {
  const outside = outsideStatements(text);
  try {
    if (outside !== undefined) {
      return outside.filter(
        (statement) =>
          statementsOf(statement).length !== 1 ||
          (statement.startsWith("CALL ") && !isCalledInPieces(statement, before)),
      );
    }
    const made = new Set<string>();
    return statementsOf(text).flatMap((statement) => refusedOf(statement, made));
  } catch (error) {
    return [`not read: ${error instanceof Error ? error.message : ""}`];
  }
}
