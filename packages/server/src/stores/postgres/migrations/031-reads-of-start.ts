/**
 * What a start reads when its login does not own the tables: whether they are those of its version,
 * and where their data comes from.
 */
export const readsOfStart = `GRANT SELECT ON migration, origin TO cofre_jobs;`;
