import { X509Certificate } from "node:crypto";
import { isAddress } from "../kernel/network-address.ts";
import { Secret } from "../kernel/secret.ts";

/**
 * The result of reading a setting's text: a value, or a problem that completes "COFRE_X ...". Never
 * quotes the text of a secret.
 */
export type Reading<Value> = { readonly value: Value } | { readonly problem: string };

/**
 * Any opaque text that survives a shell, a query and an editor: no invisible characters, no leading
 * or trailing blank.
 */
export function readKey(text: string): Reading<Secret<string>> {
  if (text.length > 100)
    return { problem: `has ${text.length} characters, but the maximum is 100` };
  if (/[\p{C}]/u.test(text)) return { problem: "contains a control or invisible character" };
  if (text !== text.trim()) return { problem: "begins or ends with a blank" };
  return { value: new Secret(text) };
}

export function readUpstreamUrl(text: string): Reading<URL> {
  const url = URL.parse(text);
  if (url?.protocol === "http:") return readLoopbackUrl(text);
  const isPlain =
    url?.username === "" &&
    url.password === "" &&
    url.pathname === "/" &&
    url.search === "" &&
    url.hash === "";
  if (url?.protocol !== "https:" || !isPlain)
    return {
      problem: "must be an https:// address without a path, such as https://pay.example.com",
    };
  return { value: url };
}

/** As in a URL, IPv6 with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host);
}

/**
 * Concatenated PEM texts. Each must be a certificate, so that a wrong file is reported at startup
 * and not at the first payment.
 */
export function readCertificates(text: string): Reading<Secret<string>> {
  const certificates =
    text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate))
    return { problem: "must contain certificates in PEM" };
  return { value: new Secret(certificates.join("\n")) };
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

export function readLoopbackUrl(text: string): Reading<URL> {
  const url = URL.parse(text);
  if (
    url?.protocol !== "http:" ||
    url.username !== "" ||
    url.password !== "" ||
    url.search !== "" ||
    url.hash !== ""
  ) {
    return { problem: "must be a plain http:// address such as http://127.0.0.1:8788" };
  }
  // By address, not by name: a name could be redirected, and card numbers travel on this
  // connection.
  if (!/^(?:127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)) {
    return {
      problem: "must be on this machine (127.0.0.1 or [::1]): card numbers go there without TLS",
    };
  }
  return { value: url };
}

/** Sealed cards and customers' data are sent there: without TLS only within this machine. */
export function readDatabaseUrl(text: string): Reading<Secret<string>> {
  const url = URL.parse(text);
  const isPostgres = url?.protocol === "postgres:" || url?.protocol === "postgresql:";
  if (url === null || !isPostgres || url.hostname === "" || url.pathname.length < 2) {
    return {
      problem:
        "must be an address such as postgres://cofre:PASSWORD@db.example.com/cofre?sslmode=verify-full",
    };
  }
  const problem = parameterProblem(url.searchParams);
  if (problem !== undefined) return { problem };
  const isHere =
    /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname) &&
    !url.searchParams.has("host");
  if (!isHere && url.searchParams.get("sslmode") !== "verify-full") {
    return {
      problem: "must ask for TLS with ?sslmode=verify-full: the server is not on this machine",
    };
  }
  return { value: new Secret(text) };
}

const maxNetworks = 32;
/** The prefix lengths of the largest private networks. */
const shortestPrefix = { 4: 8, 6: 7 } as const;

/** Networks in CIDR notation, separated by commas. */
export function readNetworks(text: string): Reading<readonly string[]> {
  const networks = text.split(",").map((each) => each.trim());
  if (networks.length <= maxNetworks && networks.every(isNetwork)) return { value: networks };
  return {
    problem: `must be at most ${maxNetworks} networks such as 172.16.0.0/12, with commas between them`,
  };
}

function isNetwork(text: string): boolean {
  const [, address = "", prefix] = /^([\d.]+|[\da-f:]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const [family, longest] = address.includes(":") ? ([6, 128] as const) : ([4, 32] as const);
  return (
    isAddress(address) && Number(prefix) >= shortestPrefix[family] && Number(prefix) <= longest
  );
}

const maxNames = 32;

/** Names of hosts, separated by commas, in lower case. */
export function readHostNames(text: string): Reading<readonly string[]> {
  const names = text.split(",").map((each) => each.trim().toLowerCase());
  const isName = (name: string): boolean =>
    /^(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/.test(name) && name.length <= 253;
  if (names.length <= maxNames && names.every(isName)) return { value: names };
  return {
    problem: `must be at most ${maxNames} names of hosts such as cofre or cofre.example.com, with commas between them`,
  };
}

/** The driver uses the last of several values, and supports parameters that disable TLS. */
const databaseParameters: ReadonlySet<string> = new Set([
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "host",
]);

function parameterProblem(parameters: URLSearchParams): string | undefined {
  const names = [...parameters.keys()];
  if (names.some((name) => !databaseParameters.has(name))) {
    return `has a parameter other than ${[...databaseParameters].join(", ")}`;
  }
  return new Set(names).size < names.length ? "has a parameter twice" : undefined;
}

/** A key that the operator chooses for the account that this server creates. */
export function readOwnKey(text: string): Reading<Secret<string>> {
  const reading = readKey(text);
  if ("problem" in reading || text.length >= shortestOwnKey) return reading;
  return { problem: `has fewer than ${shortestOwnKey} characters, which is easily guessed` };
}

const shortestOwnKey = 4;
