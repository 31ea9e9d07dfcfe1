// A stand-in for the 3-D Secure vendor's script, for the sandbox: `Cardinal`, as far as the browser
// library uses it. It shows the challenge in a frame of Cofre. See docs/checkout.md.
(() => {
  const { src } = /** @type {HTMLScriptElement} */ (document.currentScript);
  const base = new URL(src).origin;
  /** One listener per event, as pages expect that set a new one for each payment. */
  /** @type {Map<string, (...values: unknown[]) => void>} */
  const listeners = new Map();
  /** The frame of a challenge is shown within this time, or the challenge ends. */
  const openingMs = 15_000;
  let accessToken = "";
  /** @type {(() => void) | undefined} */
  let endPrevious;

  /**
   * @param {string} type
   * @param {unknown[]} values
   */
  const fire = (type, ...values) =>
    // Pages set their listeners after the call that leads to the event.
    setTimeout(() => listeners.get(type)?.(...values));

  /**
   * What the vendor's script says about the end: an error without an action code if the customer
   * has left, otherwise that the challenge is over. The result comes from the server.
   * @param {string} status
   */
  const facts = (status) =>
    status === "not_completed" || status === "unknown"
      ? { ActionCode: "", ErrorNumber: 10_011, ErrorDescription: "Challenge not completed" }
      : {
          ActionCode: status === "Y" ? "SUCCESS" : "FAILURE",
          ErrorNumber: 0,
          ErrorDescription: "",
        };

  /** @param {string} acsUrl */
  function show(acsUrl) {
    endPrevious?.();
    const address = new URL(acsUrl, base);
    const { lang } = document.documentElement;
    address.searchParams.set("origin", location.origin);
    address.searchParams.set(
      "lang",
      lang.toLowerCase().startsWith("pt") ? "pt-BR" : lang.slice(0, 2),
    );
    const dialog = document.createElement("dialog");
    dialog.id = "Cardinal-ElementContainer";
    dialog.style.cssText =
      "width:min(100%,600px);height:min(100%,600px);max-width:100%;max-height:100%;padding:0;border:0;box-sizing:border-box";
    const frame = document.createElement("iframe");
    frame.src = address.href;
    /** @param {string} title */
    const name = (title) => {
      frame.title = title;
      dialog.setAttribute("aria-label", title);
    };
    name("Confirmation by your bank");
    frame.style.cssText = "width:100%;height:100%;border:0;display:block";
    dialog.append(frame);
    // The bank's page has the ways out: closed here, the challenge would continue unseen.
    dialog.addEventListener("cancel", (event) => event.preventDefault());

    const end = () => {
      clearTimeout(unopened);
      removeEventListener("message", received);
      endPrevious = undefined;
      dialog.remove();
    };
    /** @param {MessageEvent} event */
    const received = ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== base) return;
      if (data?.type === "cofre:3ds-title") {
        clearTimeout(unopened);
        name(String(data.title));
      }
      if (data?.type === "cofre:3ds") finish(String(data.status));
    };
    /** @param {string} status */
    const finish = (status) => {
      end();
      fire("payments.validated", facts(status), accessToken);
    };
    // The account does not allow this page, or the network is down: the frame cannot say so.
    const unopened = setTimeout(() => finish("unknown"), openingMs);
    endPrevious = end;
    addEventListener("message", received);
    document.body.append(dialog);
    dialog.showModal();
    frame.focus();
  }

  const cardinal = {
    configure: () => undefined,
    /**
     * @param {string} _type
     * @param {{ jwt?: string }} [options]
     */
    setup: (_type, { jwt = "" } = {}) => {
      accessToken = jwt;
      fire("payments.setupComplete", {});
    },
    /**
     * @param {string} type
     * @param {(...values: unknown[]) => void} listener
     */
    on: (type, listener) => void listeners.set(type, listener),
    /** @param {string} type */
    off: (type) => void listeners.delete(type),
    // The page passes the whole card here: nothing of it is read.
    trigger: () => Promise.resolve({ Status: true }),
    /**
     * @param {string} _brand
     * @param {{ AcsUrl: string }} challenge
     */
    continue: (_brand, { AcsUrl: acsUrl }) => show(acsUrl),
  };
  Object.defineProperty(window, "Cardinal", { value: Object.freeze(cardinal) });
})();
