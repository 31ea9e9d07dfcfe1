import { given } from "./library-options.ts";

/**
 * What goes wrong with an account's next requests; docs/wire/sandbox.md says what each kind does.
 */
export type FaultKind =
  | "fail_before_commit"
  | "unavailable"
  | "throttle"
  | "drop_before_commit"
  | "drop_after_commit"
  | "error_after_commit"
  | "garbage_after_commit"
  | "stall_in_body"
  | "late_answer"
  | "slow"
  | "decline"
  | "acquirer_unknown_then_yes"
  | "acquirer_unknown_then_no";

export interface FaultToAdd {
  readonly kind: FaultKind;
  /** How many requests it meets, 1 to 1000; 1 unless given, 0 for all until it is cleared. */
  readonly times?: number;
  /** Only requests of this operation, such as `/ws/direct`. */
  readonly path?: string;
  /** Only requests about the payment with this `merchant_payment_code`. */
  readonly code?: string;
  /** For `stall_in_body`, `late_answer` and `slow`: 1 to 120000 milliseconds, 5000 unless given. */
  readonly delayMs?: number;
  /** For `decline`: such as `insufficient_funds`. */
  readonly reason?: string;
}

/** A fault that waits for requests. */
export interface WaitingFault extends FaultToAdd {
  readonly id: string;
  readonly times: number;
  /** Requests that it has met. */
  readonly met: number;
}

export interface Faults {
  add(fault: FaultToAdd): Promise<WaitingFault>;
  /** Those that wait, in the order in which they were added. */
  list(): Promise<readonly WaitingFault[]>;
  /**
   * Takes the one with this id away, or all. Resolves with how many that were; rejects when none
   * has the id.
   */
  clear(id?: string): Promise<number>;
}

type Fields = Readonly<Record<string, unknown>>;

/** What changes and lists an account's faults, in the words of `/__cofre/faults`. */
interface FaultsClient {
  faults(change: Fields): Promise<{
    readonly faults: readonly Fields[];
    readonly fault?: Fields;
    readonly cleared?: number;
  }>;
}

/** The faults of the account whose key the client has. */
export function faultsOf(client: FaultsClient): Faults {
  return {
    async add(asked) {
      const { code, delayMs, times, ...fault } = given(asked);
      const { fault: added, faults } = await client.faults({
        add: {
          // A program without types may use the words of the wire, and is told when a name is
          // neither's.
          ...fault,
          ...(code === undefined ? {} : { merchant_payment_code: code }),
          // In JSON a number that is none would be as good as left out.
          ...(delayMs === undefined ? {} : { delay_ms: String(delayMs) }),
          ...(times === undefined ? {} : { times: String(times) }),
        },
      });
      return toldOf(added ?? faults.at(-1) ?? {});
    },
    list: async () => (await client.faults({})).faults.map(toldOf),
    clear: async (id) => (await client.faults({ clear: given({ id }).id ?? "all" })).cleared ?? 0,
  };
}

/** What a Cofre of this version answers has these types. */
function toldOf({
  merchant_payment_code: code,
  delay_ms: delayMs,
  ...fault
}: Fields): WaitingFault {
  const told = {
    ...fault,
    ...(code === undefined ? {} : { code }),
    ...(delayMs === undefined ? {} : { delayMs }),
  };
  return told as object as WaitingFault;
}
