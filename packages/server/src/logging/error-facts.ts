interface ErrorFacts {
  readonly errorName: string;
  readonly errorCode: string | undefined;
  /** Function, file and line that threw. */
  readonly where: string | undefined;
}

/** What may be logged of any error: never its text, which could quote a request. */
export function errorFacts(error: unknown): ErrorFacts {
  if (!(error instanceof Error))
    return { errorName: typeof error, errorCode: undefined, where: undefined };
  return { errorName: error.name, errorCode: codeOf(error), where: firstFrame(error) };
}

/** The code of one of Node's own errors, such as `EADDRINUSE`. */
export function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/**
 * A stack begins with the error's text, which may look like frames itself: only what follows the
 * whole of it counts.
 */
function firstFrame({ stack = "", message }: Error): string | undefined {
  const text = message === "" ? "" : `: ${message}`;
  const start = text === "" ? stack.indexOf("\n") : stack.indexOf(text);
  return start === -1
    ? undefined
    : /^\n {4}at ([^\n]+)/.exec(stack.slice(start + text.length))?.[1];
}
