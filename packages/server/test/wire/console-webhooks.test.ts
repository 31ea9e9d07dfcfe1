import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, test } from "node:test";
import { Webhook } from "standardwebhooks";
import "../support/session-storage.ts";

/** What a browser makes of the page is in packages/proof/lanes/support/console-webhooks.ts. */
const folder = fileURLToPath(new URL("../../../console/src/", import.meta.url));
type Headers = Readonly<Record<string, string>>;
interface Check {
  readonly signed: string;
  readonly given: readonly string[];
  readonly expected: string | undefined;
  readonly isValid: boolean;
}
// The page's language is English in every environment.
Object.defineProperty(navigator, "languages", { value: ["en-US"] });
const { checkSignature } = (await import(pathToFileURL(`${folder}webhook.js`).href)) as {
  readonly checkSignature: (
    headers: Headers,
    body: string,
    secret: string | undefined,
  ) => Promise<Check | undefined>;
};
const { curlOfMessage } = (await import(pathToFileURL(`${folder}curl.js`).href)) as {
  readonly curlOfMessage: (headers: Headers, body: string, address?: string) => string;
};

const secret = `whsec_${Buffer.from("0123456789abcdef01234567").toString("base64")}`;
const body = "operation=payment_status_change&notification_type=update&hash_codes=0a1b";
const at = new Date("2026-11-30T12:00:00Z");
const headers: Headers = {
  "webhook-id": "msg_1",
  "webhook-timestamp": String(at.getTime() / 1_000),
  "webhook-signature": `${new Webhook(secret).sign("msg_1", at, body)} v1a,another`,
};

describe("the page's check of a signature", () => {
  test("agrees with the library of Standard Webhooks, and shows the signed text", async () => {
    const check = await checkSignature(headers, body, secret);
    assert.equal(check?.isValid, true);
    assert.equal(check.signed, `msg_1.${headers["webhook-timestamp"]}.${body}`);
    assert.deepEqual(check.given, [check.expected]);
  });

  for (const [what, changed, text, key] of [
    ["another body", headers, `${body}1`, secret],
    ["another time", { ...headers, "webhook-timestamp": "1" }, body, secret],
    ["another secret", headers, body, `whsec_${Buffer.from("another").toString("base64")}`],
  ] as const)
    test(`is invalid with ${what}`, async () => {
      const check = await checkSignature(changed, text, key);
      assert.equal(check?.isValid, false);
      assert.match(check.expected ?? "", /^v1,/);
    });

  test("finds the present secret's signature among several", async () => {
    const both = `v1,old ${headers["webhook-signature"]}`;
    const check = await checkSignature({ ...headers, "webhook-signature": both }, body, secret);
    assert.deepEqual([check?.isValid, check?.given.length], [true, 2]);
  });

  test("says nothing without a secret, with an unreadable one, or without an HMAC", async () => {
    for (const key of [undefined, "whsec_%"]) {
      const check = await checkSignature(headers, body, key);
      assert.deepEqual([check?.isValid, check?.expected], [false, undefined]);
    }
    const { "webhook-signature": _, ...others } = headers;
    assert.equal(await checkSignature(others, body, secret), undefined);
    assert.equal(
      await checkSignature({ ...headers, "webhook-signature": "v1a,one" }, body, secret),
      undefined,
    );
  });
});

describe("a message as a command for a shell", () => {
  /** The arguments that a shell gives to curl. */
  const argumentsOf = (command: string): readonly string[] => {
    const script = `curl() { for each; do printf '%s\\000' "$each"; done; }\nURL=http://127.0.0.1/; ${command}`;
    return execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
  };

  test("sends the same headers and body, whatever they contain", () => {
    const address = "http://127.0.0.1:1/it's/$(date)?a=1&b=\u202e";
    const odd = { "X-One": "it's $(date) `date` \\" };
    assert.deepEqual(argumentsOf(curlOfMessage(odd, body, address)), [
      "-s",
      "http://127.0.0.1:1/it's/$(date)?a=1&b=%E2%80%AE",
      "-H",
      "X-One: it's $(date) `date` \\",
      "--data-raw",
      body,
    ]);
  });

  test("takes the address from a variable when there is none", () => {
    assert.equal(argumentsOf(curlOfMessage({}, body))[1], "http://127.0.0.1/");
  });
});
