/**
 * Recovery and the console read a small part of growing tables: payments with an attempt in flight
 * among all that wait for their capture, and waiting deliveries among all that were delivered. The
 * first index does not include `due_at`, because a payment with an attempt is always due, unless it
 * waits for a person.
 *
 * `number > 0` is true of every number. The triggers of 012 do not have this condition: otherwise
 * their plan could use this index instead of `delivery_payment`, and read all waiting deliveries of
 * the merchant for each one that is written.
 */
export const indexesOfReads = `CREATE INDEX CONCURRENTLY payment_in_flight ON payment (no) WHERE attempt IS NOT NULL AND needs_review = 0;
CREATE INDEX CONCURRENTLY delivery_waiting ON delivery (merchant, number, endpoint) WHERE state = 'waiting' AND number > 0;`;
