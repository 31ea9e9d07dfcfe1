import { ClientProblem } from "./client-problem.ts";

/** The value of `--port`; 0 is a free port. Throws ClientProblem. */
export function portOf(text: string | undefined): number {
  const port = text === undefined ? 0 : /^\d{1,5}$/.test(text) ? Number(text) : -1;
  if (port < 0 || port > 65_535)
    throw new ClientProblem("--port must be a whole number from 0 to 65535.", { misuse: true });
  return port;
}
