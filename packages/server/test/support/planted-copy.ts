import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type PlantedBug, sourcesWith } from "./planted-bug.ts";

/** packages/server. */
export const serverRoot = fileURLToPath(new URL("../..", import.meta.url));

/** A copy of the server's program with these bugs; the caller removes it. */
export function plantedCopy(...bugs: readonly PlantedBug[]): string {
  const copy = mkdtempSync(join(tmpdir(), "cofre-planted-"));
  for (const part of ["package.json", "bin", "src"])
    cpSync(join(serverRoot, part), join(copy, part), { recursive: true });
  // The copy finds dependencies in the same relative place as the original.
  symlinkSync(join(serverRoot, "..", "..", "node_modules"), join(copy, "node_modules"));
  for (const bug of bugs) {
    const sources = sourcesWith(bug, (file) => readFileSync(join(copy, "src", file), "utf8"));
    for (const [file, source] of sources) writeFileSync(join(copy, "src", file), source);
  }
  return copy;
}
