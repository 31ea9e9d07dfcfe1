import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { firstPaint } from "./first-paint.ts";
import { chargesAfterOpening, longList, longListOnPostgres } from "./long-list.ts";
import { integrationKey, startProduct } from "./product.ts";

/**
 * Times of the console, with an account of 100,000 payments:
 * `npm exec -- node packages/proof/bench/console.ts`. With `--against DIR` a second checkout is
 * measured in turn with this one, because the machine's speed varies; `--rounds N` repeats all.
 * With `--postgres` the server is on PostgreSQL. With `--charges` charges are measured while the
 * texts of the payments are read for the first search.
 */
const { values } = parseArgs({
  options: {
    against: { type: "string" },
    rounds: { type: "string", default: "1" },
    postgres: { type: "boolean", default: false },
    charges: { type: "boolean", default: false },
  },
});

const scratch = mkdtempSync(join(tmpdir(), "cofre-console-"));
try {
  if (values.charges)
    await chargesAfterOpening(
      join(scratch, "charges"),
      (line) => void process.stdout.write(`${line}\n`),
    );
  for (let round = 0; !values.charges && round < Number(values.rounds); round += 1) {
    if (values.against !== undefined) await measure(`before-${round}`, values.against);
    await measure(`now-${round}`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

async function measure(name: string, checkout?: string): Promise<void> {
  const report = (line: string): void =>
    void process.stdout.write(`${values.against === undefined ? "" : `${name}  `}${line}\n`);
  const server = await startProduct(join(scratch, `${name}-paint`), [], checkout);
  try {
    await firstPaint(server, integrationKey, report);
  } finally {
    await server.stop();
  }
  const measureList = values.postgres ? longListOnPostgres : longList;
  await measureList(join(scratch, name), report, checkout);
}
