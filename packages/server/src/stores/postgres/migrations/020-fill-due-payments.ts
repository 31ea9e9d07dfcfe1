/**
 * Adds the payments that were due before `due_payment` existed. Commits in pieces, and may be
 * called again.
 */
export const fillDuePayments = `CALL fill_due_payments_1()`;
