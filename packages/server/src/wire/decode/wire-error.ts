/** Ends a request with an error answer. `refusal` makes one from a row of the error table. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly statusCode: string;
  readonly httpStatus: number;

  constructor(statusCode: string, message: string, httpStatus = 200) {
    super(message);
    this.statusCode = statusCode;
    this.httpStatus = httpStatus;
  }
}
