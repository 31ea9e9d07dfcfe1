import { timingSafeEqual } from "node:crypto";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Instant, minute } from "../../kernel/instant.ts";
import { ServiceError } from "../../payment/service-error.ts";
import { errorFacts } from "../../logging/error-facts.ts";
import type { Log } from "../../logging/log-event.ts";
import type { Account } from "../../merchant/account.ts";
import type { Act, Actor } from "../../user/audit.ts";
import type { Users, SignedIn } from "../../sign-in/users.ts";
import { mayDo, type UserView } from "../../user/user.ts";
import { paymentToldBy } from "../recording/answer-view.ts";
import { isInterfacePath } from "../routes.ts";
import type { WireAnswer } from "../../wire/answers/answer.ts";
import type { Caller, KeyedEndpoint, OpenRequest } from "../../wire/endpoint.ts";
import type { ErrorCode } from "../../wire/errors/refusal.ts";
import { invalid, userError, refusalOf } from "./user-errors.ts";
import type { Need } from "../../wire/permission.ts";
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
export interface Admitted {
  readonly account: Account;
  readonly user: UserView;
  /**
   * Records the result in the audit log, and adds the remaining session time to the answer. Never
   * rejects.
   */
  end(answer: WireAnswer): Promise<WireAnswer>;
}

/** Records the result of an action by key. Rejects as the authorizer does. */
export type EndByKey = (answer: WireAnswer) => Promise<WireAnswer>;

/** Repeated views of the same data by the same user are recorded once in this time. */
const lookMs = 10 * minute;
/** The oldest entries are dropped first; the next view is then recorded again. */
const mostLooks = 10_000;

/** What the authorizer reads of an endpoint that takes a key. */
export type AuthorizedEndpoint = Pick<KeyedEndpoint, "path" | "permission" | "ofServer">;

type Asked = Pick<OpenRequest, "method" | "params">;

/** Error codes after which the outcome is unknown. */
const openCodes: ReadonlySet<string> = new Set<ErrorCode>(["COFRE-14", "COFRE-22", "BP-DR-119"]);

/**
 * Admits signed-in users where otherwise a key is required, and records their actions in the audit
 * log. Owns a bounded list of recent views. A change is recorded before it is made, and is refused
 * if it cannot be recorded.
 */
export class ConsoleAuthorizer {
  readonly #parts: ConsoleAuthorizerParts;
  readonly #looks = new BoundedMap<
    string,
    { readonly at: Instant; readonly written: Promise<number> }
  >(mostLooks);

  constructor(parts: ConsoleAuthorizerParts) {
    this.#parts = parts;
  }

