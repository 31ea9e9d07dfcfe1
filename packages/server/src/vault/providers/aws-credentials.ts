import { Secret } from "../../kernel/secret.ts";
import { RootKeyError } from "../key-provider.ts";
import type { AwsCredentials } from "./sig-v4.ts";
import type { ReadCredentials } from "./transit-token.ts";

/** The credentials for one call. Rejects with RootKeyError. */
export type ReadAwsCredentials = (signal: AbortSignal | undefined) => Promise<AwsCredentials>;

/** Of a file, which is wiped in memory after it was read. */
export function fileCredentials(read: ReadCredentials): ReadAwsCredentials {
  return async () => {
    const content = await read();
    try {
      return parseAwsCredentials(content);
    } finally {
      content.fill(0);
    }
  };
}

/**
 * Credentials in the format of `~/.aws/credentials`: of the profile `default`, or of the first one
 * when there is none. Rejects with RootKeyError (`unauthorized`) without quoting the file.
 */
export function parseAwsCredentials(content: Uint8Array): AwsCredentials {
  const profiles = profilesOf(Buffer.from(content).toString("utf8"));
  const profile = profiles.get("default") ?? [...profiles.values()][0];
  const credentials = credentialsOf(
    profile?.get("aws_access_key_id"),
    profile?.get("aws_secret_access_key"),
    profile?.get("aws_session_token"),
  );
  if (credentials !== undefined) return credentials;
  throw new RootKeyError(
    "unauthorized",
    "the file of COFRE_ROOT_KEY_SECRET_FILE has no aws_access_key_id and aws_secret_access_key in the format of ~/.aws/credentials",
  );
}

/** Undefined when a value is missing or could not be in a header. */
export function credentialsOf(
  accessKeyId: unknown,
  secret: unknown,
  sessionToken: unknown,
): AwsCredentials | undefined {
  const hasForm = (value: unknown, form: RegExp): value is string =>
    typeof value === "string" && form.test(value);
  if (!hasForm(accessKeyId, /^\w{16,128}$/) || !hasForm(secret, /^[\x21-\x7e]{1,256}$/))
    return undefined;
  if (sessionToken === undefined)
    return { accessKeyId, secretAccessKey: new Secret(secret), sessionToken };
  return hasForm(sessionToken, /^[\x21-\x7e]{1,8192}$/)
    ? { accessKeyId, secretAccessKey: new Secret(secret), sessionToken: new Secret(sessionToken) }
    : undefined;
}

function profilesOf(text: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const profiles = new Map<string, Map<string, string>>();
  let current: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const name = /^\s*\[\s*([^\]]*?)\s*\]\s*$/.exec(line)?.[1];
    if (name !== undefined) {
      current = new Map();
      profiles.set(name, current);
      continue;
    }
    const [, key, value] = /^\s*(aws_\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined && value !== "") current?.set(key, value);
  }
  return profiles;
}
