import { ClientProblem, tellingProblems } from "../client-problem.ts";
import { clientOf, clientOptions, worldsClientOf } from "../cofre-client.ts";
import { type ClientCommand, type CommandCall, type CommandHost, exitCodes } from "../command.ts";

/** Longest message, in bytes. */
const longestMessage = 1_048_576;

/** Serves tools of a running sandbox to a program that speaks the Model Context Protocol. */
export const mcpCommand: ClientCommand = {
  summary: "offer a running sandbox as tools of the Model Context Protocol",
  details:
    "A client starts the command and speaks JSON-RPC on its standard input and output. Worlds, clock, faults, payments, requests and timelines are tools (docs/mcp.md).",
  options: { "--url": clientOptions["--url"], "--key": clientOptions["--key"] },
  examples: ["cofre mcp", "cofre mcp --url http://127.0.0.1:8787"],

  run: (call, host) => tellingProblems(host.fail, async () => serve(call, host)),
};

async function serve(call: CommandCall, host: CommandHost): Promise<number> {
  const { answerMessage } = await import("./protocol.ts");
  const { linesOf } = await import("./lines.ts");
  const { callTool, listedTools } = await import("./tools.ts");
  // A wrong address ends the command at once.
  const worlds = worldsClientOf(call, host);
  const service = {
    version: host.version,
    instructions:
      "Tools for a Cofre sandbox: create a world, make payments in it with its key, move its clock, and read timelines.",
    tools: listedTools,
    call: async (name: string, input: unknown) =>
      callTool(
        {
          worlds: () => worlds,
          account: (key) => (key === undefined ? ownAccount(call, host) : worlds.withKey(key)),
        },
        name,
        input,
      ),
  };
  const answering = new Set<Promise<void>>();
  for await (const line of linesOf(host.input, longestMessage)) {
    // A longer message is not a JSON object either.
    const answered = answerMessage(line ?? "", service).then((answer) => {
      if (answer !== undefined) host.print(answer);
      answering.delete(answered);
    });
    answering.add(answered);
  }
  await Promise.all(answering);
  return exitCodes.done;
}

function ownAccount(call: CommandCall, host: CommandHost) {
  try {
    return clientOf(call, host);
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    throw new ClientProblem(
      `${error.message} Or give the tool the key of a world: list_worlds and create_world return it.`,
    );
  }
}
