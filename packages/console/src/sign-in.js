// Sign-in by name, password and code, or by an invitation; and the end of an idle session.
import { call, sessionOver } from "./api.js";
import { facts, field, h, problem, say, shape } from "./dom.js";
import { t } from "./language.js";
import { end, isTouched, personOfPage, secondsLeft, secondsSinceAnswer, touch } from "./session.js";
import { roleWords } from "./words.js";

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
 * A field for a secret or a code; `autocomplete` identifies it to password managers.
 * @param {string} name
 * @param {string} type
 * @param {string} autocomplete
 */
export function secretField(name, type, autocomplete) {
  return h("input", {
    name,
    type,
    autocomplete,
    required: true,
    maxlength: "128",
    spellcheck: "false",
    autocapitalize: "none",
  });
}

export function codeField() {
  return h("input", {
    name: "code",
    inputmode: "numeric",
    autocomplete: "one-time-code",
    required: true,
    maxlength: "6",
    size: "8",
    pattern: "\\d{6}",
  });
}

/**
 * A form with one button, which sends one request at a time.
 * @param {string} button
 * @param {() => Promise<void>} work
 * @param {...(Node | string)} fields
 */
export function secretForm(button, work, ...fields) {
  const said = h("div");
  const send = h("button", { type: "submit" }, button);
  const run = async () => {
    send.disabled = true;
    try {
      await work();
      said.replaceChildren();
    } catch (error) {
      said.replaceChildren(problem(error));
    } finally {
      send.disabled = false;
    }
  };
  const form = h(
    "form",
    {
      class: "key",
      onsubmit: (event) => {
        event.preventDefault();
        void run();
      },
    },
    ...fields,
    send,
  );
  return [form, said];
}

/**
 * @param {HTMLElement} main
 * @param {unknown} why the reason to sign in again; undefined: the first time
 * @param {(session: Session) => void} entered
 */
export function askToSignIn(main, why, entered) {
  const name = secretField("name", "text", "username");
  const password = secretField("password", "password", "current-password");
  const code = codeField();
  const work = async () => {
    const given = { name: name.value.trim(), password: password.value, code: code.value.trim() };
    // Right or wrong, a code can be used once.
    code.value = "";
    entered(
      /** @type {Session} */ (await call("/__cofre/session", { action: "sign_in", ...given })),
    );
  };
  main.replaceChildren(
    h("h1", { tabindex: "-1" }, t("sign_in")),
    h("p", { class: "soft" }, t("sign_in.explained")),
    why === undefined ? "" : problem(why),
    ...secretForm(
      t("sign_in"),
      work,
      field(t("facts.name"), name),
      field(t("sign_in.password"), password),
      field(t("sign_in.code"), code),
    ),
  );
  name.focus();
}

/**
 * @param {HTMLElement} main
 * @param {string} invitation
 * @param {(session: Session) => void} entered
 * @param {() => void} leave
 */
export async function acceptInvitation(main, invitation, entered, leave) {
  const heading = h("h1", { tabindex: "-1" }, t("invitation.title"));
  main.replaceChildren(heading);
  heading.focus();
  /** @type {Enrolment} */
  let enrolment;
  try {
    enrolment = /** @type {Enrolment} */ (await call("/__cofre/enrolment", { invitation }));
  } catch (error) {
    main.append(
      problem(error),
      h("p", {}, t("invitation.another")),
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", class: "second", onclick: leave }, t("invitation.leave")),
      ),
    );
    return;
  }
  const { name, role, secret, uri } = enrolment;
  // Only for password managers: the name was chosen by the inviting admin.
  const userName = h("input", {
    name: "name",
    type: "text",
    autocomplete: "username",
    value: name,
    readonly: true,
  });
  const password = secretField("password", "password", "new-password");
  password.minLength = 12;
  const code = codeField();
  const work = async () => {
    const given = { invitation, password: password.value, code: code.value.trim() };
    code.value = "";
    entered(/** @type {Session} */ (await call("/__cofre/enrolment", given)));
    say(t("invitation.welcome"));
  };
  main.append(
    h("p", {}, t("invitation.explained")),
    facts([
      [t("people.role"), roleWords(role)],
      [
        t("invitation.secret"),
        h("code", { class: "secret" }, (secret.match(/.{1,4}/g) ?? []).join(" ")),
      ],
      [t("invitation.device"), h("a", { href: uri }, t("invitation.open_app"))],
    ]),
    picture(enrolment),
    ...secretForm(
      t("invitation.accept"),
      work,
      field(t("facts.name"), userName),
      field(t("password.new"), password),
      field(t("invitation.code"), code),
    ),
  );
}

/**
 * The secret as a QR code, for a phone's camera.
 * @param {Enrolment} enrolment
 */
function picture({ qr_path: path, qr_size: size }) {
  return h(
    "p",
    { class: "qr" },
    shape(
      "svg",
      {
        viewBox: `-4 -4 ${size + 8} ${size + 8}`,
        role: "img",
        "aria-label": t("invitation.qr"),
      },
      shape("rect", { x: -4, y: -4, width: size + 8, height: size + 8, class: "paper" }),
      shape("path", { d: path, class: "ink" }),
    ),
  );
}

/** Warns a minute before the session ends, and calls the server when it should have ended. */
export function watchSession() {
  for (const kind of ["pointerdown", "pointermove", "keydown", "wheel"])
    addEventListener(kind, touch, { passive: true });
  const words = h("span");
  const goOn = h(
    "button",
    { type: "button", class: "small", onclick: () => void ask() },
    t("session.stay"),
  );
  const warning = h("p", { class: "ending", role: "alert" }, words, " ", goOn);
  warning.hidden = true;
  document.getElementById("side")?.before(warning);
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
    if (isSilent || (isEnding && (isTouched() || left <= 0 || warning.hidden === true))) void ask();
    const text = isEnding ? t("session.ending") : "";
    if (words.textContent !== text) words.textContent = text;
    warning.hidden = !isEnding;
    setTimeout(look, lookEveryMs);
  };
  look();
}
