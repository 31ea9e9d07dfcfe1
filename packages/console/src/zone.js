// The time zone of the page: every time is shown and typed in it. The wire and the server use UTC.
import { locale } from "./language.js";

const placeOfZone = "cofre.zone";

/**
 * Zones to choose from, by the country whose name is shown; `city` distinguishes those of one
 * country.
 * @type {readonly { id: string, country: string, city?: string }[]}
 */
const zones = [
  { id: "America/Argentina/Buenos_Aires", country: "AR" },
  { id: "America/La_Paz", country: "BO" },
  { id: "America/Sao_Paulo", country: "BR" },
  { id: "America/Manaus", country: "BR", city: "Manaus" },
  { id: "America/Santiago", country: "CL" },
  { id: "America/Bogota", country: "CO" },
  { id: "America/Costa_Rica", country: "CR" },
  { id: "America/Santo_Domingo", country: "DO" },
  { id: "America/Guayaquil", country: "EC" },
  { id: "America/Guatemala", country: "GT" },
  { id: "America/Mexico_City", country: "MX" },
  { id: "America/Cancun", country: "MX", city: "Cancún" },
  { id: "America/Tijuana", country: "MX", city: "Tijuana" },
  { id: "America/Panama", country: "PA" },
  { id: "America/Lima", country: "PE" },
  { id: "America/Asuncion", country: "PY" },
  { id: "America/El_Salvador", country: "SV" },
  { id: "America/Montevideo", country: "UY" },
];
const utc = "UTC";

/** The browser's own zone. */
export const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The zone that was chosen in this tab; null: none. */
export function keptZone() {
  return sessionStorage.getItem(placeOfZone);
}

/** @param {string} id empty: the browser's own */
export function keepZone(id) {
  if (id === "") sessionStorage.removeItem(placeOfZone);
  else sessionStorage.setItem(placeOfZone, id);
}

/** The chosen zone; empty: the browser's own. */
export const chosenZone = [utc, ...zones.map(({ id }) => id)].find((id) => id === keptZone()) ?? "";

/** Identifier of the shown zone, such as `America/Sao_Paulo`, for `Intl` and for labels. */
export const zone = chosenZone === "" ? ownZone : chosenZone;

/** @returns {readonly (readonly [id: string, name: string])[]} by name, without the browser's own */
export function zoneOptions() {
  const names = new Intl.DisplayNames(locale, { type: "region" });
  return [
    [utc, utc],
    .../** @type {(readonly [string, string])[]} */ (
      zones.map(({ id, country, city }) => [
        id,
        [names.of(country) ?? country, ...(city === undefined ? [] : [city])].join(", "),
      ])
    ).toSorted(([, left], [, right]) => left.localeCompare(right, locale)),
  ];
}

const offsets = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: "shortOffset" });

/**
 * The offset of the shown zone at a time, such as `GMT-3`; `UTC` in UTC.
 * @param {number} ms
 */
export function offsetText(ms) {
  if (zone === utc) return utc;
  return offsets.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? zone;
}

const fields = new Intl.DateTimeFormat("en-US", {
  timeZone: zone,
  hourCycle: "h23",
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
});

/**
 * The zone's clock at a time, as milliseconds of the same clock in UTC.
 * @param {number} ms
 */
function clockAt(ms) {
  /** @type {Map<string, number>} */
  const part = new Map(fields.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = [
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
  ].map((name) => part.get(name));
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((ms % 1_000) + 1_000) % 1_000);
}

/**
 * `2026-03-01 12:00:00` in the shown zone, as date fields and files have it; empty for NaN, a time
 * that the server sent in another form.
 * @param {number} ms
 */
export function plainText(ms) {
  if (Number.isNaN(ms)) return "";
  return new Date(clockAt(ms)).toISOString().slice(0, 19).replace("T", " ");
}

const dayMs = 86_400_000;

/**
 * Milliseconds of a date, or a date and time, that was typed for the shown zone: `2026-03-01`,
 * `2026-03-01 12:00`, `2026-03-01T12:00:00`. NaN if it is not a time. With `Z` at its end, the time is UTC.
 * A time that the clock shows twice is the first of the two; one that it skips is as much later as
 * the clock was moved, so that a day without a midnight begins with its first moment.
 * @param {string} text
 */
export function timeTyped(text) {
  const [, date, time = "00:00", isUtc] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{3})?)?)(Z)?)?$/i.exec(text.trim()) ?? [];
  const clock = Date.parse(`${date}T${time}Z`);
  if (
    Number.isNaN(clock) ||
    // Of the days of a month, `Date` knows 31.
    new Date(clock).toISOString().slice(0, 10) !== date
  )
    return NaN;
  if (isUtc !== undefined) return clock;
  const [before, after] = [clock - dayMs, clock + dayMs].map((ms) => clockAt(ms) - ms);
  const fitting = [before, after].flatMap((offset) => {
    const ms = clock - (offset ?? 0);
    return clockAt(ms) === clock ? [ms] : [];
  });
  return fitting.length > 0 ? Math.min(...fitting) : clock - (before ?? 0);
}

/**
 * The text of a field for a time, as the server reads it: in UTC. Any other text is left for the
 * server to refuse.
 * @param {string} typed
 */
export function serverTime(typed) {
  const ms = timeTyped(typed);
  return Number.isNaN(ms) ? typed : new Date(ms).toISOString();
}

const datesOfSearch = /(?<!\S)(after|before):(\S+)/gi;

/**
 * A search with the dates of `after:` and `before:` as the server reads them.
 * @param {string} search
 */
export function serverSearch(search) {
  return search.replaceAll(
    datesOfSearch,
    (_, /** @type {string} */ name, /** @type {string} */ typed) => `${name}:${serverTime(typed)}`,
  );
}

/**
 * Whether a search has dates of the shown zone.
 * @param {string} search
 */
export function hasDates(search) {
  return Array.from(search.matchAll(datesOfSearch), ([, , typed = ""]) => typed).some(
    (typed) => !Number.isNaN(timeTyped(typed)) && !/z$/i.test(typed),
  );
}
