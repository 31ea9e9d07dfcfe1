import { doesNotUnwrap, type KeyProvider, type RootKeyFacts } from "../key-provider.ts";
import { encodeFrame, requests, wrapRandomLength } from "./pkcs11-frames.ts";
import { Pkcs11Login, type Pkcs11LoginOptions } from "./pkcs11-login.ts";
import { createRemoteKeyProvider, type RemoteKeyOptions } from "./remote-key-provider.ts";

export type Pkcs11Options = RemoteKeyOptions & Omit<Pkcs11LoginOptions, "keyId">;

/** In bytes. A key has 61 by AES-GCM and 89 by key wrap. */
const longestCiphertext = 256;

/** Tokens that are known to be programs. Of others, their maker says what they are. */
function isSoftware(maker: string, model: string): boolean {
  return /softhsm|opencryptoki.*soft|nss|kryoptic/i.test(`${maker} ${model}`);
}

/**
 * A root key in a token of PKCS#11, such as an HSM. Wraps by AES-GCM with the label as associated
 * data, or by AES key wrap with padding where the token has no AES-GCM. Never changes or destroys
 * the key. The name of the key has no serial number, because a key may be moved to another HSM.
 */
export function createPkcs11KeyProvider(options: Pkcs11Options): Required<KeyProvider> {
  const { object, id } = options.key;
  const keyId = `pkcs11:${encodeURIComponent(object)}/${id}`;
  const login = new Pkcs11Login({ ...options, keyId });
  const { random } = options;
  const service = {
    keyId,
    async facts(signal: AbortSignal | undefined): Promise<RootKeyFacts> {
      const answer = await login.ask(encodeFrame(requests.facts, []), "", signal);
      const [maker = "", model = ""] = answer.toString().split("\n");
      // A key that could leave the token is refused at each login.
      const known = { kind: "pkcs11", isExtractable: false, maker, model } as const;
      return { ...known, protection: isSoftware(maker, model) ? "software" : undefined };
    },
    async encrypt(key: Uint8Array, label: string, signal: AbortSignal | undefined) {
      const nonce = random.bytes(wrapRandomLength);
      const request = encodeFrame(requests.wrap, [Buffer.from(label), key, nonce]);
      return await login.ask(request, label, signal);
    },
    async decrypt(ciphertext: Uint8Array, label: string, signal: AbortSignal | undefined) {
      if (ciphertext.length > longestCiphertext) throw doesNotUnwrap(label);
      const request = encodeFrame(requests.unwrap, [Buffer.from(label), ciphertext]);
      return await login.ask(request, label, signal);
    },
  };
  return { ...createRemoteKeyProvider("pkcs11", service, options), close: () => login.close() };
}
