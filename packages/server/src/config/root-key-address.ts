import { readLoopbackUrl, type Reading } from "./readers.ts";

/** Holder of the root key: a file in the data directory, a key management service, or an HSM. */
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
    }
  | ({ readonly kind: "pkcs11" } & Pkcs11Address);

/** A key in a token, from a PKCS#11 URI (RFC 7512). */
export interface Pkcs11Address {
  readonly token: string | undefined;
  readonly serial: string;
  readonly manufacturer: string | undefined;
  readonly model: string | undefined;
  /** CKA_LABEL. */
  readonly object: string;
  /** CKA_ID, in hexadecimal. */
  readonly id: string;
}

const transitPath = /^\/v1\/((?:[\w-]+\/){1,8})([\w-]{1,100})$/;
const keyArn = /^arn:(aws(?:-[a-z]{1,10}){0,3}):kms:([a-z0-9-]{1,32}):\d{12}:key\/[\w-]{1,64}$/;
const domains = new Map([
  ["aws", "amazonaws.com"],
  ["aws-us-gov", "amazonaws.com"],
  ["aws-cn", "amazonaws.com.cn"],
]);

/** A root key that is not a file. */
export type ServiceRootKey = Exclude<RootKeyAddress, { readonly kind: "file" }>;

export function readRootKey(text: string): Reading<RootKeyAddress> {
  if (text === "file") return { value: { kind: "file" } };
  const reading = readServiceRootKey(text);
  return "problem" in reading && !services.test(text)
    ? { problem: `must be file, ${serviceForms}` }
    : reading;
}

const services = /^(transit|aws-kms|pkcs11):(.*)$/s;
const serviceForms =
  "transit:https://HOST/v1/transit/KEY, aws-kms: with the ARN of a key, or pkcs11: with the attributes of a key";

export function readServiceRootKey(text: string): Reading<ServiceRootKey> {
  const [, service, rest = ""] = services.exec(text) ?? [];
  if (service === "transit") return readTransit(rest);
  if (service === "aws-kms") return readKeyArn(rest);
  if (service === "pkcs11") return readPkcs11(rest);
  return { problem: `must be ${serviceForms}` };
}

function readTransit(text: string): Reading<ServiceRootKey> {
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

function readKeyArn(arn: string): Reading<ServiceRootKey> {
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

const tokenAttributes = ["token", "manufacturer", "model", "serial"] as const;
/** The attributes of RFC 7512 that a root key is found by, and its type. */
const pkcs11Attributes: readonly string[] = [...tokenAttributes, "object", "id", "type"];

/** RFC 7512, 2.3: attributes, each at most once, with percent-encoded values. */
function readPkcs11(text: string): Reading<ServiceRootKey> {
  const form = "must be like pkcs11:token=NAME;serial=NUMBER;object=LABEL;id=%01";
  if (text.includes("?"))
    return {
      problem:
        "must have no part after ?: the PIN is in the file of COFRE_ROOT_KEY_SECRET_FILE, the module in COFRE_PKCS11_MODULE",
    };
  const values = new Map<string, Buffer>();
  for (const part of text.split(";")) {
    const [, name = "", encoded = ""] = /^([a-z-]{1,32})=(.{1,256})$/.exec(part) ?? [];
    const value = percentDecoded(encoded);
    if (value === undefined) return { problem: form };
    if (!pkcs11Attributes.includes(name))
      return { problem: `must not have the attribute ${name}: ${form}` };
    if (values.has(name)) return { problem: `must have the attribute ${name} once` };
    values.set(name, value);
  }
  const type = values.get("type")?.toString() ?? "secret-key";
  if (type !== "secret-key") return { problem: "must name a secret key: type=secret-key" };
  const [serial, object, id] = ["serial", "object", "id"].map((name) => values.get(name));
  if (serial === undefined || object === undefined || id === undefined)
    return {
      problem:
        "must have the attributes serial, object and id: by fewer of them, another key could be found",
    };
  const textOf = (name: string): string | undefined => values.get(name)?.toString();
  return {
    value: {
      kind: "pkcs11",
      token: textOf("token"),
      manufacturer: textOf("manufacturer"),
      model: textOf("model"),
      serial: serial.toString(),
      object: object.toString(),
      id: id.toString("hex"),
    },
  };
}

/** Undefined unless it is ASCII with well-formed escapes; an id may be any bytes. */
function percentDecoded(text: string): Buffer | undefined {
  if (!/^(?:%[0-9a-f]{2}|[\x21-\x24\x26-\x7e])+$/i.test(text)) return undefined;
  const bytes = text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1");
}

function pkcs11Text(address: Pkcs11Address): string {
  const shown = [...tokenAttributes, "object" as const].flatMap((name) => {
    const value = address[name];
    return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  return `pkcs11:${shown.join(";")};id=${address.id.replaceAll(/../g, "%$&")}`;
}

/** For `cofre config`. */
export function rootKeyText(address: RootKeyAddress): string {
  if (address.kind === "file") return "file";
  if (address.kind === "aws-kms") return `aws-kms:${address.arn}`;
  if (address.kind === "pkcs11") return pkcs11Text(address);
  return `transit:${address.url.origin}/v1/${address.mount}/${address.key}`;
}
