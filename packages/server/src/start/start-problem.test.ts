import assert from "node:assert/strict";
import { test } from "node:test";
import { startProblem } from "./start-problem.ts";

const settings = { host: "127.0.0.1", port: 8787, tlsPort: 8443, dataDirectory: "data" };

function failure(code: string, more: object = {}): Error {
  return Object.assign(new Error(`${code}: as the system says it`), { code, ...more });
}

test("a write that fails on a full disk has no path: the folder is named all the same", () => {
  const full = failure("ENOSPC", { syscall: "write" });
  assert.match(startProblem(full, settings), /^the disk of data is full\. Free space and start/);
  assert.match(
    startProblem(full, { ...settings, dataDirectory: ":memory:" }),
    /^the disk of the folder for temporary files is full\. .* TMPDIR/,
  );
});

test("only a refused listen is about the port", () => {
  const listen = failure("EACCES", { syscall: "listen", port: 80 });
  assert.match(startProblem(listen, { ...settings, port: 80 }), /^this user may not listen on/);
  const file = failure("EACCES", { syscall: "open", path: "data/incarnation.json" });
  assert.match(
    startProblem(file, settings),
    /^data\/incarnation\.json cannot be used: this user has no permission\. --data-dir D/,
  );
  assert.doesNotMatch(startProblem(failure("EACCES"), settings), /port/);
});

test("a port in use is named with the setting that chooses another", () => {
  const used = (port: number) => failure("EADDRINUSE", { syscall: "listen", port });
  assert.match(startProblem(used(8787), settings), /^port 8787 of .* COFRE_PORT=N or --port N/);
  assert.match(startProblem(used(8443), settings), /^port 8443 of .* COFRE_TLS_PORT=N/);
});
