import type { Brand } from "../vault/brand.ts";
import type { AuthenticationOutcome } from "./authenticator.ts";

type Indicators = Readonly<Record<AuthenticationOutcome, string>>;

/** Sources: the tables of electronic commerce indicators that acquirers publish. */
const mastercard: Indicators = {
  Y: "02",
  A: "01",
  I: "04",
  U: "00",
  N: "00",
  R: "00",
  not_completed: "00",
};
const others: Indicators = {
  Y: "05",
  A: "06",
  I: "07",
  U: "07",
  N: "07",
  R: "07",
  not_completed: "07",
};

/** The electronic commerce indicator (ECI) of an outcome, two digits. */
export function indicatorOf(brand: Brand, outcome: AuthenticationOutcome): string {
  return (brand === "mastercard" ? mastercard : others)[outcome];
}
