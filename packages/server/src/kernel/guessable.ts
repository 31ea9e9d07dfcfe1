/** Neighbours on a keyboard and in the alphabet; a digit follows 9 with 0. */
const runs = [
  "01234567890",
  "abcdefghijklmnopqrstuvwxyz",
  "qwertyuiop",
  "asdfghjkl",
  "zxcvbnm",
  "qwertzuiop",
  "azertyuiop",
];
const leastDistinct = 5;
/** Of the steps from one character to the next. */
const mostPredictable = 0.6;

/**
 * Whether a text that a person chose is among the first that are tried: blanks alone, a few
 * characters over and over, a short text repeated, or rows of the keyboard and of the alphabet. No
 * list of common passwords: length does the rest.
 */
export function isGuessable(text: string): boolean {
  const characters = Array.from(text.trim().toLowerCase());
  if (new Set(characters).size < leastDistinct) return true;
  if (isRepetition(characters)) return true;
  const steps = characters.length - 1;
  const predictable = characters.filter(
    (each, index) => index > 0 && areNeighbours(characters[index - 1] ?? "", each),
  ).length;
  return predictable > steps * mostPredictable;
}

function isRepetition(characters: readonly string[]): boolean {
  const { length } = characters;
  for (let unit = 1; unit <= length / 2; unit += 1)
    if (characters.every((each, index) => each === characters[index % unit])) return true;
  return false;
}

function areNeighbours(one: string, other: string): boolean {
  return (
    one === other || runs.some((run) => run.includes(one + other) || run.includes(other + one))
  );
}
