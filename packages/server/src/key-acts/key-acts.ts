import { assert } from "../kernel/assert.ts";
import { type Instant, laterBy } from "../kernel/instant.ts";
import type { AuditEvent, KeyActAction } from "../user/audit.ts";
import type { UserStore } from "../user/user-store.ts";
import {
  type ActName,
  actNames,
  type ActParameters,
  type ActProblem,
  type ActRow,
  actRows,
  invalidParameter,
} from "./act-table.ts";
import {
  approvalMs,
  approvedRequest,
  type OpenRequest,
  type OrderedBy,
  type OrdersState,
  requestCheck,
} from "./key-order.ts";
import type { KeyOrders } from "./key-orders.ts";

/** Why an act cannot be done in this state; undefined when it can. */
export type ActCheck = (state: OrdersState, parameters: ActParameters) => ActProblem | undefined;

const checks: Readonly<Record<ActName, ActCheck>> = {
  stop: () => undefined,
  "add-root": () => undefined,
  "move-root": () => undefined,
  resume: ({ stop }) => (stop === undefined ? "not_stopped" : undefined),
  rotate: () => undefined,
  reseal: () => undefined,
  compromised: () => undefined,
  destroy: () => undefined,
};

/** What an act reports, for the answer. */
type ActReport = Readonly<Record<string, string | number | boolean>>;

/**
 * What an act does on the node that stored it, besides what every node does when it reads the list.
 * It may have to be repeated: the process may end before it. Long work is started only.
 */
export type ActPerformers = Readonly<
  Partial<Record<ActName, (parameters: ActParameters, number: number) => Promise<ActReport>>>
>;
/** Acts that are possible only with certain stored keys. */
export type KeyCheck = (act: ActName, parameters: ActParameters) => Promise<ActProblem | undefined>;

export type ActRefusal =
  | { readonly kind: "unknown_act" }
  | { readonly kind: "parameter"; readonly name: string }
  /** Unknown, approved, older than an hour, of an admin who is no longer one, or another check. */
  | { readonly kind: "no_request" }
  | { readonly kind: "same_person" }
  | { readonly kind: "not_now"; readonly problem: ActProblem };

/** An act was refused; nothing was stored. */
export class KeyActRefused extends Error {
  override readonly name = "KeyActRefused";
  readonly refusal: ActRefusal;

  constructor(refusal: ActRefusal) {
    super("an act upon keys was refused");
    this.refusal = refusal;
  }
}

/** The sender of an order, and the client's address. */
export interface ActSender {
  readonly by: OrderedBy;
  readonly origin: string;
}

export interface GivenAct {
  readonly act: string;
  readonly parameters: ActParameters;
  /** true: everything is checked, and nothing is stored. */
  readonly isDryRun: boolean;
}

/** `requested`: waits for the approval of another admin. `checked`: the result of a dry run. */
export type ActResult =
  | {
      readonly result: "done";
      readonly act: ActName;
      readonly number: number;
      readonly report: ActReport;
    }
  | { readonly result: "checked"; readonly act: ActName; readonly needsApproval: boolean }
  | {
      readonly result: "requested";
      readonly act: ActName;
      readonly number: number;
      readonly check: string;
      readonly endsAt: Instant;
    };

interface KeyActsParts {
  readonly orders: KeyOrders;
  readonly users: Pick<UserStore, "user">;
  readonly perform: ActPerformers;
  readonly checkKeys: KeyCheck;
}

/**
 * Orders, requests and approvals of acts upon keys. All methods reject with KeyActRefused and with
 * StoreError.
 */
export class KeyActs {
  readonly #parts: KeyActsParts;

  constructor(parts: KeyActsParts) {
    this.#parts = parts;
  }

  /** The present state, with what other nodes have written. */
  async state(): Promise<OrdersState> {
    await this.#parts.orders.refresh();
    return this.#parts.orders.state;
  }

