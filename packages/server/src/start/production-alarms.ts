import { promises } from "node:fs";
import type { Config } from "../config/settings.ts";
import { parseInstant } from "../kernel/calendar.ts";
import type { Clock } from "../kernel/clock.ts";
import { hour, instant, type Instant } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import { type AlarmFacts, alarmChecks } from "../production/alarm-checks.ts";
import { type Finding, findingsOf } from "../production/check.ts";
import type { RunningStore } from "../stores/store.ts";
import type { UserStore } from "../user/user-store.ts";
import { sharedKeyRecords } from "./key-record-storage.ts";
import { readCertificate } from "./listen-with-certificate.ts";

export interface AlarmSources {
  readonly config: Config;
  readonly keys: RunningStore["keys"];
  readonly users: Pick<UserStore, "users">;
  readonly clock: Clock;
}

interface ProductionAlarmsOptions extends AlarmSources {
  readonly scheduler: Scheduler;
  readonly log: Log;
}

const intervalMs = hour;
/** An alarm that continues is logged again after as many checks: once a day. */
const checksBetweenReports = 24;

/** Checks once an hour what passes with time, and reports each fault. Refuses nothing. */
export class ProductionAlarms {
  readonly #options: ProductionAlarmsOptions;
  /** Faults of the last check, with the number of checks since each was reported. */
  #active: ReadonlyMap<string, number> = new Map();
  #cancel: (() => void) | undefined;

  constructor(options: ProductionAlarmsOptions) {
    this.#options = options;
  }

  /** Names of the checks that failed last. */
  get names(): readonly string[] {
    return [...this.#active.keys()];
  }

  async start(): Promise<void> {
    await this.#check();
    this.#checkLater();
  }

  stop(): void {
    this.#cancel?.();
  }

  #checkLater(): void {
    this.#cancel = this.#options.scheduler.after(intervalMs, () => {
      this.#checkLater();
      void this.#check();
    });
  }

  async #check(): Promise<void> {
    // When the store does not answer, the next check is an hour later; the log has its failure.
    const findings = await alarmFindings(this.#options).catch(() => undefined);
    if (findings === undefined) return;
    const { log } = this.#options;
    const active = new Map<string, number>();
    for (const { name, fault, remedy } of findings) {
      if (fault === undefined) {
        if (this.#active.has(name)) log.write({ event: "production_alarm_ended", check: name });
        continue;
      }
      const checks = ((this.#active.get(name) ?? -1) + 1) % checksBetweenReports;
      active.set(name, checks);
      if (checks === 0) log.write({ event: "production_alarm", check: name, fault, remedy });
    }
    this.#active = active;
  }
}

export async function alarmFindings(sources: AlarmSources): Promise<readonly Finding[]> {
  return findingsOf(alarmChecks, await factsOf(sources));
}

async function factsOf({ config, keys, users, clock }: AlarmSources): Promise<AlarmFacts> {
  const { tlsCertificateFile, backupStamp, console: access } = config;
  const [certificate, people, records, stamp] = await Promise.all([
    // An unreadable certificate is reported by the listener.
    tlsCertificateFile === undefined ? undefined : readCertificate(config).catch(() => undefined),
    access === "login" ? users.users() : undefined,
    sharedKeyRecords(keys),
    backupStamp === undefined ? undefined : promises.stat(backupStamp).catch(() => undefined),
  ]);
  const epoch = records.find(({ purpose, state }) => purpose === "epoch" && state === "current");
  return {
    now: clock.now(),
    certificateEndsAt: certificate?.endsAt,
    activeAdmins: people?.filter(({ role, state }) => role === "admin" && state === "active")
      .length,
    backupAt: stamp === undefined ? undefined : instant(stamp.mtimeMs),
    drilledAt: latest(config.recoveryDrill, config.rootKeyBackup),
    epochKeyAt: epoch?.createdAt,
  };
}

/** The latest of the dates that are set. */
function latest(...dates: readonly (string | undefined)[]): Instant | undefined {
  const known = dates.flatMap((date) => parseInstant(date ?? "") ?? []);
  return known.length === 0 ? undefined : instant(Math.max(...known));
}
