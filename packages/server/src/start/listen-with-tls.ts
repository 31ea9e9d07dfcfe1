import { openLocalTls } from "../certificates/authority-files.ts";
import type { Config } from "../config/settings.ts";
import type { HttpServer } from "../http/server.ts";
import { assert } from "../kernel/assert.ts";
import { day } from "../kernel/instant.ts";
import { ownRandom, type Ports } from "./ports.ts";

/** Checks once a day whether the certificate is about to expire. */
export async function listenWithTls(
  server: HttpServer,
  config: Config,
  { clock, scheduler }: Ports,
  parts: AsyncDisposableStack,
): ReturnType<HttpServer["listenTls"]> {
  const { dataDirectory, environment, tlsPort, host } = config;
  assert(environment === "sandbox", "only a sandbox makes an authority of its own");
  const credentials = () => openLocalTls({ dataDirectory, environment, clock, random: ownRandom });
  const address = await server.listenTls(tlsPort, host, await credentials());
  let cancel = (): void => undefined;
  const renewLater = (): void => {
    cancel = scheduler.after(day, () => {
      renewLater();
      // If the files are corrupt, keep the current certificate; the next start reports the error.
      credentials().then(
        (renewed) => server.renewTls(renewed),
        () => undefined,
      );
    });
  };
  renewLater();
  parts.defer(() => cancel());
  return address;
}
