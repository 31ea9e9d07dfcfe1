export const maximumFieldOrigins = 20;
export const longestFieldOrigins = 2_000;

const ownMachine: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Reads origins that are separated by spaces. undefined if one is not an origin as browsers write
 * it, has no HTTPS and is not of this machine, or if there are too many.
 */
export function readFieldOrigins(text: string): readonly string[] | undefined {
  if (text.length > longestFieldOrigins) return undefined;
  const origins = text.split(" ").filter((each) => each !== "");
  if (origins.length > maximumFieldOrigins) return undefined;
  return origins.every(isFieldOrigin) ? origins : undefined;
}

/** As browsers write an origin, and nothing that could begin a second directive of a policy. */
const originForm = /^https?:\/\/[\w.:[\]-]+$/;

/** Whether a page of this origin may be named: with HTTPS, or of this machine. */
export function isFieldOrigin(text: string): boolean {
  if (!originForm.test(text) || URL.parse(text)?.origin !== text) return false;
  return text.startsWith("https:") || isOwnMachine(text);
}

/** Whether an origin is of this machine, whatever its port. */
export function isOwnMachine(origin: string): boolean {
  const url = URL.parse(origin);
  return (
    url !== null &&
    (url.protocol === "http:" || url.protocol === "https:") &&
    ownMachine.has(url.hostname)
  );
}
