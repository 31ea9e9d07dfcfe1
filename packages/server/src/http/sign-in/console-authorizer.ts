import { timingSafeEqual } from "node:crypto";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Instant, minute } from "../../kernel/instant.ts";
import { ServiceError } from "../../payment/service-error.ts";
import { errorFacts } from "../../logging/error-facts.ts";
import type { Log } from "../../logging/log-event.ts";
import type { Account } from "../../merchant/account.ts";
import type { UserAction, AuditEvent, Actor } from "../../user/audit.ts";
import type { Users, Session } from "../../sign-in/users.ts";
import { mayDo, type UserView } from "../../user/user.ts";
import { paymentIn } from "../recording/answer-view.ts";
import { isInterfacePath } from "../routes.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import type { Caller, KeyedEndpoint, OpenRequest } from "../../wire/endpoint.ts";
import { unknownOutcomeCodes } from "../../wire/errors/unknown-outcome.ts";
import { invalid, userError, refusalOf } from "./user-errors.ts";
import type { Permission } from "../../wire/permission.ts";
import { detailOf, targetOf } from "./audit-texts.ts";

export interface ConsoleAuthorizerParts {
  readonly users: Pick<Users, "resume" | "record">;
  /**
   * The account with this id, including worlds; the first account if no id is given. undefined:
   * there is none.
   */
  readonly accountOf: (id: string | undefined) => Promise<Account | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

/** An admitted request of a signed-in user. */
export interface Authorized {
  readonly account: Account;
  readonly user: UserView;
  /**
   * Records the result in the audit log, and adds the remaining session time to the answer. Never
   * rejects.
   */
  end(answer: WireResponse): Promise<WireResponse>;
}

/** Records the result of an action by key. Rejects as the authorizer does. */
export type RecordResult = (answer: WireResponse) => Promise<WireResponse>;

/** Repeated views of the same data by the same user are recorded once in this time. */
const viewMs = 10 * minute;
/** The oldest entries are dropped first; the next view is then recorded again. */
const maxRecentViews = 10_000;

/** What the authorizer reads of an endpoint that takes a key. */
export type AuthorizedEndpoint = Pick<KeyedEndpoint, "path" | "permission" | "ofServer">;

type PermissionRequest = Pick<OpenRequest, "method" | "params">;

/**
 * Admits signed-in users where otherwise a key is required, and records their actions in the audit
 * log. Owns a bounded list of recent views. A change is recorded before it is made, and is refused
 * if it cannot be recorded.
 */
export class ConsoleAuthorizer {
  readonly #parts: ConsoleAuthorizerParts;
  readonly #recentViews = new BoundedMap<
    string,
    { readonly at: Instant; readonly written: Promise<number> }
  >(maxRecentViews);

  constructor(parts: ConsoleAuthorizerParts) {
    this.#parts = parts;
  }

  /**
   * undefined if the request has no session. Throws a WireError if the session does not permit this
   * request, or not now.
   */
  async admit(
    endpoint: AuthorizedEndpoint,
    request: PermissionRequest,
    caller: Caller,
  ): Promise<Authorized | undefined> {
    if (caller.session === undefined && caller.csrf === undefined) return undefined;
    try {
      return await this.#admit(
        endpoint,
        request,
        await signedInBy(this.#parts.users, caller),
        caller,
      );
    } catch (error) {
      throw refusalOf(error);
    }
  }

