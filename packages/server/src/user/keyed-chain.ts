import type { RowField, RowMacs } from "../vault/row-mac.ts";
import { type AuditHead, type AuditRow, chainOf } from "./audit-chain.ts";
import type { UserChange } from "./user-store.ts";

/** The fields of an entry's MAC. The digest covers the entry's body and all previous entries. */
export function entryFields({ number, digest }: AuditHead): RowField[] {
  return [number, digest];
}

/** The entries of the events after a head, with MACs. */
export function keyedChain(
  macs: Pick<RowMacs, "of">,
  after: AuditHead,
  { at, events }: Pick<UserChange, "at" | "events">,
): NonNullable<UserChange["chain"]> {
  const macOf = (row: AuditRow): string =>
    Buffer.from(macs.of("audit_entry", entryFields(row))).toString("hex");
  return { after, rows: chainOf(after, at, events).map((row) => ({ ...row, mac: macOf(row) })) };
}
