/**
 * Nothing reads notifications in the order of their commits. The column remains: nodes of the
 * version before name it in their reads.
 */
export const indexOfSequence = `DROP INDEX CONCURRENTLY IF EXISTS outbox_sequence`;
