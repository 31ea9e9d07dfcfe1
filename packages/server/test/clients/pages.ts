import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../../../../", import.meta.url));

/** The blocks of this language under a heading of a page, without the parts below. */
export function blocksUnder(page: string, heading: string, language = "sh"): string[] {
  const [, section = ""] = readFileSync(join(repository, page), "utf8").split(`\n${heading}\n`);
  const [upToNext = ""] = section.split(/\n#{2,3} /);
  return [...upToNext.matchAll(/```(\w*)\n([^]*?)```/g)]
    .filter(([, name]) => name === language)
    .map(([, , block = ""]) => block.trim());
}
