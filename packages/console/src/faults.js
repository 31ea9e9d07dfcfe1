// Faults of the account's next requests.
import { useState } from "preact/hooks";
import { call, offers } from "./api.js";
import { countText } from "./format.js";
import { html, mountIn } from "./html.js";
import { t } from "./language.js";
import { liveTable } from "./live-table.js";
import { Choice, errorAt, Foreign, Problem, TextField, valuesOf } from "./pieces.js";
import { mayDo } from "./session.js";
import { problemText, say, shown } from "./shown.js";
import { declineOptions, faultOptions, faultWords, reasonWords } from "./words.js";

/** @import { LiveTable } from "./live-table.js" */

/**
 * @typedef {{ id: string, kind: string, times: number, injected: number, path?: string,
 * merchant_payment_code?: string, delay_ms?: number, reason?: string }} Fault
 */
/** @typedef {(fields: Readonly<Record<string, unknown>>, words: string) => Promise<void>} Act */

const headsOfViewer = [
  t("faults.fault"),
  t("faults.kind"),
  t("insights.requests"),
  t("faults.limited_to"),
];
const headsOfAdmin = [...headsOfViewer, t("remove")];
/** Numbers as zero-padded text, so that they sort numerically. */
const digits = 9;

const paths = [
  "/ws/direct",
  "/ws/capture",
  "/ws/cancel",
  "/ws/refund",
  "/ws/refundOrCancel",
  "/ws/query",
  "/ws/token",
  "/ws/verifycard",
];
/** @type {readonly (readonly [value: string, text: string])[]} */
const pathOptions = [["", t("any")], ...paths.map((path) => /** @type {const} */ ([path, path]))];

/** Fields of the form that may be refused. */
const fields = ["times", "merchant_payment_code", "delay_ms"];

/** @type {import("./main.js").View} */
export async function faultsView(main, _words, _query, abort) {
  if (!(await offers("/__cofre/faults"))) {
    mountIn(main, html`<p class="soft">${t("faults.not_offered")}</p>`, abort);
    return;
  }
  /** @type {Act} */
  const act = async (fields, words) => {
    await call("/__cofre/faults", fields);
    say(words);
    await table.refresh();
  };
  /** @param {string} id */
  const remove = (id) => act({ clear: id }, t("faults.removed"));
  const table = liveTable(abort, {
    caption: t("faults.caption"),
    heads: mayDo("admin") ? headsOfAdmin : headsOfViewer,
    counted: (count) => t("faults.count", { count }),
    page: async () => {
      const { faults } = /** @type {{ faults: Fault[] }} */ (await call("/__cofre/faults", {}));
      return { items: faults.toReversed(), next: null };
    },
    keyOf: ({ id }) => id.slice(1).padStart(digits, "0"),
    whenNone: mayDo("admin") ? t("faults.none_add") : t("faults.none"),
    cells: (fault) => cells(fault, remove),
  });
  mountIn(main, html`<${Faults} table=${table} act=${act} />`, abort);
  await table.load();
}

/** @param {{ table: LiveTable, act: Act }} props */
function Faults({ table, act }) {
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  /** @type {Act} */
  const attempt = async (fields, words) => {
    try {
      await act(fields, words);
      setError(undefined);
    } catch (failure) {
      setError(failure);
    }
  };
  const aboutField = errorAt(error, ...fields);
  return html`
    <div>
      <p>${t("faults.explained")}</p>
      ${
        mayDo("admin") &&
        html`<${NewFault}
          add=${(/** @type {object} */ fault) => attempt({ add: fault }, t("faults.added"))}
          error=${aboutField}
        />`
      }
      ${aboutField === undefined && html`<${Problem} error=${error} />`}
      <div class="above">
        <h2>${t("faults.active")}</h2>
        ${
          mayDo("admin") &&
          html`<button
            type="button"
            class="small"
            onClick=${() => void attempt({ clear: "all" }, t("faults.all_removed"))}
          >
            ${t("faults.remove_all")}
          </button>`
        }
      </div>
      <${table.View} />
    </div>
  `;
}

/**
 * @param {{ add: (fault: Readonly<Record<string, string>>) => Promise<void>, error: unknown }} props
 * `error`: about a field
 */
function NewFault({ add, error }) {
  const [kind, setKind] = useState(faultOptions[0]?.[0] ?? "");
  const { does, waits } = faultWords(kind);
  const isDecline = kind === "decline";
  /** @param {SubmitEvent} event */
  const send = (event) => {
    event.preventDefault();
    const { times = "", delay_ms = "", reason = "", ...others } = valuesOf(event.target);
    const limits = {
      path: others["path"] ?? "",
      merchant_payment_code: others["merchant_payment_code"] ?? "",
      delay_ms: waits ? delay_ms : "",
      reason: isDecline ? reason : "",
    };
    void add({
      kind,
      times,
      ...Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== "")),
    });
  };
  return html`
    <form class="search" onSubmit=${send}>
      <${Choice}
        label=${t("faults.kind_of")}
        name="kind"
        options=${faultOptions}
        chosen=${kind}
        aria-describedby="fault-effect"
        onChange=${(/** @type {Event} */ { target }) =>
          target instanceof HTMLSelectElement && setKind(target.value)}
      />
      <${TextField}
        label=${t("faults.times")}
        name="times"
        error=${errorAt(error, "times")}
        inputmode="numeric"
        maxlength="4"
        size="5"
        defaultValue="1"
        required
      />
      <${Choice} label=${t("faults.path")} name="path" options=${pathOptions} />
      <${TextField}
        label=${t("faults.code")}
        name="merchant_payment_code"
        error=${errorAt(error, "merchant_payment_code")}
        maxlength="128"
        size="16"
      />
      <${TextField}
        label=${t("faults.delay")}
        name="delay_ms"
        error=${errorAt(error, "delay_ms")}
        hidden=${!waits}
        disabled=${!waits}
        inputmode="numeric"
        maxlength="6"
        size="7"
        defaultValue="5000"
        required
      />
      <${Choice}
        label=${t("faults.reason")}
        name="reason"
        options=${declineOptions}
        chosen="insufficient_funds"
        hidden=${!isDecline}
      />
      <button type="submit">${t("add")}</button>
      <p class="soft" id="fault-effect" aria-live="polite">${does}</p>
    </form>
  `;
}

/**
 * @param {Fault} fault
 * @param {(id: string) => Promise<void>} remove
 */
function cells(
  { id, kind, times, injected, path, merchant_payment_code: code, delay_ms: delay, reason },
  remove,
) {
  const what = [
    faultWords(kind).name,
    delay === undefined ? "" : `${countText(delay)} ms`,
    reason === undefined ? "" : reasonWords(reason),
  ].filter((each) => each !== "");
  const only = [path ?? "", code ?? ""].filter((each) => each !== "");
  return [
    html`<${Foreign} text=${id} />`,
    html`<${Foreign} text=${what.join(", ")} />`,
    times === 0
      ? t("faults.affected_all", { count: injected })
      : t("faults.affected", { injected, count: times }),
    only.length === 0 ? t("faults.any_request") : html`<${Foreign} text=${only.join(", ")} />`,
    ...(mayDo("admin") ? [html`<${Remove} id=${id} remove=${remove} />`] : []),
  ];
}

/** @param {{ id: string, remove: (id: string) => Promise<void> }} props */
function Remove({ id, remove }) {
  const press = () => {
    remove(id).catch((error) => say(problemText(error)));
  };
  return html`<button
    type="button"
    class="small"
    aria-label=${t("faults.remove_one", { id: shown(id) })}
    onClick=${press}
  >
    ${t("remove")}
  </button>`;
}
