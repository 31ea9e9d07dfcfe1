// Faults of the account's next requests.
import { call, offers } from "./api.js";
import { field, foreign, h, problem, say, select, shown } from "./dom.js";
import { liveList } from "./live-list.js";
import { mayDo } from "./session.js";
import { declineOptions, faultOptions, faultWords } from "./words.js";

/**
 * @typedef {{ id: string, kind: string, times: number, injected: number, path?: string,
 * merchant_payment_code?: string, delay_ms?: number, reason?: string }} Fault
 */

const headsOfViewer = ["Fault", "Kind", "Requests", "Limited to"];
const headsOfAdmin = [...headsOfViewer, "Remove"];
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
    main.append(h("p", { class: "soft" }, "This server does not offer fault injection."));
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
    h(
      "p",
      {},
      "A fault affects the account's next matching request. Payments and the ledger stay correct.",
    ),
    mayDo("admin") ? form((add) => act({ add }, "Fault added.")) : "",
    trouble,
    h("h2", {}, "Active faults"),
    mayDo("admin")
      ? h(
          "p",
          { class: "actions" },
          h(
            "button",
            {
              type: "button",
              class: "second",
              onclick: () => void act({ clear: "all" }, "All faults removed."),
            },
            "Remove all",
          ),
        )
      : "",
  );
  refresh = await liveList(main, signal, {
    caption: "Active faults, newest first",
    heads: mayDo("admin") ? headsOfAdmin : headsOfViewer,
    noun: ["fault", "faults"],
    isFiltered: false,
    page: async () => {
      const { faults } = /** @type {{ faults: Fault[] }} */ (await call("/__cofre/faults", {}));
      return { items: faults.toReversed(), next: null };
    },
    keyOf: ({ id }) => id.slice(1).padStart(digits, "0"),
    whenNone: ["There are no active faults."],
    cells: (fault) => cells(fault, () => void act({ clear: fault.id }, "Fault removed.")),
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
    delay === undefined ? "" : `${delay} ms`,
    reason ?? "",
  ].filter((each) => each !== "");
  const only = [path ?? "", code ?? ""].filter((each) => each !== "");
  return [
    foreign(id),
    foreign(what.join(", ")),
    times === 0 ? `${injected} affected, all until removed` : `${injected} of ${times} affected`,
    only.length === 0 ? "any request" : foreign(only.join(", ")),
    ...(mayDo("admin")
      ? [
          h(
            "button",
            {
              type: "button",
              class: "small",
              "aria-label": `Remove ${shown(id)}`,
              onclick: clear,
            },
            "Remove",
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
    ["", "any"],
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
    field("Delay in milliseconds", delay),
    field("Decline reason", reason),
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
    field("Kind of fault", kind),
    field("Number of requests; 0 for all", times),
    field("Only this path", path),
    field("Only this payment code", code),
    delayField,
    reasonField,
    h("button", { type: "submit" }, "Add"),
    told,
  );
}
