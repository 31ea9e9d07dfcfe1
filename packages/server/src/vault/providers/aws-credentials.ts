import { Secret } from "../../kernel/secret.ts";
import { RootKeyError } from "../key-provider.ts";
import type { AwsCredentials } from "./sig-v4.ts";

/**
 * Credentials in the format of `~/.aws/credentials`: of the profile `default`, or of the first one
 * when there is none. Rejects with RootKeyError (`unauthorized`) without quoting the file.
 */
export function parseAwsCredentials(content: Uint8Array): AwsCredentials {
  const profiles = profilesOf(Buffer.from(content).toString("utf8"));
  const profile = profiles.get("default") ?? [...profiles.values()][0];
  const accessKeyId = profile?.get("aws_access_key_id");
  const secret = profile?.get("aws_secret_access_key");
  const sessionToken = profile?.get("aws_session_token");
  const isComplete =
    /^\w{16,128}$/.test(accessKeyId ?? "") &&
    /^[\x21-\x7e]{1,256}$/.test(secret ?? "") &&
    /^[\x21-\x7e]{1,8192}$/.test(sessionToken ?? "-");
  if (accessKeyId === undefined || secret === undefined || !isComplete)
    throw new RootKeyError(
      "unauthorized",
      "the file of COFRE_ROOT_KEY_SECRET_FILE has no aws_access_key_id and aws_secret_access_key in the format of ~/.aws/credentials",
    );
  return {
    accessKeyId,
    secretAccessKey: new Secret(secret),
    sessionToken: sessionToken === undefined ? undefined : new Secret(sessionToken),
  };
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
