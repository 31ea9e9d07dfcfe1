import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Command, temporaryFolder } from "../command.ts";
import { until } from "../until.ts";

describe("cofre start --ready-file", () => {
  test("the file exists while requests are accepted, with the address", async (context) => {
    const folder = temporaryFolder(context);
    const file = join(folder, "ready.json");
    writeFileSync(file, "of an earlier process");
    const server = Command.cofre(
      context,
      ["start", "--port", "0", "--tls", "--tls-port", "0", "--ready-file", file],
      { COFRE_DATA_DIR: join(folder, "data"), COFRE_LOG_FORMAT: "json" },
    );
    await until(
      "the file is there",
      () => existsSync(file) && readFileSync(file, "utf8").startsWith("{"),
    );
    const ready = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>>;
    assert.equal((await fetch(`${String(ready["url"])}/readyz`)).status, 200);
    assert.deepEqual(Object.keys(ready), ["url", "host", "port", "tls_port", "authority", "pid"]);
    assert.equal(ready["pid"], server.child.pid);
    assert.ok(existsSync(String(ready["authority"])));
    server.child.kill("SIGTERM");
    assert.equal(await server.code(), 0);
    assert.deepEqual(readdirSync(folder), ["data"]);
  });

  test("a file that cannot be written ends the start with the reason and a remedy", async (context) => {
    const file = join(temporaryFolder(context), "none", "ready.json");
    const server = Command.cofre(context, ["start", "--port", "0", "--ready-file", file], {
      COFRE_DATA_DIR: ":memory:",
    });
    assert.equal(await server.code(), 1);
    assert.match(
      server.stderr,
      /^Cofre could not start: the file \S+ready\.json of --ready-file cannot be written \(ENOENT\)\. Name a file in a folder that exists/m,
    );
  });
});
