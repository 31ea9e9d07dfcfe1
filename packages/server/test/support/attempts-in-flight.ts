import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Number of attempts without an outcome in the database of a running server. */
export function attemptsInFlight(dataDirectory: string): number {
  const database = new DatabaseSync(join(dataDirectory, "cofre.db"), { readOnly: true });
  try {
    return Number(
      database.prepare("SELECT count(*) AS count FROM payment WHERE attempt IS NOT NULL").get()?.[
        "count"
      ],
    );
  } finally {
    database.close();
  }
}
