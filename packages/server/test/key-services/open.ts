import type { Scheduler } from "../../src/kernel/scheduler.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { systemElapsed } from "../../src/kernel/system-elapsed.ts";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import type { KeyProvider } from "../../src/vault/key-provider.ts";
import {
  type AwsKmsOptions,
  createAwsKmsKeyProvider,
} from "../../src/vault/providers/aws-kms-key-provider.ts";
import { fileCredentials } from "../../src/vault/providers/aws-credentials.ts";
import {
  createServiceClient,
  type ServiceClient,
} from "../../src/vault/providers/service-client.ts";
import {
  createTransitKeyProvider,
  type TransitOptions,
} from "../../src/vault/providers/transit-key-provider.ts";
import type { ReadCredentials } from "../../src/vault/providers/transit-token.ts";

interface Place {
  readonly url: URL;
  readonly ca?: string | undefined;
  /** Whether the service is silent: then the time limit of a call is short. */
  readonly isSilent?: (() => boolean) | undefined;
}

const random = new SystemRandom();
const timeoutMs = 30_000;
const silentMs = 20;

function clientFor({ url, ca, isSilent = () => false }: Place): ServiceClient {
  const scheduler: Scheduler = {
    ...systemScheduler,
    after: (ms, task) => systemScheduler.after(isSilent() ? silentMs : ms, task),
  };
  return createServiceClient({ scheduler, url, ca, timeoutMs });
}

/** A provider as the server makes it. */
export function transitProvider({
  url,
  ca,
  isSilent,
  ...options
}: Place & Pick<TransitOptions, "key" | "read"> & Partial<TransitOptions>): KeyProvider {
  const client = clientFor({ url, ca, isSilent });
  return createTransitKeyProvider({
    client,
    random,
    environment: "sandbox",
    elapsedMs: systemElapsed,
    mount: "transit",
    ...options,
  });
}

export function kmsProvider({
  url,
  ca,
  isSilent,
  read,
  ...options
}: Place &
  Pick<AwsKmsOptions, "arn"> & {
    readonly read: ReadCredentials;
  } & Partial<AwsKmsOptions>): KeyProvider {
  const client = clientFor({ url, ca, isSilent });
  const region = options.arn.split(":")[3] ?? "";
  return createAwsKmsKeyProvider({
    client,
    random,
    environment: "sandbox",
    clock: systemClock,
    credentials: fileCredentials(read),
    region,
    host: url.host,
    ...options,
  });
}

/** A file in the format of `~/.aws/credentials`, with AWS's published example secret. */
export function awsCredentials(accessKeyId: string): string {
  return `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n`;
}
