import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "../../server/src/config/read-config.ts";
import { Command, temporaryFolder } from "../../server/test/command.ts";

/*
 * Row 24 of the attack table: sandbox-only features (the simulated error of a header, magic cards,
 * scenarios, /__cofre/...). A sandbox does not become production by its mode alone; what production
 * has instead is in packages/server/test/production.
 */

test("the mode is named in one way only", () => {
  const reads = (environment: string) =>
    readConfig({
      environment: { COFRE_ENVIRONMENT: environment },
      flags: new Map(),
      readFile: () => ({ problem: "is not read in tests" }),
    });
  for (const environment of ["PRODUCTION", "live", "prod", " production", "staging"]) {
    const reading = reads(environment);
    assert.ok("problems" in reading, environment);
    assert.match(reading.problems.join(), /COFRE_ENVIRONMENT/);
  }
  for (const environment of ["production", "sandbox"]) assert.ok("config" in reads(environment));
});

test("a sandbox's settings do not start in production, and every fault is named", async (context) => {
  const folder = temporaryFolder(context);
  const environment = { COFRE_ENVIRONMENT: "production", COFRE_DATA_DIR: join(folder, "data") };
  for (const args of [["start"], ["start", "--tls"], ["init"]]) {
    const command = Command.cofre(context, args, environment);
    assert.equal(await command.code(), 1, args.join(" "));
    for (const check of ["root_key_file", "recovery", "database", "acquirers", "console_by_key"])
      assert.match(command.stderr, new RegExp(`^ +${check}: \\S.*\\.$`, "m"), args.join(" "));
    assert.equal(/^ +own_authority:/m.test(command.stderr), args.includes("--tls"));
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("nothing leads clients to an authority of one's own in production", async (context) => {
  const folder = temporaryFolder(context);
  const environment = { COFRE_ENVIRONMENT: "production", COFRE_DATA_DIR: join(folder, "data") };
  for (const args of [["proxy"], ["env", "node"]]) {
    const command = Command.cofre(context, args, environment);
    assert.notEqual(await command.code(), 0, args.join(" "));
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("control: the sandbox starts", async (context) => {
  const folder = temporaryFolder(context);
  const command = Command.cofre(context, ["start", "--port", "0"], {
    COFRE_DATA_DIR: join(folder, "data"),
  });
  await command.event("listening");
});
