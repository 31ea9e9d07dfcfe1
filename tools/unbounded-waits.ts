import { relative, resolve, sep } from "node:path";
import {
  isAwaitExpression,
  isCallExpression,
  isDoStatement,
  isForStatement,
  isArrowFunction,
  isFunctionDeclaration,
  isFunctionExpression,
  isMethodDeclaration,
  isWhileStatement,
  type Node,
} from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

/**
 * Finds loops that wait for a condition without a bound: a test that times out in one keeps its
 * file's process running. Reported are loops without a step or a condition that await in their
 * condition, pause in their body, or await at all without a condition. A loop that reads the time
 * counts as bounded.
 */
export interface UnboundedWait {
  /** Relative to the root, with forward slashes. */
  readonly file: string;
  readonly line: number;
  readonly condition: string;
}

const pauses: ReadonlySet<string> = new Set([
  "sleep",
  "once",
  "setTimeout",
  "setImmediate",
  "moment",
  "wait",
]);
const looksAtTime = /\b(?:Date|performance)\.now\(\)/;

export function findUnboundedWaits(
  root: string,
  project: string,
  isSearched: (file: string) => boolean,
): UnboundedWait[] {
  const api = new API({ cwd: root });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [resolve(root, project)] });
    return snapshot.getProjects().flatMap(({ program }) =>
      program.getSourceFileNames().flatMap((name) => {
        const file = relative(root, name).replaceAll(sep, "/");
        const source = isSearched(file) ? program.getSourceFile(name) : undefined;
        return source === undefined ? [] : waitsIn(source).map((wait) => ({ file, ...wait }));
      }),
    );
  } finally {
    api.close();
  }
}

function waitsIn(source: Node & { readonly text: string }): Omit<UnboundedWait, "file">[] {
  const found: Omit<UnboundedWait, "file">[] = [];
  const textOf = ({ pos, end }: Node): string => source.text.slice(pos, end).trim();
  const visit = (node: Node): void => {
    const loop = loopOf(node);
    if (loop !== undefined && !looksAtTime.test(textOf(node))) {
      const { condition, body } = loop;
      const isOpen = condition === undefined || textOf(condition) === "true";
      const waits = isOpen
        ? has(body, isAwaitExpression)
        : has(condition, isAwaitExpression) ||
          has(body, (each) => isAwaitExpression(each) && has(each, isPause, true));
      if (waits)
        found.push({
          line: lineOf(source.text, node),
          condition: isOpen ? "" : textOf(condition).replaceAll(/\s+/g, " "),
        });
    }
    node.forEachChild(visit);
  };
  const isPause = (node: Node): boolean =>
    isCallExpression(node) && pauses.has(textOf(node.expression).replace(/^.*\./s, ""));
  visit(source);
  return found;
}

/** A `for` with a step is bounded by its count. */
function loopOf(
  node: Node,
): { readonly condition: Node | undefined; readonly body: Node } | undefined {
  if (isWhileStatement(node) || isDoStatement(node))
    return { condition: node.expression, body: node.statement };
  if (isForStatement(node) && (node.incrementor === undefined || node.condition === undefined)) {
    return { condition: node.condition, body: node.statement };
  }
  return undefined;
}

const isFunction = (node: Node): boolean =>
  isArrowFunction(node) ||
  isFunctionExpression(node) ||
  isFunctionDeclaration(node) ||
  isMethodDeclaration(node);

/**
 * Whether `isOne` holds for the node or a node inside it. Functions inside it run elsewhere and are
 * skipped unless `inFunctions` is set.
 */
function has(node: Node, isOne: (node: Node) => boolean, inFunctions = false): boolean {
  if (isOne(node)) return true;
  if (!inFunctions && isFunction(node)) return false;
  let found = false;
  node.forEachChild((child) => {
    found ||= has(child, isOne, inFunctions);
  });
  return found;
}

function lineOf(text: string, { pos, end }: Node): number {
  const start = pos + (text.slice(pos, end).length - text.slice(pos, end).trimStart().length);
  return text.slice(0, start).split("\n").length;
}
