// The frame of a 3-D Secure challenge: contains the bank's page, asks this server for the outcome,
// and sends the shop's page a message when the challenge is over. See docs/checkout.md.
(() => {
  const {
    query = "",
    origin = "",
    left = "0",
    ended = "",
  } = Object.fromEntries(
    Object.entries(document.documentElement.dataset).map(([name, value = ""]) => [
      name,
      decodeURIComponent(value),
    ]),
  );
  const status = /** @type {HTMLElement} */ (document.getElementById("status"));
  const bank = /** @type {HTMLIFrameElement} */ (document.querySelector("iframe"));
  const leave = /** @type {HTMLButtonElement} */ (document.getElementById("leave"));
  const request = /** @type {HTMLFormElement} */ (document.getElementById("request"));

  /** How often the server is asked, in milliseconds. */
  const intervalMs = 1_000;

  let isOver = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /**
   * Calls this server. Undefined without an answer: the next call may have one.
   * @param {string} path
   * @param {RequestInit} [options]
   * @returns {Promise<string | undefined>}
   */
  async function statusFrom(path, options) {
    try {
      const response = await fetch(`${path}?${query}`, options);
      const answer = /** @type {{ status?: string }} */ (await response.json());
      return answer.status;
    } catch {
      return undefined;
    }
  }

  /** @param {string | undefined} outcome */
  function take(outcome) {
    if (isOver || outcome === undefined || outcome === "C") return;
    isOver = true;
    clearTimeout(timer);
    bank.remove();
    leave.disabled = true;
    status.textContent = ended;
    parent.postMessage({ type: "cofre:3ds", status: outcome }, origin);
  }

  async function ask() {
    clearTimeout(timer);
    take(await statusFrom("/3ds/state"));
    if (isOver) return;
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), intervalMs);
  }

  /** @param {"cancelled" | "timed_out"} reason */
  async function end(reason) {
    const body = new URLSearchParams({ reason });
    const outcome = await statusFrom("/3ds/leave", { method: "POST", body });
    if (outcome === undefined && !isOver) setTimeout(() => void end(reason), intervalMs);
    take(outcome);
  }

  leave.addEventListener("click", () => void end("cancelled"));
  // Only this server's answer counts, so any message may ask for it.
  addEventListener("message", () => {
    if (!isOver) void ask();
  });
  bank.addEventListener("load", () => {
    status.textContent = "";
  });
  // The library that waits for the challenge gives up a few seconds after the bank, without a result.
  setTimeout(() => void end("timed_out"), Number(left));
  parent.postMessage({ type: "cofre:3ds-title", title: document.title }, origin);
  request.submit();
  void ask();
})();
