import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { postgresBinaries, startCluster } from "../postgres/cluster.ts";

/** The suites that a PostgreSQL server makes longer, each on one server of their own. */
const suites = ["store-postgres.test.ts", "store-differential.test.ts", "deliveries.test.ts"];

test(
  "the PostgreSQL store keeps the contract and gives the memory store's answers, on Debian's server",
  { skip: postgresBinaries() === undefined ? "PostgreSQL is not installed" : false },
  async () => {
    await using cluster = await startCluster({ log_parameter_max_length: "0" });
    const files = suites.map((name) => fileURLToPath(new URL(`../contract/${name}`, import.meta.url)));
    const { NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
    const env = { ...inherited, COFRE_TEST_POSTGRES_URL: cluster.url };
    const run = spawn(process.execPath, ["--test", "--test-reporter=spec", ...files], { env, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    run.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    const [code] = (await once(run, "close")) as [number | null];
    assert.equal(code, 0, output);
    assert.match(output, /the PostgreSQL store keeps the store contract/);
    assert.doesNotMatch(output, /skipped [1-9]/, "nothing was skipped");
    // What every store was given stands in the server's log nowhere, though its statements failed in every way that they can.
    for (const word of ["jose@example.com", "Maracana", "411111xxxxxx1111", "order-1"]) assert.ok(!cluster.log().includes(word), word);
    assert.ok(cluster.log().includes("database system is ready"), "control: the log is the server's");
  },
);
