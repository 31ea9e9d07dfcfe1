/**
 * Names of this machine, and those under which containers reach it: no page of another site can
 * have them. Other names of a private network, `*.local`, `*.internal`, `*.test` or a name without
 * a dot, can be assigned to an address by other machines in that network.
 */
const machineNames: ReadonlySet<string> = new Set([
  "localhost",
  "host.docker.internal",
  "host.containers.internal",
]);

/**
 * Whether a request may come from a page of another site: browsers indicate that (`Origin`,
 * `Sec-Fetch-Site`), or its host is a name that an attacker could have pointed to this address,
 * with a page in a user's browser (DNS rebinding). IP addresses, names of this machine and
 * `ownNames` cannot be taken over. A missing header indicates nothing: only programs other than
 * browsers omit it. `rawHeaders`: names and values alternate; `ownNames` are in lower case.
 */
export function mayBeCrossSite(
  rawHeaders: readonly string[],
  ownNames: ReadonlySet<string>,
): boolean {
  const said = (name: string): string[] =>
    rawHeaders.filter(
      (_, index) => index % 2 === 1 && (rawHeaders[index - 1] ?? "").toLowerCase() === name,
    );
  const hosts = said("host");
  return (
    said("sec-fetch-site").some((site) => site !== "same-origin" && site !== "none") ||
    said("origin").some(
      (origin) =>
        !hosts.some((host) => origin === `http://${host}` || origin === `https://${host}`),
    ) ||
    hosts.some((host) => !isOwn(host.toLowerCase().replace(/:\d*$/, ""), ownNames))
  );
}

function isOwn(name: string, ownNames: ReadonlySet<string>): boolean {
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) || /^\[[\da-f:.]+\]$/.test(name)) return true;
  if (!/^[\w.-]*$/.test(name)) return false;
  const bare = name.replace(/\.$/, "");
  return bare === "" || machineNames.has(bare) || bare.endsWith(".localhost") || ownNames.has(bare);
}
