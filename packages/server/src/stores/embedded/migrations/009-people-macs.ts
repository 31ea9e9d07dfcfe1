/**
 * MACs of users, their sessions and the audit log entries (sign-in/checked-users.ts), null on older
 * rows.
 */
export const peopleMacs = `
ALTER TABLE person ADD COLUMN mac BLOB CHECK (length(mac) = 32);
ALTER TABLE person_session ADD COLUMN mac BLOB CHECK (length(mac) = 32);
ALTER TABLE audit_entry ADD COLUMN mac BLOB CHECK (length(mac) = 32);
`;
