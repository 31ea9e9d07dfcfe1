/**
 * The page and section of the documentation that explain a code, relative to this server. Codes have
 * no characters that a URL must encode.
 */
export function helpAddressOf(code: string): string {
  return `/docs/errors#${code}`;
}
