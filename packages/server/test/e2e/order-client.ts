import type { Chance } from "../support/chance.ts";
import { directBody, integrationKey, testCard, type TestServer } from "../server.ts";

export type Fields = Readonly<Record<string, unknown>>;

/**
 * One action that a shop wants for a payment, sent until an answer is final. No other intent has
 * its amount.
 */
export interface Intent {
  readonly kind: "direct" | "capture" | "cancel" | "refund" | "refundOrCancel" | "cancelRefund";
  readonly path: string;
  readonly body: Fields;
  readonly key: string | undefined;
  /** `40.00`; undefined for the whole amount. */
  readonly amount: string | undefined;
  /** merchant_refund_code. */
  readonly refundCode: string | undefined;
}

/**
 * A payment according to the books: its state, the captured amount, and its refunds as `code amount
 * status`.
 */
export interface Books {
  readonly state: string;
  readonly captured: string;
  readonly refunds: readonly string[];
  /** The number of facts in its history that the merchant's requests caused. */
  readonly requests: number;
}

export const nothing: Books = { state: "absent", captured: "0.00", refunds: [], requests: 0 };

/** Codes of answers that guarantee that this request did nothing and may be sent again. */
export const retryable: ReadonlySet<string> = new Set([
  "COFRE-12",
  "COFRE-20",
  "COFRE-21",
  "COFRE-45",
]);
/** Codes of answers that leave the outcome open. */
export const outcomeOpen: ReadonlySet<string> = new Set(["COFRE-14", "COFRE-22", "BP-DR-119"]);

export async function send(
  server: TestServer,
  path: string,
  body: Fields,
  key?: string,
): Promise<Fields | undefined> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (key !== undefined) headers["Idempotency-Key"] = key;
  try {
    const response = await fetch(server.url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers,
    });
    return (await response.json()) as Fields;
  } catch {
    return undefined;
  }
}

export async function booksOf(server: TestServer, code: string): Promise<Books> {
  const named = { integration_key: integrationKey, merchant_payment_code: code };
  const explained = await send(server, "/__cofre/explain", named);
  if (explained?.["status"] !== "SUCCESS") return nothing;
  const problems = explained["problems"] as readonly string[];
  if (problems.length > 0) throw new Error(`${code}: ${problems.join(", ")}`);
  const payment = (await send(server, "/ws/query", named))?.["payment"] as Fields;
  const refunds = (payment["refunds"] ?? []) as readonly Fields[];
  const facts = explained["facts"] as readonly Fields[];
  return {
    requests: facts.filter(({ by }) => by === "merchant").length,
    state: String(explained["state"]),
    captured: payment["status"] === "CO" ? String(payment["amount_ext"]) : "0.00",
    refunds: refunds.map((refund) =>
      [refund["merchant_refund_code"] ?? "", refund["amount_ext"], refund["status"]].join(" "),
    ),
  };
}

/** A random order: a sequence of actions on one payment. */
export function drawOrder(chance: Chance, code: string, now: number): readonly Intent[] {
  let cents = 10_00 + chance.below(50);
  const part = (): string => ((cents += 1 + chance.below(7)) / 100).toFixed(2);
  const keyed = (name: string): string | undefined =>
    chance.happens(500) ? `${code}-${name}` : undefined;
  const about = { integration_key: integrationKey, merchant_payment_code: code };
  const token = chance.happens(300)
    ? {
        create_token: true,
        ...(chance.happens(700) ? { token: `${code}-token-`.padEnd(40, "k") } : {}),
      }
    : {};
  const month = new Date(now);
  // Sometimes a card that expires at the end of the month.
  const due = chance.happens(300)
    ? `${month.getUTCMonth() + 1}/${month.getUTCFullYear()}`
    : "12/2060";
  const creditcard = { ...testCard, card_due_date: due, auto_capture: chance.happens(300) };
  const direct: Intent = {
    kind: "direct",
    path: "/ws/direct",
    body: directBody(code, { creditcard, ...token }),
    key: keyed("direct"),
    amount: "100.00",
    refundCode: undefined,
  };
  const later = Array.from({ length: chance.below(4) }, (_, index): Intent => {
    const key = keyed(String(index));
    const dice = chance.below(100);
    if (dice < 35) {
      const amount = part();
      return {
        kind: "capture",
        path: "/ws/capture",
        body: { ...about, amount },
        key,
        amount,
        refundCode: undefined,
      };
    }
    if (dice < 45)
      return {
        kind: "cancel",
        path: "/ws/cancel",
        body: about,
        key,
        amount: undefined,
        refundCode: undefined,
      };
    const refundCode = chance.happens(600) ? `${code}-r${index}` : undefined;
    const named = refundCode === undefined ? {} : { merchant_refund_code: refundCode };
    if (dice < 55) {
      const body = { ...about, ...named, description: "x" };
      return {
        kind: "refundOrCancel",
        path: "/ws/refundOrCancel",
        body,
        key,
        amount: undefined,
        refundCode,
      };
    }
    if (dice < 65) {
      const body = {
        integration_key: integrationKey,
        operation: "cancel",
        merchant_refund_code: `${code}-r${chance.below(3)}`,
      };
      return {
        kind: "cancelRefund",
        path: "/ws/refund",
        body,
        key,
        amount: undefined,
        refundCode: undefined,
      };
    }
    const amount = chance.happens(200) ? "100.00" : part().replace(/^1/, "");
    const body = { ...about, ...named, operation: "request", amount, description: "x" };
    return { kind: "refund", path: "/ws/refund", body, key, amount, refundCode };
  });
  return [direct, ...later];
}
