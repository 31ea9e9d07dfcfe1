import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { failsAs } from "../../../test/contract/key-provider.contract.ts";
import { type Answer, fakeService } from "../../../test/key-services/service.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import {
  containerCredentials,
  type ContainerVariables,
  containerCredentialsUrl,
} from "./aws-container-credentials.ts";
import { createServiceClient } from "./service-client.ts";

const urlOf = (variables: Partial<ContainerVariables>): string | undefined =>
  containerCredentialsUrl({
    fullUri: undefined,
    relativeUri: undefined,
    tokenFile: undefined,
    ...variables,
  })?.href;

test("credentials are asked for at addresses of the platform, of this machine, or by TLS", () => {
  for (const fullUri of [
    "http://192.0.2.1/v1/credentials",
    "http://169.254.169.254/latest",
    "http://169.254.170.2.example/v1",
    "ftp://169.254.170.2/v1",
    "file:///etc/credentials",
    "credentials",
    "",
  ])
    assert.equal(urlOf({ fullUri }), undefined, fullUri);
  assert.equal(urlOf({}), undefined);
  for (const fullUri of [
    "http://169.254.170.23/v1/credentials",
    "http://[fd00:ec2::23]/v1/credentials",
    "http://127.0.0.1:8080/v1",
    "https://credentials.example/v1?a=b",
  ])
    assert.equal(urlOf({ fullUri }), fullUri);
  assert.equal(
    urlOf({ relativeUri: "/v2/credentials/1" }),
    "http://169.254.170.2/v2/credentials/1",
  );
  // A host in a path stays a path.
  assert.equal(urlOf({ relativeUri: "//evil.example/1" }), "http://169.254.170.2//evil.example/1");
});

const given = {
  AccessKeyId: "ASIAIOSFODNN7EXAMPLE",
  SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  Token: "session+token/==",
  Expiration: "2026-11-30T18:00:00Z",
};

async function container(context: TestContext, token?: string) {
  const state: { answer: Answer; authorization: unknown[] } = {
    answer: { status: 200, body: given },
    authorization: [],
  };
  const service = await fakeService((request) => {
    state.authorization.push(request.headers["authorization"]);
    return state.answer;
  });
  context.after(() => service.close());
  const url = new URL("/v1/credentials?a=b", service.url);
  const client = createServiceClient({
    scheduler: systemScheduler,
    url,
    ca: undefined,
    timeoutMs: 30_000,
  });
  const readToken = token === undefined ? undefined : async () => Buffer.from(token);
  return { service, state, read: containerCredentials({ client, url, readToken }) };
}

test("what is not credentials is named by what it is, and not quoted", async (context) => {
  const { service, state, read } = await container(context);
  for (const [status, body, failure] of [
    [401, {}, "unauthorized"],
    [403, {}, "unauthorized"],
    [404, {}, "unavailable"],
    [500, given, "unavailable"],
    [200, [], "unavailable"],
    [200, { ...given, AccessKeyId: "short" }, "unavailable"],
    [200, { ...given, SecretAccessKey: undefined }, "unavailable"],
    [200, { ...given, Token: "a\nb" }, "unavailable"],
  ] as const) {
    state.answer = { status, body };
    await failsAs(failure, read(undefined));
    await assert.rejects(read(undefined), (error: Error) => !error.message.includes("wJal"));
  }
  service.mode = "refuses";
  await failsAs("unavailable", read(undefined));
  const withoutToken = await container(context, " \n");
  await failsAs("unauthorized", withoutToken.read(undefined));
  assert.deepEqual(withoutToken.state.authorization, []);
});

test("the credentials of a container are those of the moment, with its token or without one", async (context) => {
  const { service, state, read } = await container(context, "token-1\n");
  const first = await read(undefined);
  assert.equal(first.accessKeyId, given.AccessKeyId);
  assert.equal(first.secretAccessKey.reveal(), given.SecretAccessKey);
  assert.equal(first.sessionToken?.reveal(), given.Token);
  state.answer = { status: 200, body: { ...given, AccessKeyId: "ASIASECOND0EXAMPLE00" } };
  assert.equal((await read(undefined)).accessKeyId, "ASIASECOND0EXAMPLE00");
  assert.deepEqual(state.authorization, ["token-1", "token-1"]);
  assert.deepEqual(service.requests, Array(2).fill("GET /v1/credentials?a=b"));
  const open = await container(context);
  await open.read(undefined);
  assert.deepEqual(open.state.authorization, [undefined]);
});
