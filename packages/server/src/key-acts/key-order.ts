import { createHash } from "node:crypto";
import { hour, type Instant, laterBy, minute } from "../kernel/instant.ts";
import type { UserId } from "../user/user.ts";
import type { KeyOrderRow } from "../vault/records/key-order.ts";
import { type ActName, actNames, type ActParameters } from "./act-table.ts";
import { afterRotationAct, noRotation, type RotationOrders } from "./rotation-orders.ts";

/** Who ordered, requested or approved an act. */
export type OrderedBy =
  | { readonly kind: "user"; readonly id: UserId; readonly name: string }
  /** A program with the secret key of the server's own account, in a sandbox without sign-in. */
  | { readonly kind: "key" };

interface OrderContent {
  readonly act: ActName;
  readonly parameters: ActParameters;
  readonly by: OrderedBy;
}

/** What is stored in an entry of the list. */
export type OrderBody =
  /** Takes effect at once. */
  | ({ readonly kind: "order" } & OrderContent)
  /** Takes effect when another admin approves it. */
  | ({ readonly kind: "request" } & OrderContent)
  /** `check`: of the request, as the approving admin saw it. */
  | {
      readonly kind: "approval";
      readonly request: number;
      readonly check: string;
      readonly by: OrderedBy;
    }
  /** Every root key of a node has steadily been in this state. `isAlone`: no other node was alive. */
  | {
      readonly kind: "report";
      readonly node: string;
      readonly root: RootState;
      readonly isAlone: boolean;
    };

/** `denied`: the key service states that the key is disabled or deleted (vault/key-provider.ts). */
export type RootState = "ok" | "denied";

/** A request without an approval. */
export interface OpenRequest extends OrderContent {
  readonly number: number;
  readonly at: Instant;
  /** Digest of its content: proves what was approved. 12 hex characters. */
  readonly check: string;
}

/** An act that has taken effect. `approvedBy`: undefined when one admin suffices. */
export interface DoneAct extends OrderContent {
  readonly number: number;
  readonly at: Instant;
  readonly approvedBy: OrderedBy | undefined;
}

/** The result of all orders up to `last`. */
export interface OrdersState {
  /** The number of the last order; 0 when there is none. */
  readonly last: number;
  /** The order that stopped card operations; undefined when none is in force. */
  readonly stop: DoneAct | undefined;
  /** Requests that were made within the last hour, oldest first. */
  readonly requests: readonly OpenRequest[];
  readonly rotation: RotationOrders;
  readonly root: RootKeyState;
}

/** The state of the root keys in which the nodes agree. */
export interface RootKeyState {
  readonly state: RootState;
  /** When they agreed; undefined before they first did. */
  readonly since: Instant | undefined;
  /** Nodes that have reported the other state. */
  readonly reports: readonly { readonly node: string; readonly at: Instant }[];
}

export const noOrders: OrdersState = {
  last: 0,
  stop: undefined,
  requests: [],
  rotation: noRotation,
  root: { state: "ok", since: undefined, reports: [] },
};

/** Nodes that must agree, unless there is one only. */
const agreeingNodes = 2;
/** How long a report counts: its node may have ended since. */
export const reportMs = 10 * minute;

/** How long a request can be approved. */
export const approvalMs = hour;

export function bodyText(body: OrderBody): string {
  return JSON.stringify(body);
}

/** undefined for an entry of another version, which this one does not know. */
function bodyOf({ body }: Pick<KeyOrderRow, "body">): OrderBody | undefined {
  const { kind, act } = JSON.parse(body) as { readonly kind?: unknown; readonly act?: unknown };
  const isKnown =
    kind === "approval" ||
    kind === "report" ||
    ((kind === "order" || kind === "request") && isAct(act));
  return isKnown ? (JSON.parse(body) as OrderBody) : undefined;
}

function isAct(name: unknown): boolean {
  return actNames.some((each) => each === name);
}

export function requestCheck(body: string): string {
  return createHash("sha256").update(body).digest("hex").slice(0, 12);
}

/** The request that an approval approves, or why it approves none. */
export function approvedRequest(
  { requests }: OrdersState,
  {
    request,
    check,
    by,
  }: Pick<Extract<OrderBody, { kind: "approval" }>, "request" | "check" | "by">,
  at: Instant,
): OpenRequest | "no_request" | "same_person" {
  const found = requests.find(({ number }) => number === request);
  if (found === undefined || found.check !== check || at >= laterBy(found.at, approvalMs))
    return "no_request";
  return isSame(found.by, by) ? "same_person" : found;
}

function isSame(one: OrderedBy, other: OrderedBy): boolean {
  return one.kind !== "user" || other.kind !== "user" || one.id === other.id;
}

/** The state after one more entry, which was written with the installation's keys. */
export function afterOrder(state: OrdersState, row: Omit<KeyOrderRow, "mac">): OrdersState {
  const { number, at } = row;
  const requests = state.requests.filter((each) => at < laterBy(each.at, approvalMs));
  const next = { ...state, last: number, requests };
  const body = bodyOf(row);
  if (body === undefined) return next;
  if (body.kind === "order")
    return afterAct(next, { ...contentOf(body), number, at, approvedBy: undefined });
  if (body.kind === "request") {
    const request = { ...contentOf(body), number, at, check: requestCheck(row.body) };
    return { ...next, requests: [...requests, request] };
  }
  if (body.kind === "report") return { ...next, root: afterReport(state.root, body, at) };
  const approved = approvedRequest(next, body, at);
  // No node writes such an approval.
  if (typeof approved === "string") return next;
  const done = { ...contentOf(approved), number, at, approvedBy: body.by };
  return afterAct({ ...next, requests: requests.filter((each) => each !== approved) }, done);
}

/** Another state is reached when two nodes report it, or the only one does. */
function afterReport(
  present: RootKeyState,
  { node, root, isAlone }: Extract<OrderBody, { kind: "report" }>,
  at: Instant,
): RootKeyState {
  const others = present.reports.filter(
    (report) => report.node !== node && at < laterBy(report.at, reportMs),
  );
  if (root === present.state) return { ...present, reports: others };
  const reports = [...others, { node, at }];
  return isAlone || reports.length >= agreeingNodes
    ? { state: root, since: at, reports: [] }
    : { ...present, reports };
}

function contentOf({ act, parameters, by }: OrderContent): OrderContent {
  return { act, parameters, by };
}

function afterAct(state: OrdersState, done: DoneAct): OrdersState {
  if (done.act === "stop") return { ...state, stop: done };
  if (done.act === "resume") return { ...state, stop: undefined };
  return { ...state, rotation: afterRotationAct(state.rotation, done.act, done) };
}
