/** Ends a request with an error answer. `refusal` makes one from a row of the error table. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly statusCode: string;
  readonly httpStatus: number;
  /** The refused field by its name in the error table; undefined: the error is not about one field. */
  readonly field: string | undefined;
  /** Milliseconds after which the same request may succeed; undefined if that is not known. */
  retryAfterMs: number | undefined;

  constructor(statusCode: string, message: string, httpStatus = 200, field?: string) {
    super(message);
    this.statusCode = statusCode;
    this.httpStatus = httpStatus;
    this.field = field;
  }

  /** This error, with the time after which the same request may succeed. */
  after(retryAfterMs: number): this {
    this.retryAfterMs = retryAfterMs;
    return this;
  }
}
