import { relative, resolve, sep } from "node:path";
import {
  isBinaryExpression,
  isConditionalExpression,
  isElementAccessExpression,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import { API, type Checker, type Type, TypeFlags } from "typescript/unstable/sync";

/**
 * Finds lookups in plain objects with an arbitrary string as the key. Every plain object inherits
 * `constructor`, `toString`, `hasOwnProperty` and `__proto__`, so `table[word]` and `word in table`
 * find something for words that are not in the table. Uses types: `table[name]` with a `name` of
 * the table's own key type is not reported, `table[word as Name]` is.
 */
export interface WordLookup {
  /** Relative to the root, with forward slashes. */
  readonly file: string;
  readonly line: number;
  readonly expression: string;
}

/** These have no prototype (wire/decode/tree-object.ts). */
const bareTypes = /^(?:TreeObject|GrowingObject)\b/;
/**
 * `ownValue` of the server and `own` of the console page, which check for an own property first.
 */
const guarded = (table: string, word: string): string => `Object.hasOwn(${table}, ${word})`;

export function findWordLookups(
  root: string,
  projects: readonly string[],
  isSearched: (file: string) => boolean,
): WordLookup[] {
  const api = new API({ cwd: root });
  try {
    const snapshot = api.updateSnapshot({
      openProjects: projects.map((project) => resolve(root, project)),
    });
    const found = snapshot.getProjects().flatMap(({ program, checker }) =>
      program.getSourceFileNames().flatMap((name) => {
        const file = relative(root, name).replaceAll(sep, "/");
        const source = isSearched(file) ? program.getSourceFile(name) : undefined;
        return source === undefined
          ? []
          : lookupsIn(source, checker).map((lookup) => ({ file, ...lookup }));
      }),
    );
    return found;
  } finally {
    api.close();
  }
}

interface Candidate {
  readonly node: Node;
  readonly table: Node;
  readonly word: Node;
}

function lookupsIn(
  source: Node & { readonly text: string },
  checker: Checker,
): Omit<WordLookup, "file">[] {
  const candidates: Candidate[] = [];
  const textOf = ({ pos, end }: Node): string => source.text.slice(pos, end).trim();
  const visit = (node: Node, guards: readonly string[]): void => {
    if (
      isElementAccessExpression(node) &&
      !guards.some((guard) =>
        guard.includes(guarded(textOf(node.expression), textOf(node.argumentExpression))),
      )
    ) {
      candidates.push({ node, table: node.expression, word: node.argumentExpression });
    }
    if (isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.InKeyword) {
      candidates.push({ node, table: node.right, word: node.left });
    }
    const inside = isConditionalExpression(node) ? [...guards, textOf(node.condition)] : guards;
    node.forEachChild((child) => visit(child, inside));
  };
  visit(source, []);
  if (candidates.length === 0) return [];
  const words = checker.getTypeAtLocation(candidates.map(({ word }) => word));
  const tables = checker.getTypeAtLocation(candidates.map(({ table }) => table));
  const isLookup = ({ word }: Candidate, index: number): boolean =>
    (word.kind === SyntaxKind.AsExpression || isAnyText(words[index], checker)) &&
    !isBare(tables[index], checker);
  return candidates.filter(isLookup).map(({ node }) => ({
    line: lineOf(source.text, node),
    expression: textOf(node).replaceAll(/\s+/g, " "),
  }));
}

function isAnyText(type: Type | undefined, checker: Checker): boolean {
  if (type === undefined) return true;
  if (type.isUnionType()) return type.getTypes().some((part) => isAnyText(part, checker));
  if (type.isTypeParameter()) return isAnyText(checker.getConstraintOfTypeParameter(type), checker);
  const any =
    TypeFlags.String |
    TypeFlags.TemplateLiteral |
    TypeFlags.StringMapping |
    TypeFlags.Any |
    TypeFlags.Unknown;
  return (type.flags & any) !== 0;
}

function isBare(type: Type | undefined, checker: Checker): boolean {
  if (type === undefined) return false;
  if (type.isUnionType()) return type.getTypes().every((part) => isBare(part, checker));
  return bareTypes.test(checker.typeToString(type));
}

function lineOf(text: string, { pos, end }: Node): number {
  const start = pos + (text.slice(pos, end).length - text.slice(pos, end).trimStart().length);
  return text.slice(0, start).split("\n").length;
}
