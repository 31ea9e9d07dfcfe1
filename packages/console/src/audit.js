// The audit log, newest first, and its verification.
import { call } from "./api.js";
import { foreign, h, problem, say, shown } from "./dom.js";
import { parts, t } from "./language.js";
import { liveList } from "./live-list.js";
import { when } from "./when.js";
import { actionWords, shortHash } from "./words.js";

/** @import { Person } from "./session.js" */

/**
 * @typedef {object} AuditEntry
 * @property {number} number
 * @property {string} at
 * @property {string} actor
 * @property {"user" | "key" | "server" | "anonymous"} actor_type
 * @property {string | null} origin
 * @property {string} action
 * @property {string | null} target
 * @property {"started" | "done" | "refused" | "unknown"} result
 * @property {number | null} completes
 * @property {string | null} detail
 */

const heads = [
  t("head.number"),
  t("head.when"),
  t("audit.user"),
  t("audit.action"),
  t("audit.target"),
  t("audit.result"),
  t("audit.details"),
];
/** Numbers as zero-padded text, so that they sort numerically. */
const digits = 15;
const pageSize = 50;

/** @type {Readonly<Record<AuditEntry["result"], string>>} */
const colours = { started: "waiting", done: "good", refused: "bad", unknown: "held" };

/** @type {Readonly<Record<AuditEntry["result"], string>>} */
const resultWords = {
  started: t("audit.started"),
  done: t("audit.done"),
  refused: t("audit.refused"),
  unknown: t("audit.unknown"),
};

/** @type {Readonly<Record<Exclude<AuditEntry["actor_type"], "user">, string>>} */
const actorWords = {
  key: t("audit.by_key"),
  server: t("audit.by_server"),
  anonymous: t("audit.by_anonymous"),
};

/** @type {import("./main.js").View} */
export async function auditView(main, _words, _query, signal) {
  const verdict = h("div");
  const check = h("button", { type: "button", onclick: () => void verify() }, t("audit.verify"));
  const verify = async () => {
    check.disabled = true;
    try {
      const { verified } =
        /** @type {{ verified: { entries: number, first_invalid: number | null, head: string | null } }} */ (
          await call("/__cofre/audit", { verify: true })
        );
      const { entries, first_invalid: bad, head } = verified;
      if (bad !== null) {
        verdict.replaceChildren(problem(new Error(t("audit.broken", { entry: String(bad) }))));
        return;
      }
      const words = t("audit.intact", { count: entries });
      const noted = h(
        "p",
        {},
        ...parts("audit.head", { head: h("code", {}, foreign(head ?? "")) }),
      );
      verdict.replaceChildren(h("p", { class: "whole" }, words), noted);
      say(words);
    } catch (error) {
      verdict.replaceChildren(problem(error));
    } finally {
      check.disabled = false;
    }
  };
  main.append(h("p", {}, t("audit.explained")), h("p", { class: "actions" }, check), verdict);
  const { users } = /** @type {{ users: readonly Person[] }} */ (await call("/__cofre/users", {}));
  const names = new Map(users.map(({ id, name }) => [id, name]));
  await liveList(main, signal, {
    caption: t("audit.caption"),
    heads,
    counted: (count) => t("audit.count", { count }),
    isFiltered: false,
    page: async (before) => {
      const asked = before === undefined ? {} : { before: Number(before) };
      const { entries, next } = /** @type {{ entries: AuditEntry[], next: number | null }} */ (
        await call("/__cofre/audit", { limit: pageSize, ...asked })
      );
      return { items: entries, next: next === null ? null : keyOf(next) };
    },
    keyOf: ({ number }) => keyOf(number),
    cells: (entry) => cells(entry, names),
  });
}

/** @param {number} number */
function keyOf(number) {
  return String(number).padStart(digits, "0");
}

/**
 * @param {AuditEntry} entry
 * @param {ReadonlyMap<string, string>} names
 */
function cells(
  { number, at, actor, actor_type: type, origin, action, target, result, completes, detail },
  names,
) {
  const more = [
    detail ?? "",
    completes === null ? "" : t("audit.result_of", { number: String(completes) }),
    origin === null ? "" : t("audit.from", { origin }),
  ].filter((each) => each !== "");
  return [
    String(number),
    when(at),
    type === "user" ? foreign(actor) : actorWords[type],
    h("span", { title: action }, foreign(actionWords(action))),
    targetOf(target, names),
    h("span", { class: `mark ${colours[result]}` }, resultWords[result] ?? shown(result)),
    foreign(more.join("; ")),
  ];
}

/**
 * @param {string | null} target
 * @param {ReadonlyMap<string, string>} names of users, by id
 */
function targetOf(target, names) {
  if (target === null) return "";
  const name = names.get(target);
  if (name !== undefined) return h("span", { title: target }, foreign(name));
  if (!/^[0-9a-f]{48}$/.test(target)) return foreign(target);
  return h("a", { href: `#/payment/${target}`, class: "code", title: target }, shortHash(target));
}
