// What the page shows is asked for again and again while somebody can see it.
import { isAboutKey } from "./api.js";
import { say } from "./dom.js";

const everyMs = 2_000;

/**
 * Calls `work` every two seconds until the signal is aborted or the key is refused, one call at a time, and not while the page is hidden.
 * @param {AbortSignal} signal
 * @param {() => Promise<void>} work rejects when the server did not answer
 */
export async function keepFresh(signal, work) {
  let isLost = false;
  for (;;) {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, everyMs);
      signal.addEventListener("abort", () => [clearTimeout(timer), resolve(undefined)], { once: true });
    });
    if (signal.aborted) return;
    if (document.hidden) continue;
    try {
      await work();
      if (isLost) say("The server answers again.");
      isLost = false;
    } catch (error) {
      if (signal.aborted) return;
      if (isAboutKey(error)) {
        say("The server does not know this key any more, and what is shown is old. Forget the key and give another.");
        return;
      }
      say("The server does not answer. What is shown may be old.");
      isLost = true;
    }
  }
}
