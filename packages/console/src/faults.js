// Faults of the account's next requests.
import { call, offers } from "./api.js";
import { field, foreign, h, problem, say, select, shown } from "./dom.js";
import { countText } from "./format.js";
import { t } from "./language.js";
import { liveList } from "./live-list.js";
import { mayDo } from "./session.js";
import { declineOptions, faultOptions, faultWords, reasonWords } from "./words.js";

/**
 * @typedef {{ id: string, kind: string, times: number, injected: number, path?: string,
 * merchant_payment_code?: string, delay_ms?: number, reason?: string }} Fault
 */

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

/** @type {import("./main.js").View} */
export async function faultsView(main, _words, _query, signal) {
  if (!(await offers("/__cofre/faults"))) {
    main.append(h("p", { class: "soft" }, t("faults.not_offered")));
    return;
  }
  const trouble = h("div");
  let refresh = async () => {};
  /**
   * @param {Readonly<Record<string, unknown>>} fields
   * @param {string} words
   */
  const act = async (fields, words) => {
    try {
      await call("/__cofre/faults", fields);
      trouble.replaceChildren();
      say(words);
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };
  main.append(
    h("p", {}, t("faults.explained")),
    mayDo("admin") ? form((add) => act({ add }, t("faults.added"))) : "",
    trouble,
    h("h2", {}, t("faults.active")),
    mayDo("admin")
      ? h(
          "p",
          { class: "actions" },
          h(
            "button",
            {
              type: "button",
              class: "second",
              onclick: () => void act({ clear: "all" }, t("faults.all_removed")),
            },
            t("faults.remove_all"),
          ),
        )
      : "",
  );
  refresh = await liveList(main, signal, {
    caption: t("faults.caption"),
    heads: mayDo("admin") ? headsOfAdmin : headsOfViewer,
    counted: (count) => t("faults.count", { count }),
    isFiltered: false,
    page: async () => {
      const { faults } = /** @type {{ faults: Fault[] }} */ (await call("/__cofre/faults", {}));
      return { items: faults.toReversed(), next: null };
    },
    keyOf: ({ id }) => id.slice(1).padStart(digits, "0"),
    whenNone: [t("faults.none")],
    cells: (fault) => cells(fault, () => void act({ clear: fault.id }, t("faults.removed"))),
  });
}

/**
 * @param {Fault} fault
 * @param {() => void} clear
 */
function cells(
  { id, kind, times, injected, path, merchant_payment_code: code, delay_ms: delay, reason },
  clear,
) {
  const what = [
    faultWords(kind).name,
    delay === undefined ? "" : `${countText(delay)} ms`,
    reason === undefined ? "" : reasonWords(reason),
  ].filter((each) => each !== "");
  const only = [path ?? "", code ?? ""].filter((each) => each !== "");
  return [
    foreign(id),
    foreign(what.join(", ")),
    times === 0
      ? t("faults.affected_all", { count: injected })
      : t("faults.affected", { injected, count: times }),
    only.length === 0 ? t("faults.any_request") : foreign(only.join(", ")),
    ...(mayDo("admin")
      ? [
          h(
            "button",
            {
              type: "button",
              class: "small",
              "aria-label": t("faults.remove_one", { id: shown(id) }),
              onclick: clear,
            },
            t("remove"),
          ),
        ]
      : []),
  ];
}

/** @param {(add: Readonly<Record<string, string>>) => Promise<void>} send */
function form(send) {
  const kind = select("kind", faultOptions);
  const told = h("p", { class: "soft", id: "fault-effect", "aria-live": "polite" });
  kind.setAttribute("aria-describedby", told.id);
  const times = h("input", {
    name: "times",
    inputmode: "numeric",
    autocomplete: "off",
    maxlength: "4",
    size: "5",
    value: "1",
    required: true,
  });
  const path = select("path", [
    ["", t("any")],
    ...paths.map((each) => /** @type {const} */ ([each, each])),
  ]);
  const code = h("input", { name: "code", autocomplete: "off", maxlength: "128", size: "16" });
  const delay = h("input", {
    name: "delay",
    inputmode: "numeric",
    autocomplete: "off",
    maxlength: "6",
    size: "7",
    value: "5000",
    required: true,
  });
  const reason = select("reason", declineOptions, "insufficient_funds");
  const [delayField, reasonField] = [
    field(t("faults.delay"), delay),
    field(t("faults.reason"), reason),
  ];
  const fit = () => {
    const { does, waits } = faultWords(kind.value);
    told.textContent = does;
    delayField.hidden = !waits;
    delay.disabled = !waits;
    reasonField.hidden = kind.value !== "decline";
  };
  fit();
  kind.addEventListener("change", fit);
  const add = () => {
    const given = {
      path: path.value,
      merchant_payment_code: code.value.trim(),
      delay_ms: delay.disabled ? "" : delay.value.trim(),
      reason: kind.value === "decline" ? reason.value : "",
    };
    void send({
      kind: kind.value,
      times: times.value.trim(),
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "")),
    });
  };
  return h(
    "form",
    {
      class: "search",
      onsubmit: (event) => {
        event.preventDefault();
        add();
      },
    },
    field(t("faults.kind_of"), kind),
    field(t("faults.times"), times),
    field(t("faults.path"), path),
    field(t("faults.code"), code),
    delayField,
    reasonField,
    h("button", { type: "submit" }, t("add")),
    told,
  );
}