  async #admit(
    { path, permission, ofServer }: AuthorizedEndpoint,
    request: PermissionRequest,
    signedIn: Session,
    caller: Caller,
  ): Promise<Authorized> {
    const { accountOf, clock } = this.#parts;
    const { user } = signedIn;
    const needed = permission(request);
    const target = targetOf(path, request.params);
    const by = { actor: actorOf(user), origin: caller.address, target };
    if (needed.kind === "action" && !mayDo(user.role, needed.role)) {
      await this.#recordOnce(signedIn, `refused ${needed.action}`, {
        ...by,
        action: needed.action,
        result: "refused",
        detail: `role ${user.role}`,
      });
      throw userError("role");
    }
    const account = await accountOf(ofServer === true ? undefined : caller.account);
    if (account === undefined) throw invalid("Header", "X-Cofre-Account");
    const number = await this.#recordStart(needed, account, signedIn, by);
    return {
      account,
      user,
      end: async (answer) => {
        if (needed.kind === "action")
          await this.#recordEnd(
            { ...by, action: needed.action, completes: number },
            account,
            answer,
          );
        return {
          ...answer,
          headers: [...(answer.headers ?? []), ...sessionHeaders(signedIn, clock)],
        };
      },
    };
  }

  /**
   * Records actions by key that change how the server behaves, like the same actions of users.
   * Resolves with the function to call with the answer; undefined at once if nothing is recorded:
   * payments by key are in their own histories. `callerOf` is called only if something is recorded.
   */
  byKey(
    { path, permission }: AuthorizedEndpoint,
    request: PermissionRequest,
    account: Account,
    callerOf: () => Caller,
  ): Promise<RecordResult> | undefined {
    const needed = permission(request);
    if (needed.kind !== "action" || (needed.role !== "admin" && isInterfacePath(path)))
      return undefined;
    return this.#recordStartByKey(
      needed,
      targetOf(path, request.params),
      account,
      callerOf().address,
    );
  }

  async #recordStartByKey(
    needed: Extract<Permission, { kind: "action" }>,
    target: string | undefined,
    account: Account,
    origin: string,
  ): Promise<RecordResult> {
    const by = { actor: { kind: "key" }, origin, target } as const;
    try {
      const completes = await this.#recordOrThrow({
        ...by,
        action: needed.action,
        result: "started",
        completes: undefined,
        detail: detailOf(account.id, needed.detail),
      });
      return async (answer) => {
        await this.#recordEnd({ ...by, action: needed.action, completes }, account, answer);
        return answer;
      };
    } catch (error) {
      throw refusalOf(error);
    }
  }

  /**
   * The admin who sends a request about users. Throws as `admit` does. `isView`: the audit log
   * records who has viewed what the request shows.
   */
  async admin(
    path: string,
    caller: Caller,
    { isView = false }: { readonly isView?: boolean } = {},
  ): Promise<Session> {
    const signedIn = await signedInBy(this.#parts.users, caller);
    const { user } = signedIn;
    const by = { actor: actorOf(user), origin: caller.address, target: path };
    if (!mayDo(user.role, "admin")) {
      await this.#recordOnce(signedIn, "refused request", {
        ...by,
        action: "request" satisfies UserAction,
        result: "refused",
        detail: `role ${user.role}`,
      });
      throw userError("role");
    }
    if (isView)
      await this.#recordOnce(signedIn, "viewed", {
        ...by,
        action: "viewed" satisfies UserAction,
        result: "done",
        detail: undefined,
      });
    return signedIn;
  }

  /** Returns the number of the entry to which the end of an action will refer. */
  async #recordStart(
    needed: Permission,
    account: Account,
    signedIn: Session,
    by: By,
  ): Promise<number | undefined> {
    if (needed.kind === "action") {
      const detail = detailOf(account.id, needed.detail);
      return this.#recordOrThrow({
        ...by,
        action: needed.action,
        result: "started",
        completes: undefined,
        detail,
      });
    }
    if (needed.kind === "view") {
      await this.#recordOnce(signedIn, account.id, {
        ...by,
        action: "viewed" satisfies UserAction,
        result: "done",
        detail: detailOf(account.id),
      });
    }
    return undefined;
  }

  /** It may be unknown whether the entry was written; in that case nothing else is done. */
  async #recordOrThrow(event: AuditEvent): Promise<number> {
    try {
      return await this.#parts.users.record(event);
    } catch (error) {
      if (!(error instanceof ServiceError))
        this.#parts.log.write({ event: "audit_failed", ...errorFacts(error) });
      throw new ServiceError("store_unavailable");
    }
  }

  /**
   * Records a view once in ten minutes: the page repeats the same request every two seconds for
   * hours. Concurrent requests wait for the same entry.
   */
  async #recordOnce(
    { user, csrf }: Session,
    kind: string,
    event: Omit<AuditEvent, "completes">,
  ): Promise<void> {
    const now = this.#parts.clock.now();
    const key = [user.id, csrf, kind, event.target].join(" ");
    const known = this.#recentViews.get(key);
    if (known !== undefined && now >= known.at && now - known.at < viewMs) {
      await known.written;
      return;
    }
    const view = { at: now, written: this.#recordOrThrow({ ...event, completes: undefined }) };
    this.#recentViews.set(key, view);
    try {
      await view.written;
    } catch (error) {
      if (this.#recentViews.get(key) === view) this.#recentViews.delete(key);
      throw error;
    }
  }

  async #recordEnd(
    event: By & Pick<AuditEvent, "action" | "completes">,
    account: Account,
    answer: WireResponse,
  ): Promise<void> {
    const { status, code } = answer;
    const target = paymentIn(answer)?.hash ?? event.target;
    try {
      await this.#parts.users.record({
        ...event,
        target,
        result: resultOf(answer),
        detail: detailOf(account.id, `status ${status}`, code),
      });
    } catch (error) {
      // It has happened, and is in the log as asked for.
      this.#parts.log.write({ event: "audit_completion_failed", ...errorFacts(error) });
    }
  }
}

function resultOf({ status, code }: WireResponse): AuditEvent["result"] {
  if (code === undefined) return status === 200 ? "done" : "unknown";
  return unknownOutcomeCodes.has(code) ? "unknown" : "refused";
}

type By = Pick<AuditEvent, "actor" | "origin" | "target">;

function actorOf({ id, name }: UserView): Actor {
  return { kind: "user", id, name };
}

/**
 * Resolves the session of a request, which needs the cookie and the header that only this server's
 * page can send with it, and must come from no other page. Throws WireError, UserError or
 * ServiceError.
 */
export async function signedInBy(users: Pick<Users, "resume">, caller: Caller): Promise<Session> {
  fromOwnPage(caller);
  if (caller.session === undefined) throw userError("not_signed_in");
  const signedIn = await users.resume(caller.session, !caller.isBackground);
  if (!isSame(caller.csrf ?? "", signedIn.csrf)) throw userError("not_from_page");
  return signedIn;
}

/**
 * A custom header cannot be sent to another origin that does not allow it, so its presence, with
 * any value, proves the origin.
 */
export function fromOwnPage({ isSameOrigin, csrf }: Caller): void {
  if (!isSameOrigin || csrf === undefined) throw userError("not_from_page");
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * Lets the page show when the session is about to end, in whole seconds from now, and what the user
 * may do now.
 */
export function sessionHeaders(
  { user, idleUntil, endsAt }: Session,
  clock: Clock,
): readonly (readonly [name: string, value: string])[] {
  const leftMs = Math.min(idleUntil, endsAt) - clock.now();
  return [
    ["X-Cofre-Session-Seconds", String(Math.max(0, Math.floor(leftMs / 1_000)))],
    ["X-Cofre-Role", user.role],
  ];
}
