// Sign-in by name, password and code, or by an invitation; and the end of an idle session.
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, sessionOver } from "./api.js";
import { html, mountIn } from "./html.js";
import { t } from "./language.js";
import { errorAt, Pairs, Problem, TextField } from "./pieces.js";
import { end, isTouched, personOfPage, secondsLeft, secondsSinceAnswer, touch } from "./session.js";
import { say } from "./shown.js";
import { roleWords } from "./words.js";

/** @import { ReadonlySignal } from "@preact/signals" */
/** @import { Role, Session } from "./session.js" */

/**
 * @typedef {{ name: string, role: Role, secret: string, uri: string, qr_path: string, qr_size: number
 * }} Enrolment
 */

/** Seconds before the end of the session at which the warning is shown. */
const warnSeconds = 60;
const lookEveryMs = 1_000;
/**
 * A view without requests of its own learns of a changed role or the session's end after this time.
 */
const askAfterSeconds = 10;

/**
 * A field of a secret form: its label, its name, and the properties of its input.
 * @typedef {{ label: string, name: string } & Readonly<Record<string, unknown>>} SecretField
 */

const plain = { maxlength: "128", spellcheck: false, autocapitalize: "none", required: true };

/**
 * The user's name, for password managers; with a name it is shown only.
 * @param {string} [name]
 * @returns {SecretField}
 */
export function nameField(name) {
  const given = name === undefined ? {} : { defaultValue: name, readOnly: true };
  return { label: t("facts.name"), name: "name", autocomplete: "username", ...plain, ...given };
}

/**
 * @param {string} label
 * @param {string} name
 * @param {"current-password" | "new-password"} autocomplete
 * @returns {SecretField}
 */
export function passwordField(label, name, autocomplete) {
  const length = autocomplete === "new-password" ? { minLength: 12 } : {};
  return { label, name, type: "password", autocomplete, ...plain, ...length };
}

/**
 * @param {string} label
 * @returns {SecretField}
 */
export function codeField(label) {
  return {
    label,
    name: "code",
    inputmode: "numeric",
    autocomplete: "one-time-code",
    required: true,
    maxlength: "6",
    size: "8",
    pattern: "\\d{6}",
  };
}

/**
 * A form with one button, which sends one request at a time. Right or wrong, a code can be used
 * once: its field is emptied when it is sent, the others after a success.
 * @param {{ button: string, fields: readonly SecretField[], work: (given:
 * Readonly<Record<string, string>>) => Promise<void> }} props
 */
