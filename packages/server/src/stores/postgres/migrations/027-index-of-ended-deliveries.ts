/**
 * Finds the deliveries that may be deleted by the time at which they ended, without those that
 * wait.
 */
export const indexOfEndedDeliveries = `CREATE INDEX CONCURRENTLY delivery_ended ON delivery (due_at) WHERE state <> 'waiting'`;
