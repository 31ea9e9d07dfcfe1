import { optional } from "./library-options.ts";

/**
 * Faults for an account's next requests; docs/wire/sandbox.md describes the effect of each kind.
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
  | "acquirer_unknown_then_no"
  | "directory_server_silent"
  | "bank_silent"
  | "bank_late"
  | "result_lost"
  | "result_forged";

export interface FaultToAdd {
  readonly kind: FaultKind;
  /** Number of requests to affect, 1 to 1000; default 1, 0 for all until it is cleared. */
  readonly times?: number;
  /** Only requests of this operation, such as `/ws/direct`. */
  readonly path?: string;
  /** Only requests about the payment with this `merchant_payment_code`. */
  readonly code?: string;
  /** For `stall_in_body`, `late_answer`, `slow` and `bank_late`: 1 to 120000 milliseconds, default 5000. */
  readonly delayMs?: number;
  /** For `decline`: a reason such as `insufficient_funds`. */
  readonly reason?: string;
}

/** An active fault. */
export interface WaitingFault extends FaultToAdd {
  readonly id: string;
  readonly times: number;
  /** Number of requests affected so far. */
  readonly injected: number;
}

export interface Faults {
  add(fault: FaultToAdd): Promise<WaitingFault>;
  /** Active faults, in the order in which they were added. */
  list(): Promise<readonly WaitingFault[]>;
  /**
   * Removes the fault with this id, or all. Resolves with the number removed; rejects when none has
   * the id.
   */
  clear(id?: string): Promise<number>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Changes and lists an account's faults, with the field names of `/__cofre/faults`. */
interface FaultsClient {
  faults(change: Fields): Promise<{
    readonly faults: readonly Fields[];
    readonly fault?: Fields;
    readonly cleared?: number;
  }>;
}

/** The faults of the account whose key the client uses. */
export function faultsOf(client: FaultsClient): Faults {
  return {
    async add(faultToAdd) {
      const { code, delayMs, times, ...fault } = optional(faultToAdd);
      const { fault: added, faults } = await client.faults({
        add: {
          // A JavaScript program may use the wire names; the server reports names that are neither.
          ...fault,
          ...(code === undefined ? {} : { merchant_payment_code: code }),
          // JSON encodes an invalid number as null, which would count as omitted.
          ...(delayMs === undefined ? {} : { delay_ms: String(delayMs) }),
          ...(times === undefined ? {} : { times: String(times) }),
        },
      });
      return faultOf(added ?? faults.at(-1) ?? {});
    },
    list: async () => (await client.faults({})).faults.map(faultOf),
    clear: async (id) =>
      (await client.faults({ clear: optional({ id }).id ?? "all" })).cleared ?? 0,
  };
}

/** The answer of a Cofre of this version has these types. */
function faultOf({
  merchant_payment_code: code,
  delay_ms: delayMs,
  ...fields
}: Fields): WaitingFault {
  const fault = {
    ...fields,
    ...(code === undefined ? {} : { code }),
    ...(delayMs === undefined ? {} : { delayMs }),
  };
  return fault as object as WaitingFault;
}
