import { environmentOfModules } from "../config/environment.ts";
import type { Config } from "../config/settings.ts";
import type { KeyProvider } from "../vault/key-provider.ts";
import { createAwsKmsKeyProvider } from "../vault/providers/aws-kms-key-provider.ts";
import { createPkcs11KeyProvider } from "../vault/providers/pkcs11-key-provider.ts";
import { createServiceClient } from "../vault/providers/service-client.ts";
import { createTransitKeyProvider } from "../vault/providers/transit-key-provider.ts";
import { readCredentialFile } from "./credential-file.ts";
import { ownRandom, type Ports } from "./ports.ts";

/** The provider of the root key, if a key service or an HSM holds it. Does not call it. */
export function remoteRootKey(
  config: Config,
  { clock, scheduler, elapsedMs }: Pick<Ports, "clock" | "scheduler" | "elapsedMs">,
): KeyProvider | undefined {
  const { rootKey, rootKeySecretFile, rootKeyEndpoint, rootKeyTimeoutMs: timeoutMs } = config;
  const read = () => readCredentialFile(rootKeySecretFile ?? "");
  const own = { read, environment: config.environment, random: ownRandom };
  if (rootKey.kind === "file") return undefined;
  if (rootKey.kind === "pkcs11") {
    const module = config.pkcs11Module ?? "";
    const process = { module, variables: environmentOfModules(), scheduler, timeoutMs };
    return createPkcs11KeyProvider({ ...own, ...process, elapsedMs, key: rootKey });
  }
  const url = rootKeyEndpoint ?? rootKey.url;
  if (url === undefined) return undefined;
  const client = createServiceClient({ scheduler, url, ca: config.rootKeyCa?.reveal(), timeoutMs });
  if (rootKey.kind === "aws-kms") {
    const { arn, region } = rootKey;
    return createAwsKmsKeyProvider({ ...own, client, clock, arn, region, host: url.host });
  }
  const { mount, key } = rootKey;
  return createTransitKeyProvider({ ...own, client, elapsedMs, mount, key });
}
