import type { ElapsedMs } from "../../kernel/elapsed.ts";
import { minute } from "../../kernel/instant.ts";
import { RootKeyError } from "../key-provider.ts";
import { credentialsOf, type ReadAwsCredentials } from "./aws-credentials.ts";
import { failureOfStatus, type ServiceClient } from "./service-client.ts";
import type { AwsCredentials } from "./sig-v4.ts";

/**
 * The variables of a web identity, which EKS sets in a pod whose service account has a role (AWS SDKs
 * and Tools Reference Guide, "Assume role with web identity").
 */
export interface WebIdentityVariables {
  /** File with the token of the web identity. */
  readonly tokenFile: string | undefined;
  readonly roleArn: string | undefined;
  readonly sessionName: string | undefined;
  /** Address of AWS STS instead of the region's own. */
  readonly stsEndpoint: string | undefined;
}

export interface WebIdentityOptions {
  /** Of AWS STS. */
  readonly client: ServiceClient;
  readonly elapsedMs: ElapsedMs;
  /** Rejects with RootKeyError. The caller wipes the token. */
  readonly readToken: () => Promise<Uint8Array>;
  readonly roleArn: string;
  readonly sessionName: string | undefined;
}

/** Session names of STS. */
const sessionForm = /^[\w+=,.@-]{2,64}$/;
const tokenForm = /^[\w.~+/=-]{1,16384}$/;
/** Every role allows sessions of one hour, in seconds. */
const sessionSeconds = 3_600;
const usedMs = 30 * minute;

/** Address of AWS STS; undefined when a variable names one that is neither HTTPS nor this machine's. */
export function stsUrl(
  { stsEndpoint }: Pick<WebIdentityVariables, "stsEndpoint">,
  region: string,
): URL | undefined {
  if (stsEndpoint === undefined) {
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    return new URL(`https://sts.${region}.${domain}`);
  }
  const url = URL.parse(stsEndpoint);
  const isAllowed =
    url?.protocol === "https:" ||
    (url?.protocol === "http:" && ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname));
  return isAllowed ? (url ?? undefined) : undefined;
}

/**
 * Temporary credentials of a role, for the token of a web identity: AssumeRoleWithWebIdentity of AWS
 * STS, which needs no signature. They are used for half an hour, and a new token replaces them at
 * once.
 */
export function webIdentityCredentials(options: WebIdentityOptions): ReadAwsCredentials {
  let last: { token: string; credentials: AwsCredentials; until: number } | undefined;
  return async (signal) => {
    const { client, elapsedMs, readToken } = options;
    const content = await readToken();
    const token = Buffer.from(content).toString("latin1").trim();
    content.fill(0);
    if (!tokenForm.test(token))
      throw new RootKeyError(
        "unauthorized",
        "the file of AWS_WEB_IDENTITY_TOKEN_FILE has no token",
      );
    if (last?.token === token && elapsedMs() < last.until) return last.credentials;
    const until = elapsedMs() + usedMs;
    const { status, body } = await client({
      method: "POST",
      path: "/",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: requestOf(options, token),
      signal,
    });
    const text = body.toString("utf8");
    body.fill(0);
    const credentials = status === 200 ? credentialsIn(text) : undefined;
    if (credentials !== undefined) {
      last = { token, credentials, until };
      return credentials;
    }
    // A token that has expired or belongs to another role has status 400.
    const code = /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? `status ${status}`;
    const isOurs = /^(ExpiredToken|InvalidIdentityToken|AccessDenied|IDPRejectedClaim)/.test(code);
    throw new RootKeyError(
      isOurs ? "unauthorized" : failureOfStatus(status),
      `AWS STS gave no credentials of ${options.roleArn} for the web identity (${code})`,
    );
  };
}

function requestOf({ roleArn, sessionName = "" }: WebIdentityOptions, token: string): Buffer {
  const fields = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: roleArn,
    RoleSessionName: sessionForm.test(sessionName) ? sessionName : "cofre",
    DurationSeconds: String(sessionSeconds),
    WebIdentityToken: token,
  });
  return Buffer.from(fields.toString());
}

/** The answer is XML; the values have no character that XML escapes. */
function credentialsIn(text: string): AwsCredentials | undefined {
  const valueOf = (name: string): string | undefined =>
    new RegExp(`<${name}>\\s*([^<&\\s]{1,8192})\\s*</${name}>`).exec(text)?.[1];
  const session = valueOf("SessionToken");
  if (session === undefined) return undefined;
  return credentialsOf(valueOf("AccessKeyId"), valueOf("SecretAccessKey"), session);
}
