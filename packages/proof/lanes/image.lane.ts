import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { originOf } from "../../server/src/cli/doctor.ts";
import { printedKey } from "../../server/test/support/first-minute.ts";
import { Command } from "../../server/test/command.ts";
import { type BuiltImage, makeImage } from "../../../tools/image.ts";
import { userId } from "../../../tools/image-root.ts";

/**
 * The container image, built here twice, read by skopeo and umoci, and run by runc as Docker runs
 * it: as the image's user, without capabilities, on a read-only root file system and in a network
 * of its own, in which a client plays the first minute on the image's default port.
 */

const tools = ["runc", "umoci", "skopeo", "nsenter", "dpkg-query"];
const missing = tools.filter(
  (tool) => !(process.env["PATH"] ?? "").split(":").some((place) => existsSync(join(place, tool))),
);
const skip =
  process.getuid?.() !== 0
    ? "only root can run containers here"
    : missing.length > 0
      ? `not installed: ${missing.join(", ")}`
      : false;

/** Largest size of all layers as they are transferred, in bytes. */
const largestImage = 60_000_000;

const player = fileURLToPath(new URL("../../server/test/support/first-minute.ts", import.meta.url));

let root = "";
let images: readonly [BuiltImage, BuiltImage];
let bundle = "";

function output(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

function sha256Of(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function newFolder(name: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  return folder;
}

before(async () => {
  if (skip !== false) return;
  root = mkdtempSync(join(tmpdir(), "cofre-image-"));
  const build = (name: string) => makeImage(newFolder(`layout-${name}`), newFolder(name), 86_400);
  images = [await build("first"), await build("second")];
  const layout = newFolder("oci");
  execFileSync("tar", ["xf", images[0].file, "-C", layout]);
  const [{ annotations }] = (
    JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as {
      readonly manifests: readonly [{ readonly annotations: Readonly<Record<string, string>> }];
    }
  ).manifests;
  bundle = join(root, "bundle");
  const tag = annotations["org.opencontainers.image.ref.name"] ?? "";
  output("umoci", "unpack", "--image", `${layout}:${tag}`, bundle);
});

after(() => {
  if (root !== "") rmSync(root, { recursive: true, force: true });
});

interface Mount {
  readonly destination: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

interface RuntimeConfig {
  readonly process: {
    readonly user: { readonly uid: number; readonly gid: number };
    readonly args: readonly string[];
    readonly env: readonly string[];
    readonly capabilities: Readonly<Record<string, readonly string[]>>;
  };
  readonly mounts: readonly Mount[];
}

/** A folder of this machine as the volume of the data. */
const volume = (source: string): Mount => ({
  destination: "/data",
  type: "bind",
  source,
  options: ["bind", "rw"],
});

const temporary: Mount = {
  destination: "/tmp",
  type: "tmpfs",
  source: "tmpfs",
  options: ["nosuid", "nodev", "noexec", "mode=1777"],
};

interface Container {
  readonly command: Command;
  /** Runs a command in it; resolves when it has ended. */
  exec(...args: readonly string[]): Promise<Command>;
  /** Plays the first minute in its network, as a client on the machine would. */
  play(key: string, code: string): Promise<void>;
  signal(name: "TERM"): void;
}

let started = 0;

/** Starts a container of the image with these mounts, and further arguments of the entrypoint. */
function start(
  context: TestContext,
  mounts: readonly Mount[],
  ...args: readonly string[]
): Container {
  started += 1;
  const id = `cofre-image-${process.pid}-${started}`;
  const own = newFolder(`run-${started}`);
  const config = JSON.parse(readFileSync(join(bundle, "config.json"), "utf8")) as RuntimeConfig;
  const [entrypoint = "", ...given] = config.process.args;
  const adapted = {
    ...config,
    process: {
      ...config.process,
      terminal: false,
      args: [entrypoint, ...(args.length === 0 ? given : args)],
      capabilities: Object.fromEntries(
        Object.keys(config.process.capabilities).map((set) => [set, []]),
      ),
      noNewPrivileges: true,
    },
    root: { path: join(bundle, "rootfs"), readonly: true },
    mounts: [...config.mounts.filter(({ destination }) => destination !== "/data"), ...mounts],
  };
  writeFileSync(join(own, "config.json"), JSON.stringify(adapted));
  const state = ["--root", join(root, "state")];
  const pidFile = join(own, "pid");
  context.after(() => {
    try {
      execFileSync("runc", [...state, "delete", "--force", id], { stdio: "ignore" });
    } catch {
      // It has ended, and runc has removed it.
    }
  });
  const run = ["runc", ...state, "run", "--bundle", own, "--pid-file", pidFile, id] as const;
  return {
    command: new Command(context, run),
    async exec(...words) {
      const running = new Command(context, ["runc", ...state, "exec", id, ...words]);
      await running.exited;
      return running;
    },
    async play(key, code) {
      const program = `import(${JSON.stringify(player)}).then(({ playFirstMinute }) => playFirstMinute("http://127.0.0.1:8787", ${JSON.stringify(key)}, ${JSON.stringify(code)}))`;
      const network = `--net=/proc/${readFileSync(pidFile, "utf8")}/ns/net`;
      const playing = new Command(context, ["nsenter", network, process.execPath, "-e", program]);
      assert.equal(await playing.code(), 0, playing.stderr);
    },
    signal: (name) => void output("runc", ...state, "kill", id, name),
  };
}

/** A new folder that belongs to the image's user, as a new volume does. */
function newVolume(name: string): string {
  const folder = newFolder(name);
  chownSync(folder, userId, userId);
  return folder;
}

describe("the container image", { skip, timeout: 300_000 }, () => {
  test("is the same when it is built again, and below 60 MB", () => {
    const [first, second] = images;
    assert.equal(first.digest, second.digest);
    assert.equal(sha256Of(first.file), sha256Of(second.file));
    assert.ok(first.compressedBytes < largestImage, `${first.compressedBytes} bytes`);
  });

  for (const transport of ["oci-archive", "docker-archive"]) {
    test(`is read by skopeo as ${transport}, with its labels, user, health check and volume`, () => {
      const [{ file }] = images;
      const { config, architecture } = JSON.parse(
        output("skopeo", "inspect", "--config", `${transport}:${file}`),
      ) as { readonly config: Readonly<Record<string, unknown>>; readonly architecture: string };
      assert.ok(["amd64", "arm64"].includes(architecture));
      assert.equal(config["User"], `${userId}:${userId}`);
      assert.deepEqual(config["Entrypoint"], ["/usr/local/bin/cofre"]);
      assert.deepEqual(config["Volumes"], { "/data": {} });
      assert.deepEqual(config["ExposedPorts"], { "8787/tcp": {} });
      const labels = config["Labels"] as Readonly<Record<string, string>>;
      for (const name of ["title", "description", "version", "licenses", "created"])
        assert.notEqual(labels[`org.opencontainers.image.${name}`] ?? "", "", name);
    });
  }

  test("contains Node as the repository pins it, no shell, no source, no program with rights of its owner, and all licences", () => {
    const rootfs = join(bundle, "rootfs");
    assert.match(originOf(sha256Of(join(rootfs, "usr/local/bin/node"))), /^npm package node-linux/);
    const files = readdirSync(rootfs, { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      files.filter((name) => /(?:^|\/)(?:sh|bash|env|npm)$|\.ts$|\.test\./.test(name)),
      [],
    );
    const special = files.filter((name) => {
      const { mode } = statSync(join(rootfs, name), { throwIfNoEntry: false }) ?? { mode: 0 };
      return (mode & 0o6000) !== 0;
    });
    assert.deepEqual(special, []);
    const packages = readdirSync(join(rootfs, "var/lib/dpkg/status.d"));
    assert.ok(packages.includes("libc6"), "control");
    const licences = packages.map((name) => `usr/share/doc/${name}/copyright`);
    licences.push("usr/share/doc/node/LICENSE", "opt/cofre/LICENSE");
    licences.push("opt/cofre/THIRD-PARTY-LICENSES.txt");
    for (const name of licences) assert.ok(files.includes(name), name);
  });

  test("plays the first minute with a volume, is healthy, stops on SIGTERM, and continues with the same data", async (context) => {
    const data = newVolume("volume");
    const first = start(context, [volume(data)]);
    const [, key = ""] = await first.command.stderrMatch(printedKey);
    await first.command.event("listening");
    await first.play(key, "order-1");
    const health = await first.exec("/usr/local/bin/cofre", "health");
    assert.deepEqual([health.stdout, health.child.exitCode], ["ready\n", 0]);
    first.signal("TERM");
    assert.equal(await first.command.code(), 0);
    assert.match(first.command.stdout, /"event":"stopped"/);

    const second = start(context, [volume(data)]);
    await second.command.event("listening");
    await second.play(key, "order-2");
    assert.doesNotMatch(second.command.stderr, printedKey);
    second.signal("TERM");
    assert.equal(await second.command.code(), 0);
  });

  test("plays the first minute in memory, without a volume", async (context) => {
    const container = start(context, [temporary], "start", "--data-dir", ":memory:");
    const [, key = ""] = await container.command.stderrMatch(printedKey);
    await container.command.event("listening");
    await container.play(key, "order-1");
    container.signal("TERM");
    assert.equal(await container.command.code(), 0);
  });

  const readOnly = [
    ["without a volume", [], [], /The file system of \/data is read-only: mount a writable volume/],
    [
      "in memory without a folder for temporary files",
      [],
      ["start", "--data-dir", ":memory:"],
      /set TMPDIR to one, or mount one \(docker run --tmpfs \/tmp\)/,
    ],
  ] as const;
  for (const [how, mounts, args, remedy] of readOnly) {
    test(`names the remedy when it cannot write: ${how}`, async (context) => {
      const { command } = start(context, mounts, ...args);
      assert.equal(await command.code(), 1);
      assert.match(command.stderr, remedy);
    });
  }
});
