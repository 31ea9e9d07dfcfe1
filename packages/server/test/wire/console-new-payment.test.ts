import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, test } from "node:test";
import { hostile } from "../browser/hostile.ts";
import "../support/session-storage.ts";

/** What a browser makes of the page is in packages/proof/lanes/support/console-new-payment.ts. */
const folder = fileURLToPath(new URL("../../../console/src/", import.meta.url));
// The page's language is English in every environment.
Object.defineProperty(navigator, "languages", { value: ["en-US"] });
type Fields = Readonly<Record<string, unknown>>;
const { curlOf, ShellVariable } = (await import(pathToFileURL(`${folder}curl.js`).href)) as {
  readonly curlOf: (path: string, fields: Fields, origin: string) => string;
  readonly ShellVariable: new (name: string) => object;
};

const origin = "http://127.0.0.1:8787";

/** The arguments that a shell gives to curl. */
function argumentsOf(command: string): readonly string[] {
  const script = `curl() { for each; do printf '%s\\000' "$each"; done; }\nKEY=the-key; TOKEN=the-token; ${command}`;
  return execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

describe("a request as a command for a shell", () => {
  test("sends short values as form parameters, and the key from a variable", () => {
    const command = curlOf("/ws/query", { hash: "0a1b", note: undefined }, origin);
    assert.equal(command, `curl -s ${origin}/ws/query -d "integration_key=$KEY" -d hash=0a1b`);
    assert.deepEqual(
      argumentsOf(curlOf("/ws/refund", { amount: 1.5, description: "it's & $(date)" }, origin)),
      [
        "-s",
        `${origin}/ws/refund`,
        "-d",
        "integration_key=the-key",
        "-d",
        "amount=1.5",
        "--data-urlencode",
        "description=it's & $(date)",
      ],
    );
  });

  test("sends nested values as JSON, whatever they contain", () => {
    for (const name of [
      hostile,
      "it's",
      "$KEY",
      "$$ $KEY$ $$$",
      "`date` $(date) \\' \" \\",
      "é\u0000\u2028\u{1f600}",
    ]) {
      const fields = { operation: "request", payment: { name, creditcard: { token: "" } } };
      const command = curlOf(
        "/ws/direct",
        {
          ...fields,
          payment: { ...fields.payment, creditcard: { token: new ShellVariable("TOKEN") } },
        },
        origin,
      );
      const [, address, , type, , body = ""] = argumentsOf(command);
      assert.deepEqual([address, type], [`${origin}/ws/direct`, "Content-Type: application/json"]);
      assert.deepEqual(JSON.parse(body), {
        integration_key: "the-key",
        ...fields,
        payment: { ...fields.payment, creditcard: { token: "the-token" } },
      });
      assert.doesNotMatch(
        command,
        /[^\P{Cc}\n]|\u202e|\u2066/u,
        "invisible characters are visible",
      );
    }
  });

  test("cannot be left by a path", () => {
    assert.deepEqual(
      argumentsOf(curlOf("/ws/x';date;'$(date) y", { hash: "1" }, origin)).slice(0, 2),
      ["-s", `${origin}/ws/x';date;'$(date) y`],
    );
  });
});
