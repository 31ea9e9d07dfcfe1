/**
 * How the tables are stored and vacuumed ("Storage options" in packages/proof/docs/performance.md).
 *
 * `payment`, fillfactor 50: a batch writes up to eight rows to a page, and the second next batch
 * updates them all. An update is HOT if its page has room for the new version. At 85 there is room
 * for one or two of them: 17 % of updates were HOT, 69 % at 60, all at 50.
 *
 * The lock stops no reads or writes, only vacuums. An autovacuum yields after a second, unless it
 * prevents a wraparound.
 */
export const storageOptions = `ALTER TABLE payment SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE payment SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 1000000);
ALTER TABLE delivery SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE delivery SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 1000000);
ALTER TABLE card SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE card SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 1000000);
ALTER TABLE history SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 1000000);
ALTER TABLE outbox SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 1000000);
ALTER TABLE named_request SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 1000000);
ALTER TABLE merchant SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`;
