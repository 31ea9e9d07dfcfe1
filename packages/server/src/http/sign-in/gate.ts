import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import { type Instant, minute } from "../../kernel/instant.ts";
import { ServiceError } from "../../payment/service-error.ts";
import { errorFacts } from "../../logging/error-facts.ts";
import type { Log } from "../../logging/log-event.ts";
import type { Account } from "../../merchant/account.ts";
import type { Act, Actor } from "../../user/audit.ts";
import type { People, SignedIn } from "../../sign-in/users.ts";
import { mayDo, type PersonView } from "../../user/user.ts";
import { paymentToldBy } from "../recording/answer-view.ts";
import type { WireAnswer } from "../../wire/answers/answer.ts";
import type { Caller, KeyedEndpoint, OpenRequest } from "../../wire/endpoint.ts";
import type { ErrorCode } from "../../wire/errors/refusal.ts";
import { invalid, peopleError, refusalOf } from "./people-errors.ts";
import type { Need } from "../../wire/permission.ts";
import { detailOf, targetOf } from "./audit-texts.ts";

export interface PeopleGateParts {
  readonly people: Pick<People, "resume" | "record">;
  /**
   * The account of this id, a world's too; the first one when nobody says which. undefined: there
   * is none.
   */
  readonly accountOf: (id: string | undefined) => Promise<Account | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A request that is a person's. */
export interface Admitted {
  readonly account: Account;
  readonly person: PersonView;
  /** Writes down what came of it, and adds how long the session lasts. Never rejects. */
  end(answer: WireAnswer): Promise<WireAnswer>;
}

/** Writes down what came of an act by key. Rejects as the gate does. */
export type EndByKey = (answer: WireAnswer) => Promise<WireAnswer>;

/** A look at the same by the same person is written down once in so long a time. */
const lookMs = 10 * minute;
/** Forgotten from the oldest on: then a look is written down once more. */
const mostLooks = 10_000;

export const auditPath = "/__cofre/audit";

/** What the gate reads of an endpoint that takes a key. */
export type GatedEndpoint = Pick<KeyedEndpoint, "path" | "permission" | "ofServer">;

type Asked = Pick<OpenRequest, "method" | "params">;

/** What may have been done, or not. */
const openCodes: ReadonlySet<string> = new Set<ErrorCode>(["COFRE-14", "COFRE-22", "BP-DR-119"]);

/**
 * Lets people in where otherwise a key is needed, and writes down what they do. Owns a bounded list
 * of who has looked at what of late. What is to change something is written down before, and what
 * cannot be written down does not happen.
 */
export class PeopleGate {
  readonly #parts: PeopleGateParts;
  readonly #looks = new Map<string, { readonly at: Instant; readonly written: Promise<number> }>();

  constructor(parts: PeopleGateParts) {
    this.#parts = parts;
  }

  /**
   * undefined when nobody's session comes with the request. Throws a WireError when one does that
   * may not do this, or not now.
   */
  async admit(
    endpoint: GatedEndpoint,
    request: Asked,
    caller: Caller,
  ): Promise<Admitted | undefined> {
    if (caller.session === undefined && caller.csrf === undefined) return undefined;
    try {
      return await this.#admit(
        endpoint,
        request,
        await signedInBy(this.#parts.people, caller),
        caller,
      );
    } catch (error) {
      throw refusalOf(error);
    }
  }

