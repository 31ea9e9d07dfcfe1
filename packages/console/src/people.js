// The users of the console and their roles.
import { call } from "./api.js";
import { ask, field, foreign, h, problem, say, select, shown } from "./dom.js";
import { liveList } from "./live-list.js";
import { personOfPage, roles } from "./session.js";

/** @import { Person } from "./session.js" */

/** @typedef {Person & { place: number }} Placed */

const heads = ["Name", "Role", "State", "Last sign-in (UTC)", "Actions"];
/** Numbers as zero-padded text, so that they sort numerically. */
const digits = 6;

/** @type {readonly (readonly [value: string, text: string])[]} */
const roleOptions = [
  ["viewer", "viewer: can view"],
  ["operator", "operator: can also move money"],
  ["admin", "admin: can do everything"],
];

/** @type {Readonly<Record<string, readonly [text: string, colour: string]>>} */
const states = {
  invited: ["invited", "waiting"],
  active: ["active", "good"],
  disabled: ["disabled", "over"],
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
  main.append(inviteForm(act), trouble, link, h("h2", {}, "All users"));
  refresh = await liveList(main, signal, {
    caption: "Users, by name",
    heads,
    noun: ["user", "users"],
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
    h(
      "p",
      {},
      "Invitation link for ",
      foreign(name),
      ". It is shown only now, works once and expires after 24 hours. Give it only to this user.",
    ),
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
    await act({ action: "invite", name: name.value.trim(), role: role.value }, "Invited.");
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
    field("Name", name),
    field("Role", role),
    h("button", { type: "submit" }, "Invite"),
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
    foreign(role),
    h(
      "span",
      { class: "marks" },
      h("span", { class: `mark ${colour}` }, text),
      locked !== null && h("span", { class: "mark bad" }, `locked until ${shown(locked)}`),
    ),
    last === null
      ? "never"
      : h("time", { datetime: last }, shown(last.replace("T", " ").replace(/(?:\.\d+)?Z$/, ""))),
    isOwn
      ? "you"
      : h(
          "span",
          { class: "buttons" },
          ...others.map((each) => {
            const make = () =>
              void act({ action: "set_role", id, role: each }, `Role changed to ${each}.`);
            if (each !== "admin") return button(`Make ${each}`, make);
            return button("Make admin…", () =>
              ask(
                `Make ${shown(name)} an admin, who can do everything, including managing users?`,
                "Make admin",
                make,
              ),
            );
          }),
          locked !== null &&
            button("Unlock", () => void act({ action: "unlock", id }, "Unlocked.")),
          button("Invite again…", () =>
            ask(
              `Remove the password and authenticator of ${shown(name)} and create a new invitation link?`,
              "Invite again",
              () => void act({ action: "reinvite", id }, "Invited again."),
            ),
          ),
          state !== "disabled" &&
            button("Disable…", () =>
              ask(
                `Disable ${shown(name)}? A disabled user cannot sign in.`,
                "Disable",
                () => void act({ action: "disable", id }, "Disabled."),
              ),
            ),
        ),
  ];
}
