import type { Account, AccountSettings } from "../../merchant/account.ts";
import {
  isViewField,
  isViewName,
  longestViewName,
  longestViewSearch,
  maximumViews,
  readSavedViews,
  type SavedView,
  type ViewChange,
  viewFieldNames,
  type ViewRefusal,
  viewsAfter,
} from "../../merchant/saved-views.ts";
import type { AccountDirectory } from "../../operations/account-directory.ts";
import { changeSettings } from "../../operations/change-settings.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { readErrors } from "../../wire/answers/errors.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { holdsCardNumber } from "../../wire/decode/card-like.ts";
import type { TreeObject } from "../../wire/decode/tree.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { answeringAnswer, type OperationRunner } from "../../wire/endpoints/deps.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";
import { refusal } from "../../wire/errors/refusal.ts";
import { acting, reading, whenGiven } from "../../wire/permission.ts";
import { fieldOf } from "../../wire/requests/fields.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { maskedSearch } from "./payments-endpoint.ts";

const actions = ["save", "rename", "delete"] as const;

const answerSchema = new NamedSchema(
  "ViewsAnswer",
  json.object({
    views: {
      ...json.list(
        json.object(
          { name: json.text },
          Object.fromEntries(viewFieldNames.map((name) => [name, json.text])),
        ),
      ),
      description: "Ordered by name.",
    },
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "savedViews",
  tag: "Sandbox",
  summary: "List, save, rename or delete the saved searches of the payment list",
  description:
    "A saved view is a search of the console's payment list with a name. All users of the account see the same views. Without `save`, `rename` and `delete` they are listed.",
  fields: [
    secretKey,
    {
      name: "save",
      type: "text",
      longest: { characters: longestViewName, code: "COFRE-170" },
      note: `The name of the view to add; a view of the same name is replaced. At most ${maximumViews} views: COFRE-172.`,
    },
    {
      name: "rename",
      type: "text",
      note: "The name of the view to rename, 1 to 60 characters (COFRE-170). No such view: COFRE-171.",
    },
    {
      name: "name",
      type: "text",
      note: "With `rename`: the new name. Another view has it: COFRE-173.",
    },
    {
      name: "delete",
      type: "text",
      note: "The name of the view to delete. No such view: COFRE-171. Only one of save, rename and delete: COFRE-175.",
    },
    {
      name: "search",
      type: "text",
      longest: { characters: longestViewSearch },
      note: "With `save`: the words of the search, as /__cofre/payments takes them. A card number is masked.",
    },
    {
      name: "state",
      type: "text",
      note: "With `save`: states, comma-separated. A value that does not have the form of its field: COFRE-174.",
    },
    { name: "brand", type: "text", note: "With `save`: a brand." },
    {
      name: "period",
      type: "text",
      note: "With `save`: the last hours or days, such as 24h or 7d.",
    },
    { name: "from", type: "text", note: "With `save`: the first day, such as 2026-01-31." },
    { name: "to", type: "text", note: "With `save`: the last day." },
    { name: "columns", type: "text", note: "With `save`: columns of the list, comma-separated." },
  ],
  answer: answerSchema,
  errors: readErrors,
  runs: [changeSettings],
  codes: ["COFRE-170", "COFRE-171", "COFRE-172", "COFRE-173", "COFRE-174", "COFRE-175"],
  example: { ...exampleKey, save: "Declined in Mexico", search: "country:mx", state: "declined" },
};

/**
 * `/__cofre/views`: the account's saved views of the payment list. `save` adds or replaces the view
 * of this name, `rename` gives it the name in `name`, `delete` deletes it; each answer lists the
 * views that there are then. Views are a setting of the account: backups and snapshots contain
 * them, and a reset of a world deletes those that its initial settings do not have.
 */
export function viewsEndpoint(
  runner: OperationRunner,
  accounts: Pick<AccountDirectory, "forget">,
): Endpoint {
  return {
    path: "/__cofre/views",
    doc,
    permission: whenGiven(actions, acting("operator", "views_changed", actionIn), reading),
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const change = changeIn(params);
      const before = viewsOf(account.settings);
      if (change === undefined) return listing(before);
      // The settings may be two seconds old: they answer the usual refusals without a commit.
      const early = viewsAfter(before, change);
      if (typeof early === "string") return refusedBecause(early);
      return answeringAnswer(readErrors, () => changed(runner, accounts, account, change));
    },
  };
}

async function changed(
  runner: OperationRunner,
  accounts: Pick<AccountDirectory, "forget">,
  account: Account,
  change: ViewChange,
): Promise<WireResponse> {
  let refused: ViewRefusal | undefined;
  const { settings } = await runner.run(changeSettings, account, (current) => {
    const after = viewsAfter(viewsOf(current), change);
    refused = typeof after === "string" ? after : undefined;
    return typeof after === "string" ? current : { ...current, savedViews: after };
  });
  accounts.forget(account.id);
  return refused === undefined ? listing(viewsOf(settings)) : refusedBecause(refused);
}

/** Settings that an earlier version stored have none. */
function viewsOf({ savedViews }: AccountSettings): readonly SavedView[] {
  return readSavedViews(savedViews) ?? [];
}

function actionIn(params: TreeObject): string | undefined {
  return actions.find((action) => params[action] !== undefined);
}

/** undefined: the views are only listed. Throws a WireError. */
function changeIn(params: TreeObject): ViewChange | undefined {
  const [action, ...more] = actions.filter((each) => params[each] !== undefined);
  if (action === undefined) return undefined;
  if (more.length > 0) throw refusal("COFRE-175");
  const name = nameIn(params, action);
  if (action === "delete") return { kind: "delete", name };
  if (action === "rename") return { kind: "rename", name, to: nameIn(params, "name") };
  const fields = viewFieldNames.flatMap((field) => {
    const value = fieldOf(params, field);
    if (value === undefined) return [];
    const text = field === "search" ? maskedSearch(value) : value;
    if (!isViewField(field, text)) throw refusal("COFRE-174", { name: field });
    return [[field, text] as const];
  });
  return { kind: "save", view: { name, ...Object.fromEntries(fields) } };
}

function nameIn(params: TreeObject, parameter: (typeof actions)[number] | "name"): string {
  const name = fieldOf(params, parameter);
  if (name === undefined || !isViewName(name) || holdsCardNumber(name)) throw refusal("COFRE-170");
  return name;
}

function refusedBecause(reason: ViewRefusal): WireResponse {
  if (reason === "too_many_views") return refusalAnswer("COFRE-172");
  return refusalAnswer(reason === "name_taken" ? "COFRE-173" : "COFRE-171");
}

function listing(views: readonly SavedView[]): WireResponse {
  return { status: 200, body: JSON.stringify({ views, status: "SUCCESS" }) };
}
