import { createHash, type Hash } from "node:crypto";
import { day, hour } from "../../server/src/kernel/instant.ts";
import { defaultAccountSettings } from "../../server/src/merchant/settings.ts";
import { Chance } from "../../server/test/support/chance.ts";
import { healAndAudit } from "./healing.ts";
import { Installation } from "./installation.ts";
import { runClient } from "./merchants.ts";
import { planOf } from "./plan.ts";
import { openShop, type Shop } from "./shop.ts";

export interface SeedReport {
  readonly seed: number;
  readonly violations: readonly string[];
  /** SHA-256 of all events and of the final state: equal for equal seeds. */
  readonly trace: string;
  readonly events: number;
  readonly crashes: number;
  readonly simulatedMs: number;
  readonly marks: ReadonlyMap<string, number>;
}

const maximumEvents = 200_000;

/**
 * One whole run: faults, then healing, then nothing may be left open. Everything follows from the
 * seed. `tell` receives each event as a line.
 */
export async function runSeed(seed: number, report?: (line: string) => void): Promise<SeedReport> {
  const plan = planOf(seed);
  const installation = new Installation(plan);
  const { auditor, time } = installation;
  const trace = createHash("sha256");
  auditor.note = (what) => {
    trace.update(`${time.elapsed()} ${time.now()} ${what}\n`);
    report?.(`${momentOf(time.elapsed())}  ${what}`);
  };
  const routes = plan.routed ? [{ connectors: ["main", "backup"] }] : [];
  const settings = {
    ...defaultAccountSettings(),
    ...plan.settings,
    routes,
    simulator: plan.simulator,
  };
  const shops: Shop[] = [];
  try {
    for (let index = 0; index < plan.merchants; index += 1)
      shops.push(await openShop(installation, index, settings));
    installation.start();

    let running = 0;
    for (const [index, shop] of shops.entries()) {
      for (let client = 0; client < plan.clientsPerMerchant; client += 1) {
        running += 1;
        const chance = new Chance(seed * 64 + index * 8 + client);
        void runClient(installation, shop, chance, `order-${index}-${client}`, plan).then(() => {
          running -= 1;
        });
      }
    }
    await time.run(24 * hour, () => running === 0, maximumEvents);
    if (running > 0)
      auditor.violation("every client is answered or told that its connection broke");
    // A day later the job that deletes cards has run once more.
    await healAndAudit(
      installation,
      shops,
      plan.endsLater ? plan.settings.captureWindowDays : plan.jumps === "months" ? 1 : 0,
    );
  } catch (error) {
    auditor.violation(
      `the run ends by itself: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return {
    seed,
    violations: auditor.violations,
    trace: await traceOf(trace, installation, shops),
    events: time.events,
    crashes: installation.crashes,
    simulatedMs: time.elapsed(),
    marks: auditor.marks,
  };
}

/** `1d 02:03:04.567` since the run began. */
function momentOf(ms: number): string {
  const clock = new Date(ms % day).toISOString().slice(11, 23);
  return ms < day ? clock : `${Math.floor(ms / day)}d ${clock}`;
}

async function traceOf(
  trace: Hash,
  installation: Installation,
  shops: readonly Shop[],
): Promise<string> {
  const add = (value: unknown): void => {
    trace.update(
      JSON.stringify(value, (_, member: unknown) =>
        typeof member === "bigint" ? `${member}n` : member,
      ) ?? "",
    );
  };
  for (const { account, codes, tokens, payments } of shops) {
    add([tokens, [...payments.keys()]]);
    for (const code of codes) {
      const payment = await installation.store.paymentByCode(account.id, code);
      add([
        code,
        payment,
        payment === undefined ? [] : await installation.store.history(account.id, payment.id),
      ]);
    }
  }
  for (const { account } of shops)
    add(installation.acquirers.map(({ book }) => book.of(account.id)));
  add([installation.time.events, installation.crashes, installation.auditor.violations]);
  return trace.digest("hex");
}
