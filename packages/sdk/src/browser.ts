/** The entry for pages of the shop: card fields in a frame of the server's origin. */
import { addressOf } from "./address.ts";
import { CofreConnectionError } from "./errors.ts";
import type { Country } from "./generated/types.ts";

export { CofreConnectionError } from "./errors.ts";

/** Appearance of the fields: docs/checkout.md. */
export interface CardTheme {
  /** A colour such as `#1b5fd0`. */
  readonly accent?: string | undefined;
  /** Pixels. */
  readonly radius?: number | undefined;
  /** Pixels. */
  readonly fontSize?: number | undefined;
  readonly scheme?: "light" | "dark" | undefined;
}

export interface MountOptions {
  /** Address of the server, such as `https://cofre.example`. */
  readonly url: string;
  /** The account's public key. The secret key has no place in a browser. */
  readonly publicIntegrationKey: string;
  readonly country?: Country | undefined;
  /** The language of the country by default. */
  readonly lang?: "en" | "es" | "pt-BR" | undefined;
  /** `code`: only the security code, for a stored card. */
  readonly only?: "code" | undefined;
  readonly theme?: CardTheme | undefined;
  /**
   * Digest of `/cofre.js`, as `/cofre.js.integrity` lists it: another script is not run. Without
   * effect in a page that has the script already.
   */
  readonly integrity?: string | undefined;
  /** true: http is used also for servers on other machines, for tests. */
  readonly allowHttp?: boolean | undefined;
}

export interface StoredCard {
  /** What the shop's server charges. */
  readonly token: string;
  readonly brand: string;
  /** Such as `411111xxxxxx1111`. */
  readonly masked: string;
  /** Why the security code was not kept, if it was not: the payment is made without one. */
  readonly securityCode?: { readonly code: string; readonly message: string };
}

/** Which fields are right. Contains no digit. */
export interface FieldsChange {
  readonly brand: string;
  readonly number: boolean;
  readonly expiry: boolean;
  readonly code: boolean;
  readonly name: boolean;
  readonly complete: boolean;
}

/** What `tokenize` and `setCode` reject with, as an Error. */
export interface FieldsError extends Error {
  /** An error code of the server, or one of docs/checkout.md, such as `number_invalid`. */
  readonly code: string;
  readonly field?: string;
  readonly retryAfterSeconds?: number;
}

export interface CardFields {
  /** Stores the card. Rejects with a `FieldsError`. */
  tokenize(): Promise<StoredCard>;
  /** Keeps the security code for the next payment with this token. Rejects with a `FieldsError`. */
  setCode(token: string): Promise<object>;
  /** `ready`: the fields are shown. `submit`: Enter was pressed in one of them. */
  on(type: "ready" | "submit", listener: () => void): void;
  on(type: "change", listener: (change: FieldsChange) => void): void;
  focus(): void;
  clear(): void;
  /** Takes the fields out of the page. */
  remove(): void;
}

/** The script's object, `window.Cofre`. */
interface Loaded {
  /** Origin of the server that the script came from. */
  readonly origin: string;
  readonly fields: (place: unknown, options: object) => CardFields;
}

interface Script {
  src: string;
  integrity: string;
  crossOrigin: string | null;
  addEventListener(type: "load" | "error", listener: () => void): void;
  remove(): void;
}

/** The part of a window that this entry uses: declarations of a page are not needed for its types. */
const page = globalThis as unknown as {
  Cofre?: Loaded;
  readonly document: {
    readonly head: { append(script: Script): void };
    createElement(name: "script"): Script;
  };
};

/** Scripts that are being loaded, by address. */
const loading = new Map<string, Promise<void>>();

/**
 * Puts card fields into an element of the page, given itself or by its selector. The card is typed
 * into a frame of the server's origin; the page sees no digit of it. Loads `/cofre.js` of the server
 * if the page has not done so.
 *
 * Rejects with a `CofreConnectionError` if the script cannot be loaded, and with a `TypeError` if
 * the address is invalid or the page has the script of another server.
 */
export async function mountCard(place: unknown, options: MountOptions): Promise<CardFields> {
  const { url, publicIntegrationKey: key, allowHttp = false, integrity = "", ...rest } = options;
  const address = `${addressOf(url, allowHttp)}/cofre.js`;
  if (page.Cofre === undefined) {
    const script = loading.get(address) ?? load(address, integrity);
    loading.set(address, script);
    await script.finally(() => loading.delete(address));
  }
  const loaded = page.Cofre;
  if (loaded?.origin !== new URL(url).origin)
    throw new TypeError("the page has the script of another server");
  return loaded.fields(place, { key, ...rest });
}

function load(address: string, integrity: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = page.document.createElement("script");
    if (integrity !== "") {
      script.integrity = integrity;
      script.crossOrigin = "anonymous";
    }
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => {
      script.remove();
      reject(new CofreConnectionError("no", "the script was not loaded", 1));
    });
    script.src = address;
    page.document.head.append(script);
  });
}
