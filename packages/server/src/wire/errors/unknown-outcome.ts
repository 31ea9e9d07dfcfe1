import type { ErrorCode } from "./refusal.ts";

/** Codes after which the outcome of the request is unknown. */
export const unknownOutcomeCodes: ReadonlySet<string> = new Set<ErrorCode>([
  "COFRE-14",
  "COFRE-22",
  "BP-DR-119",
]);
