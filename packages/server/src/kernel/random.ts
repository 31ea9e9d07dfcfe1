/**
 * Port: the only source of chance. Production plugs in the system's CSPRNG, a sandbox world or a
 * simulation a seeded one.
 */
export interface Random {
  /** Fresh bytes owned by the caller. */
  bytes(length: number): Uint8Array;
}
