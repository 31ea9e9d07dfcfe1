import {
  containerVariables,
  environmentOfModules,
  instanceVariables,
  webIdentityVariables,
} from "../config/environment.ts";
import { firstRootKey, nextRootKey, type RootKeyPlace } from "../config/root-key-place.ts";
import type { Config } from "../config/settings.ts";
import { type KeyProvider, RootKeyError } from "../vault/key-provider.ts";
import {
  containerCredentials,
  containerCredentialsUrl,
} from "../vault/providers/aws-container-credentials.ts";
import { fileCredentials, type ReadAwsCredentials } from "../vault/providers/aws-credentials.ts";
import { createAwsKmsKeyProvider } from "../vault/providers/aws-kms-key-provider.ts";
import { instanceCredentials, metadataUrl } from "../vault/providers/aws-instance-credentials.ts";
import { stsUrl, webIdentityCredentials } from "../vault/providers/aws-web-identity.ts";
import { createPkcs11KeyProvider } from "../vault/providers/pkcs11-key-provider.ts";
import { createServiceClient, type ServiceClient } from "../vault/providers/service-client.ts";
import { createTransitKeyProvider } from "../vault/providers/transit-key-provider.ts";
import { readCredentialFile } from "./credential-file.ts";
import { ownRandom, type Ports } from "./ports.ts";

type RootPorts = Pick<Ports, "clock" | "scheduler" | "elapsedMs">;

/** Root keys that a key service or an HSM holds. */
export interface RemoteRoots {
  /** Undefined: the root key is the file `root.key`. */
  readonly first: KeyProvider | undefined;
  readonly next: KeyProvider | undefined;
}

/** Does not call the services. */
export function remoteRootKeys(config: Config, ports: RootPorts): RemoteRoots {
  return {
    first: providerAt(firstRootKey(config), config, ports),
    next: providerAt(nextRootKey(config), config, ports),
  };
}

function providerAt(
  { variable, address, secretFile, ca, endpoint, module: modulePath }: RootKeyPlace,
  { environment, rootKeyTimeoutMs: timeoutMs }: Config,
  { clock, scheduler, elapsedMs }: RootPorts,
): KeyProvider | undefined {
  const read = () => readCredentialFile(secretFile ?? "", `${variable}_SECRET_FILE`);
  const own = { read, environment, random: ownRandom };
  if (address === undefined || address.kind === "file") return undefined;
  if (address.kind === "pkcs11") {
    const module = modulePath ?? "";
    const process = { module, variables: environmentOfModules(), scheduler, timeoutMs };
    return createPkcs11KeyProvider({ ...own, ...process, elapsedMs, key: address });
  }
  const url = endpoint ?? address.url;
  if (url === undefined) return undefined;
  const limits = { scheduler, timeoutMs, ca: undefined };
  const client = createServiceClient({ ...limits, url, ca: ca?.reveal() });
  if (address.kind === "aws-kms") {
    const { arn, region } = address;
    const credentials =
      secretFile === undefined
        ? ofPlatform(region, elapsedMs, (address) =>
            createServiceClient({ ...limits, url: address }),
          )
        : fileCredentials(read);
    const place = { client, clock, arn, region, host: url.host };
    return createAwsKmsKeyProvider({ ...own, ...place, credentials });
  }
  const { mount, key } = address;
  return createTransitKeyProvider({ ...own, client, elapsedMs, mount, key });
}

/**
 * Credentials of the platform: a web identity, the container, or the role of the machine, in the
 * order of the AWS SDKs.
 */
function ofPlatform(
  region: string,
  elapsedMs: Ports["elapsedMs"],
  clientOf: (url: URL) => ServiceClient,
): ReadAwsCredentials {
  const identity = webIdentityVariables();
  const { tokenFile: identityFile, roleArn, sessionName } = identity;
  const sts = stsUrl(identity, region);
  if (identityFile !== undefined && roleArn !== undefined && sts !== undefined) {
    const readToken = () => readCredentialFile(identityFile, "AWS_WEB_IDENTITY_TOKEN_FILE");
    const role = { readToken, roleArn, sessionName };
    return webIdentityCredentials({ client: clientOf(sts), elapsedMs, ...role });
  }
  const container = containerVariables();
  const url = containerCredentialsUrl(container);
  const { tokenFile } = container;
  if (url !== undefined) {
    const readToken =
      tokenFile === undefined
        ? undefined
        : () => readCredentialFile(tokenFile, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    return containerCredentials({ client: clientOf(url), url, readToken });
  }
  const metadata = metadataUrl(instanceVariables());
  if (metadata !== undefined) return instanceCredentials(clientOf(metadata));
  return async () => {
    throw new RootKeyError(
      "unauthorized",
      "there are no credentials for AWS KMS: set COFRE_ROOT_KEY_SECRET_FILE, or run in a container of ECS or EKS, with a web identity, or on a machine with a role",
    );
  };
}
