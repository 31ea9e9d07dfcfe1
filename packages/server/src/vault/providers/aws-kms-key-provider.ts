import type { Clock } from "../../kernel/clock.ts";
import { ownValue } from "../../kernel/own.ts";
import {
  doesNotUnwrap,
  type KeyProvider,
  RootKeyError,
  type RootKeyFacts,
} from "../key-provider.ts";
import type { ReadAwsCredentials } from "./aws-credentials.ts";
import { decodeBase64, encodeBase64 } from "./base64-bytes.ts";
import { stringAt } from "./json-bytes.ts";
import { createRemoteKeyProvider, type RemoteKeyOptions } from "./remote-key-provider.ts";
import {
  failureOfStatus,
  isObject,
  objectIn,
  type ServiceAnswer,
  type ServiceClient,
} from "./service-client.ts";
import { signedHeaders } from "./sig-v4.ts";

export interface AwsKmsOptions extends RemoteKeyOptions {
  readonly client: ServiceClient;
  readonly credentials: ReadAwsCredentials;
  readonly clock: Clock;
  /** Of a key, never of an alias: an alias can be pointed at another key. */
  readonly arn: string;
  readonly region: string;
  /** As in the `Host` header. */
  readonly host: string;
}

type Operation = "Encrypt" | "Decrypt" | "DescribeKey";

/**
 * The meaning of an error's name. Names that are not here count by their status: 401 and 403 are
 * `unauthorized`, all others `unavailable`, such as throttling, which has status 400, and
 * KMSInvalidStateException, which has many causes in a custom key store.
 */
const failureOfName: Readonly<Record<string, "unauthorized" | "denied" | "wrong">> = {
  DisabledException: "denied",
  InvalidCiphertextException: "wrong",
  IncorrectKeyException: "wrong",
  AccessDeniedException: "unauthorized",
  ExpiredTokenException: "unauthorized",
  IncompleteSignatureException: "unauthorized",
  IncompleteSignature: "unauthorized",
  InvalidClientTokenId: "unauthorized",
  InvalidSignatureException: "unauthorized",
  MissingAuthenticationTokenException: "unauthorized",
  MissingAuthenticationToken: "unauthorized",
  NotAuthorized: "unauthorized",
  OptInRequired: "unauthorized",
  RequestExpired: "unauthorized",
  SignatureDoesNotMatch: "unauthorized",
  UnrecognizedClientException: "unauthorized",
};

/** States in which a key's owner has ended its use. */
const endedStates: ReadonlySet<unknown> = new Set([
  "Disabled",
  "PendingDeletion",
  "PendingReplicaDeletion",
]);

/**
 * By the origin of a key: AWS KMS and CloudHSM keep keys in hardware (AWS KMS API Reference,
 * KeyMetadata). The material of an imported key is known elsewhere; an external key store is its
 * owner's.
 */
const protectionOf: Readonly<Record<string, RootKeyFacts["protection"]>> = {
  AWS_KMS: "hardware",
  AWS_CLOUDHSM: "hardware",
};

/** A root key in AWS KMS, with the parts of the label as encryption context. */
export function createAwsKmsKeyProvider(options: AwsKmsOptions): KeyProvider {
  const { arn } = options;
  const call = async (
    operation: "Encrypt" | "Decrypt",
    body: Buffer,
    label: string,
    signal: AbortSignal | undefined,
  ): Promise<Buffer> => {
    try {
      const answer = await send(options, operation, body, signal);
      if (answer.status === 200) return answer.body;
      const name = errorName(answer);
      if (name === "KMSInvalidStateException" && (await hasEnded(options, signal)))
        throw refusal("denied", name, arn, label);
      const failure = ownValue(failureOfName, name) ?? failureOfStatus(answer.status);
      throw refusal(failure, name, arn, label);
    } finally {
      body.fill(0);
    }
  };
  const service = {
    keyId: `aws-kms:${arn}`,
    async facts(signal: AbortSignal | undefined): Promise<RootKeyFacts> {
      const origin = (await describe(options, signal))?.["Origin"];
      const known = { kind: "aws-kms", isExtractable: false } as const;
      return typeof origin === "string" && /^[A-Z_]{1,32}$/.test(origin)
        ? { ...known, origin, protection: ownValue(protectionOf, origin) }
        : { ...known, protection: undefined };
    },
    async encrypt(key: Uint8Array, label: string, signal: AbortSignal | undefined) {
      const text = encodeBase64(key);
      const body = bodyOf(arn, "Plaintext", text, label);
      text.fill(0);
      const answer = await call("Encrypt", body, label, signal);
      const ciphertext = bytesAt(answer, "CiphertextBlob");
      if (ciphertext === undefined || ciphertext.length === 0) throw unreadable(arn);
      refuseOtherKey(answer, arn, label);
      return ciphertext;
    },
    async decrypt(ciphertext: Uint8Array, label: string, signal: AbortSignal | undefined) {
      if (ciphertext.length === 0) throw doesNotUnwrap(label);
      const text = encodeBase64(ciphertext);
      const answer = await call(
        "Decrypt",
        bodyOf(arn, "CiphertextBlob", text, label),
        label,
        signal,
      );
      try {
        refuseOtherKey(answer, arn, label);
        const key = bytesAt(answer, "Plaintext");
        if (key === undefined) throw unreadable(arn);
        return key;
      } finally {
        answer.fill(0);
      }
    },
  };
  return createRemoteKeyProvider("aws-kms", service, options);
}

