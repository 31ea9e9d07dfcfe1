/**
 * `message`: which deliveries go together in one (notification/events.ts). Few endpoints ask for
 * that, so most rows are in no index of it.
 */
export const messages = `
ALTER TABLE delivery ADD COLUMN message INTEGER CHECK (message >= 0);
CREATE INDEX delivery_message ON delivery (lane, message, number) WHERE message > 0;
`;
