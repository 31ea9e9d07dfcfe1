/**
 * Key records with the purpose `roots` (vault/records/root-set.ts). The wider constraint holds for
 * every existing row, which is therefore not read.
 */
export const setOfRootKeys = `
ALTER TABLE key_record DROP CONSTRAINT key_record_purpose_check;
ALTER TABLE key_record ADD CONSTRAINT key_record_purpose_check
  CHECK (purpose IN ('epoch', 'merchant', 'sign_in', 'notifications', 'nodes', 'records', 'tokens', 'roots')) NOT VALID;
`;
