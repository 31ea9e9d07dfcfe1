import type { Config } from "../config/settings.ts";
import type { KeyProvider } from "../vault/key-provider.ts";
import { createAwsKmsKeyProvider } from "../vault/providers/aws-kms-key-provider.ts";
import { createServiceClient } from "../vault/providers/service-client.ts";
import { createTransitKeyProvider } from "../vault/providers/transit-key-provider.ts";
import { readCredentialFile } from "./credential-file.ts";
import { ownRandom, type Ports } from "./ports.ts";

/** The provider of the root key, if a key service holds it. Does not call the service. */
export function remoteRootKey(
  config: Config,
  { clock, scheduler, elapsedMs }: Pick<Ports, "clock" | "scheduler" | "elapsedMs">,
): KeyProvider | undefined {
  const { rootKey, rootKeySecretFile, rootKeyEndpoint, rootKeyTimeoutMs: timeoutMs } = config;
  const url = rootKey.kind === "file" ? undefined : (rootKeyEndpoint ?? rootKey.url);
  if (rootKey.kind === "file" || url === undefined) return undefined;
  const client = createServiceClient({ scheduler, url, ca: config.rootKeyCa?.reveal(), timeoutMs });
  const read = () => readCredentialFile(rootKeySecretFile ?? "");
  const { environment } = config;
  const own = { client, read, environment, random: ownRandom };
  if (rootKey.kind === "aws-kms") {
    const { arn, region } = rootKey;
    return createAwsKmsKeyProvider({ ...own, clock, arn, region, host: url.host });
  }
  const { mount, key } = rootKey;
  return createTransitKeyProvider({ ...own, elapsedMs, mount, key });
}
