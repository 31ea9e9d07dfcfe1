// The side bar: the open account with its clock, and the links to the views.
import { useEffect, useRef, useState } from "preact/hooks";
import { areCardsStopped, call, isAboutKey, subjectOfTab } from "./api.js";
import { problemText, say, shown } from "./shown.js";
import { exactMinute, timeOf, timeOfDay, utcText } from "./format.js";
import { html } from "./html.js";
import { keepLanguage, language, languageOptions, t } from "./language.js";
import { refreshNow } from "./poll.js";
import { countReceivers } from "./receivers.js";
import { mayDo } from "./session.js";
import { cardsStopped, clock, counters, shell, stateCounts } from "./state.js";
import { own, roleWords } from "./words.js";
import { movedWords } from "./worlds.js";
import { chosenZone, keepZone, offsetText, ownZone, plainText, zoneOptions } from "./zone.js";

/** @import { Clock, Link } from "./state.js" */

/**
 * The actions at the end of the side bar.
 * @typedef {{ onLeave: () => void, onSignOut: () => void, onHelp: () => void }} Actions
 */

/** @param {Actions} actions */
export function SideBar(actions) {
  const { links, world } = shell.value;
  return html`
    <div class="rail">
      <p class="brand">
        <a href="#/payments">Cofre</a>
        <span class="tag" id="tag"
          >${world === undefined ? t("side.sandbox") : t("side.world", { name: shown(world) })}</span
        >
      </p>
      ${cardsStopped.value && html`<p class="stopped" role="alert">${t("side.cards_stopped")}</p>`}
      ${links.length > 0 && html`<${ClockBox} />`}
      ${links.length > 0 ? html`<${Navigation} ...${actions} />` : html`<${Choices} />`}
    </div>
  `;
}

function ClockBox() {
  const now = clock.value;
  const [isBusy, setBusy] = useState(false);
  if (now === undefined) return null;
  /** @param {string} span */
  const advance = async (span) => {
    const subject = subjectOfTab();
    setBusy(true);
    try {
      say(movedWords(await call("/__cofre/clock", { advance: span }, subject)));
      await refreshClock();
      refreshNow();
    } catch (error) {
      say(problemText(error));
    } finally {
      setBusy(false);
    }
  };
  const due = now.next_due;
  const offset = offsetText(timeOf(now.now));
  const mayMove = now.isWorld && mayDo("admin");
  return html`
    <div class="clock" role="group" aria-label=${t("side.clock")}>
      <time datetime=${now.now} title=${utcText(now.now)}>${exactMinute(now.now)}</time>${" "}
      <span class=${now.running ? "soft" : "paused"}
        >${now.running ? offset : t("side.paused", { zone: offset })}</span
      >
      ${
        mayMove &&
        html`
          <div class="moves">
            <button type="button" disabled=${isBusy} onClick=${() => void advance("1h")}>
              +1 h
            </button>
            <button type="button" disabled=${isBusy} onClick=${() => void advance("1d")}>
              +1 d
            </button>
            ${
              typeof due === "string" &&
              html`
                <button
                  type="button"
                  disabled=${isBusy}
                  title=${t("side.next_event", { at: utcText(due) })}
                  onClick=${() => void advance("next")}
                >
                  ${t("side.next", { at: sameDay(due, now.now) ? timeOfDay(due) : exactMinute(due) })}
                </button>
              `
            }
          </div>
        `
      }
    </div>
  `;
}

/** @param {Actions} actions */
function Navigation({ onLeave, onSignOut, onHelp }) {
  const { links, person } = shell.value;
  const groups = [...new Set(links.map(({ group }) => group))];
  const row = useRef(/** @type {HTMLElement | null} */ (null));
  const { current } = shell.value;
  // On a narrow screen the links are one line, which is scrolled to the current one.
  useEffect(() => {
    const link = row.current?.querySelector("[aria-current]");
    if (row.current === null || !(link instanceof HTMLElement)) return;
    const [line, { left, width }] = [
      row.current.getBoundingClientRect(),
      link.getBoundingClientRect(),
    ];
    row.current.scrollLeft += left + width / 2 - (line.left + line.width / 2);
  }, [current, links]);
  return html`
    <nav id="nav" ref=${row} aria-label=${t("side.console")}>
      ${groups.map(
        (group) => html`
          <div key=${group} class="group">
            <p class="group-name" hidden=${group === ""}>${group}</p>
            <ul>
              ${links.filter((link) => link.group === group).map((link) => html`<${Row} key=${link.view} link=${link} />`)}
            </ul>
          </div>
        `,
      )}
      <div class="group last">
        <ul>
          <li><a href="/docs">${t("side.docs")}</a></li>
          ${person !== undefined && html`<li><a href="#/account" aria-current=${currentOf("account")}>${t("side.password")}</a></li>`}
          <li>
            <button type="button" class="plain" onClick=${onHelp}>${t("side.shortcuts")}</button>
            <kbd aria-hidden="true">?</kbd>
          </li>
          ${
            person === undefined
              ? html`<li>
                  <button type="button" class="plain" onClick=${onLeave}>
                    ${t("side.remove_key")}
                  </button>
                </li>`
              : html`<li>
                  <button type="button" class="plain" onClick=${onSignOut}>
                    ${t("side.sign_out")}
                  </button>
                </li>`
          }
        </ul>
        ${person !== undefined && html`<p class="who"><bdi>${shown(person.name)}</bdi>, ${roleWords(person.role)}</p>`}
        <${Choices} />
      </div>
    </nav>
  `;
}

