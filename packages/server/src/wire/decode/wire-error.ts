/** A refusal in the wire's own terms, found while a request is read: ends it with the error envelope. Texts hold no input that could be card data. */
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
