import { ownValue } from "../../kernel/own.ts";
import { type ErrorRow, errorTable } from "./error-table.ts";
import { WireError } from "../decode/wire-error.ts";

type Table = typeof errorTable;
/** The codes that are sent. */
export type ErrorCode = {
  [Code in keyof Table]: Table[Code] extends { readonly tested: "never sent" } ? never : Code;
}[keyof Table];

type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;
type ChoicesOf<Row> = Row extends { readonly choices: infer Choices } ? Choices : object;
type ChoiceOf<Row> = {
  [Name in keyof ChoicesOf<Row>]: ChoicesOf<Row>[Name] extends readonly (infer Value)[]
    ? Value
    : never;
}[keyof ChoicesOf<Row>];
type ValueOf<Choices, Name> = Name extends keyof Choices
  ? Choices[Name] extends readonly (infer Value)[]
    ? Value
    : never
  : string | number;

type FieldOf<Row> = Row extends { readonly field: infer Field } ? Field : never;

/**
 * The values of the placeholders of a row's message and field, by name. A choice may have
 * placeholders of its own.
 */
export type ValuesOf<Code extends ErrorCode> = {
  readonly [Name in NamesIn<Table[Code]["message"] | FieldOf<Table[Code]>>]: ValueOf<
    ChoicesOf<Table[Code]>,
    Name
  >;
} & { readonly [Name in NamesIn<ChoiceOf<Table[Code]>>]?: string | number };

/** Codes whose message has no placeholder. */
export type PlainCode = {
  [Code in ErrorCode]: [NamesIn<Table[Code]["message"]>] extends [never] ? Code : never;
}[ErrorCode];
export type Filling<Code extends ErrorCode> = Code extends PlainCode
  ? []
  : [values: ValuesOf<Code>];
export type Values = Readonly<Record<string, string | number>>;

/** A refusal with this code. */
export function refusal<Code extends ErrorCode>(code: Code, ...filling: Filling<Code>): WireError {
  return refusalWith(code, filling[0]);
}

/** As `refusal`, for values that were checked against the row elsewhere. */
export function refusalWith(code: ErrorCode, values: Values | undefined): WireError {
  const { message, choices = {}, httpStatus, field }: ErrorRow = errorTable[code];
  const textOf = (text: string): string =>
    values === undefined ? text : filled(text, choices, values);
  return new WireError(
    code,
    textOf(message),
    httpStatus,
    field === undefined ? undefined : textOf(field),
  );
}

/**
 * Only a choice of the row is searched for placeholders again, so that braces in other values have
 * no meaning.
 */
function filled(text: string, choices: NonNullable<ErrorRow["choices"]>, values: Values): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(ownValue(values, name));
    return ownValue(choices, name) === undefined ? value : filled(value, {}, values);
  });
}
