/** What was due before there was `due_payment`. Commits as it goes, and may be called again. */
export const fillDuePayments = `CALL fill_due_payments_1()`;
