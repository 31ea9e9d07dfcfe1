// Requests as commands for a shell.
import { unseen } from "./shown.js";

/** A value that the shell takes from a variable. */
export class ShellVariable {
  /** @param {string} name letters, digits and underscores */
  constructor(name) {
    this.name = name;
  }

  /** As a command has it inside double quotes. */
  expansion() {
    return `$${this.name}`;
  }
}

const key = new ShellVariable("KEY");

/**
 * A command that sends the fields with the secret key from the variable `KEY`: as form parameters
 * if every value is a short text or a number, otherwise as JSON. No value can end the quotes, and
 * invisible characters are written as JSON escapes.
 * @param {string} path
 * @param {Readonly<Record<string, unknown>>} fields without the key; may contain ShellVariables
 * @param {string} [origin]
 */
export function curlOf(path, fields, origin = location.origin) {
  const all = { integration_key: key, ...fields };
  const pairs = Object.entries(all).filter(([, value]) => value !== undefined);
  const command = `curl -s ${word(origin + path)}`;
  if (!pairs.every(([, value]) => isPlain(value)))
    return `${command} -H 'Content-Type: application/json' -d ${jsonWord(all)}`;
  return [command, ...pairs.map(([name, value]) => parameter(name, value))].join(" ");
}

/**
 * A command that sends a message as Cofre sends it; without an address, to that in the variable
 * `URL`.
 * @param {Readonly<Record<string, string>>} headers
 * @param {string} body
 * @param {string} [address]
 */
export function curlOfMessage(headers, body, address) {
  const to =
    address === undefined ? `"$URL"` : word(address.replaceAll(unseen, encodeURIComponent));
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return [`curl -s ${to}`, ...given, `--data-raw ${quoted(body)}`].join(" \\\n  ");
}

/** @param {unknown} value */
function isPlain(value) {
  if (typeof value === "string") return value.search(unseen) < 0;
  return ["number", "boolean"].includes(typeof value) || value instanceof ShellVariable;
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function parameter(name, value) {
  if (value instanceof ShellVariable) return `-d "${name}=${value.expansion()}"`;
  const text = `${name}=${String(value)}`;
  return /^[\w.=-]*$/.test(text) ? `-d ${text}` : `--data-urlencode ${quoted(text)}`;
}

/**
 * A text as one word of a command.
 * @param {string} text
 */
function word(text) {
  return /^[\w@:,./-]+$/.test(text) ? text : quoted(text);
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** @param {Readonly<Record<string, unknown>>} fields */
function jsonWord(fields) {
  // A text that no value contains marks the places of the variables.
  const known = JSON.stringify(fields);
  let mark = "$";
  while (known.includes(mark)) mark += "$";
  const text = JSON.stringify(
    fields,
    (_, value) => (value instanceof ShellVariable ? `${mark}${value.name}${mark}` : value),
    2,
  );
  return quoted(escapeUnseen(text))
    .split(mark)
    .map((part, place) => (place % 2 === 0 ? part : `'"$${part}"'`))
    .join("");
}

/**
 * JSON in which invisible characters and those that change the text direction are escapes.
 * @param {string} json
 */
export function escapeUnseen(json) {
  return json.replaceAll(unseen, (character) =>
    character === "\n"
      ? character
      : String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
