/**
 * What an endpoint answers. The body is JSON text unless it has a type; the server adds the content
 * type and the length.
 */
export interface WireAnswer {
  /** 200 for every business error (interface 1.3). */
  readonly status: number;
  readonly body: string;
  /** The envelope's status_code when it is an error: for the access log. */
  readonly code?: string;
  /**
   * false: not the last word, or it holds what must not be kept: it is not replayed under an
   * Idempotency-Key.
   */
  readonly keep?: boolean;
  /** Content type of a body that is no JSON. */
  readonly type?: string;
  /** Further headers of the answer. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

/** The answer with a header X-Cofre-Warning per warning. */
export function withWarnings(answer: WireAnswer, warnings: readonly string[]): WireAnswer {
  if (warnings.length === 0) return answer;
  return {
    ...answer,
    headers: [
      ...(answer.headers ?? []),
      ...warnings.map((text) => ["X-Cofre-Warning", text] as const),
    ],
  };
}

/**
 * The error envelope: exactly these members. `status` is the short word for other than 200, where
 * clients read it.
 */
export function errorAnswer(code: string, message: string, httpStatus = 200): WireAnswer {
  return {
    status: httpStatus,
    body: httpStatus === 200 ? errorBody(code, message) : errorBodyWithMessage(code, message),
    code,
  };
}

function errorBody(code: string, message: string): string {
  return `{"status":"ERROR","status_code":${JSON.stringify(code)},"status_message":${JSON.stringify(message)}}`;
}

/** Some clients read `message` from an answer that is not 200 (clients.md, table of statuses). */
function errorBodyWithMessage(code: string, message: string): string {
  const text = JSON.stringify(message);
  return `{"status":"ERROR","status_code":${JSON.stringify(code)},"status_message":${text},"message":${text}}`;
}
