import type { ConfigReading } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { MoveSides } from "../store-migration/move-store.ts";
import type { AuditLog } from "../user/audit-log.ts";
import type { BackedUp, Restored } from "../stores/backup.ts";

/** Exit codes: 0 as asked, 1 failed, 2 asked for something that cannot be. */
export const exitCodes = { done: 0, failed: 1, misused: 2 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface OptionRow {
  /** What stands behind the option, as the help shows it; without one the option is a switch. */
  readonly form?: string;
  readonly doc: string;
}

/**
 * What is known of a command before it runs. An option of the same name has a value in all commands
 * or in none.
 */
export interface CommandRow {
  readonly summary: string;
  /** Words that may stand behind the command, one at a time. */
  readonly words?: readonly string[];
  /** One of the words has to. */
  readonly needsWord?: true;
  /**
   * What stands behind a word, as the help shows it: one thing, which may be left out when it is in
   * brackets.
   */
  readonly behindWord?: Readonly<Record<string, string>>;
  /**
   * What may stand behind the command instead, one or more times, as the help shows it: `PATH...`.
   */
  readonly paths?: string;
  /** The name of a command may stand behind it; `word` is that name. */
  readonly mayName?: "COMMAND";
  readonly options: Readonly<Record<`--${string}`, OptionRow>>;
  /** What may stand for one of the forms above, with what each is: `Kinds:` and a row for each. */
  readonly choices?: Readonly<Record<string, readonly (readonly [name: string, doc: string])[]>>;
  /** Command lines that can be typed as they are, in an order that makes sense. */
  readonly examples?: readonly string[];
}

/** A command that does its work and ends. */
export interface ClientCommand extends CommandRow {
  run(call: CommandCall, host: CommandHost): Promise<ExitCode>;
}

/** What stood behind the command, checked against its row. */
export interface CommandCall {
  readonly word: string | undefined;
  /** Empty unless the command's row has `paths` or something stands behind the word. */
  readonly paths: readonly string[];
  /** Values by option; a switch has an empty one. */
  readonly flags: ReadonlyMap<string, string>;
}

export interface NamedPayment {
  readonly merchantId: string;
  readonly paymentId: string;
}

export interface OpenAudit {
  readonly log: AuditLog;
  /**
   * Payments that the jobs do not find when they are due. undefined: the store finds them among the
   * payments themselves.
   */
  readonly duePayments?: () => AsyncIterable<NamedPayment>;
  close(): Promise<void>;
}

/** The process as a command sees it. */
export interface CommandHost {
  /** What is piped into the process. */
  readonly input: AsyncIterable<Uint8Array>;
  /** A line of what was asked for. */
  readonly print: (line: string) => void;
  /** A line for people, beside what was asked for. */
  readonly say: (line: string) => void;
  /** Whether those lines go to a terminal. */
  readonly isTerminal: boolean;
  /**
   * The settings of this process's environment, which a Cofre beside it has too; `flags` win where
   * they are settings.
   */
  readonly config: (flags?: ReadonlyMap<string, string>) => ConfigReading;
  /** Opens what migrate-store works on; rejects with an error whose message may be shown. */
  readonly openMove: (config: Config) => Promise<MoveSides>;
  /**
   * Opens the audit log, beside a server that runs or without one; rejects with an error whose
   * message may be shown.
   */
  readonly openAudit: (config: Config) => Promise<OpenAudit>;
  /**
   * Copies the database into a directory, beside a server that runs or without one; rejects with an
   * error whose message may be shown.
   */
  readonly backUp: (config: Config, directory: string) => Promise<BackedUp>;
  /**
   * Puts such a copy in place of the database; rejects with an error whose message may be shown.
   */
  readonly restore: (config: Config, directory: string, replace: boolean) => Promise<Restored>;
  /**
   * Begins another incarnation; resolves with its epoch, or undefined where the next start begins
   * it. Rejects with an error whose message may be shown.
   */
  readonly beginIncarnation: (config: Config) => Promise<number | undefined>;
  /** Resolves when the process is asked to end, or nobody reads any more what is printed. */
  readonly stopAsked: () => Promise<unknown>;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
}
