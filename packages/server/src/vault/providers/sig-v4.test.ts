import assert from "node:assert/strict";
import { test } from "node:test";
import { instant } from "../../kernel/instant.ts";
import { Secret } from "../../kernel/secret.ts";
import { signedHeaders } from "./sig-v4.ts";

/** Signed by botocore 1.44.8: packages/proof/lanes/support/sign-with-botocore.py. */
const vectors = [
  {
    host: "kms.sa-east-1.amazonaws.com",
    region: "sa-east-1",
    target: "TrentService.Encrypt",
    body: '{"KeyId":"arn:aws:kms:sa-east-1:111122223333:key/1","Plaintext":"AAAA"}',
    token: undefined,
    seconds: 1_796_025_600,
    date: "20261130T080000Z",
    authorization:
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261130/sa-east-1/kms/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=42e9f9fbdea0ff07082ecbd1e85b296cc0936831fd1261f59efb2bc0bdab4c01",
  },
  {
    host: "kms.sa-east-1.amazonaws.com",
    region: "sa-east-1",
    target: "TrentService.Decrypt",
    body: "{}",
    token: "FwoGZXIvYXdzEXAMPLE//////////wEaDExample+Token==",
    seconds: 1_798_859_045,
    date: "20270102T030405Z",
    authorization:
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20270102/sa-east-1/kms/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature=a5201cd0c3e0d4f38578a76112d8dd0eff56d3ef9aebf0e366a3d182ea76e753",
  },
  {
    host: "127.0.0.1:4599",
    region: "us-gov-west-1",
    target: "TrentService.DescribeKey",
    body: "",
    token: undefined,
    seconds: 1_835_481_599,
    date: "20280229T235959Z",
    authorization:
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20280229/us-gov-west-1/kms/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=d1693b7910eddbd2eeefe585550534f7bb9e2fbe98cd294d84d90a53b1a2e94e",
  },
] as const;

for (const { host, region, target, body, token, seconds, date, authorization } of vectors) {
  test(`a request at ${date} is signed as botocore signs it`, () => {
    const headers = {
      "content-type": "application/x-amz-json-1.1",
      "x-amz-target": target,
    };
    const signed = signedHeaders(
      {
        host,
        headers,
        body: Buffer.from(body),
        at: instant(seconds * 1_000),
        region,
        service: "kms",
      },
      {
        accessKeyId: "AKIAIOSFODNN7EXAMPLE",
        secretAccessKey: new Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        sessionToken: token === undefined ? undefined : new Secret(token),
      },
    );
    assert.deepEqual(signed, {
      ...headers,
      "x-amz-date": date,
      ...(token === undefined ? {} : { "x-amz-security-token": token }),
      authorization,
    });
  });
}
