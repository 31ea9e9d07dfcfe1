/** The wire's brand codes (interface 2.6). */
export const brands = [
  "amex",
  "diners",
  "mastercard",
  "elo",
  "hipercard",
  "discover",
  "aura",
  "carnet",
  "visa",
  "credimas",
  "naranja",
  "cabal",
  "magna",
] as const;
export type Brand = (typeof brands)[number];
