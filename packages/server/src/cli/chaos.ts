import { chaosSettings } from "../merchant/settings.ts";
import { noChaos, type NotificationChaos } from "../notification/endpoint.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions } from "./cofre-client.ts";
import { type ClientCommand, exitCodes } from "./command.ts";

type ChaosName = keyof NotificationChaos;

interface ChaosRow {
  readonly flag: `--${string}`;
  readonly form: string;
  /** The setting's value for an option's text; undefined when it is invalid. */
  readonly read: (text: string) => number | string | undefined;
  readonly show: (value: unknown) => string;
}

/** One row per setting; a setting without a row does not compile. */
const rows = {
  drop: chance("--drop"),
  delay: chance("--delay"),
  reorder: chance("--reorder"),
  delayMs: {
    flag: "--delay-ms",
    form: "N",
    read: (text) => (/^\d{1,7}$/.test(text) ? Number(text) : undefined),
    show: String,
  },
  double: chance("--double"),
  breakSignature: chance("--break-signature"),
  beforeAnswer: chance("--before-answer"),
  seed: { flag: "--seed", form: "TEXT", read: (text) => text, show: String },
} as const satisfies Readonly<Record<ChaosName, ChaosRow>>;

const names = Object.keys(rows) as ChaosName[];

const usage =
  "Probabilities are from 0% to 100% in steps of 0.1%, such as 30%; --delay-ms from 0 to 3600000; --seed has 1 to 100 characters";

/** Shows or changes the faults that the sandbox injects into an account's notifications. */
export const chaosCommand: ClientCommand = {
  summary: "show or change the faults of an account's notifications",
  words: ["off"],
  options: {
    ...Object.fromEntries(
      names.map((name) => [rows[name].flag, { form: rows[name].form, doc: docOf(name) }]),
    ),
    ...clientOptions,
  },
  examples: ["cofre chaos", "cofre chaos --drop 10% --double 20%", "cofre chaos off"],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const changes = changesOf(call.flags);
      if (call.word === "off" && changes !== undefined)
        throw new ClientProblem("`cofre chaos off` takes no settings.", { misuse: true });
      const now = await clientOf(call, host).chaos(call.word === "off" ? noChaos : changes);
      if (call.flags.has("--json")) host.print(JSON.stringify(now));
      else
        for (const name of names)
          host.print(
            `${rows[name].flag.slice(2).padEnd(16)}  ${rows[name].show(now[name]).padEnd(6)}  ${docOf(name)}`,
          );
      return exitCodes.done;
    }),
};

/** undefined when nothing is to be changed. */
function changesOf(flags: ReadonlyMap<string, string>): Partial<NotificationChaos> | undefined {
  const given = names.flatMap((name) => {
    const text = flags.get(rows[name].flag);
    if (text === undefined) return [];
    const value = rows[name].read(text);
    const allowed = chaosSettings[name].allows;
    if (value === undefined || !allowed(value))
      throw new ClientProblem(`${rows[name].flag} has an invalid value. ${usage}.`, {
        misuse: true,
      });
    return [[name, value] as const];
  });
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/**
 * Settings are in thousandths; the command line uses percent. The sign is required, because 1 could
 * mean all or one in a hundred.
 */
function chance<const Flag extends `--${string}`>(flag: Flag) {
  const read = (text: string): number | undefined =>
    /^\d{1,3}(?:\.\d)?%$/.test(text) ? Math.round(Number(text.slice(0, -1)) * 10) : undefined;
  return {
    flag,
    form: "PERCENT",
    read,
    show: (value: unknown) => (typeof value === "number" ? `${value / 10}%` : "0%"),
  };
}

function docOf(name: ChaosName): string {
  const { doc } = chaosSettings[name];
  return doc.charAt(0).toLowerCase() + doc.slice(1, -1);
}
