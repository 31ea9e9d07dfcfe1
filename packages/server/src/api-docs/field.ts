import type { ErrorCode } from "../wire/errors/refusal.ts";

/**
 * How a request that breaks what is documented is answered. Without a code the answer has none
 * (interface 2.7).
 */
export interface Refusal {
  readonly code?: ErrorCode;
  /** HTTP status; 200, as of nearly every refusal, when it is not given. */
  readonly status?: number;
}

export type FieldType = "text" | "digits" | "decimal" | "whole" | "flag" | "object";

/** One field of a request. A test asks the server whether every row is true. */
export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** Other spellings of the same field. */
  readonly aliases?: readonly string[];
  /** What leaving it out leads to. */
  readonly required?: Refusal & {
    /** One of these does as well. */
    readonly or?: readonly string[];
    /** Only then. */
    readonly when?: string;
    /** Only for payments in these countries. */
    readonly countries?: readonly string[];
  };
  /**
   * In characters as people count them. Without a code what is longer is cut off, or left out when
   * a part of it is of no use.
   */
  readonly longest?: Refusal & { readonly characters: number };
  readonly shortest?: Refusal & { readonly characters: number };
  readonly values?: readonly string[];
  readonly note: string;
  /**
   * Section of the public interface's description that it was taken from; undefined where it is our
   * own.
   */
  readonly source?: string;
  readonly fields?: readonly Field[];
}
