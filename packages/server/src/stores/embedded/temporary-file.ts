import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A file name in a fresh folder that only this user can enter, and how to remove both; twice is
 * once.
 */
export function temporaryFile(): { readonly file: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "cofre-"));
  let isThere = true;
  return {
    file: join(folder, "store.db"),
    remove: () => {
      // Later the name may be somebody else's.
      if (isThere) rmSync(folder, { recursive: true, force: true });
      isThere = false;
    },
  };
}