  async #admit(
    { path, permission, ofServer }: GatedEndpoint,
    request: Asked,
    signedIn: SignedIn,
    caller: Caller,
  ): Promise<Admitted> {
    const { accountOf, clock } = this.#parts;
    const { person } = signedIn;
    const need = permission(request);
    const target = targetOf(path, request.params);
    const by = { actor: actorOf(person), origin: caller.address, target };
    if (need.kind === "act" && !mayDo(person.role, need.role)) {
      await this.#seldom(signedIn, `refused ${need.act}`, {
        ...by,
        act: need.act,
        result: "refused",
        detail: `role ${person.role}`,
      });
      throw peopleError("role");
    }
    const account = await accountOf(ofServer === true ? undefined : caller.account);
    if (account === undefined) throw invalid("Header", "X-Cofre-Account");
    const number = await this.#writeDown(need, account, signedIn, by);
    return {
      account,
      person,
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
   * What a program does with a key that changes how the server behaves; the same acts of people are
   * written down, and so are these. Resolves with what is to be called with the answer; undefined
   * at once where nothing is written down: payments by key are in their own histories. `callerOf`
   * is called only when something is written down.
   */
  byKey(
    { path, permission }: GatedEndpoint,
    request: Asked,
    account: Account,
    callerOf: () => Caller,
  ): Promise<EndByKey> | undefined {
    const need = permission(request);
    if (need.kind !== "act" || (need.role !== "admin" && !path.startsWith("/__cofre/")))
      return undefined;
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
   * The admin whose request about people it is. Throws as `admit` does; a look at the audit log is
   * written into it.
   */
  async admin(path: string, caller: Caller): Promise<SignedIn> {
    const signedIn = await signedInBy(this.#parts.people, caller);
    const { person } = signedIn;
    const by = { actor: actorOf(person), origin: caller.address, target: path };
    if (!mayDo(person.role, "admin")) {
      await this.#seldom(signedIn, "refused request", {
        ...by,
        act: "request",
        result: "refused",
        detail: `role ${person.role}`,
      });
      throw peopleError("role");
    }
    if (path === auditPath)
      await this.#seldom(signedIn, "looked", {
        ...by,
        act: "looked",
        result: "done",
        detail: undefined,
      });
    return signedIn;
  }

  /** The number of the entry that the end of an act will name. */
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
        act: "looked",
        result: "done",
        detail: detailOf(account.id),
      });
    }
    return undefined;
  }

  /**
   * Whether the entry was written or not, nobody knows at times; that nothing else is done is
   * certain.
   */
  async #before(act: Act): Promise<number> {
    try {
      return await this.#parts.people.record(act);
    } catch (error) {
      if (!(error instanceof ServiceError))
        this.#parts.log.write({ event: "audit_failed", ...errorFacts(error) });
      throw new ServiceError("store_unavailable");
    }
  }

  /**
   * Once in ten minutes: the page asks for the same every two seconds, and is looked at for hours.
   * Whoever asks for it at the same time waits for the one entry.
   */
  async #seldom({ person, csrf }: SignedIn, kind: string, act: Omit<Act, "of">): Promise<void> {
    const now = this.#parts.clock.now();
    const key = [person.id, csrf, kind, act.target].join(" ");
    const known = this.#looks.get(key);
    if (known !== undefined && now >= known.at && now - known.at < lookMs) {
      await known.written;
      return;
    }
    const look = { at: now, written: this.#before({ ...act, of: undefined }) };
    this.#looks.delete(key);
    this.#looks.set(key, look);
    const [oldest] = this.#looks.keys();
    if (this.#looks.size > mostLooks && oldest !== undefined) this.#looks.delete(oldest);
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
      await this.#parts.people.record({
        ...act,
        target,
        result: resultOf(answer),
        detail: detailOf(account.id, `status ${status}`, code),
      });
    } catch (error) {
      // It has happened, and stands in the log as asked for.
      this.#parts.log.write({ event: "audit_completion_failed", ...errorFacts(error) });
    }
  }
}

function resultOf({ status, code }: WireAnswer): Act["result"] {
  if (code === undefined) return status === 200 ? "done" : "unknown";
  return openCodes.has(code) ? "unknown" : "refused";
}

type By = Pick<Act, "actor" | "origin" | "target">;

function actorOf({ id, name }: PersonView): Actor {
  return { kind: "person", id, name };
}

/**
 * Whose session a request comes with: by its cookie, the header that only this server's page can
 * send with it, and from no other page. Throws WireError, PeopleError or ServiceError.
 */
export async function signedInBy(
  people: Pick<People, "resume">,
  caller: Caller,
): Promise<SignedIn> {
  fromOwnPage(caller);
  if (caller.session === undefined) throw peopleError("not_signed_in");
  const signedIn = await people.resume(caller.session, !caller.isBackground);
  if (!isSame(caller.csrf ?? "", signedIn.csrf)) throw peopleError("not_from_page");
  return signedIn;
}

/**
 * A header of one's own cannot be sent to another origin that does not allow it, so one that is
 * there says much, whatever it says.
 */
export function fromOwnPage({ isSameOrigin, csrf }: Caller): void {
  if (!isSameOrigin || csrf === undefined) throw peopleError("not_from_page");
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * For the page to say when the session is about to end, in whole seconds from now, and to show what
 * the person may do now.
 */
export function sessionHeaders(
  { person, idleUntil, endsAt }: SignedIn,
  clock: Clock,
): readonly (readonly [name: string, value: string])[] {
  const leftMs = Math.min(idleUntil, endsAt) - clock.now();
  return [
    ["X-Cofre-Session-Seconds", String(Math.max(0, Math.floor(leftMs / 1_000)))],
    ["X-Cofre-Role", person.role],
  ];
}
