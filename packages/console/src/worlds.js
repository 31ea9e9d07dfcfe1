// The worlds of this server, and the clock of the open one.
import {
  call,
  canLeaveWorld,
  enterWorld,
  isOpen,
  leaveWorld,
  lookUp,
  offers,
  subjectOfTab,
} from "./api.js";
import { ask, facts, field, foreign, h, problem, say, select } from "./dom.js";
import { countText, exactText, timeOf } from "./format.js";
import { t } from "./language.js";
import { liveList } from "./live-list.js";
import { keepFresh } from "./poll.js";
import { mayDo } from "./session.js";
import { when } from "./when.js";
import { plainText, serverTime, zone } from "./zone.js";

/**
 * @typedef {object} World
 * @property {string} id
 * @property {string} name
 * @property {string} seed
 * @property {string} [integration_key] not sent with sign-in
 * @property {string} [public_integration_key]
 * @property {{ now: string, running: boolean }} clock
 * @property {number} payments
 * @property {readonly string[]} snapshots
 */
/** @typedef {{ now: string, running: boolean, next_due?: string | null }} Clock */
/** @typedef {{ payments: number, deliveries: number, cards: number }} Processed */

const heads = [
  t("worlds.world"),
  t("worlds.seed"),
  t("worlds.time"),
  t("view.payments"),
  t("worlds.open"),
];
/** Limits the list, because there may be thousands. */
const mostShown = 200;
/** Numbers as zero-padded text, so that they sort numerically. */
const digits = 6;

/** @type {import("./main.js").View} */
export async function worldsView(main, _words, _query, signal) {
  if (!(await offers("/__cofre/worlds"))) {
    main.append(h("p", { class: "soft" }, t("worlds.not_offered")));
    return;
  }
  const own = h("section");
  const list = h("section", {}, h("h2", {}, t("worlds.all")));
  const trouble = h("div");
  main.append(own, trouble, mayDo("admin") ? newWorld() : "", list);
  await openWorld(own, trouble, signal);
  if (signal.aborted) return;
  let older = 0;
  await liveList(list, signal, {
    caption: t("worlds.caption"),
    heads,
    counted: (count) => t("worlds.count", { count }),
    isFiltered: false,
    page: async () => {
      const { worlds } = /** @type {{ worlds: World[] }} */ (await lookUp("/__cofre/worlds"));
      older = Math.max(0, worlds.length - mostShown);
      const items = worlds.map((world, place) => ({ ...world, place })).slice(-mostShown);
      return { items: items.toReversed(), next: null };
    },
    whenNone: [t("worlds.none")],
    keyOf: ({ place }) => String(place).padStart(digits, "0"),
    cells,
  });
  if (older > 0) list.append(h("p", { class: "soft" }, t("worlds.older", { count: older })));
}

/** @param {World} world */
function cells(world) {
  const { name, seed, clock, payments } = world;
  const open = () => {
    enterWorld(world);
    location.hash = "#/payments";
  };
  return [
    foreign(name),
    foreign(seed),
    timeAndState(clock),
    countText(payments),
    isOpen(world)
      ? t("worlds.open_now")
      : h(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": t("worlds.open_one", { name }),
            onclick: open,
          },
          t("worlds.open"),
        ),
  ];
}

/** @param {Clock} clock */
function timeAndState({ now, running }) {
  const state = running
    ? h("span", { class: "mark good" }, t("worlds.running"))
    : h("span", { class: "mark held" }, t("worlds.paused"));
  return h("span", { class: "marks" }, when(now), state);
}

/**
 * The open account: its time, and the controls when it is a world.
 * @param {HTMLElement} section
 * @param {HTMLElement} trouble
 * @param {AbortSignal} signal
 */
