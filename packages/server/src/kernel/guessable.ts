/** Neighbouring characters on keyboards and in the alphabet; 0 also follows 9. */
const runs = [
  "01234567890",
  "abcdefghijklmnopqrstuvwxyz",
  "qwertyuiop",
  "asdfghjkl",
  "zxcvbnm",
  "qwertzuiop",
  "azertyuiop",
];
const minDistinct = 5;
/** Maximum share of predictable steps from one character to the next. */
const maxPredictableShare = 0.6;

/**
 * Whether a password is among the first that attackers try: blanks only, a few repeated characters,
 * a repeated short text, or sequences of the keyboard and the alphabet. There is no list of common
 * passwords: the minimum length covers them.
 */
export function isGuessable(text: string): boolean {
  const characters = Array.from(text.trim().toLowerCase());
  if (new Set(characters).size < minDistinct) return true;
  if (isRepetition(characters)) return true;
  const steps = characters.length - 1;
  const predictable = characters.filter(
    (each, index) => index > 0 && areNeighbours(characters[index - 1] ?? "", each),
  ).length;
  return predictable > steps * maxPredictableShare;
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
