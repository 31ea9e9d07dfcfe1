// The audit log, newest first, and its verification.
import { useState } from "preact/hooks";
import { call } from "./api.js";
import { say, shown } from "./shown.js";
import { html, mountIn } from "./html.js";
import { parts, t } from "./language.js";
import { liveTable } from "./live-table.js";
import { Foreign, Problem, When } from "./pieces.js";
import { actionWords, detailWords, shortHash } from "./words.js";

/** @import { LiveTable } from "./live-table.js" */
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
/** @typedef {{ entries: number, first_invalid: number | null, head: string | null }} Verified */

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
export async function auditView(main, _words, _query, abort) {
  /** @type {ReadonlyMap<string, string>} */
  let names = new Map();
  const table = liveTable(abort, {
    caption: t("audit.caption"),
    heads,
    counted: (count) => t("audit.count", { count }),
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
  mountIn(main, html`<${Audit} table=${table} />`, abort);
  const { users } = /** @type {{ users: readonly Person[] }} */ (await call("/__cofre/users", {}));
  names = new Map(users.map(({ id, name }) => [id, name]));
  await table.load();
}

/** @param {{ table: LiveTable }} props */
function Audit({ table }) {
  const [isBusy, setBusy] = useState(false);
  const [verified, setVerified] = useState(/** @type {Verified | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const verify = async () => {
    setBusy(true);
    try {
      const { verified: now } = /** @type {{ verified: Verified }} */ (
        await call("/__cofre/audit", { verify: true })
      );
      const { entries, first_invalid: bad } = now;
      setVerified(bad === null ? now : undefined);
      setError(bad === null ? undefined : new Error(t("audit.broken", { entry: String(bad) })));
      if (bad === null) say(t("audit.intact", { count: entries }));
    } catch (failure) {
      setVerified(undefined);
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return html`
    <div>
      <p>${t("audit.explained")}</p>
      <p class="actions">
        <button type="button" class="second" disabled=${isBusy} onClick=${() => void verify()}>
          ${t("audit.verify")}
        </button>
      </p>
      <${Problem} error=${error} />
      ${
        verified !== undefined &&
        html`
          <div>
            <p class="whole">${t("audit.intact", { count: verified.entries })}</p>
            <p>
              ${parts("audit.head", { head: html`<code><${Foreign} text=${verified.head ?? ""} /></code>` })}
            </p>
          </div>
        `
      }
      <${table.View} />
    </div>
  `;
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
    detailWords(detail ?? ""),
    completes === null ? "" : t("audit.result_of", { number: String(completes) }),
    origin === null ? "" : t("audit.from", { origin }),
  ]
    .filter((each) => each !== "")
    .join("; ");
  return [
    String(number),
    html`<${When} at=${at} />`,
    type === "user" ? html`<${Foreign} text=${actor} />` : actorWords[type],
    html`<span title=${shown(action)}>${shown(actionWords(action))}</span>`,
    html`<${Target} target=${target} names=${names} />`,
    html`<span class=${`mark ${colours[result]}`}>${resultWords[result] ?? shown(result)}</span>`,
    html`<span class="rest"><${Foreign} text=${more} /></span>`,
  ];
}

/** @param {{ target: string | null, names: ReadonlyMap<string, string> }} props by id of a user */
function Target({ target, names }) {
  if (target === null) return null;
  const name = names.get(target);
  if (name !== undefined) return html`<span title=${target}><${Foreign} text=${name} /></span>`;
  if (!/^[0-9a-f]{48}$/.test(target)) return html`<${Foreign} text=${target} />`;
  return html`<a href=${`#/payment/${target}`} class="code" title=${target}
    >${shortHash(target)}</a
  >`;
}
