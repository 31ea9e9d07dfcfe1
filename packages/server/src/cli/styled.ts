import { styleText } from "node:util";

/** Parts of an output that a terminal shows in a colour or in bold. */
const formats = {
  heading: "bold",
  /** A command, an option or the name of a value. */
  name: "cyan",
  failure: "red",
  success: "green",
} as const;

/** A text with its style, or unchanged where there are no colours. */
export type Styled = (style: keyof typeof formats, text: string) => string;

export const plain: Styled = (_, text) => text;

/**
 * Styles for texts on `stream`. There are none unless it is a terminal, and none with NO_COLOR or
 * TERM=dumb; FORCE_COLOR has colours in any case (https://no-color.org, https://force-color.org).
 */
export function styledFor(stream: NodeJS.WritableStream): Styled {
  return (style, text) => styleText(formats[style], text, { stream });
}
