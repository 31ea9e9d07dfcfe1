import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { postgresBinaries } from "../../server/test/postgres/cluster.ts";
import { sessionsOf } from "../../server/test/postgres/databases.ts";
import { migrations } from "../../server/src/stores/postgres/migrations/index.ts";
import type { PlantedBug } from "../../server/test/support/planted-bug.ts";
import { amount } from "./support/amount.ts";
import { earlierCopy, earlierMigrations } from "../../server/test/support/earlier-version.ts";
import { type Failover, type FailoverRun, runFailover } from "./support/failover-run.ts";
import { until } from "./support/faulty-run.ts";
import type { KillReport } from "./support/kill-run.ts";
import { plantedCopy, serverRoot } from "../../server/test/support/planted-copy.ts";
import { holdRows, troubleSessions, withRefusals } from "./support/postgres-trouble.ts";

/** Set COFRE_FAILOVER_SEED for another sequence. */
const seed = Number(process.env["COFRE_FAILOVER_SEED"] ?? "1");
const failovers = amount({ quick: 1, ci: 5, night: 50 });
const kills = amount({ quick: 3, ci: 20, night: 200 });
const cuts = amount({ quick: 20, ci: 200, night: 2_000 });
const dropped = amount({ quick: 50, ci: 1_000, night: 20_000 });
const troubles = amount({ quick: 20, ci: 100, night: 2_000 });

/** Limit for the failovers of one kind; a night has its own number of failovers, and hours. */
const longestMs = amount({ quick: 300_000, ci: 600_000, night: 3_600_000 });

const skip = postgresBinaries() === undefined ? "PostgreSQL is not installed" : false;

/** In this order, repeated. */
const ways: readonly Failover[] = [
  { how: "kill", alone: true },
  { how: "stop", alone: false },
  { how: "kill", alone: true },
  { how: "vanish", alone: true },
  { how: "stop", alone: true },
];

function showReport(context: TestContext, { figures, violations }: KillReport): void {
  for (const [name, figure] of Object.entries(figures)) context.diagnostic(`${name}: ${figure}`);
  for (const violation of violations.slice(0, 20)) context.diagnostic(`violation: ${violation}`);
}

describe(
  "two nodes on a primary and its synchronous standby, under load: nothing is lost, charged twice or stuck",
  { skip },
  () => {
    test(`${failovers} failovers, and ${kills} kills of the primary with a start in place`, async (context) => {
      const report = await runFailover(
        { roots: [serverRoot, serverRoot], seed, waived: true },
        async (run) => {
          for (let cycle = 0; cycle < failovers; cycle += 1) {
            await sleep(run.chance.between(100, 600));
            await run.failOver(ways[cycle % ways.length] ?? { how: "kill", alone: true });
          }
          for (let cycle = 0; cycle < kills; cycle += 1) {
            await sleep(run.chance.between(20, 300));
            await run.killInPlace();
          }
          await run.untilAcknowledged(50);
        },
      );
      showReport(context, report);
      assert.deepEqual(report.violations, []);
      assert.ok((report.figures["ms until all was settled"] ?? Number.POSITIVE_INFINITY) <= 60_000);
      // A stall of the machine affects one failover, not most.
      const median =
        report.figures[
          "ms from the database's first commit to the first acknowledged write, median"
        ];
      assert.ok(median !== undefined && median <= 5_000);
      // Gateway, vault, jobs and leases have one session each, and one writes; a lost session is
      // replaced by one.
      assert.ok((report.figures["sessions of all nodes at the end of the load"] ?? 0) <= 10);
    });

    test("a standby at the address is not read, and a new primary without one of its own is not written to, until it has one", async (context) => {
      const report = await runFailover({ roots: [serverRoot], seed: seed + 20 }, async (run) => {
        await run.pair.kill();
        run.address.turnTo(run.pair.standbyPort);
        const [code] = run.promises.codes;
        assert.equal(
          (await run.ask("/ws/query", { merchant_payment_code: code }))?.["status_code"],
          "COFRE-21",
        );
        await run.pair.promote();
        await run.pair.waitForStandby(false);
        assert.equal(
          typeof (await run.ask("/ws/query", { merchant_payment_code: code }))?.["payment"],
          "object",
          "control: it is there",
        );
        // Before its settings changed the server waited for a standby, so these sessions were
        // allowed to write.
        const earlier = await sessionsOf(run.databaseUrl);
        run.address.turnTo(run.pair.port);
        await until("whatever those had under way is over", async () => {
          const now = await sessionsOf(run.databaseUrl);
          return !earlier.some((session) => now.includes(session));
        });
        await until("the node says so", async () =>
          run.events("database_rejected").some(({ code }) => code === "no_synchronous_standby"),
        );
        const before = await run.countPayments();
        await sleep(500);
        assert.equal(await run.countPayments(), before);
        await run.pair.rebuild();
        await run.pair.waitForStandby(true);
        await run.untilAcknowledged(50);
      });
      showReport(context, report);
      assert.deepEqual(report.violations, []);
    });

    test(`${cuts} connections cut at any byte, ${dropped} answers to commits dropped, sessions ended, rows held, writes refused`, async (context) => {
      const report = await runFailover(
        { roots: [serverRoot, serverRoot], seed: seed + 10 },
        async (run) => {
          const { address, chance } = run;
          address.cutOf = () => ({
            side: chance.happens(500) ? "to_server" : "to_client",
            after: chance.happens(300) ? chance.between(1, 1_000) : chance.between(1_000, 10_000),
            reset: chance.happens(500),
          });
          address.reset();
          await until(
            "so many connections were cut",
            async () => address.counts.cut >= cuts,
            longestMs,
          );
          address.cutOf = () => undefined;
          address.reset();
          run.phase("cuts");

          address.faultOf = () =>
            chance.happens(700) ? (chance.happens(850) ? "drop_answer" : "never_commit") : "none";
          await until(
            "so many answers were dropped",
            async () => address.counts.drop_answer >= dropped,
            longestMs,
          );
          address.faultOf = () => "none";
          run.phase("drops");

          await troubleSessions(run.databaseUrl, chance, troubles);
          run.phase("sessions ended and statements cancelled");
          const { deadlocks } = await holdRows(run.databaseUrl, chance, 20, 6_000);
          run.note("deadlocks", deadlocks);
          run.phase("rows held");
          await withRefusals(run.databaseUrl, 20, async () => run.untilAcknowledged(200));
          run.phase("writes refused");
          await run.untilAcknowledged(50);
        },
      );
      showReport(context, report);
      assert.deepEqual(report.violations, []);
      assert.ok((report.figures["attempts that recovery was seen to settle"] ?? 0) > dropped / 10);
    });
  },
);

