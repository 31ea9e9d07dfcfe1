/** A file with a secret, as the system reports it behind all links; undefined: unreadable. */
export interface SecretFile {
  readonly variable: string;
  readonly path: string;
  readonly access: FileAccess | undefined;
}

export interface FileAccess {
  /** Permission bits. */
  readonly mode: number;
  readonly owner: number;
  readonly group: number;
}

/** The user of this process, and all its groups; undefined on a system without permission bits. */
export interface ProcessUser {
  readonly id: number;
  readonly groups: readonly number[];
}

const ofOthers = 0o007;
const writableByGroup = 0o020;
const readableByGroup = 0o040;

/**
 * Which other users can read or replace the file; undefined: none. Container platforms mount secrets as
 * links to files of root with mode 0440 and a group of the process: that is accepted.
 */
export function accessProblem(
  { mode, owner, group }: FileAccess,
  user: ProcessUser,
): string | undefined {
  if ((mode & ofOthers) !== 0) return "is open to all users";
  if ((mode & writableByGroup) !== 0) return "can be written by a group";
  if (owner !== user.id && owner !== 0) return `belongs to another user (${owner})`;
  if ((mode & readableByGroup) !== 0 && !user.groups.includes(group))
    return `can be read by a group (${group}) of which this process is not a member`;
  return undefined;
}
