import { isRecord, objectIn } from "../cofre-client.ts";

/** Versions of the Model Context Protocol, the newest first. */
const versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** Codes of JSON-RPC 2.0. */
const codes = {
  notJson: -32_700,
  noRequest: -32_600,
  noMethod: -32_601,
  wrongParameters: -32_602,
} as const;

type Fields = Readonly<Record<string, unknown>>;

/** A tool as a client lists it. */
export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Fields;
  readonly annotations: Fields;
}

/** What the protocol serves. */
export interface McpService {
  readonly version: string;
  readonly instructions: string;
  readonly tools: readonly ListedTool[];
  /** undefined: there is no such tool. Never rejects: a failure is a text for the client's model. */
  readonly call: (
    name: string,
    input: unknown,
  ) => Promise<{ readonly text: string; readonly isError: boolean } | undefined>;
}

/** Answers one message, a line of JSON; undefined when it needs no answer. */
export async function answerMessage(
  line: string,
  service: McpService,
): Promise<string | undefined> {
  const message = objectIn(line);
  if (message === undefined) return failure(null, codes.notJson, "The line is not a JSON object.");
  const { id, method } = message;
  const isRequest = typeof id === "string" || typeof id === "number";
  if (message["jsonrpc"] !== "2.0" || typeof method !== "string")
    // An answer to a request, which this server does not send.
    return id !== undefined && ("result" in message || "error" in message)
      ? undefined
      : failure(isRequest ? id : null, codes.noRequest, "The message is not a JSON-RPC request.");
  if (!isRequest) return undefined;
  const params = isRecord(message["params"]) ? message["params"] : {};
  switch (method) {
    case "initialize":
      return success(id, initialized(params, service));
    case "ping":
      return success(id, {});
    case "tools/list":
      return success(id, { tools: service.tools });
    case "tools/call": {
      const { name, arguments: input = {} } = params;
      const result = typeof name === "string" ? await service.call(name, input) : undefined;
      if (result === undefined)
        return failure(id, codes.wrongParameters, "There is no tool of this name.");
      const { text, isError } = result;
      return success(id, { content: [{ type: "text", text }], isError });
    }
    default:
      return failure(id, codes.noMethod, "This method is not supported.");
  }
}

/** The version that the client asks for, if it is known; otherwise the newest one. */
function initialized({ protocolVersion }: Fields, { version, instructions }: McpService): Fields {
  return {
    protocolVersion: versions.find((each) => each === protocolVersion) ?? versions[0],
    capabilities: { tools: {} },
    serverInfo: { name: "cofre", title: "Cofre sandbox", version },
    instructions,
  };
}

function success(id: string | number, result: Fields): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

function failure(id: string | number | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
}
