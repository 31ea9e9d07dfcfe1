import {
  doesNotUnwrap,
  type KeyProvider,
  RootKeyError,
  type RootKeyFacts,
} from "../key-provider.ts";
import { decodeBase64, encodeBase64 } from "./base64-bytes.ts";
import { stringAt } from "./json-bytes.ts";
import { createRemoteKeyProvider, type RemoteKeyOptions } from "./remote-key-provider.ts";
import { failureOfStatus, isObject, objectIn, type ServiceAnswer } from "./service-client.ts";
import { TransitToken, type TransitTokenOptions } from "./transit-token.ts";

export interface TransitOptions extends TransitTokenOptions, RemoteKeyOptions {
  /** Path of the secrets engine, such as `transit`. */
  readonly mount: string;
  readonly key: string;
}

/** The service's form of a ciphertext: the key version is in it. */
const ciphertextForm = /^vault:v\d{1,9}:[A-Za-z0-9+/=]{1,4096}$/;

/**
 * What OpenBao and Vault state about a key or a ciphertext, all with status 400. Every other
 * refusal is `unauthorized` or `unavailable`.
 */
const statements = [
  { text: "message authentication failed", failure: "wrong" },
  { text: "invalid ciphertext", failure: "wrong" },
  { text: "disallowed by policy (too old)", failure: "denied" },
  { text: "encryption key not found", failure: "denied" },
] as const;

/**
 * A root key in the transit secrets engine of OpenBao or Vault, with the label as
 * associated data. `rewrap` is not used: with associated data it is refused.
 */
export function createTransitKeyProvider(options: TransitOptions): KeyProvider {
  const { client, mount, key: name } = options;
  const token = new TransitToken(options);
  const keyId = `transit:${mount}/${name}`;
  const call = async (
    operation: "encrypt" | "decrypt",
    body: Buffer,
    label: string,
    signal: AbortSignal | undefined,
  ): Promise<Buffer> => {
    try {
      const headers = {
        "content-type": "application/json",
        "x-vault-request": "true",
        "x-vault-token": await token.current(signal),
      };
      const path = `/v1/${mount}/${operation}/${name}`;
      const answer = await client({ method: "POST", path, headers, body, signal });
      if (answer.status === 200) return answer.body;
      throw refusalOf(answer, keyId, label);
    } finally {
      body.fill(0);
    }
  };
  const service = {
    keyId,
    async facts(signal: AbortSignal | undefined): Promise<RootKeyFacts> {
      const headers = { "x-vault-token": await token.current(signal) };
      const read = async (path: string) => {
        const answer = await client({ method: "GET", path, headers, body: undefined, signal });
        return answer.status === 200 ? objectIn(answer.body) : undefined;
      };
      const data = (await read(`/v1/${mount}/keys/${name}`))?.["data"];
      const seal = (await read("/v1/sys/seal-status"))?.["type"];
      return {
        kind: "transit",
        protection: "software",
        isExtractable: isObject(data)
          ? data["exportable"] !== false || data["allow_plaintext_backup"] !== false
          : undefined,
        ...(typeof seal === "string" && /^[\w-]{1,32}$/.test(seal) ? { seal } : {}),
      };
    },
    async encrypt(key: Uint8Array, label: string, signal: AbortSignal | undefined) {
      const text = encodeBase64(key);
      const body = bodyOf("plaintext", text, label);
      text.fill(0);
      const answer = objectIn(await call("encrypt", body, label, signal))?.["data"];
      const ciphertext = isObject(answer) ? answer["ciphertext"] : undefined;
      if (typeof ciphertext === "string" && ciphertextForm.test(ciphertext))
        return Buffer.from(ciphertext, "latin1");
      throw unreadable(keyId);
    },
    async decrypt(ciphertext: Uint8Array, label: string, signal: AbortSignal | undefined) {
      // It is put into JSON unchanged.
      if (!ciphertextForm.test(Buffer.from(ciphertext).toString("latin1")))
        throw doesNotUnwrap(label);
      const body = bodyOf("ciphertext", ciphertext, label);
      const answer = await call("decrypt", body, label, signal);
      try {
        const text = stringAt(answer, ["data", "plaintext"]);
        const key = text === undefined ? undefined : decodeBase64(text);
        if (key === undefined) throw unreadable(keyId);
        return key;
      } finally {
        answer.fill(0);
      }
    },
  };
  return createRemoteKeyProvider("transit", service, options);
}

/** `value` has characters of base64 and colons only. */
function bodyOf(field: "plaintext" | "ciphertext", value: Uint8Array, label: string): Buffer {
  const associated = encodeBase64(Buffer.from(label));
  return Buffer.concat([
    Buffer.from(`{"${field}":"`),
    value,
    Buffer.from('","associated_data":"'),
    associated,
    Buffer.from('"}'),
  ]);
}

function refusalOf({ status, body }: ServiceAnswer, keyId: string, label: string): RootKeyError {
  const errors = objectIn(body)?.["errors"];
  const text = Array.isArray(errors) ? errors.join("\n") : "";
  const failure =
    status === 400
      ? statements.find((statement) => text.includes(statement.text))?.failure
      : undefined;
  if (failure === "wrong") return doesNotUnwrap(label);
  if (failure === "denied")
    return new RootKeyError(
      "denied",
      `the key service states that ${keyId} does not exist, or that the version of it that wrapped ${label} may not be used any more`,
    );
  if (failureOfStatus(status) === "unauthorized")
    return new RootKeyError(
      "unauthorized",
      `the key service does not accept the token for ${keyId} (status ${status}): it has expired, was revoked, or its policy does not allow update on encrypt and decrypt`,
    );
  return new RootKeyError(
    "unavailable",
    status === 503
      ? `the key service that holds ${keyId} is sealed or overloaded (status 503)`
      : `the key service that holds ${keyId} answered with status ${status}`,
  );
}

function unreadable(keyId: string): RootKeyError {
  return new RootKeyError(
    "unavailable",
    `the key service that holds ${keyId} sent an answer that is not one of OpenBao or Vault`,
  );
}
