import { formatInstant } from "../../kernel/calendar.ts";
import { laterBy } from "../../kernel/instant.ts";
import {
  actNames,
  type ActParameters,
  type ActProblem,
  actRows,
} from "../../key-acts/act-table.ts";
import {
  type ActRefusal,
  type ActResult,
  KeyActRefused,
  type KeyActs,
  type ActSender,
} from "../../key-acts/key-acts.ts";
import {
  approvalMs,
  type OrderedBy,
  type OrdersState,
  type RootKeyState,
} from "../../key-acts/key-order.ts";
import type { RotationState } from "../../key-acts/rotation-state.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { readErrors, wireErrorOf } from "../../wire/answers/errors.ts";
import { holdsCardNumber } from "../../wire/decode/card-like.ts";
import { textOf, type TreeObject } from "../../wire/decode/tree.ts";
import type { WireError } from "../../wire/decode/wire-error.ts";
import type { UserEndpoint, UserRequest } from "../../wire/endpoint.ts";
import { refusal } from "../../wire/errors/refusal.ts";
import { flagOf } from "../../wire/requests/fields.ts";

export interface KeysEndpointParts {
  readonly acts: KeyActs;
  /** The progress of rotations; undefined where keys are files. */
  readonly rotation: (() => Promise<RotationState>) | undefined;
  /**
   * The admin who sends the request, or the program that has the key of the server's own account in a sandbox
   * without sign-in. Rejects with a refusal of the wire if it is neither.
   */
  readonly senderOf: (request: UserRequest) => Promise<AdmittedSender>;
}

export interface AdmittedSender extends ActSender {
  /** Headers of the answer. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Parameters that are not those of an act. */
const own = ["act", "approve", "check", "dry_run", "integration_key", "public_integration_key"];

/**
 * `/__cofre/keys`, for admins: the stop order in force and the requests that wait for approval;
 * `act` orders or requests an act (docs/operate/keys.md), with its parameters, and with `dry_run`
 * only checks it; `approve` and `check` approve a request.
 */
export function keysEndpoint({ acts, rotation, senderOf }: KeysEndpointParts): UserEndpoint {
  return {
    path: "/__cofre/keys",
    doc: "console",
    key: "session",
    family: "parameters",
    cors: false,
    async handle(request) {
      const { headers, ...sender } = await senderOf(request);
      const body = await answered(() => answerTo({ acts, rotation }, sender, request.params));
      return {
        status: 200,
        body: JSON.stringify({ ...body, status: "SUCCESS" }),
        headers,
      } satisfies WireResponse;
    },
  };
}

async function answerTo(
  { acts, rotation }: Pick<KeysEndpointParts, "acts" | "rotation">,
  sender: ActSender,
  params: TreeObject,
): Promise<object> {
  const act = textOf(params, "act");
  if (act !== undefined) {
    const flag = flagOf(params, "dry_run") ?? false;
    if (flag === "unclear") throw refusedParameter("dry_run");
    const given = { act, parameters: actParameters(params), isDryRun: flag };
    return shownResult(await acts.order(sender, given));
  }
  const approved = textOf(params, "approve");
  if (approved === undefined)
    return { ...shownState(await acts.state()), rotation: shownRotation(await rotation?.()) };
  const request = /^\d{1,9}$/.test(approved) ? Number(approved) : 0;
  return shownResult(await acts.approve(sender, { request, check: textOf(params, "check") ?? "" }));
}

function actParameters(params: TreeObject): ActParameters {
  return Object.fromEntries(
    Object.keys(params)
      .filter((name) => !own.includes(name))
      .map((name) => {
        const value = textOf(params, name);
        // The list of orders and the audit log are kept for years, and shown.
        if (value === undefined || holdsCardNumber(value)) throw refusedParameter(name);
        return [name, value];
      }),
  );
}

async function answered(work: () => Promise<object>): Promise<object> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof KeyActRefused
      ? refusalOf(error.refusal)
      : wireErrorOf(error, readErrors);
  }
}

function refusalOf(refused: ActRefusal): WireError {
  if (refused.kind === "unknown_act") return refusal("COFRE-180", { list: actNames.join(", ") });
  if (refused.kind === "parameter") return refusedParameter(refused.name);
  if (refused.kind === "no_request") return refusal("COFRE-182");
  if (refused.kind === "same_person") return refusal("COFRE-183");
  return refusal("COFRE-184", { problem: problems[refused.problem] });
}

const problems = {
  not_stopped: "card operations are not stopped by an order",
  no_such_key: "no key of this name only opens",
  in_use: "keys or cards need the key",
  no_records: "this installation keeps its keys in files",
} as const satisfies Readonly<Record<ActProblem, string>>;

/** Names of other parameters are the client's own text, so they are not repeated. */
function refusedParameter(name: string): WireError {
  const isKnown =
    own.includes(name) || actNames.some((act) => Object.hasOwn(actRows[act].parameters, name));
  return refusal("COFRE-181", { name: isKnown ? name : "of the act" });
}

function shownResult(result: ActResult): object {
  if (result.result === "checked")
    return { act: result.act, result: "checked", needs_approval: result.needsApproval };
  if (result.result === "done")
    return { ...result.report, act: result.act, result: "done", number: result.number };
  const { act, number, check, endsAt } = result;
  return { act, result: "requested", number, check, ends_at: formatInstant(endsAt) };
}

function shownState({ stop, requests, root }: OrdersState): object {
  return {
    cards:
      stop === undefined
        ? shownRoot(root)
        : {
            state: "stopped",
            cause: "order",
            since: formatInstant(stop.at),
            by: nameOf(stop.by),
            reason: stop.parameters["reason"],
          },
    requests: requests.map(({ number, at, act, parameters, by, check }) => ({
      number,
      act,
      parameters,
      by: nameOf(by),
      at: formatInstant(at),
      ends_at: formatInstant(laterBy(at, approvalMs)),
      check,
    })),
  };
}

function shownRoot({ state, since }: RootKeyState): object {
  return state === "ok" || since === undefined
    ? { state: "serving" }
    : { state: "stopped", cause: "root_denied", since: formatInstant(since) };
}

function shownRotation(state: RotationState | undefined): object | undefined {
  if (state === undefined) return undefined;
  const { epoch, nextEpoch, keysToWrap, cardsPerSecond, resealing } = state;
  return {
    epoch,
    next_epoch: nextEpoch,
    keys_to_wrap: keysToWrap,
    cards_per_second: cardsPerSecond,
    resealing: resealing.map(({ merchantId, keyVersion, percent, secondsLeft }) => ({
      merchant: merchantId,
      key_version: keyVersion,
      percent,
      seconds_left: secondsLeft,
    })),
  };
}

function nameOf(by: OrderedBy): string {
  return by.kind === "user" ? by.name : by.kind;
}
