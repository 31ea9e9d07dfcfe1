/**
 * Marks a file that was rewritten without deleted rows; deleted rows are overwritten from now on
 * (open-database.ts).
 */
export const secureDelete = "";
