import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, type CofreClient, isRecord, printable } from "./cofre-client.ts";
import { type ClientCommand, type CommandCall, type CommandHost, exitCodes } from "./command.ts";
import { RequestFeed } from "./request-feed.ts";
import type { Styled } from "./styled.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Interval between queries, in milliseconds. */
const queryMs = 500;

/** Requests from before that `--follow` shows first. */
const shownBefore = 10;

/** Shows an account's requests, also live. */
export const logsCommand: ClientCommand = {
  summary: "show the account's requests, one line each",
  options: {
    "--follow": { doc: "show the newest ten, then each request when it is answered" },
    ...clientOptions,
  },
  examples: ["cofre logs", "cofre logs --follow"],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const client = clientOf(call, host);
      const feed = new RequestFeed();
      const show = (requests: readonly Fields[]): void => {
        for (const request of requests)
          host.print(
            call.flags.has("--json") ? JSON.stringify(request) : lineOf(request, host.styled),
          );
      };
      const first = await feed.poll(client);
      if (!call.flags.has("--follow")) {
        show(first);
        if (first.length === 0) host.say("This account has no recorded requests.");
        return exitCodes.done;
      }
      show(first.slice(-shownBefore));
      await follow(client, host, call, async () => show(await feed.poll(client)));
      return exitCodes.done;
    }),
};

/** Queries until a stop is requested; reports once that nothing answers. */
async function follow(
  { origin }: CofreClient,
  { stopRequested, scheduler, say, fail }: CommandHost,
  { flags }: CommandCall,
  query: () => Promise<void>,
): Promise<void> {
  const stopped = new AbortController();
  const stopping = stopRequested().then(() => stopped.abort());
  if (!flags.has("--json")) say(`Following the requests at ${origin}. Ctrl-C stops it.`);
  let isLost = false;
  const asking = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await scheduler.sleep(queryMs, stopped.signal).catch(() => undefined);
      if (stopped.signal.aborted) return;
      try {
        await query();
        isLost = false;
      } catch (error) {
        if (!(error instanceof ClientProblem)) throw error;
        if (!isLost) fail(error.message);
        isLost = true;
      }
    }
  };
  await Promise.race([stopping, asking()]);
}

/** `2026-01-31 12:00:00.000  POST /ws/direct  order-1  CO  14 ms`; refusals have their code. */
export function lineOf(request: Fields, styled: Styled): string {
  const { at, method, path, http_status: status, status_code: code, response } = request;
  const answer = isRecord(response) ? response : {};
  const payment = isRecord(answer["payment"]) ? answer["payment"] : {};
  const refusal = printable(code);
  const outcome =
    refusal === ""
      ? printable(payment["status"] ?? "OK")
      : `${refusal} ${printable(answer["status_message"])}`.trimEnd();
  const facts = [
    printable(at).replace("T", " ").replace(/Z$/, ""),
    `${printable(method)} ${printable(path)}`,
    printable(request["merchant_payment_code"]),
    status === 200 ? outcome : `HTTP ${Number(status)} ${outcome}`,
    `${Math.round(Number(request["duration_ms"]))} ms`,
    request["replayed"] === true ? "replayed" : "",
  ];
  const line = facts.filter((fact) => fact !== "").join("  ");
  return refusal === "" ? line : styled("failure", line);
}
