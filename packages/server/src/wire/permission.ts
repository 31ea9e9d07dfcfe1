import type { Role } from "../user/user.ts";
import { textOf, type TreeObject } from "./decode/tree.ts";

/** The names of the endpoints' actions in the audit log. */
export const endpointActions = [
  "payment_created",
  "capture",
  "cancel",
  "refund",
  "refund_or_cancel",
  "payment_changed",
  "card_stored",
  "card_verified",
  "security_code_set",
  "notification_resent",
  "endpoint_changed",
  "secrets_shown",
  "settings_changed",
  "views_changed",
  "simulator_instructed",
  "faults_changed",
  "world_created",
  "world_changed",
  "clock_moved",
] as const;
type EndpointAction = (typeof endpointActions)[number];

/** What a console user needs for a request, and what the audit log records of it. */
export type Permission =
  | {
      readonly kind: "action";
      readonly role: Role;
      /** The action's name in the audit log. */
      readonly action: EndpointAction;
      /** More about the action, in words of the program only: never text of the request. */
      readonly detail?: string | undefined;
    }
  /** Shows data of the account's customers: the audit log records who has read it. */
  | { readonly kind: "view" }
  /** Shows no data of customers. */
  | { readonly kind: "read" };

/** What console users may do with an endpoint; a request with a key needs no more than the key. */
export type PermissionRule = (request: {
  readonly method: "GET" | "POST";
  readonly params: TreeObject;
}) => Permission;

export const viewing: PermissionRule = () => ({ kind: "view" });
export const reading: PermissionRule = () => ({ kind: "read" });

export function acting(
  role: Role,
  name: EndpointAction,
  detail?: (params: TreeObject) => string | undefined,
): PermissionRule {
  return ({ params }) => ({ kind: "action", role, action: name, detail: detail?.(params) });
}

/** `changing` when the request has one of the parameters, with any value; `otherwise` when not. */
export function whenGiven(
  names: readonly string[],
  changing: PermissionRule,
  otherwise: PermissionRule,
): PermissionRule {
  return (request) =>
    names.some((name) => request.params[name] !== undefined)
      ? changing(request)
      : otherwise(request);
}

/** The amount of a request, which has too few digits for a card number. */
export function amountIn(params: TreeObject): string | undefined {
  const amount = textOf(params, "amount") ?? "";
  return /^\d{1,9}(?:\.\d{1,2})?$/.test(amount) ? `amount ${amount}` : undefined;
}

/** The value of a parameter when it is one of `words`. */
export function wordIn(
  name: string,
  words: readonly string[],
): (params: TreeObject) => string | undefined {
  return (params) => words.find((word) => word === textOf(params, name)?.toLowerCase());
}
