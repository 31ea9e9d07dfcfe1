/**
 * Adds the deliveries that waited before the queues existed. Commits in pieces, and may be called
 * again.
 */
export const fillDueQueues = `CALL fill_due_queues_1()`;
