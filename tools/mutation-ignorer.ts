/**
 * What mutation testing leaves alone: the words of an assertion. They are for people who read a
 * stack trace, and a test that pins them would only say them twice. That the assertion is there at
 * all, and its condition, is mutated.
 */

/** As much as this file needs of a node of Babel's syntax tree. */
interface Path {
  readonly node: {
    readonly type: string;
    readonly callee?: { readonly type: string; readonly name?: string };
  };
  readonly parentPath: Path | null;
}

export const strykerPlugins = [
  {
    kind: "Ignore",
    name: "assertion-words",
    value: {
      shouldIgnore({ node, parentPath }: Path): string | undefined {
        if (node.type !== "StringLiteral" || parentPath?.node.type !== "CallExpression")
          return undefined;
        return parentPath.node.callee?.name === "assert" ? "the words of an assertion" : undefined;
      },
    },
  },
];
