import { createPrivateKey, X509Certificate } from "node:crypto";
import { promises } from "node:fs";
import { isLoopbackHost } from "../config/readers.ts";
import type { Config } from "../config/settings.ts";
import type { HttpServer } from "../http/server.ts";
import { formatInstant } from "../kernel/calendar.ts";
import { instant, type Instant, minute } from "../kernel/instant.ts";
import { errorFacts } from "../logging/error-facts.ts";
import type { Log } from "../logging/log-event.ts";
import type { Ports } from "./ports.ts";

/** The certificate of the settings or its key cannot be used. The message quotes neither. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
}

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** When the certificate ends. */
  readonly endsAt: Instant;
}

/** Plain HTTP stays on this machine where the server has a certificate, unless a proxy uses it. */
export function plainHostOf({ host, tlsCertificateFile, behindProxy }: Config): string {
  const isOpen = tlsCertificateFile === undefined || behindProxy !== undefined;
  return isOpen || isLoopbackHost(host) ? host : "127.0.0.1";
}

/** Reads the files again once a minute; the next connection uses a new certificate. */
export async function listenWithCertificate(
  server: HttpServer,
  config: Config,
  { scheduler, log }: Pick<Ports, "scheduler"> & { readonly log: Log },
  parts: AsyncDisposableStack,
): ReturnType<HttpServer["listenTls"]> {
  let used = await readCertificate(config);
  const address = await server.listenTls(config.tlsPort, config.host, used);
  const renew = async (): Promise<void> => {
    const next = await readCertificate(config).catch(() => undefined);
    // The next start reports the problem; until then the current certificate is used.
    if (next === undefined) return log.write({ event: "certificate_unusable" });
    if (next.cert === used.cert && next.key === used.key) return;
    used = next;
    server.renewTls(next);
    log.write({ event: "certificate_renewed", endsAt: formatInstant(next.endsAt) });
  };
  let cancel = (): void => undefined;
  const renewLater = (): void => {
    cancel = scheduler.after(minute, () => {
      renewLater();
      void renew();
    });
  };
  renewLater();
  parts.defer(() => cancel());
  return address;
}

/** Rejects with CertificateError. */
export async function readCertificate({
  tlsCertificateFile = "",
  tlsKeyFile = "",
}: Config): Promise<CertificateFiles> {
  const [cert, key] = await Promise.all([
    textOf(tlsCertificateFile, "COFRE_TLS_CERTIFICATE_FILE"),
    textOf(tlsKeyFile, "COFRE_TLS_KEY_FILE"),
  ]);
  const certificate = read(
    () => new X509Certificate(cert),
    `${tlsCertificateFile} of COFRE_TLS_CERTIFICATE_FILE has no certificate in PEM`,
  );
  const privateKey = read(
    () => createPrivateKey(key),
    `${tlsKeyFile} of COFRE_TLS_KEY_FILE has no private key in PEM, or one with a passphrase`,
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new CertificateError(
      `the key in ${tlsKeyFile} does not belong to the certificate in ${tlsCertificateFile}`,
    );
  return { cert, key, endsAt: instant(certificate.validToDate.getTime()) };
}

async function textOf(path: string, variable: string): Promise<string> {
  return promises.readFile(path, "utf8").catch((error: unknown) => {
    const code = errorFacts(error).errorCode ?? "unknown";
    throw new CertificateError(`${path} of ${variable} cannot be read (${code})`);
  });
}

function read<Value>(parse: () => Value, problem: string): Value {
  try {
    return parse();
  } catch {
    throw new CertificateError(problem);
  }
}
