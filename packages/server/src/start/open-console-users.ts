import type { Config } from "../config/settings.ts";
import type { ConsolePeople } from "../http/sign-in/console-people.ts";
import type { PeopleGateParts } from "../http/sign-in/gate.ts";
import { hour } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import type { PeopleStore } from "../user/user-store.ts";
import type { Sealing } from "../vault/sealed-secret.ts";
import { maskCardNumbers } from "../wire/decode/card-like.ts";
import { ownRandom } from "./ports.ts";

interface UserDependencies extends Omit<PeopleGateParts, "people"> {
  readonly store: PeopleStore;
  readonly sealing: Sealing;
}

/**
 * Loads the modules for sign-in only where users sign in. Their secrets come from the system's
 * random generator only.
 */
export async function openPeople(
  { environment }: Config,
  { store, sealing, ...parts }: UserDependencies,
): Promise<ConsolePeople> {
  const [{ consolePeople }, { createPeople }, { createPasswords }] = await Promise.all([
    import("../http/sign-in/console-people.ts"),
    import("../sign-in/user-service.ts"),
    import("../sign-in/password.ts"),
  ]);
  const own = {
    clock: parts.clock,
    random: ownRandom,
    passwords: createPasswords({ random: ownRandom }),
    maskCards: maskCardNumbers,
  };
  return consolePeople({ ...parts, people: createPeople({ ...own, store, sealing, environment }) });
}

const headIntervalMs = hour;

/**
 * Writes the audit log's head to the process log, at once and each hour, because administrators of
 * the audit log's store may have no write access to the process log.
 */
export function logHeads({
  people,
  log,
  scheduler,
}: {
  readonly people: PeopleStore;
  readonly log: Log;
  readonly scheduler: Scheduler;
}): () => void {
  let cancel = (): void => undefined;
  let isOver = false;
  const next = (waitMs: number): void => {
    cancel = scheduler.after(waitMs, () => {
      // If the store is unavailable, the next attempt is an hour later.
      void people.auditHead().then(
        (head) => {
          if (head.number > 0) log.write({ event: "audit_head", ...head });
        },
        () => undefined,
      );
      if (!isOver) next(headIntervalMs);
    });
  };
  next(0);
  return () => {
    isOver = true;
    cancel();
  };
}
