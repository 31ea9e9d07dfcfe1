/**
 * A minimal TypeScript lexer for architecture.test.ts: it distinguishes code from comments and
 * literals, and finds a module's imports. TypeScript 7 has no API for this, and a lexer of one
 * screen is easier to trust than a package.
 */

export interface Scan {
  /**
   * The source with comments, and the text of string, template and regular-expression literals,
   * replaced by spaces. Same line breaks.
   */
  readonly code: string;
  /**
   * Specifiers of static, re-exporting and dynamic imports, of `process.getBuiltinModule`, and of
   * `new URL("./x.ts", import.meta.url)`, which names workers.
   */
  readonly imports: readonly ImportedModule[];
}

export interface ImportedModule {
  readonly specifier: string;
  /**
   * The names between the braces, without renames; empty for `import "x"`, `*` and dynamic imports.
   */
  readonly names: readonly string[];
  readonly line: number;
}

type Region = "code" | "comment" | "text";

const importForms = [
  /\b(?:import|export)\b([^"'`;]*?)\bfrom\s*(["'])([^"']+)\2/g,
  /\bimport\s*()(["'])([^"']+)\2/g,
  /\bimport\s*\(\s*()(["'])([^"']+)\2/g,
  /\bgetBuiltinModule\s*\(\s*()(["'])([^"']+)\2/g,
  /\bnew\s+URL\(\s*()(["'])([^"']+)\2\s*,\s*import\.meta\.url/g,
];

const scans = new Map<string, Scan>();

/** Cached, because several rules read the same files. */
export function scan(source: string): Scan {
  const known = scans.get(source) ?? read(source);
  scans.set(source, known);
  return known;
}

function read(source: string): Scan {
  const regions = regionsOf(source);
  const code = blank(source, regions, ["comment", "text"]);
  const withoutComments = blank(source, regions, ["comment"]);
  const imports: ImportedModule[] = [];
  for (const form of importForms) {
    for (const match of withoutComments.matchAll(form)) {
      // An import inside a literal does not count.
      if (regions[match.index] !== "code") continue;
      imports.push({
        specifier: match[3] ?? "",
        names: namesIn(match[1] ?? ""),
        line: lineAt(source, match.index),
      });
    }
  }
  return { code, imports };
}

/**
 * Lines with the global or member access `name` (such as `Date` or `Math.random`) in code. A
 * property of another object with that name does not count.
 */
export function usesOf(code: string, name: string): number[] {
  const spaced = name.replaceAll(".", String.raw`\s*\??\.\s*`);
  const pattern = new RegExp(
    String.raw`(?<![\w$#])(?:globalThis\s*\??\.\s*|(?<!\.\s*))${spaced}(?![\w$]|\s*\??:)`,
    "g",
  );
  return [...code.matchAll(pattern)].map((match) => lineAt(code, match.index));
}

/** The comments of a source, everything else blank; the line breaks are the same. */
export function commentsOf(source: string): string {
  return blank(source, regionsOf(source), ["code", "text"]);
}

export interface SourceText {
  readonly line: number;
  /** The position of its first character. */
  readonly start: number;
  readonly text: string;
}

/**
 * The texts of string, template and regular-expression literals, without import specifiers. The
 * parts of a template between its expressions are texts of their own.
 */
export function textsOf(source: string): SourceText[] {
  const regions = regionsOf(source);
  const texts: SourceText[] = [];
  let start = 0;
  for (let index = 0; index <= regions.length; index += 1) {
    const isText = regions[index] === "text";
    if (isText && regions[index - 1] !== "text") start = index;
    if (isText || regions[index - 1] !== "text") continue;
    const text = source.slice(start, index);
    const before = source.slice(Math.max(0, start - 40), start);
    if (/\b(?:from|import)\s*\(?\s*["']$/.test(before)) continue;
    texts.push({ line: lineAt(source, start), start, text });
  }
  return texts;
}

function namesIn(clause: string): string[] {
  const braces = /\{([^}]*)\}/.exec(clause)?.[1];
  if (braces === undefined) return [];
  return braces
    .split(",")
    .map((name) =>
      name
        .trim()
        .replace(/^type\s+/, "")
        .replace(/\s+as\s.*$/s, ""),
    )
    .filter((name) => name !== "");
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

function blank(source: string, regions: readonly Region[], which: readonly Region[]): string {
  return source
    .split("")
    .map((char, index) => (char !== "\n" && which.includes(regions[index] ?? "code") ? " " : char))
    .join("");
}

/**
 * The region of each UTF-16 unit. Quotes and delimiters count as code, the text between them as
 * text.
 */
function regionsOf(source: string): Region[] {
  const regions: Region[] = Array.from({ length: source.length }, () => "code");
  const fill = (from: number, to: number, region: Region): void => {
    regions.fill(region, from, Math.min(to, source.length));
  };
  /** One entry for each open `${`: the number of open braces inside it. */
  const templates: number[] = [];
  let index = 0;

  const readTemplate = (): void => {
    const start = index;
    while (index < source.length) {
      if (source[index] === "\\") index += 2;
      else if (source[index] === "`" || source.startsWith("${", index)) break;
      else index += 1;
    }
    fill(start, index, "text");
    if (source.startsWith("${", index)) {
      templates.push(0);
      index += 2;
    } else index += 1;
  };

  while (index < source.length) {
    const char = source[index] ?? "";
    if (source.startsWith("//", index)) {
      const end = source.indexOf("\n", index);
      const to = end === -1 ? source.length : end;
      fill(index, to, "comment");
      index = to;
    } else if (source.startsWith("/*", index)) {
      const end = source.indexOf("*/", index + 2);
      const to = end === -1 ? source.length : end + 2;
      fill(index, to, "comment");
      index = to;
    } else if (char === '"' || char === "'") {
      const to = endOfQuoted(source, index, char);
      fill(index + 1, to, "text");
      index = to + 1;
    } else if (char === "`") {
      index += 1;
      readTemplate();
    } else if (char === "/" && startsExpression(source, index)) {
      const to = endOfRegex(source, index);
      fill(index + 1, to, "text");
      index = to + 1;
    } else {
      const open = templates.at(-1);
      index += 1;
      if (open === undefined) continue;
      if (char === "{") templates[templates.length - 1] = open + 1;
      else if (char === "}" && open > 0) templates[templates.length - 1] = open - 1;
      else if (char === "}") {
        templates.pop();
        readTemplate();
      }
    }
  }
  return regions;
}

function endOfQuoted(source: string, start: number, quote: string): number {
  let index = start + 1;
  while (index < source.length && source[index] !== quote && source[index] !== "\n")
    index += source[index] === "\\" ? 2 : 1;
  return index;
}

function endOfRegex(source: string, start: number): number {
  let inClass = false;
  let index = start + 1;
  for (; index < source.length && source[index] !== "\n"; index += source[index] === "\\" ? 2 : 1) {
    if (source[index] === "[") inClass = true;
    else if (source[index] === "]") inClass = false;
    else if (source[index] === "/" && !inClass) break;
  }
  return index;
}

/**
 * A slash begins a regular expression where an operand is expected: after an operator, an opening
 * bracket or a keyword.
 */
function startsExpression(source: string, slash: number): boolean {
  const before = source.slice(Math.max(0, slash - 40), slash).trimEnd();
  if (before === "") return true;
  return (
    /[=(,;:!&|?{}[+\-*%<>~^]$/.test(before) ||
    /\b(?:return|typeof|case|in|of|void|delete|throw|new|await|yield)$/.test(before)
  );
}
