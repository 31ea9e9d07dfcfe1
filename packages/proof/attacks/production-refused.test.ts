import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "../../server/src/config/read-config.ts";
import { Command, temporaryFolder } from "../../server/test/command.ts";

/*
 * Row 24 of the attack table: sandbox-only features (the simulated error of a header, magic cards,
 * scenarios, /__cofre/...). This version is only a sandbox: it does not start as production, so
 * these features cannot have an effect there.
 */

function read(
  environment: string,
  more: Readonly<Record<string, string>> = {},
): ReturnType<typeof readConfig> {
  return readConfig({
    environment: { COFRE_ENVIRONMENT: environment, ...more },
    flags: new Map(),
    readFile: () => ({ problem: "is not read in tests" }),
  });
}

test("production is refused, in words, however it is written", () => {
  for (const environment of [
    "production",
    "PRODUCTION",
    "live",
    "prod",
    " production",
    "staging",
  ]) {
    const reading = read(environment);
    assert.ok("problems" in reading, environment);
    assert.match(reading.problems.join(), /COFRE_ENVIRONMENT/);
  }
});

test("so is an authority of one's own in production, and what leads clients to it", async (context) => {
  assert.ok("problems" in read("production", { COFRE_TLS: "true" }));
  const folder = temporaryFolder(context);
  for (const args of [["start", "--tls"], ["proxy"], ["env", "node"]]) {
    const command = Command.cofre(context, args, {
      COFRE_ENVIRONMENT: "production",
      COFRE_DATA_DIR: join(folder, "data"),
    });
    assert.equal(await command.code(), 2, args.join(" "));
    assert.match(command.stderr, /COFRE_ENVIRONMENT is production/);
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("control: the sandbox is not", () => {
  assert.ok("config" in read("sandbox"));
  assert.ok("config" in read("sandbox", { COFRE_TLS: "true" }));
});
