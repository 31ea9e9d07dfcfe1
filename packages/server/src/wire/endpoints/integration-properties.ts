import { acting, reading } from "../permission.ts";
import type { Account, AccountSettings } from "../../merchant/account.ts";
import { validateSettings } from "../../merchant/settings.ts";
import { type AddressCheck, shownAddress } from "../../merchant/receiver-address.ts";
import { changeSettings } from "../../operations/change-settings.ts";
import { holdsCardNumber } from "../decode/card-like.ts";
import type { Endpoint } from "../endpoint.ts";
import { fieldOf } from "../requests/fields.ts";
import { refusal } from "../errors/refusal.ts";
import type { TreeObject } from "../decode/tree.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** Wire names of the account's addresses, in the order of interface 5.7. */
const properties = {
  image: "imageUrl",
  url_response: "responseUrl",
  receipt_email: "receiptEmail",
  url_status_change_notification: "notificationUrl",
} as const satisfies Record<string, keyof AccountSettings>;

/**
 * merchantIntegrationProperties/get and /edit (interface 5.7): plugins call the first to check
 * whether a key works.
 */
export function integrationPropertiesEndpoints({
  runner,
  forget,
  addressCheck,
}: EndpointDeps): readonly Endpoint[] {
  return [
    {
      path: "/ws/merchantIntegrationProperties/get",
      permission: reading,
      recorded: true,
      key: "secret",
      family: "parameters",
      cors: false,
      handle: async ({ account }) => ({ status: 200, body: propertiesBody(account, "get") }),
    },
    {
      path: "/ws/merchantIntegrationProperties/edit",
      permission: acting("admin", "settings_changed"),
      recorded: true,
      key: "secret",
      family: "parameters",
      cors: false,
      handle: ({ params, account }) =>
        answering("query", async () => {
          const changes = changesIn(params, account, addressCheck(account));
          const changed = await runner.run(changeSettings, account, (current) => ({
            ...current,
            ...changes,
          }));
          forget(account.id);
          return propertiesBody(changed, "edit");
        }),
    },
  ];
}

/**
 * A property that is not given stays unchanged. `""` and missing mean the same everywhere
 * (interface 1.2), so no property is ever cleared here.
 */
function changesIn(
  params: TreeObject,
  { settings }: Account,
  check: AddressCheck,
): Partial<AccountSettings> {
  const changes: Record<string, string> = {};
  for (const [name, setting] of Object.entries(properties)) {
    const text = fieldOf(params, name);
    if (text === undefined) continue;
    const checked = validateSettings({ [setting]: text }, settings, check);
    const isAllowed = "settings" in checked && !holdsCardNumber(text);
    if (!isAllowed || (name === "receipt_email" && !text.includes("@"))) {
      throw refusal("COFRE-39", { name });
    }
    changes[setting] = checked.settings[setting];
  }
  return changes;
}

function propertiesBody({ settings }: Account, operation: "get" | "edit"): string {
  const body = Object.fromEntries(
    Object.entries(properties).map(([name, setting]) => [
      name,
      settings[setting] === "" ? null : shownAddress(settings[setting]),
    ]),
  );
  return JSON.stringify({
    status: "SUCCESS",
    success: true,
    resource: "merchantIntegrationProperties",
    operation,
    body,
  });
}
