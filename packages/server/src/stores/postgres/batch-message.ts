import type { MerchantId } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Instant } from "../../kernel/instant.ts";
import { type EndpointId, newDelivery } from "../../notification/events.ts";
import {
  changeIndex,
  deliveryColumns,
  paymentIndex,
  deliveriesIndex,
  replacedVersion,
} from "../change-message.ts";
import type { ChangeMessage, DeliveriesPart } from "../change-message.ts";

/** A change as the functions of migrations/002-writer.ts read it. */
export interface BatchMessage {
  readonly merchant: string;
  readonly json: string;
  /**
   * The payment of a change that may be part of a run (migrations/003-runs.ts); undefined for all
   * others.
   */
  readonly plain: { readonly id: string; readonly code: string | undefined } | undefined;
  /** The change only moves existing deliveries. */
  readonly isMove: boolean;
  /**
   * The database writes it in a subtransaction, because it may find a conflict after it has written
   * a part.
   */
  readonly isGuarded: boolean;
}

/** The parts of changes that are neither a plain payment nor a move of deliveries. */
const otherParts = [
  changeIndex.card,
  changeIndex.account,
  changeIndex.request,
  changeIndex.cardErasure,
  changeIndex.parking,
  changeIndex.requestDeletion,
  changeIndex.deliveryDeletion,
] as const;

export function batchMessageOf(message: ChangeMessage): BatchMessage {
  const payment = message[changeIndex.payment];
  const card = message[changeIndex.card];
  const account = message[changeIndex.account];
  const moved = message[changeIndex.deliveries]?.[deliveriesIndex.moved] ?? [];
  const isBare = otherParts.every((part) => message[part] === undefined);
  const isPlain =
    isBare &&
    payment !== undefined &&
    payment[paymentIndex.rare] === undefined &&
    moved.length === 0;
  const isMove =
    isBare &&
    (payment ?? message[changeIndex.cardUse]) === undefined &&
    moved.length > 0 &&
    moved.every((delivery) => delivery[replacedVersion] !== undefined);
  // The same condition as in write_batch_1 of migrations/002-writer.ts.
  const isGuarded =
    account !== undefined ||
    (payment !== undefined && (card !== undefined || payment[paymentIndex.rare] !== undefined));
  return {
    merchant: message[changeIndex.merchant],
    json: jsonOf(message),
    plain: isPlain ? { id: payment[paymentIndex.id], code: payment[paymentIndex.code] } : undefined,
    isMove,
    isGuarded,
  };
}

/**
 * JSON has no bytes, and the database does not know the initial values of a delivery: bytes become
 * hex, and the initial values are included.
 */
function jsonOf([
  merchant,
  at,
  payment,
  card,
  cardUse,
  account,
  request,
  cardErasure,
  deliveries,
  parking,
  requestDeletion,
  deliveryDeletion,
]: ChangeMessage): string {
  return JSON.stringify([
    merchant,
    at,
    payment,
    card?.map(withHex),
    cardUse,
    account?.map((value) =>
      Array.isArray(value) ? value.map((key: readonly unknown[]) => key.map(withHex)) : value,
    ),
    request,
    cardErasure,
    deliveries === undefined ? undefined : withBeginning(deliveries, at as Instant),
    parking,
    requestDeletion,
    deliveryDeletion,
  ]);
}

function withHex(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

function withBeginning(
  [endpoints, moved, gathering]: DeliveriesPart,
  at: Instant,
): readonly unknown[] {
  return [endpoints, moved, deliveryColumns(newDelivery(placeholder, at)), gathering];
}

/** Placeholder: the delivery's identity is elsewhere in the message. */
const placeholder = {
  merchantId: "" as MerchantId,
  endpoint: "" as EndpointId,
  number: 0,
  paymentId: "" as PaymentId,
  kind: "update" as const,
};

/**
 * The order in which a batch is written. Changes that only move deliveries go first, because
 * between payments they would split a run in two. Several of one merchant keep their order, each in
 * its own round. A plain payment touches no moved delivery, so a move may overtake it. Any other
 * change of the merchant may touch one, so a move after it keeps its place. All other changes keep
 * their order.
 */
export function movesFirst<Change extends { readonly message: BatchMessage }>(
  batch: readonly Change[],
): readonly Change[] {
  if (!batch.some(({ message }) => message.isMove)) return batch;
  const rounds: Change[][] = [];
  const roundOf = new Map<string, number>();
  const rest: Change[] = [];
  const others = new Set<string>();
  for (const change of batch) {
    const { merchant, isMove, plain } = change.message;
    if (isMove && !others.has(merchant)) {
      const round = roundOf.get(merchant) ?? 0;
      roundOf.set(merchant, round + 1);
      (rounds[round] ??= []).push(change);
      continue;
    }
    if (plain === undefined) others.add(merchant);
    rest.push(change);
  }
  return [...rounds.flat(), ...rest];
}

/**
 * The changes in order. Consecutive plain changes of different payments form one part, and so do
 * consecutive moves of different merchants.
 */
export function batchOf(messages: readonly BatchMessage[]): string {
  const merchants = new Set(messages.map(({ merchant }) => merchant));
  const parts: string[] = [];
  let run: string[] = [];
  let moves: string[] = [];
  const names = new Set<string>();
  const endRun = (): void => {
    if (run.length === 1) parts.push(run[0] ?? "");
    else if (run.length > 1) parts.push(`{"run":[${run.join(",")}]}`);
    if (moves.length > 0) parts.push(`{"moves":[${moves.join(",")}]}`);
    [run, moves] = [[], []];
    names.clear();
  };
  for (const { merchant, json, plain, isMove } of messages) {
    if (isMove) {
      if (run.length > 0 || names.has(merchant)) endRun();
      names.add(merchant);
      moves.push(json);
      continue;
    }
    if (moves.length > 0) endRun();
    if (plain === undefined) {
      endRun();
      parts.push(json);
      continue;
    }
    // An id and a code cannot be equal: an id has 48 characters, and a code here has a space after
    // the merchant.
    const code = plain.code === undefined ? plain.id : `${merchant} ${plain.code}`;
    if (names.has(plain.id) || names.has(code)) endRun();
    names.add(plain.id).add(code);
    run.push(json);
  }
  endRun();
  return `{"merchants":${JSON.stringify([...merchants])},"parts":[${parts.join(",")}]}`;
}