  /**
   * undefined if the request has no session. Throws a WireError if the session does not permit this
   * request, or not now.
   */
  async admit(
    endpoint: AuthorizedEndpoint,
    request: Asked,
    caller: Caller,
  ): Promise<Admitted | undefined> {
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
    request: Asked,
    signedIn: SignedIn,
    caller: Caller,
  ): Promise<Admitted> {
    const { accountOf, clock } = this.#parts;
    const { user } = signedIn;
    const need = permission(request);
    const target = targetOf(path, request.params);
    const by = { actor: actorOf(user), origin: caller.address, target };
    if (need.kind === "act" && !mayDo(user.role, need.role)) {
      await this.#seldom(signedIn, `refused ${need.act}`, {
        ...by,
        act: need.act,
        result: "refused",
        detail: `role ${user.role}`,
      });
      throw userError("role");
    }
    const account = await accountOf(ofServer === true ? undefined : caller.account);
    if (account === undefined) throw invalid("Header", "X-Cofre-Account");
    const number = await this.#writeDown(need, account, signedIn, by);
    return {
      account,
      user,
      end: async (answer) => {
        if (need.kind === "act")
          await this.#ended({ ...by, act: need.act, of: number }, account, answer);
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
    request: Asked,
    account: Account,
    callerOf: () => Caller,
  ): Promise<EndByKey> | undefined {
    const need = permission(request);
    if (need.kind !== "act" || (need.role !== "admin" && isInterfacePath(path))) return undefined;
    return this.#writeDownByKey(need, targetOf(path, request.params), account, callerOf().address);
  }

  async #writeDownByKey(
    need: Extract<Need, { kind: "act" }>,
    target: string | undefined,
    account: Account,
    origin: string,
  ): Promise<EndByKey> {
    const by = { actor: { kind: "key" }, origin, target } as const;
    try {
      const of = await this.#before({
        ...by,
        act: need.act,
        result: "asked",
        of: undefined,
        detail: detailOf(account.id, need.detail),
      });
      return async (answer) => {
        await this.#ended({ ...by, act: need.act, of }, account, answer);
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
  ): Promise<SignedIn> {
    const signedIn = await signedInBy(this.#parts.users, caller);
    const { user } = signedIn;
    const by = { actor: actorOf(user), origin: caller.address, target: path };
    if (!mayDo(user.role, "admin")) {
      await this.#seldom(signedIn, "refused request", {
        ...by,
        act: "request",
        result: "refused",
        detail: `role ${user.role}`,
      });
      throw userError("role");
    }
    if (isView)
      await this.#seldom(signedIn, "viewed", {
        ...by,
        act: "viewed",
        result: "done",
        detail: undefined,
      });
    return signedIn;
  }

  /** Returns the number of the entry to which the end of an action will refer. */
  async #writeDown(
    need: Need,
    account: Account,
    signedIn: SignedIn,
    by: By,
  ): Promise<number | undefined> {
    if (need.kind === "act") {
      const detail = detailOf(account.id, need.detail);
      return this.#before({ ...by, act: need.act, result: "asked", of: undefined, detail });
    }
    if (need.kind === "look") {
      await this.#seldom(signedIn, account.id, {
        ...by,
        act: "viewed",
        result: "done",
        detail: detailOf(account.id),
      });
    }
    return undefined;
  }

  /** It may be unknown whether the entry was written; in that case nothing else is done. */
  async #before(act: Act): Promise<number> {
    try {
      return await this.#parts.users.record(act);
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
  async #seldom({ user, csrf }: SignedIn, kind: string, act: Omit<Act, "of">): Promise<void> {
    const now = this.#parts.clock.now();
    const key = [user.id, csrf, kind, act.target].join(" ");
    const known = this.#looks.get(key);
    if (known !== undefined && now >= known.at && now - known.at < lookMs) {
      await known.written;
      return;
    }
    const look = { at: now, written: this.#before({ ...act, of: undefined }) };
    this.#looks.set(key, look);
    try {
      await look.written;
    } catch (error) {
      if (this.#looks.get(key) === look) this.#looks.delete(key);
      throw error;
    }
  }

  async #ended(
    act: By & Pick<Act, "act" | "of">,
    account: Account,
    answer: WireAnswer,
  ): Promise<void> {
    const { status, code } = answer;
    const target = paymentToldBy(answer)?.hash ?? act.target;
    try {
      await this.#parts.users.record({
        ...act,
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

function resultOf({ status, code }: WireAnswer): Act["result"] {
  if (code === undefined) return status === 200 ? "done" : "unknown";
  return openCodes.has(code) ? "unknown" : "refused";
}

type By = Pick<Act, "actor" | "origin" | "target">;

function actorOf({ id, name }: UserView): Actor {
  return { kind: "person", id, name };
}

/**
 * Resolves the session of a request, which needs the cookie and the header that only this server's
 * page can send with it, and must come from no other page. Throws WireError, UserError or
 * ServiceError.
 */
export async function signedInBy(users: Pick<Users, "resume">, caller: Caller): Promise<SignedIn> {
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
  { user, idleUntil, endsAt }: SignedIn,
  clock: Clock,
): readonly (readonly [name: string, value: string])[] {
  const leftMs = Math.min(idleUntil, endsAt) - clock.now();
  return [
    ["X-Cofre-Session-Seconds", String(Math.max(0, Math.floor(leftMs / 1_000)))],
    ["X-Cofre-Role", user.role],
  ];
}
