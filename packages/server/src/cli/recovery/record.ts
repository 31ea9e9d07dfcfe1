import { formatTimestamp } from "../../kernel/calendar.ts";
import type { Instant } from "../../kernel/instant.ts";
import { ClientProblem } from "../client-problem.ts";

const format = "cofre recovery record 1";

/** A custodian in the record of a recovery key. */
interface Custodian {
  /** Number of the share, from 1. */
  readonly share: number;
  readonly name: string;
  /** `typed_back`: the custodian typed words of the share. */
  readonly acknowledged: "typed_back" | "skipped";
  /** ISO 8601, in UTC. */
  readonly at: string;
}

/** Who has which share of a recovery key. It has no secret. */
export interface RecoveryRecord {
  /** Fingerprint of the recovery key. */
  readonly recoveryKey: string;
  readonly createdAt: string;
  /** Number of shares that open it. */
  readonly threshold: number;
  readonly custodians: readonly Custodian[];
  /** Fingerprint of the recovery key that it replaces. */
  readonly replaces: string | undefined;
}

export function printRecord({
  recoveryKey,
  createdAt,
  threshold,
  custodians,
  replaces,
}: RecoveryRecord): string {
  const file = {
    format,
    recovery_key: recoveryKey,
    created_at: createdAt,
    shares: custodians.length,
    threshold,
    custodians,
    ...(replaces === undefined ? {} : { replaces }),
  };
  return `${JSON.stringify(file, undefined, 2)}\n`;
}

/** What a renewal takes over from an earlier record. Throws ClientProblem if it is not one. */
export function readRecord(
  text: string,
  path: string,
): Omit<RecoveryRecord, "createdAt" | "replaces" | "custodians"> & {
  readonly names: readonly string[];
} {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    file = undefined;
  }
  const {
    format: given,
    recovery_key: recoveryKey,
    threshold,
    custodians,
  } = (file ?? {}) as Readonly<Record<string, unknown>>;
  const names = Array.isArray(custodians)
    ? custodians.map((row: unknown) => (row as Partial<Custodian> | null)?.name)
    : [];
  const isWhole =
    given === format &&
    typeof recoveryKey === "string" &&
    typeof threshold === "number" &&
    names.every((name) => typeof name === "string");
  if (!isWhole) throw new ClientProblem(`${path} is not the record of a recovery key.`);
  return { recoveryKey, threshold, names };
}

/** ISO 8601, in UTC. */
export function timeText(at: Instant): string {
  return `${formatTimestamp(at).replace(" ", "T")}Z`;
}
