import type { Instant } from "./instant.ts";

/** Port: the only source of the present time. */
export interface Clock {
  now(): Instant;
}
