interface ErrorFacts {
  readonly errorName: string;
  readonly errorCode: string | undefined;
  /** Function, file and line that threw. */
  readonly where: string | undefined;
}

/** The loggable facts of an error: never its message, which could quote a request. */
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
 * A stack begins with the error's message, which may contain text that looks like frames: only
 * lines after the whole message count.
 */
function firstFrame({ stack = "", message }: Error): string | undefined {
  const text = message === "" ? "" : `: ${message}`;
  const start = text === "" ? stack.indexOf("\n") : stack.indexOf(text);
  return start === -1
    ? undefined
    : /^\n {4}at ([^\n]+)/.exec(stack.slice(start + text.length))?.[1];
}