async function openWorld(section, trouble, signal) {
  const told = h("div");
  const controls = h("div");
  // The shown world, even if another one is open when a button is pressed.
  const subject = subjectOfTab();
  let made = "";
  /** @type {((world: World, clock: Clock) => void) | undefined} */
  let update;

  const refresh = async () => {
    const [{ world }, { clock }] = await Promise.all([
      /** @type {Promise<{ world: World | null }>} */ (call("/__cofre/world", {})),
      /** @type {Promise<{ clock: Clock }>} */ (call("/__cofre/clock", {})),
    ]);
    if (signal.aborted) return;
    const now = JSON.stringify([world, clock]);
    if (now === made) return;
    made = now;
    if (world !== null && mayDo("admin")) {
      update ??= makeControls(controls, act);
      update(world, clock);
    }
    told.replaceChildren(...describe(world, clock));
  };

  /**
   * @param {string} path
   * @param {Readonly<Record<string, string>>} fields
   * @param {(answer: unknown) => string} words
   */
  const act = async (path, fields, words) => {
    try {
      const answer = await call(path, fields, subject);
      trouble.replaceChildren();
      say(words(answer));
      if (fields["action"] === "delete") {
        leaveWorld();
        dispatchEvent(new HashChangeEvent("hashchange"));
        say(words(answer));
        return;
      }
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };

  const back = h(
    "button",
    {
      type: "button",
      class: "small",
      onclick: () => {
        leaveWorld();
        dispatchEvent(new HashChangeEvent("hashchange"));
      },
    },
    t("worlds.back"),
  );
  section.append(h("h2", {}, t("worlds.open_account")), told, controls);
  if (canLeaveWorld()) section.append(h("p", { class: "actions" }, back));
  await refresh();
  void keepFresh(signal, refresh);
}

/**
 * @param {World | null} world
 * @param {Clock} clock
 */
function describe(world, clock) {
  if (world === null) {
    return [h("p", {}, t("worlds.no_world")), facts([[t("worlds.time"), timeAndState(clock)]])];
  }
  return [
    facts([
      [t("worlds.world"), foreign(world.name)],
      [t("worlds.seed"), foreign(world.seed)],
      [t("worlds.time"), timeAndState(clock)],
      [
        t("worlds.next_due"),
        typeof clock.next_due === "string" ? when(clock.next_due) : t("worlds.nothing_due"),
      ],
      [t("view.payments"), countText(world.payments)],
      ...keysOf(world),
    ]),
  ];
}

/**
 * @param {World} world
 * @returns {readonly (readonly [name: string, value: Node])[]}
 */
function keysOf({ integration_key: secret, public_integration_key: open }) {
  if (secret === undefined || open === undefined) return [];
  return [
    [t("worlds.secret_key"), foreign(secret, "code")],
    [t("worlds.public_key"), foreign(open, "code")],
  ];
}

/**
 * The controls that move the clock of a world and reset it; created once, so that unsent input
 * stays.
 * @param {HTMLElement} place
 * @param {(path: string, fields: Readonly<Record<string, string>>, words: (answer: unknown) =>
 * string) => Promise<void>} act
 * @returns {(world: World, clock: Clock) => void}
 */
function makeControls(place, act) {
  const move = (/** @type {Readonly<Record<string, string>>} */ fields) =>
    act("/__cofre/clock", fields, movedWords);
  const span = h("input", {
    name: "advance",
    value: "4d",
    required: true,
    autocomplete: "off",
    maxlength: "20",
    size: "8",
  });
  const time = h("input", {
    name: "set",
    required: true,
    autocomplete: "off",
    maxlength: "24",
    size: "26",
  });
  const next = h(
    "button",
    { type: "button", class: "second", onclick: () => void move({ advance: "next" }) },
    t("worlds.to_next"),
  );
  const run = h("button", {
    type: "button",
    name: "run",
    class: "second",
    onclick: () => void move({ run: run.value }),
  });
  const kept = h("input", {
    name: "snapshot",
    required: true,
    autocomplete: "off",
    maxlength: "50",
    size: "12",
    pattern: "[\\w.\\-]+",
  });
  const world = (/** @type {string} */ what, /** @type {string} */ words, name = "") =>
    act("/__cofre/world", name === "" ? { action: what } : { action: what, name }, () => words);
  const snapshots = h("select", { name: "kept" });
  const restore = h("form", {
    class: "search",
    onsubmit: stop(() => ask(t("worlds.restore_question"), t("worlds.restore"), restoreNow)),
  });
  const restoreNow = () => world("restore", t("worlds.restored"), snapshots.value);
  restore.append(
    field(t("worlds.snapshot"), snapshots),
    h("button", { type: "submit", name: "restore", class: "second" }, `${t("worlds.restore")}…`),
  );
  const forms = [
    h(
      "form",
      { class: "search", onsubmit: stop(() => move({ advance: span.value.trim() })) },
      field(t("worlds.advance_by", { examples: "10s, 30min, 36h, 4d, 14months" }), span),
      h("button", { type: "submit" }, t("worlds.advance")),
      next,
      run,
    ),
    h(
      "form",
      { class: "search", onsubmit: stop(() => move({ set: serverTime(time.value.trim()) })) },
      field(t("worlds.set_time", { zone }), time),
      h("button", { type: "submit", class: "second" }, t("worlds.set")),
    ),
    h(
      "form",
      {
        class: "search",
        onsubmit: stop(() => world("snapshot", t("worlds.snapshot_taken"), kept.value.trim())),
      },
      field(t("worlds.snapshot_name"), kept),
      h("button", { type: "submit", class: "second" }, t("worlds.take_snapshot")),
    ),
    restore,
    h(
      "p",
      { class: "actions" },
      h(
        "button",
        {
          type: "button",
          class: "second",
          onclick: () =>
            ask(t("worlds.reset_question"), t("worlds.reset"), () =>
              world("reset", t("worlds.was_reset")),
            ),
        },
        `${t("worlds.reset")}…`,
      ),
      h(
        "button",
        {
          type: "button",
          class: "second",
          onclick: () =>
            ask(t("worlds.delete_question"), t("worlds.delete"), () =>
              world("delete", t("worlds.deleted")),
            ),
        },
        `${t("worlds.delete")}…`,
      ),
    ),
  ];
  place.append(...forms);
  let known = "";
  return ({ snapshots: names }, { now, running, next_due: due }) => {
    next.disabled = typeof due !== "string";
    run.value = String(!running);
    run.textContent = running ? t("worlds.pause") : t("worlds.start");
    if (time.value === "") time.value = plainText(timeOf(now));
    restore.hidden = names.length === 0;
    if (known === JSON.stringify(names)) return;
    known = JSON.stringify(names);
    snapshots.replaceChildren(
      ...select(
        "",
        names.toReversed().map((name) => [name, name]),
      ).options,
    );
  };
}

/**
 * What moving a clock has done.
 * @param {unknown} answer
 */
export function movedWords(answer) {
  const { clock, processed, complete } =
    /** @type {{ clock: Clock, processed?: Processed, complete?: boolean }} */ (answer);
  if (processed === undefined)
    return clock.running ? t("worlds.clock_running") : t("worlds.clock_paused");
  const words = t("worlds.moved", {
    at: exactText(clock.now),
    payments: t("worlds.payment_changes", { count: processed.payments }),
    deliveries: t("worlds.delivery_attempts", { count: processed.deliveries }),
    cards: t("worlds.deleted_cards", { count: processed.cards }),
  });
  return complete === false ? `${words} ${t("worlds.more_due")}` : words;
}

/** Creates a world and opens it at once. */
function newWorld() {
  const name = h("input", { name: "name", autocomplete: "off", maxlength: "100", size: "14" });
  const seed = h("input", { name: "seed", autocomplete: "off", maxlength: "100", size: "10" });
  const clock = h("input", { name: "clock", autocomplete: "off", maxlength: "24", size: "26" });
  const trouble = h("div");
  const make = async () => {
    try {
      const given = Object.fromEntries(
        [
          ["name", name.value.trim()],
          ["seed", seed.value.trim()],
          ["clock", serverTime(clock.value.trim())],
        ].filter(([, value]) => value !== ""),
      );
      const { world } = /** @type {{ world: World }} */ (await call("/__cofre/worlds", given));
      enterWorld(world);
      dispatchEvent(new HashChangeEvent("hashchange"));
      say(t("worlds.now_open", { name: world.name }));
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };
  return h(
    "section",
    {},
    h("h2", {}, t("worlds.new")),
    h("p", { class: "soft" }, t("worlds.new_explained")),
    h(
      "form",
      { class: "search", onsubmit: stop(make) },
      field(t("facts.name"), name),
      field(t("worlds.seed"), seed),
      field(t("worlds.starts_at", { zone }), clock),
      h("button", { type: "submit" }, t("worlds.create")),
    ),
    trouble,
  );
}

/**
 * @param {() => unknown} work
 * @returns {(event: Event) => void}
 */
function stop(work) {
  return (event) => {
    event.preventDefault();
    void work();
  };
}
