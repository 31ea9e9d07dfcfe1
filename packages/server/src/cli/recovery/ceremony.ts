import type { Random } from "../../kernel/random.ts";
import { ClientProblem } from "../client-problem.ts";
import type { Screen } from "./screen.ts";

const askedWords = 3;
const rowLength = 3;
/** Times that a share is shown before the ceremony ends without a recovery key. */
const attempts = 5;

/**
 * Shows a share to its custodian alone, clears the screen, and asks for some of its words until the
 * custodian has them. Throws ClientProblem if not.
 */
export async function handOver(
  { words, title }: { readonly words: string; readonly title: string },
  screen: Screen,
  random: Random,
): Promise<void> {
  const list = words.split(" ");
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    screen.say(`${title} Only its custodian may see the screen.`);
    await until("show", "Type show and press Enter to show the share.", screen);
    screen.clear();
    screen.say(`${title}\n\n${tableOf(list)}\n`);
    await until(
      "written",
      `Write the ${list.length} words on paper in their order. Then type written and press Enter: the screen is cleared.`,
      screen,
    );
    screen.clear();
    if (await isTypedBack(list, screen, random)) return;
    screen.say("That is another word. The share is shown again.");
  }
  throw new ClientProblem("The share was not typed back. No recovery key was made.");
}

async function until(word: string, prompt: string, screen: Screen): Promise<void> {
  screen.say(prompt);
  while ((await screen.answer()).toLowerCase() !== word) screen.say(prompt);
}

async function isTypedBack(
  words: readonly string[],
  screen: Screen,
  random: Random,
): Promise<boolean> {
  let isRight = true;
  for (const position of positions(words.length, random)) {
    screen.say(`Type word ${position}:`);
    const typed = (await screen.answer()).toLowerCase();
    if (typed !== words[position - 1]) isRight = false;
  }
  screen.clear();
  return isRight;
}

/** Different positions, from 1, in ascending order. */
function positions(count: number, random: Random): readonly number[] {
  const chosen = new Set<number>();
  while (chosen.size < askedWords) chosen.add(((random.bytes(1)[0] ?? 0) % count) + 1);
  return [...chosen].toSorted((one, other) => one - other);
}

function tableOf(words: readonly string[]): string {
  const cells = words.map((word, at) => `${String(at + 1).padStart(4)}  ${word.padEnd(10)}`);
  const rows: string[] = [];
  for (let at = 0; at < cells.length; at += rowLength)
    rows.push(
      cells
        .slice(at, at + rowLength)
        .join("")
        .trimEnd(),
    );
  return rows.join("\n");
}
