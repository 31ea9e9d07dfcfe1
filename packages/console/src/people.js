// The users of the console and their roles.
import { call } from "./api.js";
import { ask, field, foreign, h, problem, say, select, shown } from "./dom.js";
import { exactText } from "./format.js";
import { parts, t } from "./language.js";
import { liveList } from "./live-list.js";
import { personOfPage, roles } from "./session.js";
import { when } from "./when.js";
import { roleWords } from "./words.js";

/** @import { Person } from "./session.js" */

/** @typedef {Person & { place: number }} Placed */

const heads = [
  t("facts.name"),
  t("people.role"),
  t("head.state"),
  t("people.last"),
  t("actions.title"),
];
/** Numbers as zero-padded text, so that they sort numerically. */
const digits = 6;

/** @type {readonly (readonly [value: string, text: string])[]} */
const roleOptions = [
  ["viewer", t("role.viewer.may")],
  ["operator", t("role.operator.may")],
  ["admin", t("role.admin.may")],
];

/** @type {Readonly<Record<string, readonly [text: string, colour: string]>>} */
const states = {
  invited: [t("people.invited"), "waiting"],
  active: [t("people.active"), "good"],
  disabled: [t("people.disabled"), "over"],
};

/** @type {import("./main.js").View} */
export async function peopleView(main, _words, _query, signal) {
  const trouble = h("div");
  const link = h("div");
  let refresh = async () => {};
  /**
   * @param {Readonly<Record<string, string>>} fields
   * @param {string} words
   */
  const act = async (fields, words) => {
    try {
      const { invitation, user } = /** @type {{ invitation?: string, user: Person }} */ (
        await call("/__cofre/users", fields)
      );
      trouble.replaceChildren();
      link.replaceChildren(...(invitation === undefined ? [] : invited(user.name, invitation)));
      say(words);
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };
  main.append(inviteForm(act), trouble, link, h("h2", {}, t("people.all")));
  refresh = await liveList(main, signal, {
    caption: t("people.caption"),
    heads,
    counted: (count) => t("people.count", { count }),
    isFiltered: false,
    page: async () => {
      const { users } = /** @type {{ users: Person[] }} */ (await call("/__cofre/users", {}));
      // The list begins with the greatest key.
      return {
        items: users.map((user, place) => ({ ...user, place: users.length - place })),
        next: null,
      };
    },
    keyOf: ({ place }) => String(place).padStart(digits, "0"),
    cells: (person) => cells(person, act),
  });
}

/**
 * @param {string} name
 * @param {string} invitation
 */
function invited(name, invitation) {
  return [
    h("p", {}, ...parts("people.link", { name: foreign(name) })),
    h("p", {}, h("code", { class: "link" }, `${location.origin}/#invite=${shown(invitation)}`)),
  ];
}

/** @param {(fields: Readonly<Record<string, string>>, words: string) => Promise<void>} act */
function inviteForm(act) {
  const name = h("input", {
    name: "name",
    autocomplete: "off",
    required: true,
    maxlength: "64",
    size: "16",
    spellcheck: "false",
  });
  const role = select("role", roleOptions, "viewer");
  const send = async () => {
    await act(
      { action: "invite", name: name.value.trim(), role: role.value },
      t("people.done_invited"),
    );
    name.value = "";
  };
  return h(
    "form",
    {
      class: "search",
      onsubmit: (event) => {
        event.preventDefault();
        void send();
      },
    },
    field(t("facts.name"), name),
    field(t("people.role"), role),
    h("button", { type: "submit" }, t("people.invite")),
  );
}

/**
 * @param {Placed} person
 * @param {(fields: Readonly<Record<string, string>>, words: string) => Promise<void>} act
 */
function cells(person, act) {
  const { id, name, role, state, last_signed_in_at: last, locked_until: locked } = person;
  const [text, colour] = states[state] ?? [shown(state), "over"];
  const button = (/** @type {string} */ label, /** @type {() => void} */ onclick) =>
    h(
      "button",
      { type: "button", class: "small", "aria-label": `${label}: ${shown(name)}`, onclick },
      label,
    );
  const others = roles.filter((each) => each !== role);
  const isOwn = id === personOfPage()?.id;
  return [
    foreign(name),
    foreign(roleWords(role)),
    h(
      "span",
      { class: "marks" },
      h("span", { class: `mark ${colour}` }, text),
      locked !== null &&
        h("span", { class: "mark bad" }, t("people.locked", { at: exactText(locked) })),
    ),
    last === null ? t("never") : when(last),
    isOwn
      ? t("people.you")
      : h(
          "span",
          { class: "buttons" },
          ...others.map((each) => {
            const make = () =>
              void act(
                { action: "set_role", id, role: each },
                t("people.role_changed", { role: roleWords(each) }),
              );
            const label = t("people.make", { role: roleWords(each) });
            if (each !== "admin") return button(label, make);
            return button(`${label}…`, () =>
              ask(t("people.make_admin_question", { name: shown(name) }), label, make),
            );
          }),
          locked !== null &&
            button(
              t("people.unlock"),
              () => void act({ action: "unlock", id }, t("people.unlocked")),
            ),
          button(`${t("people.reinvite")}…`, () =>
            ask(
              t("people.reinvite_question", { name: shown(name) }),
              t("people.reinvite"),
              () => void act({ action: "reinvite", id }, t("people.reinvited")),
            ),
          ),
          state !== "disabled" &&
            button(`${t("people.disable")}…`, () =>
              ask(
                t("people.disable_question", { name: shown(name) }),
                t("people.disable"),
                () => void act({ action: "disable", id }, t("people.now_disabled")),
              ),
            ),
        ),
  ];
}
