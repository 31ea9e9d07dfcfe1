/**
 * Excludes assertion messages from mutation testing. They are for readers of a stack trace, and a
 * test that pins them would only repeat them. The existence of the assertion and its condition are
 * mutated.
 */

/** The properties of a Babel syntax node that this file uses. */
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
