import { readLoopbackUrl, type Reading } from "./readers.ts";

/** Holder of the root key: a file in the data directory, or a key management service. */
export type RootKeyAddress =
  | { readonly kind: "file" }
  | {
      readonly kind: "transit";
      /** Scheme, host and port. */
      readonly url: URL;
      /** Path of the secrets engine, such as `transit`. */
      readonly mount: string;
      readonly key: string;
    }
  | {
      readonly kind: "aws-kms";
      readonly arn: string;
      readonly region: string;
      /** The region's own address; undefined: only a setting can name it. */
      readonly url: URL | undefined;
    };

const transitPath = /^\/v1\/((?:[\w-]+\/){1,8})([\w-]{1,100})$/;
const keyArn = /^arn:(aws(?:-[a-z]{1,10}){0,3}):kms:([a-z0-9-]{1,32}):\d{12}:key\/[\w-]{1,64}$/;
const domains = new Map([
  ["aws", "amazonaws.com"],
  ["aws-us-gov", "amazonaws.com"],
  ["aws-cn", "amazonaws.com.cn"],
]);

export function readRootKey(text: string): Reading<RootKeyAddress> {
  if (text === "file") return { value: { kind: "file" } };
  const [, service, rest = ""] = /^(transit|aws-kms):(.*)$/s.exec(text) ?? [];
  if (service === "transit") return readTransit(rest);
  if (service === "aws-kms") return readKeyArn(rest);
  return {
    problem: "must be file, transit:https://HOST/v1/transit/KEY, or aws-kms: with the ARN of a key",
  };
}

function readTransit(text: string): Reading<RootKeyAddress> {
  const url = URL.parse(text);
  const [, mount, key] = transitPath.exec(url?.pathname ?? "") ?? [];
  const isPlain =
    url?.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (url === null || mount === undefined || key === undefined || !isPlain)
    return { problem: "must name a key of transit, such as transit:https://HOST/v1/transit/KEY" };
  const isLoopback = "value" in readLoopbackUrl(text);
  if (url.protocol !== "https:" && !isLoopback)
    return {
      problem: "must be https:// unless the service is on this machine: keys are sent to it",
    };
  return { value: { kind: "transit", url: new URL(url.origin), mount: mount.slice(0, -1), key } };
}

function readKeyArn(arn: string): Reading<RootKeyAddress> {
  const [, partition = "", region] = keyArn.exec(arn) ?? [];
  if (region === undefined)
    return {
      problem:
        "must have the ARN of a key, such as arn:aws:kms:sa-east-1:111122223333:key/ID: an alias can be pointed at another key",
    };
  const domain = domains.get(partition);
  const url = domain === undefined ? undefined : new URL(`https://kms.${region}.${domain}`);
  return { value: { kind: "aws-kms", arn, region, url } };
}

/** For `cofre config`. */
export function rootKeyText(address: RootKeyAddress): string {
  if (address.kind === "file") return "file";
  if (address.kind === "aws-kms") return `aws-kms:${address.arn}`;
  return `transit:${address.url.origin}/v1/${address.mount}/${address.key}`;
}
