import { isPaymentId, type MerchantId } from "../../kernel/ids.ts";
import { accountSettings } from "../../merchant/settings.ts";
import { isEndpointName } from "../../notification/endpoint.ts";
import type { Role } from "../../user/user.ts";
import { actionNames } from "../admin/payment-endpoint.ts";
import { worldActions } from "../admin/worlds-endpoint.ts";
import type { OpenRequest } from "../../wire/endpoint.ts";
import { isTreeObject, textOf, type TreeObject } from "../../wire/decode/tree.ts";

/** What a person needs for a request, and what is written down of it. */
export type Need =
  | {
      readonly kind: "act";
      readonly role: Role;
      /** What the audit log calls it. */
      readonly act: string;
      /** Words of ours about it. */
      readonly detail?: string | undefined;
    }
  /** Shows what belongs to the account's customers: written down, who has seen it. */
  | { readonly kind: "look" }
  /** Shows nothing of anybody's. */
  | { readonly kind: "read" };

type Rule = (request: Pick<OpenRequest, "method" | "params">) => Need;

const look: Rule = () => ({ kind: "look" });
const read: Rule = () => ({ kind: "read" });

function act(role: Role, name: string, detail?: (params: TreeObject) => string | undefined): Rule {
  return ({ params }) => ({ kind: "act", role, act: name, detail: detail?.(params) });
}

/** `changing` when one of the parameters is there, whatever it says; `otherwise` when none is. */
function when(names: readonly string[], changing: Rule, otherwise: Rule): Rule {
  return (request) =>
    names.some((name) => request.params[name] !== undefined)
      ? changing(request)
      : otherwise(request);
}

/**
 * What people may ask with their session instead of a key, path by path: a path without a row is
 * refused to them, and a test holds that every path that takes a key has its row. Viewers look,
 * operators move money and tell merchants again, admins change how the server behaves.
 */
export const rules: ReadonlyMap<string, Rule> = new Map([
  ["/ws/query", look],
  ["/ws/exchange", read],
  ["/ws/exchange/getCurrencyRates", read],
  ["/ws/zipcode", read],
  ["/ws/documentbalance", read],
  ["/ws/merchantIntegrationProperties/get", read],
  ["/ws/token", act("operator", "card_stored")],
  ["/ws/token/setCVV", act("operator", "security_code_left")],
  ["/ws/verifycard", act("operator", "card_verified")],
  ["/ws/cardverify", act("operator", "card_verified")],
  ["/ws/direct", act("operator", "payment_made")],
  ["/ws/capture", act("operator", "capture", amountIn)],
  ["/ws/cancel", act("operator", "cancel")],
  ["/ws/refund", act("operator", "refund", amountIn)],
  ["/ws/refundOrCancel", act("operator", "refund_or_cancel", amountIn)],
  ["/ws/everest/resendNotification", act("operator", "notification_sent_again")],
  ["/ws/merchantIntegrationProperties/edit", act("admin", "settings_changed")],
  ["/__cofre/explain", look],
  ["/__cofre/timeline", look],
  ["/__cofre/requests", look],
  ["/__cofre/payments", look],
  ["/__cofre/tokens", look],
  ["/__cofre/figures", read],
  ["/__cofre/stats", read],
  [
    "/__cofre/notifications",
    when(
      ["switch_on", "switch_off"],
      act("admin", "receiver_switched", switchIn),
      when(["replay"], act("operator", "notification_sent_again"), look),
    ),
  ],
  ["/__cofre/payment", act("operator", "payment_changed", wordIn("action", actionNames))],
  ["/__cofre/settings", when(["settings"], act("admin", "settings_changed", settingsIn), read)],
  ["/__cofre/simulator", act("admin", "simulator_told")],
  ["/__cofre/faults", when(["add", "clear"], act("admin", "faults_changed"), read)],
  [
    "/__cofre/worlds",
    (request) => (request.method === "POST" ? act("admin", "world_made")(request) : read(request)),
  ],
  ["/__cofre/world", when(["do"], act("admin", "world_changed", wordIn("do", worldActions)), read)],
  ["/__cofre/clock", when(["set", "advance", "run"], act("admin", "clock_moved"), read)],
] satisfies readonly (readonly [string, Rule])[]);

/** Too few digits for a card number. */
function amountIn(params: TreeObject): string | undefined {
  const amount = textOf(params, "amount") ?? "";
  return /^\d{1,9}(?:\.\d{1,2})?$/.test(amount) ? `amount ${amount}` : undefined;
}

function wordIn(
  name: string,
  words: readonly string[],
): (params: TreeObject) => string | undefined {
  return (params) => words.find((word) => word === textOf(params, name)?.toLowerCase());
}

/**
 * Which receiver, as far as that can be an id: a text of somebody's own does not belong into the
 * log.
 */
function switchIn(params: TreeObject): string | undefined {
  const name = ["switch_on", "switch_off"].find((each) => params[each] !== undefined) ?? "";
  const id = textOf(params, name) ?? "";
  return isEndpointName(id) ? `${name} ${id}` : undefined;
}

function settingsIn({ settings = {} }: TreeObject): string | undefined {
  const names = isTreeObject(settings)
    ? Object.keys(settings).filter((name) => Object.hasOwn(accountSettings, name))
    : [];
  return names.length === 0 ? undefined : names.join(" ").slice(0, 400);
}

/**
 * The payment that a request names by its hash, also one that is searched for; otherwise the path.
 */
export function targetOf(path: string, params: TreeObject): string {
  const hash = textOf(params, "hash") ?? textOf(params, "search");
  return hash !== undefined && isPaymentId(hash) ? hash : path;
}

/** `account 0a1b2c3d`, and what else there is to say. */
export function detailOf(account: MerchantId, ...more: readonly (string | undefined)[]): string {
  return [`account ${account}`, ...more.filter((each) => each !== undefined)]
    .join(", ")
    .slice(0, 500);
}
