/**
 * `message`: groups deliveries into one message (notification/events.ts). Few endpoints request
 * that, so most rows are in no index of it.
 */
export const messages = `
ALTER TABLE delivery ADD COLUMN message INTEGER CHECK (message >= 0);
CREATE INDEX delivery_message ON delivery (lane, message, number) WHERE message > 0;
`;
