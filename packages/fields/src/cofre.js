// Cofre's card fields for the page of a shop: `Cofre.fields("#place", { key })`. See
// docs/checkout.md.
(() => {
  const { src } = /** @type {HTMLScriptElement} */ (document.currentScript);
  const base = new URL(src).origin;

  /**
   * An error with a code, and with the field and the waiting time where there is one.
   * @param {object} facts
   */
  const failure = (facts) => Object.assign(new Error(), facts);

  /**
   * @typedef {object} Options
   * @property {string} key the account's public key
   * @property {string} [lang] en, es or pt-BR
   * @property {string} [country] ISO 3166-1 code in lower case, such as br
   * @property {"code"} [only] only the security code, for a stored card
   * @property {Readonly<Record<string, unknown>>} [theme] accent, radius, fontSize, scheme
   */

  /**
   * Puts the fields into an element of the page.
   * @param {string | Element} place the element, or its selector
   * @param {Options} options
   */
  function fields(place, { key, lang, country, only, theme }) {
    const element = typeof place === "string" ? document.querySelector(place) : place;
    if (element === null) throw new Error("Cofre: the page has no such element.");
    const frame = document.createElement("iframe");
    const address = new URL("/fields/", base);
    const asked = { key, origin: location.origin, lang, country, only };
    for (const [name, value] of Object.entries(asked))
      if (value !== undefined) address.searchParams.set(name, value);
    frame.src = address.href;
    frame.title = "Card";
    frame.style.cssText = "width:100%;border:0;display:block";
    frame.height = only === "code" ? "80" : "300";

    /** @type {MessagePort | undefined} */
    let port;
    let next = 0;
    /** @type {Map<number, { resolve: (answer: object) => void, reject: (error: Error) => void }>} */
    const waiting = new Map();
    /** @type {Map<string, ((message: object) => void)[]>} */
    const listeners = new Map();

    /** @param {{ type: string, id?: number, height?: number, title?: string, error?: object }} message */
    const received = ({ type, id = -1, ...message }) => {
      if (type === "height") frame.height = String(message.height);
      if (type === "ready") {
        frame.title = message.title ?? "Card";
        port?.postMessage({ ...theme, type: "theme" });
      }
      if (type !== "answer") {
        for (const listener of listeners.get(type) ?? []) listener(message);
        return;
      }
      const { resolve, reject } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (message.error === undefined) resolve?.(message);
      else reject?.(failure(message.error));
    };

    /** @param {MessageEvent} event */
    const meet = ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== base || data?.type !== "cofre:hello") return;
      const channel = new MessageChannel();
      port?.close();
      port = channel.port1;
      port.addEventListener("message", (event) => received(event.data));
      port.start();
      frame.contentWindow?.postMessage({ type: "cofre:port" }, base, [channel.port2]);
      // A frame that was loaded again does not know the requests of its predecessor.
      for (const { reject } of waiting.values())
        reject(failure({ code: "reloaded", message: "The fields were loaded again." }));
      waiting.clear();
    };
    addEventListener("message", meet);

    /**
     * @param {string} type
     * @param {object} [more]
     * @returns {Promise<object>}
     */
    const ask = (type, more) =>
      new Promise((resolve, reject) => {
        if (port === undefined) {
          reject(failure({ code: "not_ready", message: "The fields are not loaded." }));
          return;
        }
        next += 1;
        waiting.set(next, { resolve, reject });
        port.postMessage({ ...more, type, id: next });
      });
    element.append(frame);
    return {
      /** Stores the card: resolves with `token`, `brand` and `masked`. */
      tokenize: () => ask("tokenize"),
      /**
       * Keeps the security code for the next payment with a stored card.
       * @param {string} token
       */
      setCode: (token) => ask("setCode", { token }),
      /**
       * @param {"ready" | "change" | "submit"} type
       * @param {(message: object) => void} listener
       */
      on: (type, listener) => void listeners.set(type, [...(listeners.get(type) ?? []), listener]),
      focus: () => port?.postMessage({ type: "focus" }),
      clear: () => port?.postMessage({ type: "clear" }),
      /** Takes the fields out of the page. */
      remove: () => {
        removeEventListener("message", meet);
        port?.close();
        frame.remove();
      },
    };
  }

  Object.defineProperty(window, "Cofre", { value: Object.freeze({ fields, origin: base }) });
})();
