import { containerVariables, environmentOfModules } from "../config/environment.ts";
import type { Config } from "../config/settings.ts";
import { type KeyProvider, RootKeyError } from "../vault/key-provider.ts";
import {
  containerCredentials,
  containerCredentialsUrl,
} from "../vault/providers/aws-container-credentials.ts";
import { fileCredentials, type ReadAwsCredentials } from "../vault/providers/aws-credentials.ts";
import { createAwsKmsKeyProvider } from "../vault/providers/aws-kms-key-provider.ts";
import { createPkcs11KeyProvider } from "../vault/providers/pkcs11-key-provider.ts";
import { createServiceClient, type ServiceClient } from "../vault/providers/service-client.ts";
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
  const limits = { scheduler, timeoutMs, ca: undefined };
  const client = createServiceClient({ ...limits, url, ca: config.rootKeyCa?.reveal() });
  if (rootKey.kind === "aws-kms") {
    const { arn, region } = rootKey;
    const credentials =
      rootKeySecretFile === undefined
        ? ofContainer((address) => createServiceClient({ ...limits, url: address }))
        : fileCredentials(read);
    const place = { client, clock, arn, region, host: url.host };
    return createAwsKmsKeyProvider({ ...own, ...place, credentials });
  }
  const { mount, key } = rootKey;
  return createTransitKeyProvider({ ...own, client, elapsedMs, mount, key });
}

/** Credentials of the container of this process. */
function ofContainer(clientOf: (url: URL) => ServiceClient): ReadAwsCredentials {
  const variables = containerVariables();
  const url = containerCredentialsUrl(variables);
  if (url === undefined)
    return async () => {
      throw new RootKeyError(
        "unauthorized",
        "there are no credentials for AWS KMS: set COFRE_ROOT_KEY_SECRET_FILE, or run in a container of ECS or EKS, which names an address in AWS_CONTAINER_CREDENTIALS_FULL_URI or AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
      );
    };
  const { tokenFile } = variables;
  const readToken = tokenFile === undefined ? undefined : () => readCredentialFile(tokenFile);
  return containerCredentials({ client: clientOf(url), url, readToken });
}
