import { RootKeyError } from "../key-provider.ts";
import { credentialsOf, type ReadAwsCredentials } from "./aws-credentials.ts";
import { failureOfStatus, objectIn, type ServiceClient } from "./service-client.ts";

/**
 * The variables that Amazon ECS and EKS Pod Identity set in a container (AWS SDKs and Tools
 * Reference Guide, "Container credential provider").
 */
export interface ContainerVariables {
  readonly fullUri: string | undefined;
  /** A path on the address of ECS. */
  readonly relativeUri: string | undefined;
  /** File with the value of the header Authorization. */
  readonly tokenFile: string | undefined;
}

/** Addresses of ECS and EKS, which are reached without TLS from the machine itself only. */
const ecsOrigin = "http://169.254.170.2";
const plainHosts = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "127.0.0.1", "[::1]"];

/** Address of the credentials of this container; undefined when the platform names none. */
export function containerCredentialsUrl(variables: ContainerVariables): URL | undefined {
  const { fullUri, relativeUri } = variables;
  const url =
    relativeUri === undefined
      ? URL.parse(fullUri ?? "")
      : URL.parse(`${ecsOrigin}/${relativeUri.replace(/^\//, "")}`);
  if (url === null) return undefined;
  return url.protocol === "https:" ||
    (url.protocol === "http:" && plainHosts.includes(url.hostname))
    ? url
    : undefined;
}

export interface ContainerCredentialsOptions {
  /** Of the URL's host. */
  readonly client: ServiceClient;
  readonly url: URL;
  /** Undefined: the platform demands no token. Rejects with RootKeyError. */
  readonly readToken: (() => Promise<Uint8Array>) | undefined;
}

/**
 * Temporary credentials of a container. They are asked for before each call of KMS, of which there
 * is one in a minute: the platform's own agent keeps and renews them.
 */
export function containerCredentials(options: ContainerCredentialsOptions): ReadAwsCredentials {
  const { client, url, readToken } = options;
  return async (signal) => {
    const headers = await authorization(readToken);
    const path = `${url.pathname}${url.search}`;
    const { status, body } = await client({
      method: "GET",
      path,
      headers,
      body: undefined,
      signal,
    });
    const answer = status === 200 ? objectIn(body) : undefined;
    body.fill(0);
    if (answer === undefined)
      throw new RootKeyError(
        failureOfStatus(status),
        `the service at ${url.host} gave no credentials of this container (status ${status})`,
      );
    const { AccessKeyId: id, SecretAccessKey: secret, Token: session } = answer;
    const credentials = credentialsOf(id, secret, session);
    if (credentials !== undefined) return credentials;
    throw new RootKeyError(
      "unavailable",
      `the service at ${url.host} sent an answer that has no credentials`,
    );
  };
}

async function authorization(
  readToken: ContainerCredentialsOptions["readToken"],
): Promise<Readonly<Record<string, string>>> {
  if (readToken === undefined) return {};
  const content = await readToken();
  const text = Buffer.from(content).toString("latin1").trim();
  content.fill(0);
  if (/^[\x21-\x7e]{1,16384}$/.test(text)) return { authorization: text };
  throw new RootKeyError(
    "unauthorized",
    "the file of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE has no token",
  );
}
