// The worlds of this server, and the clock of the open one.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
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
import { ask } from "./dialog.js";
import { countText, exactText, timeOf } from "./format.js";
import { html, mountIn } from "./html.js";
import { t } from "./language.js";
import { liveTable } from "./live-table.js";
import { Choice, errorAt, Foreign, Pairs, Problem, TextField, valuesOf, When } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { mayDo } from "./session.js";
import { say, shown } from "./shown.js";
import { plainText, serverTime, zone } from "./zone.js";

/** @import { ReadonlySignal } from "@preact/signals" */

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
/** @typedef {{ world: World | null, clock: Clock }} Account */
/**
 * Sends a change of the open world, and shows what it did.
 * @typedef {(path: string, fields: Readonly<Record<string, string>>, words: (answer: unknown) =>
 * string) => Promise<void>} Act
 */

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
export async function worldsView(main, _words, _query, abort) {
  if (!(await offers("/__cofre/worlds"))) {
    mountIn(main, html`<p class="soft">${t("worlds.not_offered")}</p>`, abort);
    return;
  }
  const account = signal(/** @type {Account | undefined} */ (undefined));
  const trouble = signal(/** @type {unknown} */ (undefined));
  const older = signal(0);
  // The shown world, even if another one is open when a button is pressed.
  const subject = subjectOfTab();
  const refresh = async () => {
    const [{ world }, { clock }] = await Promise.all([
      /** @type {Promise<{ world: World | null }>} */ (call("/__cofre/world", {})),
      /** @type {Promise<{ clock: Clock }>} */ (call("/__cofre/clock", {})),
    ]);
    if (!abort.aborted) account.value = { world, clock };
  };
  /** @type {Act} */
  const act = async (path, fields, words) => {
    try {
      const answer = await call(path, fields, subject);
      trouble.value = undefined;
      say(words(answer));
      if (fields["action"] === "delete") {
        leave();
        say(words(answer));
        return;
      }
      await refresh();
    } catch (error) {
      trouble.value = error;
    }
  };
  const table = liveTable(abort, {
    caption: t("worlds.caption"),
    heads,
    counted: (count) => t("worlds.count", { count }),
    page: async () => {
      const { worlds } = /** @type {{ worlds: World[] }} */ (await lookUp("/__cofre/worlds"));
      older.value = Math.max(0, worlds.length - mostShown);
      const items = worlds.map((world, place) => ({ ...world, place })).slice(-mostShown);
      return { items: items.toReversed(), next: null };
    },
    whenNone: t("worlds.none"),
    keyOf: ({ place }) => String(place).padStart(digits, "0"),
    cells,
  });
  mountIn(
    main,
    html`
      <div>
        <section>
          <h2>${t("worlds.open_account")}</h2>
          <${OpenAccount} account=${account} act=${act} />
          <${Trouble} error=${trouble} />
        </section>
        ${mayDo("admin") && html`<${NewWorld} />`}
        <section>
          <h2>${t("worlds.all")}</h2>
          <${table.View} />
          <${Older} count=${older} />
        </section>
      </div>
    `,
    abort,
  );
  await refresh();
  void keepFresh(abort, refresh);
  await table.load();
}

