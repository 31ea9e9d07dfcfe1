import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CofreProcess } from "../support/cofre-process.ts";
import { serverRoot } from "../support/planted-copy.ts";

const keepsNames = process.platform === "win32" ? "an open file keeps its name on Windows" : false;

test(
  "a server that keeps everything in memory leaves nothing behind when it is killed",
  { skip: keepsNames },
  async (context) => {
    const scratch = mkdtempSync(join(tmpdir(), "cofre-memory-killed-"));
    context.after(() => rmSync(scratch, { recursive: true, force: true }));
    const temporary = join(scratch, "tmp");
    mkdirSync(temporary);
    const server = CofreProcess.spawn({
      root: serverRoot,
      dataDirectory: ":memory:",
      logDirectory: scratch,
      name: "server",
      environment: { TMPDIR: temporary },
    });
    try {
      assert.ok((await server.listening()) !== undefined, "it starts");
    } finally {
      await server.end("SIGKILL");
    }
    assert.deepEqual(readdirSync(temporary), []);
  },
);
