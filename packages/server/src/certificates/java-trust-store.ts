import { createHash, type X509Certificate } from "node:crypto";

/** The password of every trust store made here; the store has nothing secret. */
export const trustStorePassword = "changeit";

/** Java's formats begin with it, followed by the version of the format. */
const magic = 0xfe_ed_fe_ed;
const version = 2;
/** The kind of entry that is a trusted certificate. */
const trustedCertificate = 2;

/**
 * A trust store in Java's own format (JKS), which every Java since 1.2 reads, also where its
 * default is PKCS #12. Written here because keytool comes only with a JDK. Equal certificates give
 * equal bytes.
 */
export function javaTrustStore(alias: string, certificate: X509Certificate): Buffer {
  const content = Buffer.concat([
    uint32(magic),
    uint32(version),
    uint32(1),
    uint32(trustedCertificate),
    text(alias),
    milliseconds(certificate.validFromDate.getTime()),
    text("X.509"),
    uint32(certificate.raw.length),
    certificate.raw,
  ]);
  // The digest that the format prescribes. It detects damage: nothing here is secret.
  const digest = createHash("sha1")
    .update(Buffer.from(trustStorePassword, "utf16le").swap16())
    .update("Mighty Aphrodite")
    .update(content)
    .digest();
  return Buffer.concat([content, digest]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function milliseconds(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** ASCII, after its length in two bytes. */
function text(value: string): Buffer {
  const bytes = Buffer.alloc(2 + value.length);
  bytes.writeUInt16BE(value.length);
  bytes.write(value, 2, "latin1");
  return bytes;
}
