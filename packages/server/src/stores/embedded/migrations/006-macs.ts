/**
 * MACs of rows, null on older rows (vault/row-mac.ts). A payment keeps its card's token digest in
 * `order_json`: the older, unkeyed digests are removed, because a guessed token can be tested
 * against them. They are not needed: they only show which of the requests recorded by the running
 * process made the card.
 */
export const macs = `
ALTER TABLE card ADD COLUMN mac BLOB CHECK (length(mac) = 32);
ALTER TABLE account_key ADD COLUMN mac BLOB CHECK (length(mac) = 32);
UPDATE payment SET order_json = without_token_digest(order_json) WHERE order_json <> without_token_digest(order_json);
`;
