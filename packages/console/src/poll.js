// Refreshes the shown data while the page is visible.
import { isAboutKey } from "./api.js";
import { say } from "./shown.js";
import { t } from "./language.js";
import { isLogin } from "./session.js";

const everyMs = 2_000;

/** Dispatched to the document when something was changed from outside of the view. */
const changedElsewhere = "cofre-changed";

/** Refreshes the shown view at once. */
export function refreshNow() {
  document.dispatchEvent(new Event(changedElsewhere));
}

/**
 * Calls `work` every two seconds until the signal is aborted or the key or the session is invalid:
 * one call at a time, not while the page is hidden, and at once when it is visible again.
 * @param {AbortSignal} signal
 * @param {() => Promise<void>} work rejects when the server did not answer
 */
export async function keepFresh(signal, work) {
  let isLost = false;
  for (;;) {
    await pause(signal);
    if (signal.aborted) return;
    if (document.hidden) continue;
    try {
      await work();
      if (isLost) say(t("server.answers_again"));
      isLost = false;
    } catch (error) {
      if (signal.aborted) return;
      if (isAboutKey(error)) {
        if (!isLogin()) say(t("server.key_refused"), true);
        return;
      }
      say(t("server.silent_stale"), true);
      isLost = true;
    }
  }
}

/**
 * Until the interval is over, the page is visible again, or the signal is aborted.
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause(signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", end);
      document.removeEventListener(changedElsewhere, end);
      resolve();
    };
    const timer = setTimeout(end, everyMs);
    signal.addEventListener("abort", end);
    document.addEventListener("visibilitychange", end);
    document.addEventListener(changedElsewhere, end);
  });
}
