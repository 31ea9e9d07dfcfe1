/** A search of the payment list, saved with a name for all users of the account. */
export interface SavedView extends ViewFields {
  /** Unique within the account; see `isViewName`. */
  readonly name: string;
}

/** Fields of the list's address; an absent one does not narrow the list. */
export type ViewFields = { readonly [Name in ViewField]?: string };

export const maximumViews = 50;
export const longestViewName = 60;
export const longestViewSearch = 200;

/**
 * The form of each field. None but the search, which is checked for card numbers where it is
 * accepted, has room for the digits of one.
 */
const forms = {
  search: /^[^\p{Cc}\p{Cs}]{1,200}$/u,
  state: /^[a-z_,]{1,200}$/,
  brand: /^[a-z-]{1,20}$/,
  period: /^[1-9]\d{0,2}[hd]$/,
  from: /^\d{4}-\d\d-\d\d$/,
  to: /^\d{4}-\d\d-\d\d$/,
  columns: /^[a-z,]{1,200}$/,
} as const satisfies Readonly<Record<string, RegExp>>;

export type ViewField = keyof typeof forms;
export const viewFieldNames = Object.keys(forms) as readonly ViewField[];

export function isViewField(name: ViewField, text: string): boolean {
  return forms[name].test(text);
}

/** 1 to 60 characters on one line, without blanks around them. */
export function isViewName(name: string): boolean {
  return name === name.trim() && /^[^\p{Cc}\p{Cs}]{1,60}$/u.test(name);
}

/**
 * The views of a setting's value, ordered as given; undefined if it is not a list of views. A text
 * that looks like a number arrives as one.
 */
export function readSavedViews(value: unknown): readonly SavedView[] | undefined {
  if (!Array.isArray(value) || value.length > maximumViews) return undefined;
  const views = value.map(readView);
  const read = views.filter((view) => view !== undefined);
  const names = new Set(read.map(({ name }) => name));
  return names.size === value.length ? read : undefined;
}

function readView(value: unknown): SavedView | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, ...others } = Object.fromEntries(
    Object.entries(value).map(([member, each]) => [
      member,
      typeof each === "number" ? String(each) : each,
    ]),
  ) as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || !isViewName(name)) return undefined;
  const fields = Object.entries(others).flatMap(([member, text]) => {
    const field = viewFieldNames.find((each) => each === member);
    return field !== undefined && typeof text === "string" && isViewField(field, text)
      ? [[field, text] as const]
      : [];
  });
  return fields.length === Object.keys(others).length
    ? { name, ...Object.fromEntries(fields) }
    : undefined;
}

/** What a user asks of the views. */
export type ViewChange =
  /** Adds the view, or replaces the one of its name. */
  | { readonly kind: "save"; readonly view: SavedView }
  | { readonly kind: "rename"; readonly name: string; readonly to: string }
  | { readonly kind: "delete"; readonly name: string };

export type ViewRefusal = "unknown_view" | "name_taken" | "too_many_views";

/** The views after the change, ordered by name, or why there is no change. */
export function viewsAfter(
  views: readonly SavedView[],
  change: ViewChange,
): readonly SavedView[] | ViewRefusal {
  const name = change.kind === "save" ? change.view.name : change.name;
  const old = views.find((view) => view.name === name);
  const others = views.filter((view) => view !== old);
  if (change.kind === "save")
    return others.length < maximumViews ? inOrder([...others, change.view]) : "too_many_views";
  if (old === undefined) return "unknown_view";
  if (change.kind === "delete") return others;
  return others.some((view) => view.name === change.to)
    ? "name_taken"
    : inOrder([...others, { ...old, name: change.to }]);
}

function inOrder(views: readonly SavedView[]): readonly SavedView[] {
  return views.toSorted((left, right) => {
    const [one, other] = [left.name.toLowerCase(), right.name.toLowerCase()];
    return one < other || (one === other && left.name < right.name) ? -1 : 1;
  });
}
