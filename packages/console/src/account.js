// The user's own account: the password, and signing out.
import { call } from "./api.js";
import { field, h, say } from "./dom.js";
import { keepLanguage, keptLanguage, t } from "./language.js";
import { end, keepAccount, personOfPage } from "./session.js";
import { codeField, secretField, secretForm } from "./sign-in.js";
import { keepZone, keptZone } from "./zone.js";

/** @type {import("./main.js").View} */
export async function accountView(main) {
  const name = h("input", {
    name: "name",
    type: "text",
    autocomplete: "username",
    value: personOfPage()?.name ?? "",
    readonly: true,
  });
  const password = secretField("password", "password", "current-password");
  const next = secretField("new_password", "password", "new-password");
  next.minLength = 12;
  const code = codeField();
  const work = async () => {
    const given = { password: password.value, code: code.value.trim(), new_password: next.value };
    code.value = "";
    await call("/__cofre/password", given);
    password.value = "";
    next.value = "";
    say(t("password.changed"));
  };
  main.append(
    ...secretForm(
      t("password.change"),
      work,
      field(t("facts.name"), name),
      field(t("password.current"), password),
      field(t("password.new"), next),
      field(t("sign_in.code"), code),
    ),
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
