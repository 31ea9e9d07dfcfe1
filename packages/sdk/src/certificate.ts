import { bytesOf } from "./base64.ts";

/** One element of DER: its tag, and where it and its content begin and end. */
interface Element {
  readonly tag: number;
  readonly start: number;
  readonly content: number;
  readonly end: number;
}

const [sequence, version] = [0x30, 0xa0];

/**
 * The public key of an X.509 certificate, as the DER of its SubjectPublicKeyInfo (RFC 5280, 4.1).
 *
 * @throws {TypeError} The text is not a certificate in PEM.
 */
export function publicKeyOf(pem: string): Uint8Array<ArrayBuffer> {
  const [, base64 = ""] =
    /-----BEGIN CERTIFICATE-----([A-Za-z\d+/=\s]+)-----END CERTIFICATE-----/.exec(pem) ?? [];
  const der = bytesOf(base64.replaceAll(/\s/g, ""));
  if (der === undefined) throw notCertificate();
  const certificate = elementAt(der, 0);
  const signed = elementAt(der, certificate.content);
  const members = membersOf(der, signed);
  // serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo; a version before them.
  const key = members[members[0]?.tag === version ? 6 : 5];
  if (certificate.tag !== sequence || signed.tag !== sequence || key?.tag !== sequence)
    throw notCertificate();
  return der.slice(key.start, key.end);
}

function membersOf(der: Uint8Array, { content, end }: Element): readonly Element[] {
  const members: Element[] = [];
  for (let at = content; at < end;) {
    const member = elementAt(der, at);
    members.push(member);
    at = member.end;
  }
  return members;
}

/** Each element is at least two bytes long, and ends within the text. */
function elementAt(der: Uint8Array, start: number): Element {
  const [tag, first] = [der[start], der[start + 1]];
  if (tag === undefined || first === undefined) throw notCertificate();
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  if (lengthBytes > 3) throw notCertificate();
  const content = start + 2 + lengthBytes;
  const length = der.subarray(start + 2, content).reduce((sum, byte) => sum * 256 + byte, 0);
  const end = content + (lengthBytes === 0 ? first : length);
  if (end > der.length) throw notCertificate();
  return { tag, start, content, end };
}

function notCertificate(): TypeError {
  return new TypeError("certificate must be a certificate in PEM");
}
