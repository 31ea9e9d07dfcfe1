import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { serverRoot } from "../../server/test/support/planted-copy.ts";

/*
 * Row 28 of the attack table: unexpected listeners. A default start, as an operator does it, has
 * one open port and no other listening socket.
 */

const skip = existsSync("/proc/self/net/tcp") ? false : "there is no /proc";

/** Ports that a process listens on, by its own file descriptors and the kernel's tables. */
function listening(pid: number): string[] {
  const sockets = new Set<string>();
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${name}`))?.[1];
    if (inode !== undefined) sockets.add(inode);
  }
  return ["tcp", "tcp6", "udp", "udp6"].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, "latin1")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(
        ([, , , state, , , , , , inode]) =>
          sockets.has(inode ?? "") && (table.startsWith("udp") || state === "0A"),
      )
      .map(([, local = ""]) => `${table} ${Number.parseInt(local.split(":")[1] ?? "", 16)}`),
  );
}

/** A descriptor may be closed before it is read. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

for (const [what, environment] of [
  ["a default start opens one port", {}],
  ["control: one with TLS opens two", { COFRE_TLS: "true", COFRE_TLS_PORT: "0" }],
] as const) {
  test(`${what}, and nothing else answers`, { skip }, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-ports-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const server = CofreProcess.spawn({
      root: serverRoot,
      dataDirectory: join(folder, "data"),
      logDirectory: folder,
      name: "ports",
      environment,
    });
    context.after(() => server.end("SIGKILL"));
    const port = await server.listening();
    const ofTls = server.events("listening_tls").map((event) => `tcp ${String(event["port"])}`);
    assert.deepEqual(listening(server.pid).toSorted(), [`tcp ${port}`, ...ofTls].toSorted());
    assert.equal(ofTls.length, "COFRE_TLS" in environment ? 1 : 0);
  });
}
