import type { ErrorCode } from "./errors/refusal.ts";

/**
 * The answer to a request that breaks a documented rule. Without a code the answer has none
 * (interface 2.7).
 */
export interface Refusal {
  readonly code?: ErrorCode;
  /** HTTP status. Default: 200, as for nearly every refusal. */
  readonly status?: number;
}

export type FieldType = "text" | "digits" | "decimal" | "whole" | "flag" | "object";

/** One field of a request. A test checks every row against the server. */
export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** Other spellings of the same field. */
  readonly aliases?: readonly string[];
  /** The refusal if the field is missing. */
  readonly required?: Refusal & {
    /** Alternatives: one of these fields is enough. */
    readonly or?: readonly string[];
    /** Required only under this condition. */
    readonly when?: string;
    /** Required only for payments in these countries. */
    readonly countries?: readonly string[];
  };
  /**
   * In characters as people count them. Without a code, a longer value is cut, or dropped if a part
   * of it is useless.
   */
  readonly longest?: Refusal & { readonly characters: number };
  readonly shortest?: Refusal & { readonly characters: number };
  readonly values?: readonly string[];
  readonly note: string;
  /**
   * Section of the public interface's description that documents the field; undefined for Cofre's
   * own fields.
   */
  readonly source?: string;
  readonly fields?: readonly Field[];
}
