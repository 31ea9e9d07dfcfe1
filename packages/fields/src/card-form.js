// The inputs of a card: formatted while the customer types, checked when a field is left.
import {
  brandOf,
  caretAfter,
  codeLength,
  digitsOf,
  expiryOf,
  groupedNumber,
  isCardNumber,
  typedExpiry,
} from "./card.js";
import { texts } from "./messages.js";

/** @import { Texts } from "./messages-en.js" */
/** @typedef {keyof Texts} TextName */
/** @typedef {"number" | "expiry" | "code" | "name"} FieldName */
/**
 * @typedef {object} Field
 * @property {HTMLInputElement} input
 * @property {HTMLElement} error
 */

/** @type {Readonly<Record<FieldName, Readonly<Record<string, string>>>>} */
const attributes = {
  number: { autocomplete: "cc-number", inputmode: "numeric", maxlength: "24" },
  expiry: { autocomplete: "cc-exp", inputmode: "numeric", maxlength: "9" },
  code: { autocomplete: "cc-csc", inputmode: "numeric", maxlength: "4" },
  name: { autocomplete: "cc-name", autocapitalize: "words", maxlength: "64" },
};

/** @type {Readonly<Partial<Record<FieldName, (text: string) => string>>>} */
const formats = {
  number: (text) => groupedNumber(digitsOf(text).slice(0, 19)),
  // What was deleted is not added again.
  expiry: (text) => typedExpiry(text),
  code: (text) => digitsOf(text).slice(0, 4),
};

/**
 * Adds an input with its label and its error to a place.
 * @param {HTMLElement} place
 * @param {string} name
 * @param {string} text of the label
 * @returns {Field & { box: HTMLElement }}
 */
export function labelled(place, name, text) {
  const box = document.createElement("div");
  box.className = `field ${name}`;
  const label = document.createElement("label");
  label.htmlFor = name;
  label.textContent = text;
  const input = document.createElement("input");
  input.id = name;
  input.required = true;
  input.spellcheck = false;
  input.setAttribute("aria-describedby", `${name}-error`);
  const error = document.createElement("p");
  error.id = `${name}-error`;
  error.className = "error";
  error.role = "status";
  box.append(label, input, error);
  place.append(box);
  return { input, error, box };
}

/**
 * Shows what is wrong with a field; empty: nothing.
 * @param {Field} field
 * @param {string} text
 */
export function mark({ input, error }, text) {
  input.ariaInvalid = String(text !== "");
  if (error.textContent !== text) error.textContent = text;
}

/**
 * @param {HTMLElement} place where the inputs are added
 * @param {object} options
 * @param {readonly FieldName[]} options.shown
 * @param {() => void} options.changed called after each change
 * @param {() => void} options.entered called for the key Enter
 */
export function cardForm(place, { shown, changed, entered }) {
  const isCodeOnly = !shown.includes("number");
  const brandName = document.createElement("p");
  brandName.className = "brand";
  brandName.role = "status";
  let brand = "";
  const fields = /** @type {Readonly<Record<FieldName, Field>>} */ (
    Object.fromEntries(shown.map((name) => [name, fieldOf(name)]))
  );

  /** @param {FieldName} name */
  function fieldOf(name) {
    const { input, error, box } = labelled(place, name, texts[name]);
    for (const [attribute, value] of Object.entries(attributes[name]))
      input.setAttribute(attribute, value);
    if (name === "number") box.insertBefore(brandName, error);
    return { input, error };
  }

  /** @param {FieldName} name */
  const valueOf = (name) => fields[name]?.input.value ?? "";
  const numberDigits = () => digitsOf(valueOf("number"));

  /** @type {Readonly<Record<FieldName, () => boolean>>} */
  const isValid = {
    number: () => isCardNumber(numberDigits()),
    expiry: () => expiryOf(valueOf("expiry"), new Date()) !== undefined,
    code: () => {
      const { length } = valueOf("code");
      return isCodeOnly ? length === 3 || length === 4 : length === codeLength(numberDigits());
    },
    name: () => !/\d/.test(valueOf("name")),
  };

  /**
   * What is wrong with a field; undefined if nothing is.
   * @param {FieldName} name
   * @returns {TextName | undefined}
   */
  function problemOf(name) {
    if (valueOf(name).trim() === "") return `${name}_required`;
    return isValid[name]() ? undefined : `${name}_invalid`;
  }

  /**
   * Shows what is wrong with a field, or that nothing is.
   * @param {FieldName} name
   */
  function judge(name) {
    const problem = problemOf(name);
    mark(fields[name], problem === undefined ? "" : texts[problem]);
    return problem;
  }

  /** @param {FieldName} name */
  function typed(name, isDeletion = false) {
    const { input } = fields[name];
    const formatted = formats[name];
    if (formatted !== undefined && !(name === "expiry" && isDeletion)) format(input, formatted);
    // A mistake is shown when the field is left, and gone when it is corrected.
    if (input.ariaInvalid === "true" && problemOf(name) === undefined) judge(name);
    const now = brandOf(numberDigits())?.name ?? "";
    if (now !== brand) {
      brand = now;
      brandName.textContent = brand === "" ? "" : texts.brand.replace("{brand}", brand);
      if (!isCodeOnly) fields.code.input.maxLength = codeLength(numberDigits());
    }
    changed();
  }

  for (const name of shown) {
    const { input } = fields[name];
    input.addEventListener("input", (event) =>
      typed(name, event instanceof InputEvent && event.inputType.startsWith("delete")),
    );
    // Some browsers and password managers fill in without an input event.
    input.addEventListener("change", () => typed(name));
    input.addEventListener("blur", () => {
      if (input.value !== "") judge(name);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) entered();
    });
  }

  return {
    valueOf,
    problemOf,
    brand: () => brand,

    /** The card as the server takes it. */
    card: () => ({
      card_number: numberDigits(),
      card_name: valueOf("name").trim(),
      card_due_date: expiryOf(valueOf("expiry"), new Date()),
      card_cvv: valueOf("code"),
    }),

    /**
     * Shows all mistakes and goes to the first. Returns the problem that was found first.
     * @returns {{ field: FieldName, code: string, message: string } | undefined}
     */
    firstProblem() {
      const found = shown.flatMap((name) => {
        const problem = judge(name);
        return problem === undefined
          ? []
          : [{ field: name, code: problem, message: texts[problem] }];
      });
      const [first] = found;
      if (first !== undefined) fields[first.field].input.focus();
      return first;
    },

    /** Goes to the first empty field. */
    focus() {
      const inputs = shown.map((name) => fields[name].input);
      (inputs.find(({ value }) => value === "") ?? inputs[0])?.focus();
    },

    /**
     * Empties fields without showing a mistake.
     * @param {readonly FieldName[]} names
     */
    empty(names) {
      for (const name of names) {
        const { input } = fields[name] ?? {};
        if (input === undefined) continue;
        input.value = "";
        input.ariaInvalid = "false";
      }
      typed(shown[0] ?? "code");
    },
  };
}

/**
 * Formats what was typed, with the caret behind the same digits.
 * @param {HTMLInputElement} input
 * @param {(text: string) => string} formatted
 */
function format(input, formatted) {
  const { value, selectionStart } = input;
  const text = formatted(value);
  if (text === value) return;
  input.value = text;
  if (document.activeElement !== input) return;
  const caret = caretAfter(value, selectionStart ?? value.length, text);
  input.setSelectionRange(caret, caret);
}
