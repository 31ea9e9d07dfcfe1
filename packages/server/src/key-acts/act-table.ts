import { ownValue } from "../kernel/own.ts";

/** A value that an act takes. `form`: what a value has to match. */
interface ActParameter {
  readonly form: RegExp;
  readonly isRequired: boolean;
}

/** An act upon the keys of an installation, which an admin orders. */
export interface ActRow {
  /**
   * 2: an admin requests it, and another one approves. Where the console works by key (the sandbox),
   * the key alone suffices.
   */
  readonly people: 1 | 2;
  readonly parameters: Readonly<Record<string, ActParameter>>;
}

/** Printable, without leading and trailing blanks: 1 to 200 characters. */
const reason = { form: /^\S(?:[^\p{C}]{0,198}\S)?$/u, isRequired: true } as const;

/** Key id of a root key, as `root_keys` in the log has it. */
const root = { form: /^[\x21-\x7e]{1,300}$/, isRequired: true } as const;

/** Every act; `start/open-key-acts.ts` has what each does besides being stored. */
export const actRows = {
  /** Stops card operations on all nodes. */
  stop: { people: 1, parameters: { reason } },
  /** Ends the stop. */
  resume: { people: 2, parameters: { reason } },
  /** Wraps every epoch key by a second root key too. */
  "add-root": { people: 2, parameters: { root, reason } },
  /** Makes a root key the only one; `now` does not wait seven days. */
  "move-root": {
    people: 2,
    parameters: { root, reason, now: { form: /^true$/, isRequired: false } },
  },
  /** Makes a new epoch key, or new keys of merchants. */
  rotate: {
    people: 1,
    parameters: {
      reason,
      target: { form: /^(?:epoch|merchants|merchant:[0-9a-f]{8})$/, isRequired: true },
    },
  },
  /** Sets how many cards a node encrypts again in a second; 0 pauses that. */
  reseal: {
    people: 1,
    parameters: { reason, rate: { form: /^(?:0|[1-9]\d{0,4})$/, isRequired: true } },
  },
  /** Replaces keys that others may know: all of them (`epoch`), or those of a merchant. */
  compromised: {
    people: 1,
    parameters: {
      reason,
      target: { form: /^(?:epoch|merchant:[0-9a-f]{8})$/, isRequired: true },
    },
  },
  /** Destroys a key that only opens, as soon as nothing needs it. */
  destroy: {
    people: 2,
    parameters: {
      reason,
      target: { form: /^(?:epoch|merchant:[0-9a-f]{8}):[1-9]\d{0,8}$/, isRequired: true },
      accept_outage: { form: /^true$/, isRequired: false },
    },
  },
} as const satisfies Readonly<Record<string, ActRow>>;

export type ActName = keyof typeof actRows;

export const actNames = Object.keys(actRows) as readonly ActName[];

/**
 * Why an act cannot be done now. `not_stopped`: no stop order is in force. `no_such_key`: no key of
 * this name only opens. `in_use`: keys or cards need the key. `no_records`: the installation keeps
 * its keys in files.
 */
export const actProblems = ["not_stopped", "no_such_key", "in_use", "no_records"] as const;
export type ActProblem = (typeof actProblems)[number];

export type ActParameters = Readonly<Record<string, string>>;

/**
 * The name of the first parameter that the act does not have, that is missing, or whose value has
 * another form; undefined when all fit.
 */
export function invalidParameter(act: ActName, given: ActParameters): string | undefined {
  const parameters: ActRow["parameters"] = actRows[act].parameters;
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(parameters, name));
  if (unknown !== undefined) return unknown;
  return Object.entries(parameters).find(([name, { form, isRequired }]) => {
    const value = ownValue(given, name);
    return value === undefined ? isRequired : !form.test(value);
  })?.[0];
}
