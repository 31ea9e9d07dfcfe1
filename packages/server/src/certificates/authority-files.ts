import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import type { Clock } from "../kernel/clock.ts";
import { hexOf } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";
import type { Hosts } from "./certificate.ts";
import { certifiedHosts, namedHosts } from "./hosts.ts";
import { javaTrustStore } from "./java-trust-store.ts";
import {
  type Certified,
  isGoodAuthority,
  isGoodServer,
  makeAuthority,
  makeServerCertificate,
} from "./local-authority.ts";

/**
 * Owns the folder `tls` of the data directory. `authority.key`, `server.key` and `address.key` each
 * hold a private key and its certificate in one file, in PEM and readable by their owner only, so
 * that the two never disagree; the server's is for clients that send SNI, the address's for those
 * that connect to an IP address. `authority.pem` is the certificate that clients must trust,
 * `php/cofre.ini` and `java.jks` configure PHP and Java to do so, and `ruby/cofre_proxy.rb` gives
 * Ruby the proxy. Each file is replaced atomically.
 */
export interface TlsFiles {
  /** Path of the authority's certificate in PEM, for clients. */
  readonly authority: string;
  /** A folder with settings for PHP. */
  readonly php: string;
  /** A trust store (JKS) with only the authority, for Java. */
  readonly javaTrustStore: string;
  /** A folder with the file `cofre_proxy.rb`, which Ruby loads with RUBYLIB and RUBYOPT. */
  readonly ruby: string;
}

/** Paths of the files that clients need, whether they exist or not. */
export function tlsFiles(dataDirectory: string): TlsFiles {
  return filesIn(resolve(dataDirectory, "tls"));
}

function filesIn(folder: string): TlsFiles {
  return {
    authority: join(folder, "authority.pem"),
    php: join(folder, "php"),
    javaTrustStore: join(folder, "java.jks"),
    ruby: join(folder, "ruby"),
  };
}

export function isTlsPrepared(dataDirectory: string): boolean {
  return existsSync(tlsFiles(dataDirectory).authority);
}

/** The problem with a key file and its remedy; never quotes the file. */
export class TlsFileError extends Error {
  override readonly name = "TlsFileError";
}

export interface LocalTlsOptions {
  readonly dataDirectory: string;
  /** Only a sandbox creates its own authority: an environment of another kind does not compile. */
  readonly environment: "sandbox";
  readonly clock: Clock;
  readonly random: Random;
}

export interface ServerCredentials {
  /** Both in PEM. */
  readonly key: string;
  readonly cert: string;
  /** For clients that connect to an IP address without SNI. */
  readonly byAddress: { readonly key: string; readonly cert: string };
}

/**
 * The server's keys and certificates: the stored ones, or new ones if there are none or they are
 * about to expire. Rejects with TlsFileError.
 */
export async function openLocalTls({
  dataDirectory,
  clock,
  random,
}: LocalTlsOptions): Promise<ServerCredentials> {
  const folder = resolve(dataDirectory, "tls");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const making = { now: clock.now(), random };

  const authority = await openAuthority(join(folder, "authority.key"), making);
  const openServer = async (
    path: string,
    hosts: Hosts,
  ): Promise<{ readonly key: string; readonly cert: string }> => {
    let server = readCertified(path);
    if (server === undefined || !isGoodServer(server, hosts, authority, making.now)) {
      server = await makeServerCertificate(authority, hosts, making);
      replaceFile(path, textOf(server), 0o600, random);
    }
    return { key: keyText(server), cert: server.certificate.toString() };
  };
  const named = await openServer(join(folder, "server.key"), namedHosts);
  const byAddress = await openServer(join(folder, "address.key"), certifiedHosts);
  writeClientFiles(folder, authority, random);
  return { ...named, byAddress };
}

export interface TemporaryTls {
  readonly credentials: ServerCredentials;
  readonly files: TlsFiles;
}

/**
 * An authority for one process: its private keys are in memory only. `folder`: an absolute path;
 * the files that clients need are written there. None of them is secret.
 */
export async function openTemporaryTls(
  folder: string,
  { clock, random }: Pick<LocalTlsOptions, "clock" | "random">,
): Promise<TemporaryTls> {
  const making = { now: clock.now(), random };
  const authority = await makeAuthority(making);
  const serverFor = async (hosts: Hosts) => {
    const server = await makeServerCertificate(authority, hosts, making);
    return { key: keyText(server), cert: server.certificate.toString() };
  };
  const [named, byAddress] = await Promise.all([serverFor(namedHosts), serverFor(certifiedHosts)]);
  writeClientFiles(folder, authority, random);
  return { credentials: { ...named, byAddress }, files: filesIn(folder) };
}