export function SecretForm({ button, fields, work }) {
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const [isBusy, setBusy] = useState(false);
  const names = fields.map(({ name }) => name);
  /** @param {SubmitEvent} event */
  const send = async (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const given = Object.fromEntries(names.map((name) => [name, inputOf(form, name)?.value ?? ""]));
    const { name = "", code = "" } = given;
    const codeInput = inputOf(form, "code");
    if (codeInput !== undefined) codeInput.value = "";
    setBusy(true);
    try {
      await work({ ...given, name: name.trim(), code: code.trim() });
      form.reset();
      setError(undefined);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return html`
    <div>
      <form class="key" onSubmit=${(/** @type {SubmitEvent} */ event) => void send(event)}>
        ${fields.map((field) => html`<${TextField} key=${field.name} ...${field} error=${errorAt(error, field.name)} />`)}
        <button type="submit" disabled=${isBusy}>${button}</button>
      </form>
      ${errorAt(error, ...names) === undefined && html`<${Problem} error=${error} />`}
    </div>
  `;
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function inputOf(form, name) {
  const found = form.elements.namedItem(name);
  return found instanceof HTMLInputElement ? found : undefined;
}

/**
 * @param {HTMLElement} main
 * @param {unknown} why the reason to sign in again; undefined: the first time
 * @param {(session: Session) => void} entered
 * @param {AbortSignal} abort
 */
export function askToSignIn(main, why, entered, abort) {
  /** @param {Readonly<Record<string, string>>} given */
  const work = async (given) =>
    entered(
      /** @type {Session} */ (await call("/__cofre/session", { action: "sign_in", ...given })),
    );
  const fields = [
    nameField(),
    passwordField(t("sign_in.password"), "password", "current-password"),
    codeField(t("sign_in.code")),
  ];
  main.replaceChildren();
  mountIn(
    main,
    html`
      <div>
        <h1 tabindex="-1">${t("sign_in")}</h1>
        <p class="soft">${t("sign_in.explained")}</p>
        <${Problem} error=${why} />
        <${SecretForm} button=${t("sign_in")} work=${work} fields=${fields} />
      </div>
    `,
    abort,
  );
  main.querySelector("input")?.focus();
}

/**
 * @param {HTMLElement} main
 * @param {string} invitation
 * @param {(session: Session) => void} entered
 * @param {() => void} leave
 * @param {AbortSignal} abort
 */
export async function acceptInvitation(main, invitation, entered, leave, abort) {
  const enrolment = signal(/** @type {Enrolment | undefined} */ (undefined));
  const refused = signal(/** @type {unknown} */ (undefined));
  /** @param {Readonly<Record<string, string>>} given */
  const work = async ({ new_password: password = "", code = "" }) => {
    const given = { invitation, password, code };
    entered(/** @type {Session} */ (await call("/__cofre/enrolment", given)));
    say(t("invitation.welcome"));
  };
  main.replaceChildren();
  mountIn(
    main,
    html`<${Invitation} enrolment=${enrolment} refused=${refused} work=${work} leave=${leave} />`,
    abort,
  );
  try {
    enrolment.value = /** @type {Enrolment} */ (await call("/__cofre/enrolment", { invitation }));
  } catch (error) {
    refused.value = error;
  }
}

/**
 * @param {{ enrolment: ReadonlySignal<Enrolment | undefined>, refused: ReadonlySignal<unknown>, work:
 * (given: Readonly<Record<string, string>>) => Promise<void>, leave: () => void }} props
 */
function Invitation({ enrolment, refused, work, leave }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => heading.current?.focus(), []);
  return html`
    <div>
      <h1 tabindex="-1" ref=${heading}>${t("invitation.title")}</h1>
      ${enrolment.value !== undefined && html`<${Acceptance} enrolment=${enrolment.value} work=${work} />`}
      ${
        refused.value !== undefined &&
        html`
          <div>
            <${Problem} error=${refused.value} />
            <p>${t("invitation.another")}</p>
            <p class="actions">
              <button type="button" class="second" onClick=${leave}>
                ${t("invitation.leave")}
              </button>
            </p>
          </div>
        `
      }
    </div>
  `;
}

/**
 * @param {{ enrolment: Enrolment, work: (given: Readonly<Record<string, string>>) => Promise<void>
 * }} props
 */
function Acceptance({ enrolment, work }) {
  const { name, role, secret, uri, qr_path: path, qr_size: size } = enrolment;
  const fields = [
    // Only for password managers: the name was chosen by the inviting admin.
    nameField(name),
    passwordField(t("password.new"), "new_password", "new-password"),
    codeField(t("invitation.code")),
  ];
  return html`
    <div>
      <p>${t("invitation.explained")}</p>
      <${Pairs}
        kind="facts"
        rows=${[
          [t("people.role"), roleWords(role)],
          [
            t("invitation.secret"),
            html`<code class="secret">${(secret.match(/.{1,4}/g) ?? []).join(" ")}</code>`,
          ],
          [t("invitation.device"), html`<a href=${uri}>${t("invitation.open_app")}</a>`],
        ]}
      />
      <p class="qr">
        <svg viewBox=${`-4 -4 ${size + 8} ${size + 8}`} role="img" aria-label=${t("invitation.qr")}>
          <rect x="-4" y="-4" width=${size + 8} height=${size + 8} class="paper" />
          <path d=${path} class="ink" />
        </svg>
      </p>
      <${SecretForm} button=${t("invitation.accept")} work=${work} fields=${fields} />
    </div>
  `;
}

/** Warns a minute before the session ends, and calls the server when it should have ended. */
export function watchSession() {
  for (const kind of ["pointerdown", "pointermove", "keydown", "wheel"])
    addEventListener(kind, touch, { passive: true });
  const isEndingSoon = signal(false);
  const place = document.createElement("div");
  place.className = "contents";
  document.getElementById("side")?.before(place);
  let isAsking = false;
  /**
   * User activity extends the session with this call; its result shows in the time that is left.
   */
  const ask = async () => {
    if (isAsking) return;
    isAsking = true;
    await call("/__cofre/session", {}).catch(() => undefined);
    isAsking = false;
    // Without an answer, the view is removed all the same.
    if (personOfPage() !== undefined && secondsLeft() <= 0) {
      end();
      dispatchEvent(new Event(sessionOver));
    }
  };
  const look = () => {
    const left = secondsLeft();
    const isEnding = personOfPage() !== undefined && left <= warnSeconds;
    const isSilent =
      personOfPage() !== undefined && !document.hidden && secondsSinceAnswer() > askAfterSeconds;
    if (isSilent || (isEnding && (isTouched() || left <= 0 || !isEndingSoon.value))) void ask();
    isEndingSoon.value = isEnding;
    setTimeout(look, lookEveryMs);
  };
  render(html`<${Ending} isShown=${isEndingSoon} onStay=${() => void ask()} />`, place);
  look();
}

/** @param {{ isShown: ReadonlySignal<boolean>, onStay: () => void }} props */
function Ending({ isShown, onStay }) {
  return html`
    <p class="ending" role="alert" hidden=${!isShown.value}>
      <span>${isShown.value ? t("session.ending") : ""}</span>${" "}
      <button type="button" class="small" onClick=${onStay}>${t("session.stay")}</button>
    </p>
  `;
}