/** The page is loaded again in the chosen language, or with the times of the chosen zone. */
function Choices() {
  /** @param {(chosen: string) => void} keep */
  const choose =
    (keep) =>
    (/** @type {Event} */ { target }) => {
      if (!(target instanceof HTMLSelectElement)) return;
      keep(target.value);
      location.reload();
    };
  return html`
    <div class="preferences">
      <select name="language" aria-label=${t("side.language")} onChange=${choose(keepLanguage)}>
        ${languageOptions.map(
          ([tag, name]) =>
            html`<option key=${tag} value=${tag} lang=${tag} selected=${tag === language}>
              ${name}
            </option>`,
        )}
      </select>
      <select name="zone" aria-label=${t("side.zone")} onChange=${choose(keepZone)}>
        <option value="" selected=${chosenZone === ""}>
          ${t("side.zone_own", { city: cityOf(ownZone) })}
        </option>
        ${zoneOptions().map(
          ([id, name]) =>
            html`<option key=${id} value=${id} selected=${id === chosenZone}>${name}</option>`,
        )}
      </select>
    </div>
  `;
}

/** @param {string} id of a zone, whose last part is a city */
function cityOf(id) {
  return shown(id.split("/").at(-1)?.replaceAll("_", " ") ?? id);
}

/** @param {{ link: Link }} props */
function Row({ link: { view, title, key } }) {
  const counter = own(counters.value, view);
  return html`
    <li>
      <a
        href=${`#/${view}`}
        class=${view === "new" ? "primary" : undefined}
        aria-current=${currentOf(view)}
        >${title}</a
      >
      ${
        counter === undefined
          ? key?.length === 1 && html`<kbd aria-hidden="true">${key}</kbd>`
          : html`<span class=${counter.isBad === true ? "count bad" : "count"}
              >${counter.text}</span
            >`
      }
    </li>
  `;
}

/** @param {string} view */
function currentOf(view) {
  const { current, parent } = shell.value;
  if (view === current) return "page";
  return view === parent ? "true" : undefined;
}

/**
 * Reads the clock and the name of the open account. Errors are the view's to report.
 * @param {(name: string) => void} [onWorld] called with the name when the account is a world's
 */
export async function refreshClock(onWorld = () => {}) {
  const subject = subjectOfTab();
  const [{ world }, { clock: read }] = await Promise.all([
    /** @type {Promise<{ world: { name: string, payments: number } | null }>} */ (
      call("/__cofre/world", {}, subject)
    ),
    /** @type {Promise<{ clock: Clock }>} */ (call("/__cofre/clock", {}, subject)),
  ]);
  if (JSON.stringify(subject) !== JSON.stringify(subjectOfTab())) return;
  clock.value = { ...read, isWorld: world !== null };
  const { payments: _, ...others } = counters.value;
  counters.value =
    world === null ? others : { ...others, payments: { text: shown(String(world.payments)) } };
  if (world !== null) onWorld(world.name);
}

/** Counts the receivers that get nothing now. */
async function refreshCounters() {
  const subject = subjectOfTab();
  const { endpoints } = /** @type {{ endpoints: { state: string }[] }} */ (
    await call("/__cofre/notifications", { order: "newest", limit: 1 }, subject)
  );
  if (JSON.stringify(subject) !== JSON.stringify(subjectOfTab())) return;
  countReceivers(endpoints);
}

const everyMs = 2_000;
/** The counters are read less often than the clock. */
const turnsOfCounters = 5;

/**
 * Keeps the clock and the counters up to date: not while the page is hidden or asks for a key, and
 * not with a key that was refused.
 * @param {(name: string) => void} onWorld
 */
export async function watchAccount(onWorld) {
  let refused = "";
  let seen = "";
  for (let turn = 0; ; turn += 1) {
    const subject = JSON.stringify(subjectOfTab());
    if (subject !== seen) {
      seen = subject;
      turn = 0;
    }
    if (!document.hidden && shell.value.links.length > 0 && subject !== refused) {
      try {
        await refreshClock(onWorld);
        if (turn % turnsOfCounters === 0) {
          cardsStopped.value = await areCardsStopped();
          await refreshCounters();
        }
      } catch (error) {
        if (isAboutKey(error)) refused = subject;
      }
    }
    await changed();
  }
}

/** @type {(() => void) | undefined} */
let wake;

/** Reads the clock and the counters at once: another account was opened. */
export function accountChanged() {
  clock.value = undefined;
  counters.value = {};
  stateCounts.value = undefined;
  wake?.();
}

/** @returns {Promise<void>} */
function changed() {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, everyMs);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/**
 * @param {string} at
 * @param {string} other
 */
function sameDay(at, other) {
  return dayOf(at) === dayOf(other);
}

/** @param {string} at */
function dayOf(at) {
  const time = timeOf(at);
  return Number.isNaN(time) ? at.slice(0, 10) : plainText(time).slice(0, 10);
}
