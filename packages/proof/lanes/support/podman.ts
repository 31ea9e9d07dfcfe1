import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cleanEnvironment, Command, type SharedCleanup } from "../../../server/test/command.ts";
import { until } from "../../../server/test/until.ts";

/** Why containers cannot be run here; false if they can. */
export const noContainers: string | false =
  process.getuid?.() !== 0
    ? "only root can run containers here"
    : ["podman", "runc"].every((tool) => spawnSync(tool, ["--version"]).status === 0)
      ? false
      : "there is no Podman with runc";

/**
 * Starts Podman's service, which answers like Docker's, with its storage in this folder and one
 * image in it, and resolves with the variables for its clients.
 */
export async function startPodman(
  shared: SharedCleanup,
  folder: string,
  image: { readonly file: string; readonly name: string },
): Promise<Readonly<Record<string, string>>> {
  const settings = join(folder, "containers.conf");
  // Podman's own limits are above those of a container in which this may run.
  const limits = 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]';
  writeFileSync(settings, `[containers]\n${limits}\n[engine]\nruntime = "runc"\n`);
  const environment = { CONTAINERS_CONF: settings };
  const places = ["--root", join(folder, "storage"), "--runroot", join(folder, "run")] as const;
  const podman = ["podman", ...places] as const;
  const run = async (...args: readonly string[]): Promise<string> => {
    const command = new Command(shared, [...podman, ...args], environment);
    assert.equal(await command.code(), 0, command.stderr);
    return command.stdout;
  };

  const loaded = await run("load", "--input", image.file);
  const [, name = ""] = /^Loaded image: (.*)$/m.exec(loaded) ?? [];
  await run("tag", name, `docker.io/library/${image.name}`);

  const socket = join(folder, "podman.sock");
  const address = `unix://${socket}`;
  const service = ["system", "service", "--time", "0", address] as const;
  const running = new Command(shared, [...podman, ...service], environment);
  shared.after(() => {
    running.child.kill("SIGKILL");
    for (const remove of ["rm", "rmi"])
      spawnSync(podman[0], [...podman.slice(1), remove, "--all", "--force"], {
        env: { ...cleanEnvironment, ...environment },
      });
  });
  await until("Podman's service listens", () => existsSync(socket));
  return {
    DOCKER_HOST: address,
    // The container that removes abandoned ones is an image that cannot be pulled.
    TESTCONTAINERS_RYUK_DISABLED: "true",
    // Otherwise the library for Python looks for a container that it runs in.
    TESTCONTAINERS_CONNECTION_MODE: "docker_host",
  };
}
