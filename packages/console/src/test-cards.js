// Published test numbers, as in docs/wire/sandbox.md; a test compares the two.

/** @type {readonly (readonly [number: string, brand: string, outcome: string])[]} */
export const testCards = [
  ["4111111111111111", "visa", "approved"],
  ["5555555555554444", "mastercard", "approved"],
  ["378282246310005", "amex", "approved"],
  ["6362970000457013", "elo", "approved"],
  ["6062825624254001", "hipercard", "approved"],
  ["4716909774636285", "visa", "insufficient_funds"],
  ["5102026827345142", "mastercard", "invalid_card"],
  ["6011088896715918", "discover", "expired_card"],
  ["378568775709157", "amex", "not_accepted"],
  ["4000000000001109", "visa", "three_d_secure_required"],
];