async function send(
  { client, credentials, clock, region, host }: AwsKmsOptions,
  operation: Operation,
  body: Buffer,
  signal: AbortSignal | undefined,
): Promise<ServiceAnswer> {
  const own = await credentials(signal);
  const headers = signedHeaders(
    {
      host,
      headers: {
        "content-type": "application/x-amz-json-1.1",
        "x-amz-target": `TrentService.${operation}`,
      },
      body,
      at: clock.now(),
      region,
      service: "kms",
    },
    own,
  );
  return await client({ method: "POST", path: "/", headers, body, signal });
}

/**
 * Whether the service states that the key is disabled or will be deleted. False when it states
 * anything else, or nothing.
 */
async function hasEnded(options: AwsKmsOptions, signal: AbortSignal | undefined): Promise<boolean> {
  const key = await describe(options, signal).catch(() => undefined);
  return key !== undefined && endedStates.has(key["KeyState"]);
}

/** What the service states about the key; undefined when it states nothing, or may not. */
async function describe(
  options: AwsKmsOptions,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const body = Buffer.from(JSON.stringify({ KeyId: options.arn }));
  const answer = await send(options, "DescribeKey", body, signal);
  const key = answer.status === 200 ? objectIn(answer.body)?.["KeyMetadata"] : undefined;
  return isObject(key) && key["Arn"] === options.arn ? key : undefined;
}

/** `value` has characters of base64 only. */
function bodyOf(
  arn: string,
  field: "Plaintext" | "CiphertextBlob",
  value: Uint8Array,
  label: string,
): Buffer {
  const rest = JSON.stringify({ KeyId: arn, EncryptionContext: contextOf(label) });
  return Buffer.concat([Buffer.from(`{"${field}":"`), value, Buffer.from(`",${rest.slice(1)}`)]);
}

/**
 * The label in parts, so that key policies can have conditions on them. No two labels have the same
 * context.
 */
function contextOf(label: string): Readonly<Record<string, string>> {
  const [environment = "", purpose, ...rest] = label.split("/");
  return {
    "cofre:environment": environment,
    ...(purpose === undefined ? {} : { "cofre:purpose": purpose }),
    ...(rest.length === 0 ? {} : { "cofre:id": rest.join("/") }),
  };
}

function bytesAt(answer: Buffer, field: string): Buffer | undefined {
  const text = stringAt(answer, [field]);
  return text === undefined ? undefined : decodeBase64(text);
}

/**
 * A key that another root key wrapped may be known to its owner: cards would be sealed under it.
 */
function refuseOtherKey(answer: Buffer, arn: string, label: string): void {
  const used = stringAt(answer, ["KeyId"]);
  if (used === undefined || !Buffer.from(arn).equals(used))
    throw new RootKeyError("wrong", `AWS KMS used another key than ${arn} for ${label}`);
}

/** `Disabled` for `com.amazonaws.kms#Disabled`; only letters, so that it may be shown. */
function errorName({ body }: ServiceAnswer): string {
  const type = objectIn(body)?.["__type"];
  return typeof type === "string" ? (/^(?:[\w.]*#)?([A-Za-z]{1,64})$/.exec(type)?.[1] ?? "") : "";
}

function refusal(
  failure: RootKeyError["failure"],
  name: string,
  arn: string,
  label: string,
): RootKeyError {
  if (failure === "wrong") return doesNotUnwrap(label);
  const meaning = {
    denied: `states that the key ${arn} is disabled or will be deleted`,
    unauthorized: `does not accept the credentials for ${arn}: check their expiry, the policies and this machine's clock`,
    unavailable: `could not use the key ${arn}`,
  }[failure];
  return new RootKeyError(failure, `AWS KMS ${meaning} (${name === "" ? "no error name" : name})`);
}

function unreadable(arn: string): RootKeyError {
  return new RootKeyError(
    "unavailable",
    `AWS KMS sent an answer for ${arn} that is not one of KMS`,
  );
}
