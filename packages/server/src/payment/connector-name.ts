/**
 * Whether a connector may have this name, which is used in the configuration, in an account's
 * routes and in each of its payments.
 */
export function isConnectorName(text: string): boolean {
  return /^[a-z][a-z0-9_-]{0,31}$/.test(text);
}
