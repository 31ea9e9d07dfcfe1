/**
 * Finds the keys that an epoch key wraps, the merchants' keys that only open, and the merchants' keys
 * that replaced others, by the number of their audit entry. Checks the purposes that 029 allowed.
 */
export const indexesOfKeys = `CREATE INDEX CONCURRENTLY key_record_epoch ON key_record (epoch, merchant, purpose, version) WHERE state <> 'destroyed';
CREATE INDEX CONCURRENTLY key_record_old ON key_record (merchant, version) WHERE purpose = 'merchant' AND state IN ('retired', 'compromised');
CREATE INDEX CONCURRENTLY key_record_entry ON key_record (made_entry) WHERE purpose = 'merchant' AND version > 1;
ALTER TABLE key_record VALIDATE CONSTRAINT key_record_purpose_check;`;
