/** What waited before there were queues. Commits as it goes, and may be called again. */
export const fillDueQueues = `CALL fill_due_queues_1()`;
