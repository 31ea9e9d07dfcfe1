import type { TlsFiles } from "../certificates/authority-files.ts";
import type { ConfigReading, SecretOrigins } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Random } from "../kernel/random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Secret } from "../kernel/secret.ts";
import type { Finding } from "../production/check.ts";
import type { InvitedAdmin } from "../sign-in/users.ts";
import type { MoveSides } from "../store-migration/move-store.ts";
import type { AuditLog } from "../user/audit-log.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";
import type { RecoveryKey } from "../vault/recovery/recovery-key.ts";
import type { Styled } from "./styled.ts";
import type { BackedUp, Restored } from "../stores/backup.ts";

/** Exit codes: 0 success, 1 failure, 2 invalid command line. */
export const exitCodes = { done: 0, failed: 1, misused: 2 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface OptionRow {
  /** The option's argument, as the help shows it; without one the option is a boolean flag. */
  readonly form?: string;
  readonly doc: string;
  /** Values that a shell completes; `worlds`: the names of the worlds of the running Cofre. */
  readonly values?: readonly string[] | "worlds";
}

/** Declaration of a command. An option of the same name has a value in all commands or in none. */
export interface CommandRow {
  /** One line of the overview: at most 64 characters. */
  readonly summary: string;
  /** What the command's own help says behind the summary, in whole sentences. */
  readonly details?: string;
  /** Words that may follow the command, one at a time. */
  readonly words?: readonly string[];
  /** One of the words is required. */
  readonly needsWord?: true;
  /**
   * The argument of a word, as the help shows it: a single one, which is optional when it is in
   * brackets.
   */
  readonly behindWord?: Readonly<Record<string, string>>;
  /** Arguments of words that a shell completes. */
  readonly valuesBehind?: Readonly<Record<string, readonly string[]>>;
  /** The command's arguments instead of a word, one or more, as the help shows them: `PATH...`. */
  readonly paths?: string;
  /**
   * The rest of the command line from the first argument on, or behind `--`, is the command line of
   * another program, whatever it begins with; as the help shows it.
   */
  readonly program?: string;
  /** The name of a command may follow; `word` is that name. */
  readonly mayName?: "COMMAND";
  readonly options: Readonly<Record<`--${string}`, OptionRow>>;
  /**
   * The possible values of one of the forms above, each with a description: shown as `Kinds:` and a
   * row for each.
   */
  readonly choices?: Readonly<Record<string, readonly (readonly [name: string, doc: string])[]>>;
  /** Command lines that can be typed without changes, in a useful order. */
  readonly examples?: readonly string[];
}

/** A command that does its work and ends. */
export interface ClientCommand extends CommandRow {
  /** Resolves with the exit code. */
  run(call: CommandCall, host: CommandHost): Promise<number>;
}

/** The command's arguments, checked against its row. */
export interface CommandCall {
  readonly word: string | undefined;
  /** Empty unless the command's row has `paths` or `program`, or the word has an argument. */
  readonly paths: readonly string[];
  /** Values by option; a boolean flag has an empty one. */
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

/** A Cofre in this process, in memory, with an account of its own. */
export interface TemporaryCofre {
  readonly host: string;
  readonly port: number;
  readonly integrationKey: Secret<string>;
  readonly publicIntegrationKey: string;
  /** undefined without TLS. */
  readonly tls: { readonly port: number; readonly files: TlsFiles } | undefined;
  /** The newest lines of its log, as many as are kept. */
  logLines(): readonly string[];
  /** Finishes requests in flight, and removes the files of `tls`. */
  close(): Promise<void>;
}

/** Signals that a terminal, npm or a CI sends to stop a program. */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
export type StopSignal = (typeof stopSignals)[number];

/** What a recovery key opened. */
export interface RecoveredKeys {
  /** Keys in the file of wrapped keys. */
  readonly keys: number;
  /** Secrets in files of their own. */
  readonly secrets: number;
  /** Id of the root key that wraps them now; undefined when they were only opened. */
  readonly rootKeyId: string | undefined;
}

/** The key records of a database. */
export interface StoredKeys {
  /** The installation id. */
  readonly installation: string;
  /** Those that belong to no merchant, ordered by purpose, then by version. */
  readonly records: readonly KeyRecord[];
}

/** What `cofre init` has made. Links and keys are not kept. */
export interface Initialized {
  readonly installationId: string;
  /** Of the set of root keys. */
  readonly rootKeysFingerprint: string;
  /** Admins who have not enrolled yet. */
  readonly admins: readonly InvitedAdmin[];
  /** The keys of the account; undefined: a previous run has made it. */
  readonly keys:
    | { readonly integrationKey: string; readonly publicIntegrationKey: string }
    | undefined;
}

/** A check of production. */
export interface ShownFinding extends Finding {
  /** Whether a fault prevents a start, or raises an alarm. */
  readonly effect: "refuses" | "alarm";
}

/** The process, as seen by a command. */
export interface CommandHost {
  /** Standard input. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Prints a line of the result. */
  readonly print: (line: string) => void;
  /** The same; resolves when the operating system has the line. */
  readonly printNow: (line: string) => Promise<void>;
  /** Prints a message for the user, separate from the result. */
  readonly say: (line: string) => void;
  /** Whether those messages go to a terminal. */
  readonly isTerminal: boolean;
  /** Prints a problem for the user, separate from the result. */
  readonly fail: (line: string) => void;
  /** Styles of the result. */
  readonly styled: Styled;
  /**
   * The settings of this process's environment, which a Cofre on this machine shares; `flags` take
   * precedence where they are settings.
   */
  readonly config: (flags?: ReadonlyMap<string, string>) => ConfigReading;
  /** Opens both stores of migrate-store; rejects with an error whose message may be shown. */
  readonly openMove: (config: Config) => Promise<MoveSides>;
  /**
   * Opens the audit log, with or without a running server; rejects with an error whose message may
   * be shown.
   */
  readonly openAudit: (config: Config) => Promise<OpenAudit>;
  /**
   * Copies the database into a directory, with or without a running server; rejects with an error
   * whose message may be shown.
   */
  readonly backUp: (config: Config, directory: string) => Promise<BackedUp>;
  /** Replaces the database with such a copy; rejects with an error whose message may be shown. */
  readonly restore: (config: Config, directory: string, replace: boolean) => Promise<Restored>;
  /**
   * Starts a new incarnation; resolves with its epoch, or undefined when the next start begins it.
   * Rejects with an error whose message may be shown.
   */
  readonly beginIncarnation: (config: Config) => Promise<number | undefined>;
  /**
   * Opens the keys of a data directory with the recovery key and, with `replaceRoot`, wraps them by
   * the root key of the settings; rejects with ClientProblem.
   */
  readonly recoverKeys: (
    config: Config,
    recovery: RecoveryKey,
    replaceRoot: boolean,
  ) => Promise<RecoveredKeys>;
  /**
   * Reads the key records without opening them; undefined if the database has none. Rejects with an
   * error whose message may be shown.
   */
  readonly storedKeys: (config: Config) => Promise<StoredKeys | undefined>;
  /**
   * Makes an installation in production; `show` is called before the account is committed. Rejects
   * with an error whose message may be shown.
   */
  readonly initialize: (
    config: Config,
    options: { readonly secrets: SecretOrigins; readonly admins: readonly string[] },
    show: (made: Initialized) => Promise<void>,
  ) => Promise<void>;
  /** Runs the checks of production; changes nothing. */
  readonly examine: (config: Config, secrets: SecretOrigins) => Promise<readonly ShownFinding[]>;
  /** Resolves when the process gets a stop signal, or the reader of its output has closed it. */
  readonly stopRequested: () => Promise<unknown>;
  /**
   * Calls `listener` for every stop signal from now on, instead of ending the process. The end of
   * the npm script that started this process counts as SIGTERM.
   */
  readonly onStopSignal: (listener: (signal: StopSignal) => void) => void;
  /**
   * Starts a Cofre in this process; port 0 chooses a free one. Rejects with an error whose message
   * may be shown, or with the errors of listening.
   */
  readonly startTemporary: (options: {
    readonly port: number;
    readonly withTls: boolean;
  }) => Promise<TemporaryCofre>;
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
  /** Version of this program. */
  readonly version: string;
}
