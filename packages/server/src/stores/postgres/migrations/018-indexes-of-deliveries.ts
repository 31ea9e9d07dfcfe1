/**
 * Indexes that 006 and 009 once built in their transactions, under locks that stopped writes: each
 * database gets them here while others write. Databases that ran the first texts of the two have
 * the index of messages already, and it is kept.
 *
 * `outbox_payment_number` orders a payment's notifications by number. With the index of 001 the
 * planner, which may not sort, read all of the merchant's notifications in the order of their
 * numbers, and kept those of the payment.
 */
export const indexesOfDeliveries = `CREATE INDEX CONCURRENTLY outbox_payment_number ON outbox (merchant, payment, number);
DROP INDEX CONCURRENTLY IF EXISTS outbox_payment;
CREATE INDEX CONCURRENTLY delivery_message ON delivery (merchant, endpoint, message, number) WHERE message > 0;
ALTER TABLE delivery VALIDATE CONSTRAINT delivery_message_check;
ALTER TABLE card VALIDATE CONSTRAINT card_mac_check;
ALTER TABLE audit_entry VALIDATE CONSTRAINT audit_entry_mac_check;`;
