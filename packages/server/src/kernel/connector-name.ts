/**
 * What a connector may be called: in the configuration, in an account's routes, and with each
 * payment that it carries.
 */
export function isConnectorName(text: string): boolean {
  return /^[a-z][a-z0-9_-]{0,31}$/.test(text);
}
