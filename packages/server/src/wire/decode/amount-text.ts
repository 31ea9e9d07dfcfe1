/** Whether a text contains an amount with its name, as `x=1;amount=40` does in the value of `x`. */
export function holdsAmount(text: string): boolean {
  return /amount\W{0,8}[=:]/i.test(text);
}

/**
 * The field that represents an amount in a name without a value, such as `amount%3A40`. Such names
 * are dropped, and without it an operation would take the amount for missing.
 */
export const unreadAmountField = "amount=";
