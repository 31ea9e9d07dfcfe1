import { sha256Hex } from "../kernel/digest.ts";
import { type Instant, laterBy } from "../kernel/instant.ts";
import type { NotificationChaos } from "./endpoint.ts";
import type { Delivery } from "./events.ts";

/** The faults that the sandbox injects into one delivery to test its receiver. */
export interface ChaosPlan {
  readonly drop: boolean;
  /** Not sent before this moment; undefined: no delay. */
  readonly delayUntil: Instant | undefined;
  /** Later deliveries of the payment are sent before it. */
  readonly overtaken: boolean;
  readonly double: boolean;
  readonly breakSignature: boolean;
}

/**
 * Drawn only from the account's seed, the notification's number and the endpoint, so that a
 * delivery always has the same plan and tests are repeatable.
 */
export function chaosPlan(chaos: NotificationChaos, delivery: Delivery): ChaosPlan {
  const happens = (fault: "drop" | "delay" | "reorder" | "double" | "breakSignature"): boolean =>
    chaos[fault] > 0 &&
    drawOf(chaos.seed, fault, delivery.number, delivery.endpoint) < chaos[fault];
  const overtaken = happens("reorder");
  const isDelayed = overtaken || happens("delay");
  return {
    drop: happens("drop"),
    delayUntil: isDelayed ? laterBy(delivery.requestedAt, chaos.delayMs) : undefined,
    overtaken,
    double: happens("double"),
    breakSignature: happens("breakSignature"),
  };
}

/** 0 to 999, deterministic for a seed, a fault and the two values that identify its subject. */
export function drawOf(
  seed: string,
  fault: keyof NotificationChaos,
  one: string | number,
  other: string | number,
): number {
  const digest = sha256Hex(`cofre notification chaos 1\0${seed}\0${fault}\0${one}\0${other}`);
  return Number.parseInt(digest.slice(0, 12), 16) % 1_000;
}

/** Replaces signatures by invalid ones of the same form. */
export function withBrokenSignatures(
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const broken = (signature: string): string =>
    (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (/^X-Signature-?Content$/.test(name)) return [name, broken(value)];
      if (name !== "webhook-signature") return [name, value];
      return [name, value.replaceAll(/(?<=,)\S+/g, broken)];
    }),
  );
}
