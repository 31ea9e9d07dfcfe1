/**
 * The console's scripts read `sessionStorage` when they are loaded. Node has it from version 25 on;
 * this module defines it on Node 24, the oldest version that runs the tests.
 */

class SessionStorage {
  readonly #values = new Map<string, string>();

  getItem(name: string): string | null {
    return this.#values.get(name) ?? null;
  }

  setItem(name: string, value: string): void {
    this.#values.set(name, value);
  }

  removeItem(name: string): void {
    this.#values.delete(name);
  }

  clear(): void {
    this.#values.clear();
  }
}

if (!("sessionStorage" in globalThis))
  Object.defineProperty(globalThis, "sessionStorage", { value: new SessionStorage() });
