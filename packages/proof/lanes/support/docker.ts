import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, type SharedCleanup } from "../../../server/test/command.ts";
import { until } from "../../../server/test/until.ts";

/** Why Docker cannot run here; false if it can. */
export const noDocker: string | false =
  process.getuid?.() !== 0
    ? "only root can run Docker here"
    : ["docker", "dockerd", "iptables"].every((tool) => spawnSync(tool, ["--version"]).status === 0)
      ? false
      : "there is no Docker with iptables";

/** A Docker engine in a network of its own. */
export interface Docker {
  /** The client's variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** The command line that runs a script in the engine's network, where its ports are. */
  readonly shell: (script: string) => readonly [string, ...string[]];
  /** Ends all containers. */
  readonly stopAll: () => void;
}

/** Starts Docker with its data in this folder, and its bridge and ports in a new network. */
export async function startDocker(shared: SharedCleanup, folder: string): Promise<Docker> {
  const socket = join(folder, "docker.sock");
  const pidFile = join(folder, "docker.pid");
  const environment = { DOCKER_HOST: `unix://${socket}` };
  const script = [
    // The engine writes into /run too.
    "mount -t tmpfs none /run",
    "ip link set lo up",
    'exec dockerd --host "$1" --data-root "$2/data" --exec-root "$2/run" --pidfile "$3" --storage-driver vfs --ip6tables=false',
  ].join(" && ");
  const engine = new Command(shared, [
    "unshare",
    "--mount",
    "--net",
    "sh",
    "-c",
    script,
    "sh",
    environment.DOCKER_HOST,
    folder,
    pidFile,
  ]);
  const docker = (...args: readonly string[]) =>
    spawnSync("docker", args, { env: { ...process.env, ...environment }, encoding: "utf8" });
  const stopAll = (): void => {
    const running = docker("ps", "--quiet")
      .stdout.split("\n")
      .filter((id) => id !== "");
    if (running.length > 0) docker("stop", ...running);
  };
  shared.after(() => {
    stopAll();
    engine.child.kill("SIGTERM");
  });
  await until("Docker answers", () => existsSync(socket) && docker("info").status === 0);
  const pid = readFileSync(pidFile, "utf8").trim();
  return {
    environment,
    stopAll,
    shell: (text) => ["nsenter", `--net=/proc/${pid}/ns/net`, "sh", "-ec", text],
  };
}
