// Keeps unsent input while a view is rebuilt.

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */
/** @typedef {{ values: ReadonlyMap<string, string>, focused: string | undefined }} Typed */

/**
 * The controls by name; controls with the same name are distinguished by order.
 * @param {HTMLElement} main
 */
function controlsIn(main) {
  /** @type {Map<string, Control>} */
  const controls = new Map();
  /** @type {NodeListOf<Control>} */
  const found = main.querySelectorAll("input[name], select[name], textarea[name]");
  for (const control of found) {
    let key = control.name;
    while (controls.has(key)) key += "+";
    controls.set(key, control);
  }
  return controls;
}

/**
 * @param {HTMLElement} main
 * @param {boolean} [withSecrets] whether passwords and codes are kept too
 * @returns {Typed}
 */
export function typedIn(main, withSecrets = true) {
  const controls = [...controlsIn(main)].filter(
    ([, { type, autocomplete }]) =>
      withSecrets || (type !== "password" && autocomplete !== "one-time-code"),
  );
  return {
    values: new Map(controls.map(([key, { value }]) => [key, value])),
    focused: controls.find(([, control]) => control === document.activeElement)?.[0],
  };
}

/**
 * Disabled controls keep their values.
 * @param {HTMLElement} main
 * @param {Typed} typed
 */
export function putBack(main, { values, focused }) {
  for (const [key, control] of controlsIn(main)) {
    const value = values.get(key);
    if (value !== undefined && !control.disabled && control.value !== value) {
      control.value = value;
      for (const kind of ["input", "change"])
        control.dispatchEvent(new Event(kind, { bubbles: true }));
    }
    if (key === focused) control.focus();
  }
}
