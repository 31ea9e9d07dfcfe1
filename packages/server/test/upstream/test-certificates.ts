import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";

/**
 * Certificates for tests, generated at run time and valid nowhere else: a certificate authority,
 * and server certificates under it. X.509 version 3 (RFC 5280) with ECDSA over P-256, with the
 * fields that TLS clients read.
 */
export interface TestAuthority {
  /** The authority's certificate in PEM. */
  readonly ca: string;
  /** A certificate and its key, in PEM, for these names or IPv4 addresses. */
  issue(...names: readonly string[]): { readonly cert: string; readonly key: string };
}

export function makeAuthority(name: string): TestAuthority {
  const keys = makeKeys();
  const ca = certificate({
    subject: name,
    issuer: name,
    key: keys.publicKey,
    signer: keys.privateKey,
    extensions: [basicConstraints(true)],
  });
  return {
    ca,
    issue: (...names) => {
      const own = makeKeys();
      const extensions = [basicConstraints(false), alternativeNames(names)];
      const cert = certificate({
        subject: "test server",
        issuer: name,
        key: own.publicKey,
        signer: keys.privateKey,
        extensions,
      });
      return { cert, key: own.privateKey.export({ type: "pkcs8", format: "pem" }) };
    },
  };
}

function makeKeys(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { publicKey: createPublicKey(publicKey), privateKey: createPrivateKey(privateKey) };
}

let serials = 0;

interface Contents {
  readonly subject: string;
  readonly issuer: string;
  readonly key: KeyObject;
  readonly signer: KeyObject;
  readonly extensions: readonly Buffer[];
}

function certificate({ subject, issuer, key, signer, extensions }: Contents): string {
  serials += 1;
  const algorithm = sequence(oid("2a8648ce3d040302"));
  const signed = sequence(
    tagged(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, serials])),
    algorithm,
    nameOf(issuer),
    sequence(time("20200101000000Z"), time("20991231235959Z")),
    nameOf(subject),
    key.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", signed, signer);
  const whole = sequence(
    signed,
    algorithm,
    der(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

function basicConstraints(isAuthority: boolean): Buffer {
  const value = isAuthority ? sequence(der(0x01, Buffer.from([0xff]))) : sequence();
  return sequence(oid("551d13"), der(0x01, Buffer.from([0xff])), der(0x04, value));
}

function alternativeNames(names: readonly string[]): Buffer {
  const general = names.map((name) =>
    /^[\d.]+$/.test(name)
      ? der(0x87, Buffer.from(name.split(".").map(Number)))
      : der(0x82, Buffer.from(name)),
  );
  return sequence(oid("551d11"), der(0x04, sequence(...general)));
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(commonName)))));
}

function time(text: string): Buffer {
  return der(0x18, Buffer.from(text));
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function tagged(tag: number, inner: Buffer): Buffer {
  return der(tag, inner);
}

function der(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
