/**
 * Names of this machine, and those under which containers reach it: no page of another site has
 * them. Others of a private network, `*.local`, `*.internal`, `*.test` or a name without a dot, can
 * be given to an address by other machines in that network.
 */
const machineNames: ReadonlySet<string> = new Set([
  "localhost",
  "host.docker.internal",
  "host.containers.internal",
]);

/**
 * Whether a request may be another site's: browsers say so (`Origin`, `Sec-Fetch-Site`), or it asks
 * for a name that anybody could have led to this address, with a page of theirs in somebody's
 * browser (DNS rebinding). Addresses, names of this machine and `ownNames` are nobody else's. What
 * other programs leave out is no page's. `rawHeaders`: names and values in turns; `ownNames` in
 * small letters.
 */
export function mayBeForeign(
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
