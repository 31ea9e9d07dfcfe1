/**
 * MACs of rows, null on rows of before (vault/row-mac.ts). A payment keeps its card's token digest
 * in `order_json`: the unkeyed ones of before are taken out, since a guess can be tested against
 * them. Nothing reads them: they tell which of the requests that this process has recorded made the
 * card.
 */
export const macs = `
ALTER TABLE card ADD COLUMN mac BLOB CHECK (length(mac) = 32);
ALTER TABLE account_key ADD COLUMN mac BLOB CHECK (length(mac) = 32);
UPDATE payment SET order_json = without_token_digest(order_json) WHERE order_json <> without_token_digest(order_json);
`;
