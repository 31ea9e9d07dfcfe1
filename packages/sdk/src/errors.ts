/**
 * The server refused the request: nothing was done. No error of the SDK contains anything of the
 * request.
 */
export class CofreRequestError extends Error {
  override readonly name = "CofreRequestError";
  /** A code of docs/wire/errors.md, such as `BP-DR-15`. */
  readonly code: string;
  /**
   * The field that the error is about, by its name on the wire, such as `payment.email`. Undefined
   * when the code has no field, or one of several.
   */
  readonly field: string | undefined;

  /** `message` is the server's text. */
  constructor(code: string, message: string, field?: string) {
    super(`${code}: ${message}`);
    this.code = code;
    this.field = field;
  }
}

/** The server did not answer, or its answer leaves the outcome open. */
export class CofreConnectionError extends Error {
  override readonly name = "CofreConnectionError";
  /**
   * `no`: the request certainly was not processed. `maybe`: it may have been. Send the same request
   * again with the same payment code, or query the payment.
   */
  readonly sent: "no" | "maybe";
  /** What the last attempt ended with: a code of the system, `HTTP 502`, `timeout`, or a word. */
  readonly reason: string;
  /** The code of the server's answer, if it had one, such as `COFRE-22`. */
  readonly code: string | undefined;
  /** Number of times that the request was sent. */
  readonly attempts: number;

  constructor(sent: "no" | "maybe", reason: string, attempts: number, code?: string) {
    const outcome =
      sent === "no" ? "The request was not processed" : "The request may have been processed";
    super(`${outcome}: ${reason} (attempts: ${attempts})`);
    this.sent = sent;
    this.reason = reason;
    this.code = code;
    this.attempts = attempts;
  }
}

const signatureTexts = {
  missing: "The message has no signature of this kind",
  wrong: "No signature of the message is by this key",
  too_old: "The message was signed too long ago, or in the future",
  malformed: "The message is not a notification",
} as const;

/** A message that is not a notification of this server. */
export class CofreSignatureError extends Error {
  override readonly name = "CofreSignatureError";
  readonly reason: keyof typeof signatureTexts;

  constructor(reason: keyof typeof signatureTexts) {
    super(signatureTexts[reason]);
    this.reason = reason;
  }
}