test(
  "a node of this version and one of the version before, together under load: no error",
  { skip },
  async (context) => {
    const earlier = earlierCopy();
    context.after(() => rmSync(earlier, { recursive: true, force: true }));
    const report = await runFailover(
      { roots: [earlier], seed: seed + 30, answerMs: 20_000 },
      async (run) => {
        assert.equal(await run.countMigrations(), earlierMigrations);
        // A node of this version migrates the tables under the load of the other version.
        await run.addNode(serverRoot);
        assert.equal(await run.countMigrations(), migrations.length);
        await run.untilAcknowledged(200);
        // Back to the earlier version, on tables of which it knows only a part.
        await run.endNode(0);
        await run.addNode(earlier);
        await run.untilAcknowledged(200);
      },
    );
    showReport(context, report);
    assert.deepEqual(report.violations, []);
    assert.equal(report.figures["answers that never came"], 0);
    // Internal error, not written, outcome unknown.
    for (const code of ["COFRE-14", "COFRE-21", "COFRE-22", "BP-DR-119"])
      assert.equal(report.figures[`answers ${code}`] ?? 0, 0, code);
  },
);

describe("controls: the judge objects", { skip }, () => {
  test("a standby that nothing waits for, and a failover", async (context) => {
    const report = await runFailover(
      { roots: [serverRoot], seed, synchronous: false, waived: true, settleMs: 2_000 },
      async (run) => {
        run.pair.freezeReplication();
        await run.untilAcknowledged(50);
        await run.failOver({ how: "kill", alone: true });
      },
    );
    showReport(context, report);
    assert.ok(
      report.violations.some((violation) =>
        /^an acknowledged (?:payment|token) is there/.test(violation),
      ),
    );
  });

  /** What the judge must report for each planted bug, after the script's actions. */
  const controls: readonly (readonly [
    bug: PlantedBug,
    says: RegExp,
    script: (run: FailoverRun) => Promise<void>,
  ])[] = [
    [
      {
        name: "sessions that do not wait for the disk, and kills",
        file: "stores/postgres/connection.ts",
        find: "SET synchronous_commit = on;",
        replace: "SET synchronous_commit = off;",
      },
      /^an acknowledged (?:payment|token) is there/,
      async (run) => {
        for (let cycle = 0; cycle < 2; cycle += 1) await run.killInPlace();
      },
    ],
    [
      {
        name: "a connection that breaks during a commit is taken for not written",
        file: "stores/postgres/batch-writer.ts",
        find: `if (together === "lost") return batch.map(() => "commit_unknown");`,
        replace: `if (together === "lost") return batch.map(() => "unavailable");`,
      },
      /^nothing was done, it was said, and there is a payment/,
      async ({ address }) => {
        address.faultOf = () => "drop_answer";
        await until("some answers were dropped", async () => address.counts.drop_answer > 20);
      },
    ],
    [
      {
        name: "a connection that breaks during a commit is taken for written",
        file: "stores/postgres/batch-writer.ts",
        find: `if (together === "lost") return batch.map(() => "commit_unknown");`,
        replace: `if (together === "lost") return batch.map(() => "committed");`,
      },
      /^nothing is sent before it is written down/,
      async ({ address }) => {
        address.faultOf = () => "never_commit";
        await until("some work was never committed", async () => address.counts.never_commit > 20);
      },
    ],
  ];
  for (const [bug, says, script] of controls) {
    test(bug.name, async (context) => {
      const root = plantedCopy(bug);
      context.after(() => rmSync(root, { recursive: true, force: true }));
      const report = await runFailover({ roots: [root], seed, settleMs: 2_000 }, script);
      showReport(context, report);
      assert.ok(
        report.violations.some((violation) => says.test(violation)),
        `the judge says ${says.source}`,
      );
    });
  }
});
