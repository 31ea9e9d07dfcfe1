import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { type Answer, fakeService } from "./service.ts";

interface Token {
  ttl: number;
  readonly creationTtl: number;
  readonly renewable: boolean;
}

const refused = (status: number, error: string): Answer => ({ status, body: { errors: [error] } });

/**
 * Answers like the transit engine of OpenBao 2.7.2, as recorded from it, for the calls that Cofre
 * makes. The lane `custody` runs the same tests against OpenBao itself.
 */
export async function fakeTransit() {
  const tokens = new Map<string, Token>([
    ["s.root", { ttl: 3_600, creationTtl: 3_600, renewable: true }],
  ]);
  /** Versions, the oldest first; a version that may not be used any more is undefined. */
  const keys = new Map<string, (Buffer | undefined)[]>([
    ["cofre", [randomBytes(32)]],
    ["other", [randomBytes(32)]],
  ]);
  const state = {
    isSealed: false,
    isExportable: false,
    mayDescribe: true,
    answer: undefined as Answer | undefined,
  };
  const service = await fakeService((request, content) => {
    if (state.answer !== undefined) return state.answer;
    if (request.url === "/v1/sys/seal-status")
      return { status: 200, body: { type: "shamir", sealed: state.isSealed } };
    if (state.isSealed) return refused(503, "Vault is sealed");
    const token = tokens.get(String(request.headers["x-vault-token"]));
    if (token === undefined) return refused(403, "permission denied");
    if (request.url === "/v1/auth/token/lookup-self") {
      const { ttl, creationTtl, renewable } = token;
      return { status: 200, body: { data: { ttl, creation_ttl: creationTtl, renewable } } };
    }
    if (request.url === "/v1/auth/token/renew-self") {
      token.ttl = token.creationTtl;
      return { status: 200, body: { data: null, auth: { lease_duration: token.ttl } } };
    }
    const [, described] = /^\/v1\/transit\/keys\/(\w+)$/.exec(request.url ?? "") ?? [];
    if (described !== undefined && state.mayDescribe && keys.has(described)) {
      const data = { exportable: state.isExportable, allow_plaintext_backup: false };
      return { status: 200, body: { data } };
    }
    const [, operation, name = ""] =
      /^\/v1\/transit\/(encrypt|decrypt)\/(\w+)$/.exec(request.url ?? "") ?? [];
    const versions = keys.get(name);
    if (operation === undefined)
      return refused(403, "1 error occurred:\n\t* permission denied\n\n");
    if (versions === undefined)
      return operation === "encrypt"
        ? refused(403, "1 error occurred:\n\t* permission denied\n\n")
        : refused(400, "encryption key not found");
    const fields = JSON.parse(content.toString()) as Record<string, string>;
    const aad = Buffer.from(fields["associated_data"] ?? "", "base64");
    return operation === "encrypt"
      ? encrypt(versions, Buffer.from(fields["plaintext"] ?? "", "base64"), aad)
      : decrypt(versions, fields["ciphertext"] ?? "", aad);
  });
  return { service, tokens, keys, state };
}

function encrypt(versions: readonly (Buffer | undefined)[], text: Buffer, aad: Buffer): Answer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", versions.at(-1) ?? "", nonce).setAAD(aad);
  const sealed = Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  const ciphertext = `vault:v${versions.length}:${sealed.toString("base64")}`;
  return { status: 200, body: { data: { ciphertext, key_version: versions.length } } };
}

function decrypt(versions: readonly (Buffer | undefined)[], text: string, aad: Buffer): Answer {
  const [, version = "", encoded = ""] = /^vault:v(\d+):(.*)$/.exec(text) ?? [];
  if (version === "") return refused(400, "invalid ciphertext: no prefix");
  if (Number(version) > versions.length)
    return refused(400, "invalid ciphertext: version is too new");
  const key = versions[Number(version) - 1];
  if (key === undefined)
    return refused(400, "ciphertext or signature version is disallowed by policy (too old)");
  const sealed = Buffer.from(encoded, "base64");
  if (sealed.toString("base64") !== encoded)
    return refused(400, "invalid ciphertext: could not decode base64");
  if (sealed.length < 28) return refused(400, "invalid ciphertext length");
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12)).setAAD(aad);
  try {
    decipher.setAuthTag(sealed.subarray(-16));
    const plain = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
    return { status: 200, body: { data: { plaintext: plain.toString("base64") } } };
  } catch {
    return refused(400, "cipher: message authentication failed");
  }
}
