import assert from "node:assert/strict";
import { test } from "node:test";
import { awsCredentials } from "../../../test/key-services/open.ts";
import { parseAwsCredentials } from "./aws-credentials.ts";

const parsed = (text: string) => parseAwsCredentials(Buffer.from(text));
const profile = (id: string): string => awsCredentials(id).replace("[default]\n", "");

test("the credentials of the profile default are used, or of the first profile", () => {
  const [first, second] = [profile("AKIAFIRST0EXAMPLE0"), profile("AKIASECOND0EXAMPLE")];
  const both = `# comment\n[one]\n${first}[default]\r\n${second}aws_session_token=a+b/c==\r\nregion = x\n`;
  assert.equal(parsed(both).accessKeyId, "AKIASECOND0EXAMPLE");
  assert.equal(parsed(both).sessionToken?.reveal(), "a+b/c==");
  const one = parsed(`[one]\n${first}[two]\n${second}`);
  assert.equal(one.accessKeyId, "AKIAFIRST0EXAMPLE0");
  assert.equal(one.secretAccessKey.reveal(), "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
  assert.equal(one.sessionToken, undefined);
});

test("a file without complete credentials is refused without being quoted", () => {
  const whole = profile("AKIAFIRST0EXAMPLE0");
  for (const text of [
    "",
    "s.token",
    whole,
    "[default]\naws_access_key_id = AKIAFIRST0EXAMPLE0\n",
    `[default]\n${whole.replace("AKIA", "AK IA")}`,
    `[default]\n${whole}aws_session_token = a b\n`,
    `[default]\n${whole}aws_session_token = a\u0001b\n`,
  ])
    assert.throws(
      () => parsed(text),
      (error: Error) =>
        "failure" in error && error.failure === "unauthorized" && !error.message.includes("wJal"),
      text,
    );
});
