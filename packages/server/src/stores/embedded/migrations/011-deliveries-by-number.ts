/**
 * A merchant's deliveries in a state, ordered by number, so that a page costs only its own rows.
 * The indexes of 001 had the endpoint before the number, so each page read and sorted all of them.
 * Due deliveries are found in the tables of 008, which need no index of `delivery` by `due_at`.
 */
export const deliveriesByNumber = `
CREATE INDEX delivery_waiting ON delivery (substr(lane, 1, 8), number, lane) WHERE state = 'waiting';
DROP INDEX delivery_due;
DROP INDEX delivery_failed;
CREATE INDEX delivery_failed ON delivery (substr(lane, 1, 8), number, lane) WHERE state = 'failed';
`;
