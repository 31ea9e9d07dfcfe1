/**
 * What recovery and the console ask for is a small part of tables that grow: payments with an
 * attempt under way among all that wait for their capture, and deliveries that wait among all that
 * were delivered. `due_at` is in no index of the first: a payment with an attempt is due in any
 * case, unless it waits for a person.
 *
 * True of every number. The triggers of 012 do not say so: without that their plan could take this
 * index in place of `delivery_payment`, and read all deliveries of the merchant that wait for each
 * one that is written.
 */
export const indexesOfReads = `CREATE INDEX CONCURRENTLY payment_in_flight ON payment (no) WHERE attempt IS NOT NULL AND needs_review = 0;
CREATE INDEX CONCURRENTLY delivery_waiting ON delivery (merchant, number, endpoint) WHERE state = 'waiting' AND number > 0;`;
