import { isPaymentId, type MerchantId } from "../../kernel/ids.ts";
import { accountSettings } from "../../merchant/settings.ts";
import { isEndpointName } from "../../notification/endpoint.ts";
import type { Role } from "../../user/user.ts";
import { actionNames } from "../admin/payment-endpoint.ts";
import { worldActions } from "../admin/worlds-endpoint.ts";
import type { OpenRequest } from "../../wire/endpoint.ts";
import { isTreeObject, textOf, type TreeObject } from "../../wire/decode/tree.ts";

/** The permission that a request of a user needs, and what the audit log records of it. */
export type Need =
  | {
      readonly kind: "act";
      readonly role: Role;
      /** Name of the action in the audit log. */
      readonly act: string;
      /** Additional text, without client input. */
      readonly detail?: string | undefined;
    }
  /** Shows data of the account's customers: the audit log records who has seen it. */
  | { readonly kind: "look" }
  /** Shows no personal data. */
  | { readonly kind: "read" };

type Rule = (request: Pick<OpenRequest, "method" | "params">) => Need;

const look: Rule = () => ({ kind: "look" });
const read: Rule = () => ({ kind: "read" });

function act(role: Role, name: string, detail?: (params: TreeObject) => string | undefined): Rule {
  return ({ params }) => ({ kind: "act", role, act: name, detail: detail?.(params) });
}

/** `changing` if one of the parameters is present, with any value; otherwise `otherwise`. */
function when(names: readonly string[], changing: Rule, otherwise: Rule): Rule {
  return (request) =>
    names.some((name) => request.params[name] !== undefined)
      ? changing(request)
      : otherwise(request);
}

/**
 * The requests that users may send with their session instead of a key, by path. A path without a
 * row is refused, and a test checks that every path that takes a key has a row. Viewers read,
 * operators move money and resend notifications, admins change how the server behaves.
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

/** The receiver's id, if it has the form of one: free text must not get into the log. */
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

/** The payment whose hash the request names, or searches for; otherwise the path. */
export function targetOf(path: string, params: TreeObject): string {
  const hash = textOf(params, "hash") ?? textOf(params, "search");
  return hash !== undefined && isPaymentId(hash) ? hash : path;
}

/** `account 0a1b2c3d`, followed by further details. */
export function detailOf(account: MerchantId, ...more: readonly (string | undefined)[]): string {
  return [`account ${account}`, ...more.filter((each) => each !== undefined)]
    .join(", ")
    .slice(0, 500);
}
