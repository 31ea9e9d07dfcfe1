/** In memory of its own: a part of a text holds the whole of it, whatever was taken out. */
export function apart(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}
