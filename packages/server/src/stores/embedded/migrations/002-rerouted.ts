/**
 * `2 name`: the attempt that is the authorization, and its connector, on payments that the first
 * acquirer did not take.
 */
export const rerouted = `
ALTER TABLE payment ADD COLUMN rerouted TEXT;
`;
