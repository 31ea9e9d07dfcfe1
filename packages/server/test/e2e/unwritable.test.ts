import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { cleanEnvironment, Command, temporaryFolder } from "../command.ts";

const program = fileURLToPath(new URL("../../bin/cofre.js", import.meta.url));
const isRoot = process.getuid?.() === 0;

/** A user without files, because permissions do not restrict root. */
const unprivilegedUser = 65_534;
const otherUser = isRoot ? { uid: unprivilegedUser, gid: unprivilegedUser } : {};

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

function run(
  [name = "", ...args]: readonly string[],
  variables: Readonly<Record<string, string>>,
  user: { readonly uid?: number; readonly gid?: number },
): Ended {
  const { status, stderr } = spawnSync(name, args, {
    env: { ...cleanEnvironment, ...variables },
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
    timeout: 60_000,
    ...user,
  });
  return { code: status, stderr };
}

const start = [process.execPath, program, "start", "--port", "0"] as const;

/** A start by a user who may not write into the folders that tests make. */
function startAsOther(
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Ended {
  return run([...start, ...args], variables, otherUser);
}

const isPosix = process.platform !== "win32";
const mayBeOther =
  isPosix && run([process.execPath, program, "--version"], {}, otherUser).code === 0;
const skip = mayBeOther ? false : "there is no other user who can read the program";

/** A folder that all users read, and only this one writes. */
function foreignFolder(context: { after(end: () => void): void }): string {
  const outer = temporaryFolder(context);
  chmodSync(outer, 0o755);
  const folder = join(outer, "folder");
  mkdirSync(folder);
  chmodSync(folder, isRoot ? 0o755 : 0o555);
  return folder;
}

describe("a start that may not write", { skip }, () => {
  test("into the data directory, or where it would be, names the folder", (context) => {
    const folder = foreignFolder(context);
    for (const directory of [folder, join(folder, "data")]) {
      const { code, stderr } = startAsOther(["--data-dir", directory]);
      assert.equal(code, 1);
      assert.ok(
        stderr.includes(`This user may not write to ${folder}: give it another owner or mode.`),
        stderr,
      );
      assert.match(stderr, /--data-dir D chooses another directory/);
    }
  });

  test("into the folder for temporary files, with data in memory, names TMPDIR", (context) => {
    const folder = foreignFolder(context);
    const { code, stderr } = startAsOther(["--data-dir", ":memory:"], { TMPDIR: folder });
    assert.equal(code, 1);
    assert.match(stderr, /cannot be created: this user has no permission\..* set TMPDIR to one/);
    assert.ok(stderr.includes(folder));
  });

  test("a folder for temporary files that does not exist is named too", () => {
    const { code, stderr } = startAsOther(["--data-dir", ":memory:"], { TMPDIR: "/nowhere/at" });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^Cofre could not start: \/nowhere\/at\S* cannot be created: its folder does not exist\..* set TMPDIR to one/m,
    );
  });

  test(
    "and may not read the root key, which another user owns, says so",
    { skip: isRoot ? false : "needs two users" },
    async (context) => {
      const folder = temporaryFolder(context);
      chownSync(folder, unprivilegedUser, unprivilegedUser);
      const data = join(folder, "data");
      const first = Command.cofre(context, ["start", "--port", "0", "--data-dir", data]);
      await first.stderrMatch(/integration key/);
      first.child.kill("SIGTERM");
      await first.exited;
      const own = ["cofre.db", "cofre.db-lock", "."].map((name) => join(data, name));
      for (const path of own) chownSync(path, unprivilegedUser, unprivilegedUser);

      const { code, stderr } = startAsOther(["--data-dir", data]);
      assert.equal(code, 1);
      assert.match(stderr, /root\.key cannot be read by this user: start Cofre as the owner/);
    },
  );
});

/** Runs a command with a new file system of these options at the folder, which only it sees. */
function withMount(
  folder: string,
  options: string,
  command: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Ended {
  const script = `mount -t tmpfs -o ${options} none "$0" && exec "$@"`;
  return run(["unshare", "--mount", "sh", "-c", script, folder, ...command], variables, {});
}

const mayMount = isRoot && withMount("/mnt", "ro", ["true"]).code === 0;

describe("a start on a disk", { skip: mayMount ? false : "needs mounts" }, () => {
  test("that is read-only names it and the remedy", (context) => {
    const folder = temporaryFolder(context);
    for (const directory of [folder, join(folder, "data")]) {
      const { code, stderr } = withMount(folder, "ro", [...start, "--data-dir", directory]);
      assert.equal(code, 1);
      assert.ok(stderr.includes(`The file system of ${folder} is read-only: mount a`), stderr);
    }
    const memory = [...start, "--data-dir", ":memory:"];
    const { stderr } = withMount(folder, "ro", memory, { TMPDIR: folder });
    assert.match(stderr, /cannot be created: the file system is read-only\..* set TMPDIR to one/);
  });

  test("that is full names it and the remedy, wherever the write fails", (context) => {
    const folder = temporaryFolder(context);
    // The lock or the tables do not fit.
    for (const size of ["4k", "40k"]) {
      const data = [...start, "--data-dir", join(folder, "data")];
      const { code, stderr } = withMount(folder, `size=${size}`, data);
      assert.equal(code, 1, size);
      assert.match(stderr, /is full[;.] free space|is full\. Free space/, size);
    }
    const memory = [...start, "--data-dir", ":memory:"];
    const { code, stderr } = withMount(folder, "size=4k", memory, { TMPDIR: folder });
    assert.equal(code, 1);
    assert.match(stderr, /the disk is full; free space and try again, or set TMPDIR/);
  });

  test("for temporary files that is full, of a Cofre for one command, names TMPDIR", (context) => {
    const folder = temporaryFolder(context);
    const command = [process.execPath, program, "run", "--", "true"];
    for (const options of ["size=4k", "ro"]) {
      const { code, stderr } = withMount(folder, options, command, { TMPDIR: folder });
      assert.equal(code, 1);
      assert.match(stderr, /cannot be written .* set TMPDIR to one\.|the disk is full/, options);
    }
  });
});

describe("a start on a port", () => {
  test(
    "that only root may use names another",
    { skip: skip === false ? isUnprivileged(80) : skip },
    () => {
      const { code, stderr } = run(
        [process.execPath, program, "start", "--port", "80", "--data-dir", ":memory:"],
        {},
        otherUser,
      );
      assert.equal(code, 1);
      assert.match(stderr, /this user may not listen on port 80; ports below 1024/);
    },
  );
});

/** Whether every user may listen on the port. */
function isUnprivileged(port: number): string | false {
  try {
    const first = Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8"));
    return port >= first ? "every user may listen on it" : false;
  } catch {
    return "this system has another rule";
  }
}
