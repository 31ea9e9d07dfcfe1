/**
 * Port: the only source of randomness. Production uses the system's CSPRNG; a sandbox world or a
 * simulation uses a seeded generator.
 */
export interface Random {
  /** Fresh bytes owned by the caller. */
  bytes(length: number): Uint8Array;
}
