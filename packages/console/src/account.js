// The user's own account: the password, and signing out.
import { call } from "./api.js";
import { html, mountIn } from "./html.js";
import { keepLanguage, keptLanguage, t } from "./language.js";
import { end, keepAccount, personOfPage } from "./session.js";
import { say } from "./shown.js";
import { codeField, nameField, passwordField, SecretForm } from "./sign-in.js";
import { keepZone, keptZone } from "./zone.js";

/** @type {import("./main.js").View} */
export async function accountView(main, _words, _query, abort) {
  /** @param {Readonly<Record<string, string>>} given */
  const work = async ({ password, new_password, code }) => {
    await call("/__cofre/password", { password, new_password, code });
    say(t("password.changed"));
  };
  const fields = [
    nameField(personOfPage()?.name),
    passwordField(t("password.current"), "password", "current-password"),
    passwordField(t("password.new"), "new_password", "new-password"),
    codeField(t("sign_in.code")),
  ];
  mountIn(
    main,
    html`<${SecretForm} button=${t("password.change")} work=${work} fields=${fields} />`,
    abort,
  );
}

export async function signOut() {
  // Also when the server does not answer: nothing more is shown after signing out.
  await call("/__cofre/session", { action: "sign_out" }).catch(() => undefined);
  end();
  keepAccount(undefined);
  const [language, zone] = [keptLanguage(), keptZone()];
  sessionStorage.clear();
  if (language !== null) keepLanguage(language);
  if (zone !== null) keepZone(zone);
  say(t("signed_out"));
}
