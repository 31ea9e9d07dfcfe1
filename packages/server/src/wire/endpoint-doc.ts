import type { Operation } from "../operations/operation.ts";
import type { ErrorMappings } from "./answers/errors.ts";
import type { ErrorCode } from "./errors/refusal.ts";
import type { Field } from "./field.ts";
import type { NamedSchema } from "./schema.ts";

/** Groups of endpoints in the documentation. */
export type Tag = "Cards" | "Payments" | "Refunds" | "Utilities" | "Browsers" | "Sandbox";

/** Why an endpoint has no description of its own. */
export type Undocumented =
  /** A page, a file, or the description itself. */
  | "page"
  /** Called by the console's page only. */
  | "console"
  /** An operation of the interface that this version lacks: it is listed as such. */
  | "not implemented";

/** The documentation of an endpoint: /openapi.json and /docs are made from it. */
export interface EndpointDoc {
  /** The operation's id in the OpenAPI document, which has each id once. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly fields: readonly Field[];
  readonly answer: NamedSchema;
  /** Answers with another HTTP status than 200 and 503. */
  readonly otherAnswers?: Readonly<Record<string, NamedSchema>>;
  /** The endpoint accepts an Idempotency-Key. */
  readonly idempotent?: true;
  /** Other headers that the endpoint reads. */
  readonly headers?: readonly { readonly name: string; readonly note: string }[];
  /** The wire errors of the operations in `runs`, by error name. */
  readonly errors?: ErrorMappings;
  /** The operations that the endpoint runs. Their errors are errors of the endpoint. */
  readonly runs?: readonly Pick<Operation<never, unknown>, "errors">[];
  /** The validation rules. Each has a BP-DR code. */
  readonly rules?: readonly { readonly code: number }[];
  /** Error codes that follow neither from the key nor from `runs` and `rules`. */
  readonly codes?: readonly ErrorCode[];
  /**
   * A request that succeeds unchanged. The shell replaces its variables: $KEY, $PUBLIC_KEY, $ORDER
   * (a payment's code) and $TOKEN (a token chosen by the client). The document replaces $DUE with an
   * expiry date in the future.
   */
  readonly example: Readonly<Record<string, unknown>>;
  /** What must exist before the example succeeds. */
  readonly needs?: "held" | "captured" | "stored";
}
