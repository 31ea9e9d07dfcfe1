// The users of the console and their roles.
import { signal } from "@preact/signals";
import { call } from "./api.js";
import { ask } from "./dialog.js";
import { exactText, utcText } from "./format.js";
import { html, mountIn } from "./html.js";
import { parts, t } from "./language.js";
import { liveTable } from "./live-table.js";
import { Choice, errorAt, Foreign, Problem, TextField, valuesOf, When } from "./pieces.js";
import { personOfPage, roles } from "./session.js";
import { say, shown } from "./shown.js";
import { roleWords } from "./words.js";

/** @import { ReadonlySignal } from "@preact/signals" */
/** @import { LiveTable } from "./live-table.js" */
/** @import { Person } from "./session.js" */

/** @typedef {Person & { place: number }} Placed */
/** @typedef {(fields: Readonly<Record<string, string>>, words: string) => Promise<boolean>} Act */
/** @typedef {{ name: string, invitation: string }} Invited */

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
export async function peopleView(main, _words, _query, abort) {
  const trouble = signal(/** @type {unknown} */ (undefined));
  const invited = signal(/** @type {Invited | undefined} */ (undefined));
  /** @type {Act} */
  const act = async (fields, words) => {
    try {
      const { invitation, user } = /** @type {{ invitation?: string, user: Person }} */ (
        await call("/__cofre/users", fields)
      );
      trouble.value = undefined;
      invited.value = invitation === undefined ? undefined : { name: user.name, invitation };
      say(words);
      await table.refresh();
      return true;
    } catch (error) {
      trouble.value = error;
      return false;
    }
  };
  const table = liveTable(abort, {
    caption: t("people.caption"),
    heads,
    counted: (count) => t("people.count", { count }),
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
  mountIn(
    main,
    html`<${People} table=${table} act=${act} trouble=${trouble} invited=${invited} />`,
    abort,
  );
  await table.load();
}

/**
 * @param {{ table: LiveTable, act: Act, trouble: ReadonlySignal<unknown>, invited:
 * ReadonlySignal<Invited | undefined> }} props
 */
function People({ table, act, trouble, invited }) {
  const error = trouble.value;
  const aboutName = errorAt(error, "name");
  const link = invited.value;
  /** @param {SubmitEvent} event */
  const invite = async (event) => {
    event.preventDefault();
    const form = event.target;
    const { name = "", role = "" } = valuesOf(form);
    const isDone = await act({ action: "invite", name, role }, t("people.done_invited"));
    if (isDone && form instanceof HTMLFormElement) form.reset();
  };
  return html`
    <div>
      <form class="search" onSubmit=${(/** @type {SubmitEvent} */ event) => void invite(event)}>
        <${TextField}
          label=${t("facts.name")}
          name="name"
          error=${aboutName}
          maxlength="64"
          size="16"
          spellcheck=${false}
          required
        />
        <${Choice} label=${t("people.role")} name="role" options=${roleOptions} chosen="viewer" />
        <button type="submit">${t("people.invite")}</button>
      </form>
      ${aboutName === undefined && html`<${Problem} error=${error} />`}
      ${
        link !== undefined &&
        html`
          <div class="box">
            <p>${parts("people.link", { name: html`<${Foreign} text=${link.name} />` })}</p>
            <p>
              <code class="link">${`${location.origin}/#invite=${shown(link.invitation)}`}</code>
            </p>
          </div>
        `
      }
      <h2>${t("people.all")}</h2>
      <${table.View} />
    </div>
  `;
}

/**
 * @param {Placed} person
 * @param {Act} act
 */
function cells(person, act) {
  const { id, name, role, state, last_signed_in_at: last, locked_until: locked } = person;
  const [text, colour] = states[state] ?? [shown(state), "over"];
  return [
    html`<${Foreign} text=${name} />`,
    html`<${Foreign} text=${roleWords(role)} />`,
    html`
      <span class="marks">
        <span class=${`mark ${colour}`}>${text}</span>
        ${
          locked !== null &&
          html`<span class="mark bad" title=${utcText(locked)}
            >${t("people.locked", { at: exactText(locked) })}</span
          >`
        }
      </span>
    `,
    last === null ? t("never") : html`<${When} at=${last} />`,
    id === personOfPage()?.id ? t("people.you") : html`<${Buttons} person=${person} act=${act} />`,
  ];
}

/** @param {{ person: Placed, act: Act }} props */
function Buttons({ person: { id, name, role, state, locked_until: locked }, act }) {
  const shownName = shown(name);
  const button = (/** @type {string} */ label, /** @type {() => void} */ press) =>
    html`<button
      type="button"
      class="small"
      aria-label=${`${label}: ${shownName}`}
      onClick=${press}
    >
      ${label}
    </button>`;
  const asking = (
    /** @type {string} */ label,
    /** @type {string} */ question,
    /** @type {() => unknown} */ work,
  ) => button(`${label}…`, () => ask(question, label, () => void work()));
  return html`
    <span class="buttons">
      ${roles
        .filter((each) => each !== role)
        .map((each) => {
          const make = () =>
            act(
              { action: "set_role", id, role: each },
              t("people.role_changed", { role: roleWords(each) }),
            );
          const label = t("people.make", { role: roleWords(each) });
          return each === "admin"
            ? asking(label, t("people.make_admin_question", { name: shownName }), make)
            : button(label, () => void make());
        })}
      ${locked !== null && button(t("people.unlock"), () => void act({ action: "unlock", id }, t("people.unlocked")))}
      ${asking(t("people.reinvite"), t("people.reinvite_question", { name: shownName }), () =>
        act({ action: "reinvite", id }, t("people.reinvited")),
      )}
      ${
        state !== "disabled" &&
        asking(t("people.disable"), t("people.disable_question", { name: shownName }), () =>
          act({ action: "disable", id }, t("people.now_disabled")),
        )
      }
    </span>
  `;
}
