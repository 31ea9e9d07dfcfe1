import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A file name in a new folder that only this user can access, and a function that removes both and
 * may be called twice.
 */
export function temporaryFile(): { readonly file: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "cofre-"));
  let isThere = true;
  return {
    file: join(folder, "store.db"),
    remove: () => {
      // After the first removal another process may use the name.
      if (isThere) rmSync(folder, { recursive: true, force: true });
      isThere = false;
    },
  };
}
