import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { parseEnv } from "node:util";
import { settingLine } from "./shells.ts";

const values = ["", "plain/path:1", 'two words $HOME `id` \\ "x" # y', "it's $5", "a\\'b"];

describe("the lines that set a variable", () => {
  test("are read by a POSIX shell as they were", { skip: process.platform === "win32" }, () => {
    for (const value of values) {
      const { stdout } = spawnSync("sh", [
        "-c",
        `${settingLine("posix", "NAME", value)}\nprintf %s "$NAME"`,
      ]);
      assert.equal(stdout.toString(), value);
    }
  });

  test("are read from a dotenv file as they were, in single quotes where possible", () => {
    for (const value of values.filter((each) => !each.includes("'")))
      assert.equal(parseEnv(settingLine("dotenv", "NAME", value))["NAME"], value);
    assert.equal(settingLine("dotenv", "NAME", "it's $5"), 'NAME="it\'s \\$5"');
  });

  test("have the quotes of fish and PowerShell", () => {
    assert.equal(settingLine("fish", "NAME", "it's \\ $x"), "set -gx NAME 'it\\'s \\\\ $x'");
    assert.equal(settingLine("powershell", "NAME", "it's $x"), "$env:NAME = 'it''s $x'");
  });
});
