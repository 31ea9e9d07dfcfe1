import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../src/config/read-config.ts";

/*
 * Row 24 of the attack table: what only a sandbox may do (the simulated error of a header, magic cards, scenarios, /__cofre/...). This version is a
 * sandbox and nothing else: it does not start as production, so there is no production in which any of that could have an effect.
 */

function read(environment: string): ReturnType<typeof readConfig> {
  return readConfig({
    environment: { COFRE_ENVIRONMENT: environment },
    flags: new Map(),
    readFile: () => ({ problem: "is not read in tests" }),
  });
}

test("production is refused, in words, however it is written", () => {
  for (const environment of ["production", "PRODUCTION", "live", "prod", " production", "staging"]) {
    const reading = read(environment);
    assert.ok("problems" in reading, environment);
    assert.match(reading.problems.join(), /COFRE_ENVIRONMENT/);
  }
});

test("control: the sandbox is not", () => {
  assert.ok("config" in read("sandbox"));
});