/** Returns to the previous account, and shows the view again. */
function leave() {
  leaveWorld();
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** @param {{ error: ReadonlySignal<unknown> }} props */
function Trouble({ error }) {
  return html`<${Problem} error=${error.value} />`;
}

/** @param {{ count: ReadonlySignal<number> }} props */
function Older({ count }) {
  if (count.value === 0) return null;
  return html`<p class="soft">${t("worlds.older", { count: count.value })}</p>`;
}

/** @param {World} world */
function cells(world) {
  const { name, seed, clock, payments } = world;
  const open = () => {
    enterWorld(world);
    location.hash = "#/payments";
  };
  return [
    html`<${Foreign} text=${name} />`,
    html`<${Foreign} text=${seed} />`,
    html`<${TimeAndState} clock=${clock} />`,
    countText(payments),
    isOpen(world)
      ? t("worlds.open_now")
      : html`<button
          type="button"
          class="small"
          aria-label=${t("worlds.open_one", { name: shown(name) })}
          onClick=${open}
        >
          ${t("worlds.open")}
        </button>`,
  ];
}

/** @param {{ clock: Clock }} props */
function TimeAndState({ clock: { now, running } }) {
  return html`
    <span class="marks">
      <${When} at=${now} />
      <span class=${`mark ${running ? "good" : "held"}`}
        >${running ? t("worlds.running") : t("worlds.paused")}</span
      >
    </span>
  `;
}

/**
 * The open account: its time, and the controls when it is a world.
 * @param {{ account: ReadonlySignal<Account | undefined>, act: Act }} props
 */
function OpenAccount({ account, act }) {
  if (account.value === undefined) return null;
  const { world, clock } = account.value;
  return html`
    <div>
      ${world === null && html`<p>${t("worlds.no_world")}</p>`}
      <${Pairs} kind="facts" rows=${factsOf(world, clock)} />
      ${world !== null && mayDo("admin") && html`<${Controls} world=${world} clock=${clock} act=${act} />`}
      ${
        canLeaveWorld() &&
        html`<p class="actions">
          <button type="button" class="small" onClick=${leave}>${t("worlds.back")}</button>
        </p>`
      }
    </div>
  `;
}

/**
 * @param {World | null} world
 * @param {Clock} clock
 * @returns {readonly (readonly [name: string, value: unknown])[]}
 */
function factsOf(world, clock) {
  const time = html`<${TimeAndState} clock=${clock} />`;
  if (world === null) return [[t("worlds.time"), time]];
  const { integration_key: secret, public_integration_key: open } = world;
  const due = clock.next_due;
  return [
    [t("worlds.world"), html`<${Foreign} text=${world.name} />`],
    [t("worlds.seed"), html`<${Foreign} text=${world.seed} />`],
    [t("worlds.time"), time],
    [
      t("worlds.next_due"),
      typeof due === "string" ? html`<${When} at=${due} />` : t("worlds.nothing_due"),
    ],
    [t("view.payments"), countText(world.payments)],
    .../** @type {[string, unknown][]} */ (
      secret === undefined || open === undefined
        ? []
        : [
            [t("worlds.secret_key"), html`<${Foreign} text=${secret} kind="code" />`],
            [t("worlds.public_key"), html`<${Foreign} text=${open} kind="code" />`],
          ]
    ),
  ];
}

/**
 * The controls that move the clock of a world, keep its state and reset it.
 * @param {{ world: World, clock: Clock, act: Act }} props
 */
function Controls({ world: { snapshots }, clock: { now, running, next_due: due }, act }) {
  // The time at which the view was opened, as a beginning of what is typed.
  const [begun] = useState(() => plainText(timeOf(now)));
  const move = (/** @type {Readonly<Record<string, string>>} */ fields) =>
    act("/__cofre/clock", fields, movedWords);
  const change = (/** @type {string} */ action, /** @type {string} */ words, name = "") =>
    act("/__cofre/world", name === "" ? { action } : { action, name }, () => words);
  return html`
    <div class="controls">
      <form class="search" onSubmit=${sending(({ advance = "" }) => move({ advance }))}>
        <${TextField}
          label=${t("worlds.advance_by", { examples: "10s, 30min, 36h, 4d, 14months" })}
          name="advance"
          defaultValue="4d"
          maxlength="20"
          size="8"
          required
        />
        <button type="submit">${t("worlds.advance")}</button>
        <button
          type="button"
          class="second"
          disabled=${typeof due !== "string"}
          onClick=${() => void move({ advance: "next" })}
        >
          ${t("worlds.to_next")}
        </button>
        <button
          type="button"
          name="run"
          class="second"
          onClick=${() => void move({ run: String(!running) })}
        >
          ${running ? t("worlds.pause") : t("worlds.start")}
        </button>
      </form>
      <form class="search" onSubmit=${sending(({ set = "" }) => move({ set: serverTime(set) }))}>
        <${TextField}
          label=${t("worlds.set_time", { zone })}
          name="set"
          defaultValue=${begun}
          maxlength="24"
          size="26"
          required
        />
        <button type="submit" class="second">${t("worlds.set")}</button>
      </form>
      <form
        class="search"
        onSubmit=${sending(({ snapshot = "" }) => change("snapshot", t("worlds.snapshot_taken"), snapshot))}
      >
        <${TextField}
          label=${t("worlds.snapshot_name")}
          name="snapshot"
          maxlength="50"
          size="12"
          pattern="[\\w.\\-]+"
          required
        />
        <button type="submit" class="second">${t("worlds.take_snapshot")}</button>
      </form>
      ${
        snapshots.length > 0 &&
        html`
          <form
            class="search"
            onSubmit=${sending(({ kept = "" }) =>
              ask(t("worlds.restore_question"), t("worlds.restore"), () =>
                change("restore", t("worlds.restored"), kept),
              ),
            )}
          >
            <${Choice}
              label=${t("worlds.snapshot")}
              name="kept"
              options=${snapshots.toReversed().map((name) => [name, shown(name)])}
            />
            <button type="submit" name="restore" class="second">
              ${`${t("worlds.restore")}…`}
            </button>
          </form>
        `
      }
      <p class="actions">
        <button
          type="button"
          class="second"
          onClick=${() =>
            ask(t("worlds.reset_question"), t("worlds.reset"), () =>
              change("reset", t("worlds.was_reset")),
            )}
        >
          ${`${t("worlds.reset")}…`}
        </button>
        <button
          type="button"
          class="second"
          onClick=${() =>
            ask(t("worlds.delete_question"), t("worlds.delete"), () =>
              change("delete", t("worlds.deleted")),
            )}
        >
          ${`${t("worlds.delete")}…`}
        </button>
      </p>
    </div>
  `;
}

/**
 * @param {(values: Readonly<Record<string, string>>) => unknown} work
 * @returns {(event: SubmitEvent) => void}
 */
function sending(work) {
  return (event) => {
    event.preventDefault();
    void work(valuesOf(event.target));
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
function NewWorld() {
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const make = async (/** @type {Readonly<Record<string, string>>} */ values) => {
    const { name = "", seed = "", clock = "" } = values;
    const given = Object.entries({ name, seed, clock: serverTime(clock) });
    try {
      const { world } = /** @type {{ world: World }} */ (
        await call("/__cofre/worlds", Object.fromEntries(given.filter(([, value]) => value !== "")))
      );
      enterWorld(world);
      dispatchEvent(new HashChangeEvent("hashchange"));
      say(t("worlds.now_open", { name: shown(world.name) }));
    } catch (failure) {
      setError(failure);
    }
  };
  return html`
    <section>
      <h2>${t("worlds.new")}</h2>
      <p class="soft">${t("worlds.new_explained")}</p>
      <form class="search" onSubmit=${sending(make)}>
        <${TextField}
          label=${t("facts.name")}
          name="name"
          error=${errorAt(error, "name")}
          maxlength="100"
          size="14"
        />
        <${TextField}
          label=${t("worlds.seed")}
          name="seed"
          error=${errorAt(error, "seed")}
          maxlength="100"
          size="10"
        />
        <${TextField}
          label=${t("worlds.starts_at", { zone })}
          name="clock"
          error=${errorAt(error, "clock")}
          maxlength="24"
          size="26"
          placeholder="2026-03-01 12:00:00"
        />
        <button type="submit">${t("worlds.create")}</button>
      </form>
      ${errorAt(error, "name", "seed", "clock") === undefined && html`<${Problem} error=${error} />`}
    </section>
  `;
}
