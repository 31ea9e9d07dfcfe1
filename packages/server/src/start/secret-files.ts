import { promises } from "node:fs";
import type { SecretOrigins } from "../config/read-config.ts";
import type { ProcessUser, SecretFile } from "../production/secret-file.ts";

/** Permission bits of a file's mode. */
const permissionBits = 0o777;

export async function secretFilesOf({ files }: SecretOrigins): Promise<readonly SecretFile[]> {
  return Promise.all(
    files.map(async ({ variable, path }) => {
      const found = await promises.stat(path).catch(() => undefined);
      const access =
        found === undefined
          ? undefined
          : { mode: found.mode & permissionBits, owner: found.uid, group: found.gid };
      return { variable, path, access };
    }),
  );
}

/** Undefined on a system without permission bits. */
export function processUser(): ProcessUser | undefined {
  const id = process.geteuid?.();
  const group = process.getegid?.();
  if (id === undefined || group === undefined) return undefined;
  return { id, groups: [group, ...(process.getgroups?.() ?? [])] };
}
