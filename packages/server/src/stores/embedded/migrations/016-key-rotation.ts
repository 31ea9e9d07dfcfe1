/**
 * Finds the keys that an epoch key wraps and the merchants' keys that only open, and refuses a card
 * that was sealed under a key that was destroyed meanwhile.
 */
export const keyRotation = `
CREATE INDEX key_record_epoch ON key_record (epoch, merchant, purpose, version) WHERE state <> 'destroyed';
CREATE INDEX key_record_old ON key_record (merchant, version) WHERE purpose = 'merchant' AND state IN ('retired', 'compromised');

-- Format 2 (vault/derived-envelope.ts).
CREATE TRIGGER card_key_exists BEFORE INSERT ON card
WHEN length(NEW.ref) > 97 AND substr(NEW.ref, 1, 1) = x'02' AND EXISTS (
  SELECT 1 FROM key_record WHERE merchant = NEW.merchant AND purpose = 'merchant' AND unhex(printf('%08x', version)) = substr(NEW.ref, 2, 4) AND state = 'destroyed')
BEGIN SELECT RAISE (ABORT, 'the key of the card was destroyed'); END;
CREATE TRIGGER card_key_remains BEFORE UPDATE OF ref ON card
WHEN length(NEW.ref) > 97 AND substr(NEW.ref, 1, 1) = x'02' AND EXISTS (
  SELECT 1 FROM key_record WHERE merchant = NEW.merchant AND purpose = 'merchant' AND unhex(printf('%08x', version)) = substr(NEW.ref, 2, 4) AND state = 'destroyed')
BEGIN SELECT RAISE (ABORT, 'the key of the card was destroyed'); END;
`;
