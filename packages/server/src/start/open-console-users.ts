import type { Config } from "../config/settings.ts";
import type { ConsoleUsers } from "../http/sign-in/console-users.ts";
import type { ConsoleAuthorizerParts } from "../http/sign-in/console-authorizer.ts";
import { hour } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import type { Users } from "../sign-in/users.ts";
import type { UserStore } from "../user/user-store.ts";
import type { Sealing } from "../vault/sealed-secret.ts";
import { maskCardNumbers } from "../wire/decode/card-like.ts";
import { ownRandom } from "./ports.ts";

interface UserDependencies extends Omit<ConsoleAuthorizerParts, "users"> {
  readonly store: UserStore;
  readonly sealing: Sealing;
}

/** Loads the modules for sign-in only where users sign in. */
export async function openUsers(
  config: Config,
  { store, sealing, ...parts }: UserDependencies,
): Promise<ConsoleUsers> {
  const [{ consoleUsers }, users] = await Promise.all([
    import("../http/sign-in/console-users.ts"),
    openUserService(config, { store, sealing, clock: parts.clock }),
  ]);
  return consoleUsers({ ...parts, users });
}

/** Users' secrets come from the system's random generator only. */
export async function openUserService(
  { environment, installationName = environment }: Config,
  own: Pick<UserDependencies, "store" | "sealing" | "clock">,
): Promise<Users> {
  const [{ createUsers }, { createPasswords }] = await Promise.all([
    import("../sign-in/user-service.ts"),
    import("../sign-in/password.ts"),
  ]);
  return createUsers({
    ...own,
    environment,
    installationName,
    random: ownRandom,
    passwords: createPasswords({ random: ownRandom }),
    maskCards: maskCardNumbers,
  });
}

const headIntervalMs = hour;

/**
 * Writes the audit log's head to the process log, at once and each hour, because administrators of
 * the audit log's store may have no write access to the process log.
 */
export function logHeads({
  users,
  log,
  scheduler,
}: {
  readonly users: UserStore;
  readonly log: Log;
  readonly scheduler: Scheduler;
}): () => void {
  let cancel = (): void => undefined;
  let isOver = false;
  const next = (waitMs: number): void => {
    cancel = scheduler.after(waitMs, () => {
      // If the store is unavailable, the next attempt is an hour later.
      void users.auditHead().then(
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
