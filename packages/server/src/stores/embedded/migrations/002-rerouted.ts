/**
 * `2 name`: the attempt that is the authorization, and the connector that it went to, on payments
 * whose first acquirer did not take it.
 */
export const rerouted = `
ALTER TABLE payment ADD COLUMN rerouted TEXT;
`;
