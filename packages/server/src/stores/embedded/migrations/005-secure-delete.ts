/**
 * Marks a file that was rewritten without deleted rows, and in which deleted rows are overwritten
 * from now on (open-database.ts).
 */
export const secureDelete = "";
