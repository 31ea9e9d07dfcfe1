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
import { readErrors } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { json, NamedSchema } from "../schema.ts";
import { exampleKey, secretKey } from "./shared-docs.ts";

/** Wire names of the account's addresses, in the order of interface 5.7. */
const properties = {
  image: "imageUrl",
  url_response: "responseUrl",
  receipt_email: "receiptEmail",
  url_status_change_notification: "notificationUrl",
} as const satisfies Record<string, keyof AccountSettings>;

const answerSchema = new NamedSchema(
  "PropertiesAnswer",
  json.object({
    status: json.success,
    success: json.exactly(true),
    resource: json.exactly("merchantIntegrationProperties"),
    operation: json.oneOf(["get", "edit"]),
    body: json.object({
      image: json.textOrNull,
      url_response: json.textOrNull,
      receipt_email: json.textOrNull,
      url_status_change_notification: json.textOrNull,
    }),
  }),
);

const getDoc: EndpointDoc = {
  id: "getProperties",
  tag: "Utilities",
  summary: "Get the account's URLs",
  description: "Plugins call it to check a secret key.",
  fields: [secretKey],
  answer: answerSchema,
  example: exampleKey,
};

const editDoc: EndpointDoc = {
  id: "editProperties",
  tag: "Utilities",
  summary: "Change the account's URLs",
  description: "Changes the fields of the request; the others are unchanged.",
  fields: [
    secretKey,
    { name: "image", type: "text", note: "The URL of the shop's logo.", source: "5.7" },
    {
      name: "url_response",
      type: "text",
      note: "The URL that customers return to.",
      source: "5.7",
    },
    { name: "receipt_email", type: "text", note: "The email address for receipts.", source: "5.7" },
    {
      name: "url_status_change_notification",
      type: "text",
      note: "The URL that receives notifications.",
      source: "5.7",
    },
  ],
  answer: answerSchema,
  codes: ["COFRE-39"],
  example: { ...exampleKey, url_response: "https://shop.example/back" },
};

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
      doc: getDoc,
      permission: reading,
      recorded: true,
      key: "secret",
      family: "parameters",
      cors: false,
      handle: async ({ account }) => ({ status: 200, body: propertiesBody(account, "get") }),
    },
    {
      path: "/ws/merchantIntegrationProperties/edit",
      doc: editDoc,
      permission: acting("admin", "settings_changed"),
      recorded: true,
      key: "secret",
      family: "parameters",
      cors: false,
      handle: ({ params, account }) =>
        answering(readErrors, async () => {
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
