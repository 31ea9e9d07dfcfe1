import { RootKeyError } from "../key-provider.ts";
import { credentialsOf, type ReadAwsCredentials } from "./aws-credentials.ts";
import { failureOfStatus, objectIn, type ServiceClient } from "./service-client.ts";

/** The variables of the metadata service (AWS SDKs and Tools Reference Guide, the page about the provider of instance metadata). */
export interface InstanceVariables {
  /** `true`: the metadata are not asked. */
  readonly isDisabled: string | undefined;
  readonly endpoint: string | undefined;
}

/** The metadata service of a machine is reached without TLS, and only from the machine itself. */
const plainHosts = ["169.254.169.254", "[fd00:ec2::254]", "127.0.0.1", "[::1]"];
const tokenPath = "/latest/api/token";
const rolesPath = "/latest/meta-data/iam/security-credentials/";
/** Of the session token, in seconds: it is used for one reading. */
const tokenSeconds = "60";

/** Undefined: the metadata are not to be asked, or are at an address that they are never at. */
export function metadataUrl({ isDisabled, endpoint }: InstanceVariables): URL | undefined {
  if (isDisabled?.toLowerCase() === "true") return undefined;
  const url = URL.parse(endpoint ?? "http://169.254.169.254");
  return url?.protocol === "http:" && plainHosts.includes(url.hostname) ? url : undefined;
}

/**
 * Temporary credentials of the role of an EC2 machine, from version 2 of its metadata service. They
 * are asked for before each call of KMS, of which there is one in a minute: the service keeps and
 * renews them.
 */
export function instanceCredentials(client: ServiceClient): ReadAwsCredentials {
  return async (signal) => {
    const ask = async (method: "GET" | "PUT", path: string, headers: Record<string, string>) => {
      const request = { method, path, headers, body: undefined, signal };
      const { status, body } = await client(request).catch(() => {
        throw new RootKeyError(
          "unavailable",
          "there are no credentials for AWS KMS: the metadata of this machine did not answer. Set COFRE_ROOT_KEY_SECRET_FILE, or run with a role of a container, of a web identity or of the machine",
        );
      });
      if (status === 200) return body;
      throw new RootKeyError(
        status === 404 ? "unauthorized" : failureOfStatus(status),
        `the metadata of this machine have no credentials (status ${status} at ${path})`,
      );
    };
    const token = textOf(
      await ask("PUT", tokenPath, { "x-aws-ec2-metadata-token-ttl-seconds": tokenSeconds }),
    );
    if (!/^[\x21-\x7e]{1,1024}$/.test(token)) throw unreadable();
    const headers = { "x-aws-ec2-metadata-token": token };
    const [role = ""] = textOf(await ask("GET", rolesPath, headers)).split("\n");
    if (!/^[\w+=,.@-]{1,64}$/.test(role))
      throw new RootKeyError("unauthorized", "this machine has no IAM role");
    const body = await ask("GET", `${rolesPath}${role}`, headers);
    const { AccessKeyId: id, SecretAccessKey: secret, Token: session } = objectIn(body) ?? {};
    body.fill(0);
    const credentials = credentialsOf(id, secret, session);
    if (credentials === undefined) throw unreadable();
    return credentials;
  };
}

function textOf(body: Buffer): string {
  const text = body.toString("latin1").trim();
  body.fill(0);
  return text;
}

function unreadable(): RootKeyError {
  return new RootKeyError("unavailable", "the metadata of this machine sent no credentials");
}
