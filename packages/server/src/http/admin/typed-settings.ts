import { ownValue } from "../../kernel/own.ts";
import type { AccountSettings, SimulatorSettings } from "../../merchant/account.ts";
import { holdsCardNumber } from "../../wire/decode/card-like.ts";
import { isTreeObject, type Tree, type TreeObject } from "../../wire/decode/tree.ts";

/** The problem of settings that contain a card number: settings are stored and shown unchanged. */
export const cardInSettings = "A setting holds a card number.";

/** Whether a text in it, or the name of a member, contains a card number. */
export function holdsCard(requested: Tree): boolean {
  if (typeof requested === "string") return holdsCardNumber(requested);
  if (Array.isArray(requested)) return requested.some(holdsCard);
  return (
    isTreeObject(requested) &&
    Object.entries(requested).some(([name, value]) => holdsCardNumber(name) || holdsCard(value))
  );
}

/**
 * The wire's scalars are all text: each is converted to the type of the current setting of that
 * name.
 */
export function typedSettings(
  requested: TreeObject,
  current: AccountSettings | SimulatorSettings,
): Record<string, unknown> {
  const now: Readonly<Record<string, unknown>> = { ...current };
  return Object.fromEntries(
    Object.entries(requested).map(([name, value]) => [
      name,
      typedValue(value, ownValue(now, name)),
    ]),
  );
}

function typedValue(value: Tree, now: unknown): unknown {
  if (isTreeObject(value))
    return typeof now === "object" && now !== null
      ? typedSettings(value, now as SimulatorSettings)
      : undefined;
  if (Array.isArray(value)) return Array.isArray(now) ? value.map(plain) : undefined;
  if (typeof value !== "string") return undefined;
  if (typeof now === "number") return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
  if (typeof now === "boolean") return booleans.get(value);
  return value;
}

/**
 * The type of a list member follows from its form. A number has no leading zero: a BIN may have
 * one, and is text.
 */
function plain(value: Tree): unknown {
  if (isTreeObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "string") return undefined;
  return /^(?:0|[1-9]\d{0,14})$/.test(value) ? Number(value) : (words.get(value) ?? value);
}

const words: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

const booleans: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);
