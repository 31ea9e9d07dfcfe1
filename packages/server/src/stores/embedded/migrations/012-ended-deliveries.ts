/**
 * Finds the deliveries that may be deleted, those that were delivered or have failed, by the time
 * at which they ended.
 */
export const endedDeliveries = `
CREATE INDEX delivery_ended ON delivery (due_at) WHERE state <> 'waiting';
`;
