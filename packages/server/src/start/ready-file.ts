import { renameSync, rmSync, writeFileSync } from "node:fs";
import { tlsFiles } from "../certificates/authority-files.ts";
import type { Cofre } from "../app.ts";
import { baseUrl, reachableHost } from "../cli/banner.ts";
import type { Config } from "../config/settings.ts";
import { codeOf } from "../logging/error-facts.ts";

/** The problem and its remedy. */
export class ReadyFileError extends Error {
  override readonly name = "ReadyFileError";
}

/** A file that an earlier process has left says nothing about this one. */
export function removeReadyFile(path: string): void {
  reporting(path, () => rmSync(path, { force: true }));
}

/**
 * For scripts: the server accepts requests while the file exists, at the address in it. The file is
 * never partial, and has no keys.
 */
export function writeReadyFile(
  path: string,
  { address, tlsAddress }: Pick<Cofre, "address" | "tlsAddress">,
  { dataDirectory }: Config,
): void {
  const tls =
    tlsAddress === undefined
      ? {}
      : { tls_port: tlsAddress.port, authority: tlsFiles(dataDirectory).authority };
  const facts = {
    url: baseUrl(address.host, address.port),
    host: reachableHost(address.host),
    port: address.port,
    ...tls,
    pid: process.pid,
  };
  const temporary = `${path}.${process.pid}.new`;
  reporting(path, () => {
    try {
      writeFileSync(temporary, `${JSON.stringify(facts)}\n`);
      renameSync(temporary, path);
    } finally {
      rmSync(temporary, { force: true });
    }
  });
}

function reporting(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    const code = error instanceof Error ? codeOf(error) : undefined;
    throw new ReadyFileError(
      `the file ${path} of --ready-file cannot be written (${code ?? "unknown"}). Name a file in a folder that exists and that this user can write`,
    );
  }
}
