/** Ends a request with an error answer. `refusal` makes one from a row of the error table. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly statusCode: string;
  readonly httpStatus: number;
  /** The refused field by its name in the error table; undefined: the error is not about one field. */
  readonly field: string | undefined;

  constructor(statusCode: string, message: string, httpStatus = 200, field?: string) {
    super(message);
    this.statusCode = statusCode;
    this.httpStatus = httpStatus;
    this.field = field;
  }
}
