// What the page shows as text.

/**
 * Characters that change the text direction or are invisible: shown by their code points, so that
 * the page shows a text as it is stored.
 */
export const unseen = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** @param {string} text */
export function shown(text) {
  return text.replaceAll(
    unseen,
    (character) =>
      `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/** When the status message was shown, on the clock of events. */
let saidAt = 0;

/** A status message stays at least this long, in milliseconds. */
const readingMs = 4_000;

/** Whether the status message is about something that lasts. */
let isLasting = false;

/**
 * Shows a status message, which screen readers announce; an empty text removes it.
 * @param {string} text
 * @param {boolean} [lasts] stays until it is replaced, or another view is opened
 */
export function say(text, lasts = false) {
  isLasting = lasts;
  const status = document.getElementById("status");
  if (status !== null && status.textContent !== text) status.textContent = text;
  saidAt = performance.now();
}

/** Removes a status message when the user does something else later. */
export function clearStatus() {
  for (const kind of ["keydown", "pointerdown"])
    addEventListener(
      kind,
      ({ timeStamp }) => {
        if (!isLasting && timeStamp - saidAt > readingMs) say("");
      },
      { capture: true, passive: true },
    );
}

/** @param {unknown} error */
export function problemText(error) {
  return shown(error instanceof Error ? error.message : String(error));
}
