import { formatInstant } from "../kernel/calendar.ts";
import { day, hour, type Instant } from "../kernel/instant.ts";
import type { Check } from "./check.ts";

/** What passes with time, or depends on people: a fault raises an alarm and refuses nothing. */
export interface AlarmFacts {
  readonly now: Instant;
  /** When the certificate of the settings ends; undefined without one. */
  readonly certificateEndsAt: Instant | undefined;
  /** Admins who can sign in; undefined where the console is off. */
  readonly activeAdmins: number | undefined;
  /** When the backup job last changed its file. */
  readonly backupAt: Instant | undefined;
  /** When the ways to recover were last tried. */
  readonly drilledAt: Instant | undefined;
  /** When the current epoch key was made. */
  readonly epochKeyAt: Instant | undefined;
}

const certificateDays = 14;
const backupHours = 26;
const drillDays = 366;
const epochKeyDays = 366;
const enoughAdmins = 2;

export const alarmChecks: readonly Check<AlarmFacts>[] = [
  {
    name: "certificate_ends",
    rule: `The certificate is valid for ${certificateDays} days or more.`,
    fault: ({ now, certificateEndsAt: endsAt }) =>
      endsAt === undefined || endsAt - now >= certificateDays * day
        ? undefined
        : `The certificate ${endsAt > now ? "ends" : "ended"} at ${formatInstant(endsAt)}.`,
    remedy: "Replace COFRE_TLS_CERTIFICATE_FILE and COFRE_TLS_KEY_FILE; no restart is needed.",
  },
  {
    name: "admins",
    rule: "Two admins or more can sign in.",
    fault: ({ activeAdmins = enoughAdmins }) =>
      activeAdmins >= enoughAdmins
        ? undefined
        : `Admins who can sign in: ${activeAdmins}. Acts that need two people are not possible.`,
    remedy:
      "Let the invited admins enrol, or invite one in the console; cofre init makes new links.",
  },
  {
    name: "backup",
    rule: `A backup was verified in the last ${backupHours} hours.`,
    fault: ({ now, backupAt }) =>
      isRecent(now, backupAt, backupHours * hour)
        ? undefined
        : backupAt === undefined
          ? "COFRE_BACKUP_STAMP names no file, so no backup is known."
          : `The last backup was verified at ${formatInstant(backupAt)}.`,
    remedy:
      "Repair the backup job; it changes the file of COFRE_BACKUP_STAMP after each verified backup.",
  },
  {
    name: "recovery_drill",
    rule: "The ways to recover were tried in the last year.",
    fault: ({ now, drilledAt }) =>
      isRecent(now, drilledAt, drillDays * day)
        ? undefined
        : drilledAt === undefined
          ? "COFRE_RECOVERY_DRILL has no date of a drill."
          : `The last drill was on ${formatInstant(drilledAt).slice(0, 10)}.`,
    remedy: "Run cofre recovery drill with the custodians, and set COFRE_RECOVERY_DRILL.",
  },
  {
    name: "epoch_key",
    rule: "The epoch key is at most a year old.",
    fault: ({ now, epochKeyAt }) =>
      epochKeyAt === undefined || isRecent(now, epochKeyAt, epochKeyDays * day)
        ? undefined
        : `The epoch key was made at ${formatInstant(epochKeyAt)}.`,
    remedy: "Rotate it; cofre keys status lists the keys.",
  },
];

/** Something in the future, by another clock, is recent. */
function isRecent(now: Instant, at: Instant | undefined, withinMs: number): boolean {
  return at !== undefined && now - at <= withinMs;
}
