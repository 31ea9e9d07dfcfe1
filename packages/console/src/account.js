// The user's own account: the password, and signing out.
import { call } from "./api.js";
import { field, h, say } from "./dom.js";
import { end, keepAccount, personOfPage } from "./session.js";
import { codeField, secretField, secretForm } from "./sign-in.js";

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
    say("Password changed. Your other sessions have ended.");
  };
  main.append(
    ...secretForm(
      "Change password",
      work,
      field("Name", name),
      field("Current password", password),
      field("New password, at least 12 characters", next),
      field("Code", code),
    ),
  );
}

export async function signOut() {
  // Also when the server does not answer: nothing more is shown after signing out.
  await call("/__cofre/session", { action: "sign_out" }).catch(() => undefined);
  end();
  keepAccount(undefined);
  sessionStorage.clear();
  say("You are signed out.");
}
