import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { blocksUnder, repository } from "../../server/test/clients/pages.ts";
import { Command, SharedCleanup, temporaryFolder } from "../../server/test/command.ts";
import { printedKey } from "../../server/test/support/first-minute.ts";
import { type Docker, noDocker, startDocker } from "./support/docker.ts";

/* The commands with Docker in README.md and docs/operate/running.md, as printed, and their ports. */

/** Target from `docker run` to the answer of the first charge, in milliseconds. */
const firstChargeMs = 20_000;

const shared = new SharedCleanup();
after(() => shared.endAll());

describe("with Docker", { skip: noDocker }, () => {
  let docker: Docker;

  before(async () => {
    docker = await startDocker(shared, temporaryFolder(shared));
  });

  function start(script: string): Command {
    return new Command(shared, docker.shell(script), docker.environment, repository);
  }

  async function charge(key: string): Promise<void> {
    const [, text = ""] = blocksUnder("README.md", "## Start");
    const sent = new Command(shared, docker.shell(text), { KEY: key });
    assert.equal(await sent.code(), 0, sent.stderr);
    assert.match(sent.stdout, /"status":"CO"/);
  }

  async function stop(cofre: Command): Promise<void> {
    docker.stopAll();
    assert.equal(await cofre.code(), 0, cofre.stderr);
  }

  test("README.md makes the image, loads it and starts it", async () => {
    const [, , image = ""] = blocksUnder("README.md", "## Start");
    const [line = ""] = image.split("\n");
    const cofre = start(line);
    const [, key = ""] = await cofre.stderrMatch(printedKey);
    await charge(key);
    await stop(cofre);
  });

  test("the first charge is answered within 20 seconds of `docker run`", async (context) => {
    const [block = ""] = blocksUnder("docs/operate/running.md", "## Container");
    const [load = "", run = "", , inMemory = ""] = block.split("\n");
    const loaded = start(load);
    assert.equal(await loaded.code(), 0, loaded.stderr);

    const started = performance.now();
    const cofre = start(run);
    const [, key = ""] = await cofre.stderrMatch(printedKey);
    await charge(key);
    const tookMs = performance.now() - started;
    context.diagnostic(`from docker run to the answer: ${(tookMs / 1_000).toFixed(1)} s`);
    assert.ok(tookMs < firstChargeMs, `${tookMs} ms`);
    await stop(cofre);

    const again = start(inMemory);
    const [, other = ""] = await again.stderrMatch(printedKey);
    await charge(other);
    await stop(again);
  });
});