/** What clients need; none of it is secret. */
function writeClientFiles(folder: string, { certificate }: Certified, random: Random): void {
  const files = filesIn(folder);
  for (const each of [files.php, files.ruby]) mkdirSync(each, { recursive: true, mode: 0o700 });
  const { authority } = files;
  const texts = [
    [authority, certificate.toString()],
    // The folder may have been moved since: PHP needs the absolute path.
    [
      join(files.php, "cofre.ini"),
      `curl.cainfo = "${authority}"\nopenssl.cafile = "${authority}"\n`,
    ],
    [files.javaTrustStore, javaTrustStore("cofre", certificate)],
    [join(files.ruby, "cofre_proxy.rb"), rubyProxy],
  ] as const;
  for (const [path, content] of texts) replaceFile(path, content, 0o644, random);
}

/** Other programs take http_proxy for plain http, so that it is set only inside Ruby. */
const rubyProxy = `# net/http reads its proxy from http_proxy, also for https.
ENV["http_proxy"] = ENV["https_proxy"] if ENV["https_proxy"]
`;

/**
 * The stored authority, or a new one. If several processes create the first one at once, all use
 * the one that was stored first.
 */
async function openAuthority(
  path: string,
  making: Parameters<typeof makeAuthority>[0],
): Promise<Certified> {
  const kept = readCertified(path);
  if (kept !== undefined && isGoodAuthority(kept, making.now)) return kept;
  const text = textOf(await makeAuthority(making));
  if (kept === undefined) createFile(path, text, making.random);
  else replaceFile(path, text, 0o600, making.random);
  const there = readCertified(path);
  if (there === undefined)
    throw new TlsFileError(`${path} was removed while it was made: start again`);
  return there;
}

function keyText({ key }: Certified): string {
  return key.export({ type: "pkcs8", format: "pem" });
}

function textOf(certified: Certified): string {
  return keyText(certified) + certified.certificate.toString();
}

function readCertified(path: string): Certified | undefined {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts === undefined) return undefined;
  const replaceHint = `or remove ${path}: the next start makes another`;
  if (!facts.isFile())
    throw new TlsFileError(`${path} is not a plain file: put it back, ${replaceHint}`);
  if (process.platform !== "win32" && (facts.mode & 0o077) !== 0) {
    const mode = (facts.mode & 0o777).toString(8).padStart(4, "0");
    throw new TlsFileError(
      `${path} is open to others (mode ${mode}): make it 0600 with chmod, ${replaceHint} if others had access`,
    );
  }
  try {
    const text = readFileSync(path, "utf8");
    const certificate = new X509Certificate(
      text.slice(text.indexOf("-----BEGIN CERTIFICATE-----")),
    );
    const key = createPrivateKey(text);
    if (certificate.checkPrivateKey(key)) return { key, certificate };
  } catch {
    // Node's error message could quote the file.
  }
  throw new TlsFileError(
    `${path} does not hold a key and its certificate: restore it from a backup, ${replaceHint}`,
  );
}

/** Does not write if the file has this content already. */
function replaceFile(
  path: string,
  content: string | Uint8Array,
  mode: number,
  random: Random,
): void {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts?.isDirectory() === true)
    throw new TlsFileError(`${path} is a folder: remove it, and the next start writes the file`);
  if (facts !== undefined && existsSync(path) && readFileSync(path).equals(Buffer.from(content)))
    return;
  withTemporary(path, content, mode, random, (temporary) => renameSync(temporary, path));
}

/** Creates the file with owner-only access unless it exists, whatever its content. */
function createFile(path: string, text: string, random: Random): void {
  withTemporary(path, text, 0o600, random, (temporary) => {
    try {
      linkSync(temporary, path);
    } catch {
      // It exists already; or this file system has no hard links, and of two concurrent files the
      // last one may win.
      if (!existsSync(path)) renameSync(temporary, path);
    }
  });
}

function withTemporary(
  path: string,
  content: string | Uint8Array,
  mode: number,
  random: Random,
  use: (temporary: string) => void,
): void {
  const temporary = `${path}.${hexOf(random.bytes(6))}.new`;
  try {
    writeFileSync(temporary, content, { mode, flag: "wx", flush: true });
    use(temporary);
  } finally {
    rmSync(temporary, { force: true });
  }
}
