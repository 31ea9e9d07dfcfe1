/**
 * The answer of an endpoint. The body is JSON text unless `type` is set; the server adds the
 * content type and the length.
 */
export interface WireResponse {
  /** 200 for every business error (interface 1.3). */
  readonly status: number;
  readonly body: string;
  /** The status_code of an error envelope, for the access log. */
  readonly code?: string;
  /** The refused field, for the request log. A name of the error table, never the client's text. */
  readonly field?: string;
  /**
   * false: the answer is not final, or contains what must not be stored, so it is not replayed
   * under an Idempotency-Key.
   */
  readonly keep?: boolean;
  /** The body compressed by brotli, for clients that accept it. Only for public files. */
  readonly brotli?: Buffer | undefined;
  /** Content type of a body that is not JSON. */
  readonly type?: string;
  /** Further headers. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

/** Logged when a connection was cut on purpose. Some proxies log this status for that. */
export const connectionCutStatus = 444;

/** The answer with one X-Cofre-Warning header per warning. */
export function withWarnings(answer: WireResponse, warnings: readonly string[]): WireResponse {
  if (warnings.length === 0) return answer;
  return {
    ...answer,
    headers: [
      ...(answer.headers ?? []),
      ...warnings.map((text) => ["X-Cofre-Warning", text] as const),
    ],
  };
}

/** The error envelope of the interface. With a status other than 200 it also has `message`. */
export function errorAnswer(
  code: string,
  message: string,
  httpStatus = 200,
  field?: string,
): WireResponse {
  return {
    status: httpStatus,
    body: httpStatus === 200 ? errorBody(code, message) : errorBodyWithMessage(code, message),
    code,
    ...(field === undefined ? {} : { field }),
  };
}

function errorBody(code: string, message: string): string {
  return `{"status":"ERROR","status_code":${JSON.stringify(code)},"status_message":${JSON.stringify(message)}}`;
}

/**
 * Some clients read `message` from an answer whose status is not 200 (clients.md, table of
 * statuses).
 */
function errorBodyWithMessage(code: string, message: string): string {
  const text = JSON.stringify(message);
  return `{"status":"ERROR","status_code":${JSON.stringify(code)},"status_message":${text},"message":${text}}`;
}

const errorStart = '{"status":"ERROR","status_code":"';

/** The code of a body that `errorAnswer` wrote; undefined for every other body. */
export function errorCodeIn(body: string): string | undefined {
  return body.startsWith(errorStart)
    ? body.slice(errorStart.length, body.indexOf('"', errorStart.length))
    : undefined;
}
