import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { failsAs } from "../../../test/contract/key-provider.contract.ts";
import { type Answer, fakeService } from "../../../test/key-services/service.ts";
import { minute } from "../../kernel/instant.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { instanceCredentials, metadataUrl } from "./aws-instance-credentials.ts";
import { stsUrl, webIdentityCredentials } from "./aws-web-identity.ts";
import { createServiceClient } from "./service-client.ts";

/* Answers as AWS documents them; the lane `custody` asks moto. */

const role = "arn:aws:iam::111122223333:role/cofre";
const given = {
  id: "ASIAIOSFODNN7EXAMPLE",
  secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  session: "session+token/==",
};

function client(url: URL, timeoutMs = 30_000) {
  return createServiceClient({ scheduler: systemScheduler, url, ca: undefined, timeoutMs });
}

describe("credentials of a web identity", () => {
  const xml = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult><Credentials>
    <SessionToken>${given.session}</SessionToken><SecretAccessKey>${given.secret}</SecretAccessKey>
    <Expiration>2026-11-30T18:00:00Z</Expiration><AccessKeyId>${given.id}</AccessKeyId>
  </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;

  async function sts(context: TestContext) {
    const state: { answer: Answer; bodies: string[]; token: string; nowMs: number } = {
      answer: { status: 200, body: xml },
      bodies: [],
      token: "eyJhbGciOiJSUzI1NiJ9.e30.c2ln\n",
      nowMs: 0,
    };
    const service = await fakeService((_request, body) => {
      state.bodies.push(body.toString());
      return state.answer;
    });
    context.after(() => service.close());
    const credentials = webIdentityCredentials({
      client: client(service.url),
      elapsedMs: () => state.nowMs,
      readToken: async () => Buffer.from(state.token),
      roleArn: role,
      sessionName: undefined,
    });
    return { state, credentials };
  }

  test("are asked for with the token, and used until half an hour has passed or the token changes", async (context) => {
    const { state, credentials } = await sts(context);
    const first = await credentials(undefined);
    assert.deepEqual(
      [first.accessKeyId, first.secretAccessKey.reveal(), first.sessionToken?.reveal()],
      [given.id, given.secret, given.session],
    );
    assert.deepEqual(Object.fromEntries(new URLSearchParams(state.bodies[0])), {
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      RoleArn: role,
      RoleSessionName: "cofre",
      DurationSeconds: "3600",
      WebIdentityToken: state.token.trim(),
    });
    state.nowMs = 30 * minute - 1;
    await credentials(undefined);
    assert.equal(state.bodies.length, 1);
    state.nowMs += 1;
    await credentials(undefined);
    assert.equal(state.bodies.length, 2);
    state.token = "eyJhbGciOiJSUzI1NiJ9.e30.b3RoZXI";
    await credentials(undefined);
    assert.equal(state.bodies.length, 3);
  });

  test("that are refused or missing are named as such", async (context) => {
    const { state, credentials } = await sts(context);
    const error = (code: string): string =>
      `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code></Error></ErrorResponse>`;
    for (const [status, body, failure] of [
      [400, error("ExpiredTokenException"), "unauthorized"],
      [400, error("InvalidIdentityToken"), "unauthorized"],
      [403, error("AccessDenied"), "unauthorized"],
      [400, error("IDPCommunicationError"), "unavailable"],
      [500, "", "unavailable"],
      [200, "<html>", "unavailable"],
      [200, xml.replace(given.id, "&evil;"), "unavailable"],
    ] as const) {
      state.answer = { status, body };
      await failsAs(failure, credentials(undefined));
    }
    state.answer = { status: 200, body: xml };
    state.token = "two words";
    await failsAs("unauthorized", credentials(undefined));
    state.token = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln";
    assert.equal((await credentials(undefined)).accessKeyId, given.id);
  });

  test("are asked for at the region's address, or at another by TLS or on this machine", () => {
    const urlOf = (stsEndpoint: string | undefined, region = "sa-east-1") =>
      stsUrl({ stsEndpoint }, region)?.href;
    assert.equal(urlOf(undefined), "https://sts.sa-east-1.amazonaws.com/");
    assert.equal(urlOf(undefined, "cn-north-1"), "https://sts.cn-north-1.amazonaws.com.cn/");
    assert.equal(urlOf("https://sts.example"), "https://sts.example/");
    assert.equal(urlOf("http://127.0.0.1:4599"), "http://127.0.0.1:4599/");
    for (const refused of ["http://sts.example", "sts.example", ""])
      assert.equal(urlOf(refused), undefined);
  });
});

describe("credentials of a machine", () => {
  const json = {
    Code: "Success",
    AccessKeyId: given.id,
    SecretAccessKey: given.secret,
    Token: given.session,
  };

  async function machine(context: TestContext) {
    const state = { roles: "cofre\n", credentials: json as unknown, asked: [] as string[] };
    const service = await fakeService((request) => {
      const { method, url, headers } = request;
      state.asked.push(`${method} ${url}`);
      const ok = (body: unknown): Answer => ({ status: 200, body });
      if (method === "PUT" && url === "/latest/api/token")
        return headers["x-aws-ec2-metadata-token-ttl-seconds"] === "60"
          ? ok("a+token==")
          : { status: 400, body: "" };
      if (headers["x-aws-ec2-metadata-token"] !== "a+token==") return { status: 401, body: "" };
      if (url === "/latest/meta-data/iam/security-credentials/")
        return state.roles === "" ? { status: 404, body: "" } : ok(state.roles);
      return url === "/latest/meta-data/iam/security-credentials/cofre"
        ? ok(state.credentials)
        : { status: 404, body: "" };
    });
    context.after(() => service.close());
    return { state, service, credentials: instanceCredentials(client(service.url)) };
  }

  test("are those of its role, by a session of the second version", async (context) => {
    const { state, credentials } = await machine(context);
    const read = await credentials(undefined);
    assert.deepEqual(
      [read.accessKeyId, read.secretAccessKey.reveal(), read.sessionToken?.reveal()],
      [given.id, given.secret, given.session],
    );
    assert.deepEqual(state.asked, [
      "PUT /latest/api/token",
      "GET /latest/meta-data/iam/security-credentials/",
      "GET /latest/meta-data/iam/security-credentials/cofre",
    ]);
  });

  test("that are missing are named as such", async (context) => {
    const { state, service, credentials } = await machine(context);
    state.roles = "";
    await failsAs("unauthorized", credentials(undefined));
    state.roles = "../../user-data";
    await failsAs("unauthorized", credentials(undefined));
    state.roles = "cofre";
    state.credentials = { Code: "Failed" };
    await failsAs("unavailable", credentials(undefined));
    service.mode = "refuses";
    await assert.rejects(credentials(undefined), {
      failure: "unavailable",
      message: /^there are no credentials for AWS KMS/,
    });
  });

  test("are asked for at the addresses of the metadata service only, unless they are switched off", () => {
    const urlOf = (endpoint: string | undefined, isDisabled?: string) =>
      metadataUrl({ endpoint, isDisabled })?.href;
    assert.equal(urlOf(undefined), "http://169.254.169.254/");
    assert.equal(urlOf("http://[fd00:ec2::254]"), "http://[fd00:ec2::254]/");
    for (const refused of ["http://192.0.2.1", "https://metadata.example", "file:///etc"])
      assert.equal(urlOf(refused), undefined);
    assert.equal(urlOf(undefined, "true"), undefined);
  });
});
