import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readConfig } from "../config/read-config.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import { clientOf } from "./cofre-client.ts";
import type { CommandHost } from "./command.ts";
import { plain } from "./styled.ts";

/** The messages of a command with these options before it calls Cofre. */
function saidWith(
  flags: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
  isTerminal: boolean,
): string[] {
  const said: string[] = [];
  const unused = (): never => assert.fail("a client is made without it");
  const host: CommandHost = {
    input: { [Symbol.asyncIterator]: unused },
    print: unused,
    say: (line) => said.push(line),
    fail: (line) => said.push(line),
    isTerminal,
    config: (of = new Map()) =>
      readConfig({
        environment,
        flags: of,
        readFile: (file) =>
          file === "key.txt" ? { value: "test_ik_of_a_file" } : { problem: "is missing" },
      }),
    openMove: unused,
    openAudit: unused,
    backUp: unused,
    restore: unused,
    styled: plain,
    onStopSignal: unused,
    startTemporary: unused,
    beginIncarnation: unused,
    recoverKeys: () => assert.fail("no keys are recovered"),
    storedKeys: () => assert.fail("no keys are read"),
    initialize: () => assert.fail("no installation is made"),
    examine: () => assert.fail("no installation is examined"),
    printNow: () => assert.fail("nothing is shown once"),
    stopRequested: unused,
    clock: systemClock,
    random: new SystemRandom(),
    scheduler: systemScheduler,
    version: "1.2.3",
  };
  clientOf({ word: undefined, paths: [], flags: new Map(Object.entries(flags)) }, host);
  return said;
}

describe("a key on the command line", () => {
  const key = "test_ik_of_the_line";
  const warning =
    /^Other users of this machine can see the value of --key .* COFRE_SANDBOX_INTEGRATION_KEY_FILE to avoid this\.$/;

  test("is warned of in one line on a terminal, which does not repeat it", () => {
    const said = saidWith({ "--key": key }, {}, true);
    assert.equal(said.length, 1);
    assert.match(said[0] ?? "", warning);
    assert.ok(!said.join().includes(key));
  });

  const silent: readonly (readonly [
    why: string,
    flags: Readonly<Record<string, string>>,
    environment: Readonly<Record<string, string>>,
    isTerminal: boolean,
  ])[] = [
    ["in a program's output", { "--key": key }, {}, false],
    [
      "beside the variable",
      { "--key": key },
      { COFRE_SANDBOX_INTEGRATION_KEY: "test_ik_of_the_variable" },
      true,
    ],
    ["beside the file", { "--key": key }, { COFRE_SANDBOX_INTEGRATION_KEY_FILE: "key.txt" }, true],
    [
      "when only the variable has it",
      {},
      { COFRE_SANDBOX_INTEGRATION_KEY: "test_ik_of_the_variable" },
      true,
    ],
    ["when only the file has it", {}, { COFRE_SANDBOX_INTEGRATION_KEY_FILE: "key.txt" }, true],
  ];
  for (const [why, flags, environment, isTerminal] of silent) {
    test(`is not warned of ${why}`, () => {
      assert.deepEqual(saidWith(flags, environment, isTerminal), []);
    });
  }
});
