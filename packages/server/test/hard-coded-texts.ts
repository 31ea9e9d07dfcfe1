import { scan, textsOf } from "./source-scan.ts";

/**
 * Finds texts that a script of the console shows without looking them up in the messages of the
 * page's language: in `html` templates, in children and labels of `h()`, in arguments of functions
 * that show a text, and any other literal that reads like one.
 */

/** Attributes that are read or shown. */
const labels = new Set(["aria-label", "title", "placeholder", "alt", "label", "text"]);
/** Functions all of whose texts are shown. */
const showing = new Set("say field ask table Error problem button inTable secretForm".split(" "));
/** Functions that make an element from a name, attributes and children. */
const makers = new Set(["h", "shape"]);

interface Expression {
  readonly kind: "expression";
  /** The attribute whose value it is; empty: a child; `-`: it is in a plain template. */
  readonly attribute: string;
}
interface Call {
  readonly kind: "call";
  readonly name: string;
  argument: number;
}

/** What is open around a literal. */
type Place =
  | { readonly kind: "template"; readonly isMarkup: boolean; readonly start: number; text: string }
  | Expression
  | Call
  | { readonly kind: "group" };

interface Shown {
  readonly line: number;
  readonly text: string;
}

export function findHardCodedTexts(source: string): Shown[] {
  const { code } = scan(source);
  const texts = new Map(textsOf(source).map((each) => [each.start, each]));
  const found: Shown[] = [];
  const places: Place[] = [];
  const lineAt = (index: number): number => source.slice(0, index).split("\n").length;
  for (let index = 0; index <= code.length; index += 1) {
    const literal = texts.get(index);
    const innermost = places.at(-1);
    if (literal !== undefined) {
      if (innermost?.kind === "template" && innermost.isMarkup) innermost.text += literal.text;
      else if (isShown(literal.text, source.slice(0, index), places))
        found.push({ line: literal.line, text: literal.text });
      index += literal.text.length;
    }
    const char = code[index];
    const place = places.at(-1);
    if (char === "`" && place?.kind === "template") {
      places.pop();
      if (place.isMarkup)
        found.push(
          ...textsOfMarkup(place.text).map((text) => ({ line: lineAt(place.start), text })),
        );
    } else if (char === "`") {
      const isMarkup = /(?<![\w$.])html$/.test(code.slice(0, index));
      places.push({ kind: "template", isMarkup, start: index, text: "" });
    } else if (code.startsWith("${", index) && place?.kind === "template") {
      const attribute = /([\w-]+)=$/.exec(place.text)?.[1] ?? "";
      place.text += hole;
      places.push({ kind: "expression", attribute: place.isMarkup ? attribute : "-" });
      index += 1;
    } else if (char === "(") {
      const name = /([\w$]+)$/.exec(code.slice(Math.max(0, index - 60), index))?.[1];
      places.push(name === undefined ? { kind: "group" } : { kind: "call", name, argument: 0 });
    } else if (char === "[" || char === "{") places.push({ kind: "group" });
    else if (char === ")" || char === "]" || char === "}") places.pop();
    else if (char === "," && place?.kind === "call") place.argument += 1;
  }
  return found;
}

/** In place of an expression in markup. */
const hole = "\u0001";

/** The texts between the tags, and those of attributes that are shown. */
function textsOfMarkup(markup: string): string[] {
  const tag = /<(?:"[^"]*"|[^>"])*>/g;
  const attributes = [...markup.matchAll(tag)].flatMap(([each]) =>
    [...each.matchAll(/([\w-]+)="([^"]*)"/g)].flatMap(([, name = "", value = ""]) =>
      labels.has(name) ? [value] : [],
    ),
  );
  return [...attributes, ...markup.replaceAll(tag, hole).split(hole)]
    .map((text) => text.trim())
    .filter(isText);
}

/** Words, not a letter or a unit. */
function isText(text: string): boolean {
  return /\p{L}{2}/u.test(text);
}

/** Two words, or one that begins like a sentence. */
function readsAsText(text: string): boolean {
  return /^\p{Lu}\p{Ll}/u.test(text) || /\p{L}{2,},? \p{L}{2,}/u.test(text);
}

/** A call, or an expression of markup, decides what its literals are. */
function isDecisive(place: Place): place is Call | Expression {
  return place.kind === "call" || (place.kind === "expression" && place.attribute !== "-");
}

function isShown(text: string, before: string, places: readonly Place[]): boolean {
  // A comparison, or the name of a member.
  if (!isText(text) || /(?:[=!]== |[\w)\]]\[)["'`]$/.test(before)) return false;
  const [, quoted, plain] = /(?:"([\w-]+)"|\b(\w+)): ["'`]$/.exec(before) ?? [];
  const property = quoted ?? plain ?? "";
  const outer = places.findLast(isDecisive);
  if (property === "class" || property === "className") return false;
  if (outer?.kind === "expression") {
    if (outer.attribute === "class" || outer.attribute === "d") return false;
    if (outer.attribute === "" || labels.has(outer.attribute)) return true;
    return readsAsText(text);
  }
  if (outer !== undefined && makers.has(outer.name)) {
    if (outer.argument >= 2 || labels.has(property)) return true;
    return outer.argument === 1 && property === "" && readsAsText(text);
  }
  return (outer !== undefined && showing.has(outer.name)) || readsAsText(text);
}
