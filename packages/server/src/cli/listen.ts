import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { type CofreClient, clientOf, clientOptions } from "./cofre-client.ts";
import {
  type ClientCommand,
  type CommandCall,
  type CommandHost,
  type ExitCode,
  exitCodes,
} from "./command.ts";
import { lineAsJson, lineAsText, type NotificationLine } from "./notification-line.ts";
import { isLoopback, openReceiver } from "./http.ts";
import { Listener } from "./listener.ts";
import { portOf } from "./port-of.ts";
import { Registration } from "./registration.ts";

/** How often the registration is checked: a Cofre with in-memory data loses it on a restart. */
const lookMs = 5_000;
/** Time for messages that are being forwarded when the command stops. */
const graceMs = 2_000;

/** Receives an account's notifications for a program on this machine. */
export const listenCommand: ClientCommand = {
  summary: "receive, verify, print and forward an account's notifications",
  options: {
    "--forward-to": {
      form: "URL",
      doc: "forward each notification to this address of this machine, and return its answer",
    },
    "--port": { form: "N", doc: "receive on this port; otherwise on a free one" },
    ...clientOptions,
  },
  examples: ["cofre listen", "cofre listen --forward-to localhost:3000/notifications"],

  run: (call, host) => tellingProblems(host.fail, () => listen(call, host)),
};

async function listen(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const forwardTo = forwardAddress(call.flags.get("--forward-to"));
  const port = portOf(call.flags.get("--port"));
  const client = clientOf(call, host);
  // Checks that Cofre is running and accepts the key, before anything is opened.
  await client.endpoints();
  const show = (line: NotificationLine): string =>
    call.flags.has("--json") ? lineAsJson(line) : lineAsText(line, host.styled);
  const listener = new Listener({
    ...host,
    client,
    forwardTo,
    show: (line) => host.print(show(line)),
  });
  const receiver = await openReceiver(host.scheduler, port, (received) =>
    listener.receive(received),
  ).catch((error: unknown) => {
    throw new ClientProblem(portProblem(error, port));
  });
  const registration = new Registration(client, host.scheduler, receiver.port);
  listener.name = registration.id;
  const stopped = new AbortController();
  // From here on the registration must be removed again, however the listener ends.
  const stopping = host.stopRequested().then(() => stopped.abort());
  try {
    listener.verifyWith(await registration.enter());
    const whither = forwardTo === undefined ? "" : ` and forwarding them to ${forwardTo.href}`;
    host.say(
      `Receiving the notifications of ${client.origin} on port ${receiver.port}${whither}. Ctrl-C stops it.`,
    );
    host.say(
      "Notifications of payments with their own notification_url are sent to that address only.",
    );
    await Promise.race([stopping, keepRegistered(registration, listener, host, stopped.signal)]);
    return exitCodes.done;
  } finally {
    stopped.abort();
    await leave(registration, client, host);
    await receiver.close(graceMs);
    await listener.shown();
  }
}

/**
 * Registers the listener again when its registration was lost, and reports once what prevents it
 * from receiving. Ends with `signal`.
 */
async function keepRegistered(
  registration: Registration,
  listener: Listener,
  { scheduler, say }: CommandHost,
  signal: AbortSignal,
): Promise<void> {
  let lastLine: string | undefined;
  const report = (line: string): void => {
    if (lastLine !== line) say(line);
    lastLine = line;
  };
  while (!signal.aborted) {
    await scheduler.sleep(lookMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const state = await registration.state();
      if (state === "off")
        report(
          "The program answered 410, and Cofre disabled this endpoint. Run cofre listen again to continue.",
        );
      if (state === "missing") {
        listener.verifyWith(await registration.enter());
        say("The registration was lost: registered again.");
      }
      if (state !== "off") lastLine = undefined;
    } catch (error) {
      if (!(error instanceof ClientProblem)) throw error;
      report(error.message);
    }
  }
}

async function leave(
  registration: Registration,
  { origin }: CofreClient,
  { say }: CommandHost,
): Promise<void> {
  try {
    await registration.leave();
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    say(
      `The endpoint ${registration.id} could not be removed at ${origin}; the next \`cofre listen\` removes it.`,
    );
  }
}

/**
 * Notifications received on a laptop stay there: a receiver on another machine is registered as an
 * endpoint with its own address, so that Cofre's egress policy applies to it.
 */
function forwardAddress(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  // Users type `localhost:3000/hook`.
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `http://${text}`);
  if (url !== null && isLoopback(url) && url.username === "" && url.password === "") return url;
  const example = "such as http://127.0.0.1:3000/hook";
  throw new ClientProblem(
    `--forward-to must be an http:// address of this machine, ${example}. Register a receiver elsewhere as an endpoint of the account (notificationEndpoints).`,
    { misuse: true },
  );
}

function portProblem(error: unknown, port: number): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return `Port ${port} is in use. Choose another with --port, or leave --port out to use a free one.`;
  return `This user cannot listen on port ${port}.`;
}
