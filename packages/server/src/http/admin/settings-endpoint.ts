import { acting, reading, whenGiven } from "../../wire/permission.ts";
import type { Account, AccountSettings } from "../../merchant/account.ts";
import { accountSettings, describedSettings, validateSettings } from "../../merchant/settings.ts";
import { changeSettings } from "../../operations/change-settings.ts";
import {
  type AddressCheck,
  shownAddress,
  shownEndpoints,
} from "../../merchant/receiver-address.ts";
import type { AccountDirectory } from "../../operations/account-directory.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { answering, type OperationRunner } from "../../wire/endpoints/deps.ts";
import { flagOf } from "../../wire/requests/fields.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { isTreeObject, type TreeObject } from "../../wire/decode/tree.ts";
import { cardInSettings, holdsCard, typedSettings } from "./typed-settings.ts";
import { readErrors } from "../../wire/answers/errors.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

/** The names of the settings that a request changes. */
function settingsIn({ settings = {} }: TreeObject): string | undefined {
  const names = isTreeObject(settings)
    ? Object.keys(settings).filter((name) => Object.hasOwn(accountSettings, name))
    : [];
  return names.length === 0 ? undefined : names.join(" ").slice(0, 400);
}

const answerSchema = new NamedSchema(
  "SettingsAnswer",
  json.object(
    {
      settings: { ...json.anyObject, description: "Every setting of the account, by name." },
      status: json.success,
    },
    {
      described: {
        ...json.list(json.anyObject),
        description:
          "With `describe`: name, default, allowed, doc, the values of an enumeration, between (the least and greatest number, or number of characters), and unit for thousandths.",
      },
    },
  ),
);

const doc: EndpointDoc = {
  id: "settings",
  tag: "Sandbox",
  summary: "Get or change the account's settings",
  description: "docs/wire/sandbox.md describes each setting.",
  fields: [
    secretKey,
    {
      name: "settings",
      type: "object",
      note: "The settings to change, by name. Without it nothing is changed. COFRE-31 lists invalid values.",
    },
    {
      name: "describe",
      type: "flag",
      note: "Without `settings`: the answer describes each setting, its allowed values and its default.",
    },
  ],
  answer: answerSchema,
  codes: ["COFRE-30", "COFRE-31"],
  example: { ...exampleKey, settings: { strictForms: false } },
};

/** What a sandbox does to payments and notifications: no settings in production. */
const sandboxSettings: readonly string[] = ["simulator", "notificationChaos"];

/**
 * `/__cofre/settings`: shows an account's settings, and changes those that `settings` names; in
 * production without those of a sandbox. `describe` adds the meaning and the valid values of each. Takes the account's
 * secret key, in every encoding of the wire.
 */
export function settingsEndpoint(
  runner: OperationRunner,
  accounts: Pick<AccountDirectory, "forget">,
  connectorNames: readonly string[],
  checkFor: (account: Account) => AddressCheck,
  isSandbox: boolean,
): Endpoint {
  const left = isSandbox ? [] : sandboxSettings;
  return {
    path: "/__cofre/settings",
    doc,
    permission: whenGiven(["settings"], acting("admin", "settings_changed", settingsIn), reading),
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const requested = params["settings"];
      // A client that forgot the brackets must not assume that a setting was changed.
      if (Object.keys(params).some((name) => Object.hasOwn(accountSettings, name)))
        return refusalAnswer("COFRE-30");
      if (requested === undefined)
        return {
          status: 200,
          body: settingsBody(account.settings, left, flagOf(params, "describe") === true),
        };
      if (!isTreeObject(requested)) return refusalAnswer("COFRE-30");
      const unknown = left.filter((name) => Object.hasOwn(requested, name));
      if (unknown.length > 0)
        return refusalAnswer("COFRE-31", {
          problems: unknown.map((name) => `${name} is not a setting.`).join(" "),
        });
      if (holdsCard(requested)) return refusalAnswer("COFRE-31", { problems: cardInSettings });
      const changes = typedSettings(requested, account.settings);
      const check = checkFor(account);
      const checked = validateSettings(changes, account.settings, check);
      if ("problems" in checked)
        return refusalAnswer("COFRE-31", { problems: checked.problems.join(" ") });
      // Routes that were stored before the configuration changed stay unchanged.
      if (changes["routes"] !== undefined && !leadTo(checked.settings, connectorNames))
        return unknownConnector(connectorNames);
      return answering(readErrors, async () => {
        const changed = await runner.run(changeSettings, account, (current) => {
          const again = validateSettings(changes, current, check);
          return "settings" in again ? again.settings : current;
        });
        accounts.forget(account.id);
        return settingsBody(changed.settings, left);
      });
    },
  };
}

/** Whether all routes use only these connectors. */
export function leadTo({ routes }: AccountSettings, connectorNames: readonly string[]): boolean {
  return routes.every(({ connectors }) =>
    connectors.every((name) => connectorNames.includes(name)),
  );
}

export function unknownConnector(connectorNames: readonly string[]): WireResponse {
  return refusalAnswer("COFRE-31", {
    problems: `routes names a connector that is none of these: ${connectorNames.join(", ")}.`,
  });
}

/** `left`: names that are left out. */
function settingsBody(
  settings: AccountSettings,
  left: readonly string[],
  describe = false,
): string {
  const { notificationUrl, notificationEndpoints } = settings;
  const isShown = (name: string): boolean => !left.includes(name);
  const receivers = {
    notificationUrl: shownAddress(notificationUrl),
    notificationEndpoints: shownEndpoints(notificationEndpoints),
  };
  return JSON.stringify({
    settings: Object.fromEntries(
      Object.entries({ ...settings, ...receivers }).filter(([name]) => isShown(name)),
    ),
    ...(describe ? { described: describedSettings().filter(({ name }) => isShown(name)) } : {}),
    status: "SUCCESS",
  });
}
