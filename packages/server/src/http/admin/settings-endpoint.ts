import { type AccountSettings, type SimulatorSettings } from "../../merchant/account.ts";
import { accountSettings, validateSettings } from "../../merchant/settings.ts";
import { changeSettings } from "../../operations/change-settings.ts";
import type { AccountDirectory } from "../../operations/account-directory.ts";
import { errorAnswer } from "../wire/answer.ts";
import type { Endpoint } from "../wire/endpoint.ts";
import { answering, type OperationRunner } from "../wire/endpoints/deps.ts";
import { isTreeObject, type Tree, type TreeObject } from "../wire/tree.ts";

const inside = "Parameter settings must be an object, in a form such as settings[partialCapture]=true";

/**
 * `/__cofre/settings`, in the sandbox only: shows an account's switches, and changes those that `settings` names. Takes the
 * account's secret key, in every encoding of the wire.
 */
export function settingsEndpoint(
  runner: OperationRunner,
  accounts: Pick<AccountDirectory, "forget">,
  connectorNames: readonly string[],
): Endpoint {
  return {
    path: "/__cofre/settings",
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const asked = params["settings"];
      // Whoever forgot the brackets must not believe that something was changed.
      if (Object.keys(params).some((name) => Object.hasOwn(accountSettings, name))) return errorAnswer("COFRE-30", inside);
      if (asked === undefined) return { status: 200, body: settingsBody(account.settings) };
      if (!isTreeObject(asked)) return errorAnswer("COFRE-30", inside);
      const changes = typed(asked, account.settings);
      const checked = validateSettings(changes, account.settings);
      if ("problems" in checked) return errorAnswer("COFRE-31", checked.problems.join(" "));
      const named = checked.settings.routes.flatMap(({ connectors }) => connectors);
      // What was stored before the configuration changed is let be.
      if (changes["routes"] !== undefined && !named.every((name) => connectorNames.includes(name))) {
        return errorAnswer("COFRE-31", `routes names a connector that is none of these: ${connectorNames.join(", ")}.`);
      }
      return answering("query", async () => {
        const changed = await runner.run(changeSettings, account, (current) => {
          const again = validateSettings(changes, current);
          return "settings" in again ? again.settings : current;
        });
        accounts.forget(account.id);
        return settingsBody(changed.settings);
      });
    },
  };
}

function settingsBody(settings: AccountSettings): string {
  return JSON.stringify({ settings, status: "SUCCESS" });
}

/** The wire's scalars are all text: they become what the setting of that name is now. */
function typed(asked: TreeObject, current: AccountSettings | SimulatorSettings): Record<string, unknown> {
  const now: Readonly<Record<string, unknown>> = { ...current };
  return Object.fromEntries(Object.entries(asked).map(([name, value]) => [name, typedValue(value, now[name])]));
}

function typedValue(value: Tree, now: unknown): unknown {
  if (isTreeObject(value)) return typeof now === "object" && now !== null ? typed(value, now as SimulatorSettings) : undefined;
  if (Array.isArray(value)) return Array.isArray(now) ? value.map(plain) : undefined;
  if (typeof value !== "string") return undefined;
  if (typeof now === "number") return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
  if (typeof now === "boolean") return booleans.get(value);
  return value;
}

/** A member of a list says by its form alone what it is. A number has no zero before it: a BIN may, and is text. */
function plain(value: Tree): unknown {
  if (isTreeObject(value)) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
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
