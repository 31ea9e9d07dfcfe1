import { assert } from "../../kernel/assert.ts";
import type { Connection } from "./connection.ts";

/** Columns of the query, and what each means for the login. */
const rights = [
  ["superuser", "is a superuser"],
  ["makes_roles", "may create roles"],
  ["makes_databases", "may create databases"],
  ["passes_security", "bypasses row-level security"],
  ["replicates", "may replicate the server"],
  ["owns", "owns tables of Cofre, or is a member of the role that does"],
  ["makes_tables", "may create tables in the schema"],
  ["makes_schemas", "may create schemas in the database"],
] as const;

const rightsQuery = `SELECT rolsuper AS superuser, rolcreaterole AS makes_roles, rolcreatedb AS makes_databases, rolbypassrls AS passes_security,
  rolreplication AS replicates,
  EXISTS (SELECT FROM pg_class WHERE relname IN ('account', 'card', 'payment', 'key_record') AND relnamespace = current_schema()::regnamespace
    AND pg_has_role(rolname, relowner, 'MEMBER')) AS owns,
  has_schema_privilege(rolname, current_schema(), 'CREATE') AS makes_tables,
  has_database_privilege(rolname, current_database(), 'CREATE') AS makes_schemas
  FROM pg_roles WHERE rolname = session_user`;

/** What the login of this session may do besides taking on the roles of Cofre. */
export async function rightsOf(login: Connection): Promise<readonly string[]> {
  const [row] = await login.rows<Readonly<Record<(typeof rights)[number][0], boolean>>>(
    "rights",
    rightsQuery,
  );
  assert(row !== undefined, "the login of a session has a row");
  return rights.flatMap(([name, right]) => (row[name] ? [right] : []));
}
