import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { arnOf } from "../key-services/fake-kms.ts";
import { awsCredentials, kmsProvider, transitProvider } from "../key-services/open.ts";
import { fakeService } from "../key-services/service.ts";

/* The policies of examples/production name labels of keys: they must be those that are sent. */

const policy = (name: string): string =>
  readFileSync(new URL(`../../../../examples/production/${name}`, import.meta.url), "utf8");

/** A service that keeps the body of the last request and answers none. */
async function recording() {
  const seen: Record<string, unknown>[] = [];
  const service = await fakeService((_request, body) => {
    seen.push(body.length === 0 ? {} : (JSON.parse(body.toString()) as Record<string, unknown>));
    return { status: 500, body: {} };
  });
  return { service, last: () => seen.at(-1) ?? {} };
}

test("a server in OpenBao may wrap the canary of production, and no other key", async (context) => {
  const { service, last } = await recording();
  context.after(() => service.close());
  const { origin } = service.url;
  const provider = transitProvider({
    url: new URL(origin),
    key: "cofre",
    read: async () => Buffer.from("s.token"),
    environment: "production",
  });
  await provider.wrap(Buffer.alloc(32), "production/canary").catch(() => undefined);
  const [, label] =
    /"associated_data" = \["([^"]+)"\]/.exec(policy("openbao-server-policy.hcl")) ?? [];
  assert.equal(label, last()["associated_data"]);
});

test("a server in AWS may wrap the canary of production, and no other key", async (context) => {
  const { service, last } = await recording();
  context.after(() => service.close());
  const provider = kmsProvider({
    url: new URL(service.url.origin),
    arn: arnOf("1"),
    read: async () => Buffer.from(awsCredentials("AKIAIOSFODNN7EXAMPLE")),
    environment: "production",
  });
  assert.notEqual(await provider.health(), "ok");
  const { Statement: statements } = JSON.parse(policy("aws-server-policy.json")) as {
    readonly Statement: readonly {
      readonly Action: string;
      readonly Condition?: { readonly StringEquals: Readonly<Record<string, unknown>> };
    }[];
  };
  const allowed = statements.find(({ Action }) => Action === "kms:Encrypt")?.Condition
    ?.StringEquals;
  const sent = Object.entries(last()["EncryptionContext"] as Readonly<Record<string, string>>);
  assert.deepEqual(
    allowed,
    Object.fromEntries(sent.map(([name, value]) => [`kms:EncryptionContext:${name}`, value])),
  );
});
