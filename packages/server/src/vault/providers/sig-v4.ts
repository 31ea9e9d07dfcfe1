import { createHash, createHmac } from "node:crypto";
import { civilFromInstant } from "../../kernel/calendar.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Secret } from "../../kernel/secret.ts";

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret<string>;
  /** Of temporary credentials. */
  readonly sessionToken: Secret<string> | undefined;
}

export interface SignedRequest {
  /** As in the `Host` header. */
  readonly host: string;
  /** In lower case, with values without leading, trailing or double blanks. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly at: Instant;
  readonly region: string;
  readonly service: string;
}

const algorithm = "AWS4-HMAC-SHA256";

/**
 * The headers of a POST to `/` with AWS Signature Version 4, except `Host`. Every header that is
 * passed in is signed. Compared with botocore: sig-v4.test.ts and the lane `custody`.
 */
export function signedHeaders(
  { host, headers, body, at, region, service }: SignedRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
): Readonly<Record<string, string>> {
  const time = basicTime(at);
  const day = time.slice(0, 8);
  const sent = {
    ...headers,
    "x-amz-date": time,
    ...(sessionToken === undefined ? {} : { "x-amz-security-token": sessionToken.reveal() }),
  };
  const rows = Object.entries({ ...sent, host }).toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const names = rows.map(([name]) => name).join(";");
  const request = [
    "POST",
    "/",
    "",
    ...rows.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    sha256Hex(body),
  ].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = [algorithm, time, scope, sha256Hex(Buffer.from(request))].join("\n");
  const key = [day, region, service, "aws4_request"].reduce<Buffer>(
    hmac,
    Buffer.from(`AWS4${secretAccessKey.reveal()}`),
  );
  const signature = hmac(key, text).toString("hex");
  const authorization = `${algorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...sent, authorization };
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function sha256Hex(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** `20261130T080000Z`. */
function basicTime(at: Instant): string {
  const { year, month, day, hour, minute, second } = civilFromInstant(at);
  const [date, time] = [
    [year, month, day],
    [hour, minute, second],
  ].map((parts) => parts.map((part) => String(part).padStart(2, "0")).join(""));
  return `${date ?? ""}T${time ?? ""}Z`;
}
