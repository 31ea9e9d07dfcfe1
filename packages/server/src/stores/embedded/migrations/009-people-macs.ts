/**
 * MACs of people, their sessions and the entries of the audit log (sign-in/checked-users.ts), null
 * on rows of before.
 */
export const peopleMacs = `
ALTER TABLE person ADD COLUMN mac BLOB CHECK (length(mac) = 32);
ALTER TABLE person_session ADD COLUMN mac BLOB CHECK (length(mac) = 32);
ALTER TABLE audit_entry ADD COLUMN mac BLOB CHECK (length(mac) = 32);
`;
