/**
 * No statement reads notifications in the order of their commits. The column remains, because nodes
 * of the previous version name it in their reads.
 */
export const indexOfSequence = `DROP INDEX CONCURRENTLY IF EXISTS outbox_sequence`;