  async order({ by, origin }: ActSender, given: GivenAct): Promise<ActResult> {
    const { parameters, isDryRun } = given;
    const { orders } = this.#parts;
    const act = actNames.find((name) => name === given.act);
    if (act === undefined) throw new KeyActRefused({ kind: "unknown_act" });
    const invalid = invalidParameter(act, parameters);
    if (invalid !== undefined) throw new KeyActRefused({ kind: "parameter", name: invalid });
    const needsApproval = needsOtherAdmin(actRows[act], by);
    await this.#refuseByKeys(act, parameters);
    if (isDryRun) {
      refuseProblem(act, parameters, await this.state());
      return { result: "checked", act, needsApproval };
    }
    const { number, at, body } = await orders.append((state) => {
      refuseProblem(act, parameters, state);
      const content = { act, parameters, by };
      return needsApproval
        ? {
            body: { kind: "request", ...content },
            event: eventOf({ by, origin }, "key_act_requested", act, parameters),
          }
        : {
            body: { kind: "order", ...content },
            event: eventOf({ by, origin }, "key_act", act, parameters),
          };
    });
    return needsApproval
      ? {
          result: "requested",
          act,
          number,
          check: requestCheck(body),
          endsAt: laterBy(at, approvalMs),
        }
      : await this.#done(act, parameters, number);
  }

  /** `check`: of the request as the approving admin saw it. */
  async approve(
    { by, origin }: ActSender,
    { request, check }: { readonly request: number; readonly check: string },
  ): Promise<ActResult> {
    const { orders } = this.#parts;
    const stored: { request?: OpenRequest } = {};
    const { number } = await orders.append(async (state, now) => {
      const approved = approvedRequest(state, { request, check, by }, now);
      if (typeof approved === "string") throw new KeyActRefused({ kind: approved });
      if (!(await this.#isAdmin(approved.by))) throw new KeyActRefused({ kind: "no_request" });
      const { act: name, parameters } = approved;
      refuseProblem(name, parameters, state);
      stored.request = approved;
      await this.#refuseByKeys(name, parameters);
      return {
        body: { kind: "approval", request, check, by },
        event: eventOf({ by, origin }, "key_act_approved", name, parameters, approved),
      };
    });
    assert(stored.request !== undefined, "an approval that was stored has its request");
    const { act, parameters } = stored.request;
    return await this.#done(act, parameters, number);
  }

  async #done(act: ActName, parameters: ActParameters, number: number): Promise<ActResult> {
    const report = (await this.#parts.perform[act]?.(parameters, number)) ?? {};
    return { result: "done", act, number, report };
  }

  async #refuseByKeys(act: ActName, parameters: ActParameters): Promise<void> {
    const problem = await this.#parts.checkKeys(act, parameters);
    if (problem !== undefined) throw new KeyActRefused({ kind: "not_now", problem });
  }

  /** The user who made the request must still be an admin. */
  async #isAdmin(by: OrderedBy): Promise<boolean> {
    if (by.kind !== "user") return false;
    const user = await this.#parts.users.user(by.id);
    return user?.role === "admin" && user.state === "active";
  }
}

function refuseProblem(act: ActName, parameters: ActParameters, state: OrdersState): void {
  const problem = checks[act](state, parameters);
  if (problem !== undefined) throw new KeyActRefused({ kind: "not_now", problem });
}

/** A key belongs to no person, so there is no other one either. */
function needsOtherAdmin({ people }: ActRow, by: OrderedBy): boolean {
  return people === 2 && by.kind === "user";
}

function eventOf(
  { by, origin }: ActSender,
  action: KeyActAction,
  act: ActName,
  parameters: ActParameters,
  request?: OpenRequest,
): AuditEvent {
  const texts = Object.entries(parameters).map(([name, value]) => `${name}: ${value}`);
  return {
    actor: by,
    origin,
    action,
    target: act,
    result: "done",
    completes: undefined,
    detail: [...(request === undefined ? [] : [`request ${request.number}`]), ...texts]
      .join("; ")
      .slice(0, 500),
  };
}
