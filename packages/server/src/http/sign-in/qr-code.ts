/**
 * A QR code as an SVG path, one unit per dark square, and the number of squares in each direction.
 */
export interface QrCode {
  readonly path: string;
  readonly size: number;
}

/** Loads its package when the first invitation is opened. Throws for more than 2,953 bytes. */
export async function qrCode(text: string): Promise<QrCode> {
  const { encode } = await import("uqr");
  const { data, size } = encode(text, { ecc: "L", border: 0 });
  const path = data
    .map((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")).join(""))
    .join("");
  return { path, size };
}
