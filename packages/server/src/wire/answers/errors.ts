import { ServiceError, type ServiceErrorCode } from "../../payment/service-error.ts";
import { StoreError } from "../../stores/store.ts";
import { type ErrorCode, type Filling, refusal } from "../errors/refusal.ts";
import { WireError } from "../decode/wire-error.ts";

/** How the wire reports an error of an operation. */
export interface ErrorMapping {
  readonly code: ErrorCode;
  readonly toWireError: (error: unknown) => WireError;
}

/** The errors of an endpoint's operations. A test compares them with what the operations declare. */
export type ErrorMappings = Readonly<Partial<Record<ServiceErrorCode, ErrorMapping>>>;

export function mapTo<Code extends ErrorCode>(code: Code, ...filling: Filling<Code>): ErrorMapping {
  return { code, toWireError: () => refusal(code, ...filling) };
}

export const internalFailure = mapTo("COFRE-14");

/** Errors that every operation may have. */
export const commonErrors = {
  payment_in_flight: mapTo("COFRE-20"),
  request_key_reused: mapTo("COFRE-44"),
  request_key_taken: mapTo("COFRE-45"),
  store_unavailable: mapTo("COFRE-21"),
  cards_stopped: mapTo("COFRE-21"),
  outcome_unknown: mapTo("COFRE-22"),
  internal_failure: internalFailure,
} as const satisfies ErrorMappings;

/** Errors of operations that only read. */
export const readErrors = {
  ...commonErrors,
  read_timed_out: mapTo("COFRE-168"),
  payment_not_found: mapTo("BP-QRY-2"),
} as const satisfies ErrorMappings;

/** Errors of operations with a card. */
export const cardErrors = {
  ...commonErrors,
  token_not_found: mapTo("BP-DR-64", { text: "Token not found" }),
  token_taken: mapTo("BP-DR-65"),
  card_not_storable: mapTo("BP-DR-75", { problem: "invalid" }),
  card_not_for_tests: mapTo("BP-DR-75", {
    problem: "not a test card number: COFRE_SANDBOX_CARDS=any takes every number",
  }),
  card_not_readable: internalFailure,
} as const satisfies ErrorMappings;

/**
 * The wire error for an error in the work of an endpoint. Anything but a known refusal is an
 * internal failure, without details.
 */
export function wireErrorOf(error: unknown, errors: ErrorMappings): WireError {
  if (error instanceof WireError) return error;
  const mapping = errors[serviceCodeOf(error)] ?? internalFailure;
  return mapping.toWireError(error);
}

function serviceCodeOf(error: unknown): ServiceErrorCode {
  if (error instanceof ServiceError) return error.code;
  if (error instanceof StoreError && error.code === "timed_out") return "read_timed_out";
  if (error instanceof StoreError)
    return error.code === "commit_unknown" ? "outcome_unknown" : "store_unavailable";
  return "internal_failure";
}
