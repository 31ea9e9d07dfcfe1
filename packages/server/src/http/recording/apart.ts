/** A part of a text is a view of the whole one from this length on: V8 copies shorter ones. */
const shortestView = 13;

/**
 * In memory of its own: a part of a text, such as a request's field, may hold the whole of it, card
 * numbers and all.
 */
export function apart(text: string): string {
  if (text.length < shortestView) return text;
  return Buffer.from(text, "utf8").toString("utf8");
}
