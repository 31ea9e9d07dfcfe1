import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { type Answer, fakeService } from "./service.ts";

export const region = "sa-east-1";
export const arnOf = (id: string): string => `arn:aws:kms:${region}:111122223333:key/${id}`;

const refused = (type: string, status = 400): Answer => ({
  status,
  body: { __type: type, message: "as the API reference says" },
});

/**
 * Answers like AWS KMS, as its API reference says, for the calls that Cofre makes. The lane
 * `custody` runs the same tests against two independent implementations.
 */
export async function fakeKms() {
  const keys = new Map(
    ["1", "2"].map((id) => [arnOf(id), { bytes: randomBytes(32), state: "Enabled" }]),
  );
  const state = {
    accessKeyIds: new Set(["AKIAIOSFODNN7EXAMPLE"]),
    answer: undefined as Answer | undefined,
    /** The key that answers say was used. */
    usedKey: undefined as string | undefined,
    origin: "AWS_KMS",
    mayDescribe: true,
    last: { headers: {}, body: "" },
  };
  const service = await fakeService((request, content) => {
    const operation = String(request.headers["x-amz-target"]).replace("TrentService.", "");
    state.last = { headers: request.headers, body: content.toString() };
    if (state.answer !== undefined && operation !== "DescribeKey") return state.answer;
    const id = /Credential=(\w+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "";
    if (!state.accessKeyIds.has(id)) return refused("UnrecognizedClientException");
    const fields = JSON.parse(state.last.body) as {
      KeyId: string;
      Plaintext?: string;
      CiphertextBlob?: string;
      EncryptionContext?: Record<string, string>;
    };
    const key = keys.get(fields.KeyId);
    if (key === undefined) return refused("NotFoundException");
    if (operation === "DescribeKey") {
      if (!state.mayDescribe) return refused("AccessDeniedException");
      const described = { Arn: fields.KeyId, KeyState: key.state, Origin: state.origin };
      return { status: 200, body: { KeyMetadata: described } };
    }
    if (key.state === "Disabled") return refused("DisabledException");
    if (key.state !== "Enabled") return refused("KMSInvalidStateException");
    const pairs = Object.entries(fields.EncryptionContext ?? {}).map((pair) => pair.join("="));
    const aad = Buffer.from(pairs.toSorted().join("\n"));
    const body = { KeyId: state.usedKey ?? fields.KeyId };
    if (operation === "Encrypt") {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(aad);
      const text = cipher.update(Buffer.from(fields.Plaintext ?? "", "base64"));
      const blob = Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]);
      return { status: 200, body: { ...body, CiphertextBlob: blob.toString("base64") } };
    }
    const blob = Buffer.from(fields.CiphertextBlob ?? "", "base64");
    if (blob.length < 28) return refused("InvalidCiphertextException");
    const decipher = createDecipheriv("aes-256-gcm", key.bytes, blob.subarray(0, 12)).setAAD(aad);
    decipher.setAuthTag(blob.subarray(-16));
    const text = decipher.update(blob.subarray(12, -16));
    try {
      decipher.final();
    } catch {
      return refused("com.amazonaws.kms#InvalidCiphertextException");
    }
    return { status: 200, body: { ...body, Plaintext: text.toString("base64") } };
  });
  return { service, keys, state };
}
