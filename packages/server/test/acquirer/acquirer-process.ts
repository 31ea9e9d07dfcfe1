import { parseArgs } from "node:util";
import { startAcquirerServer } from "../../src/connectors/simulator/acquirer-server.ts";
import { defaultPersonality } from "../../src/connectors/simulator/personality.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";

/**
 * The simulated acquirer as a process, for tests that kill Cofre: its books live on. Prints the
 * port that it listens on as its first line, and serves on loopback until SIGTERM, or until its
 * standard input ends with the process that started it.
 */
const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    seed: { type: "string", default: defaultPersonality.seed },
    /**
     * Prefixes of 6 to 8 digits under which every card number approves; may be given several times.
     */
    "test-bin": { type: "string", multiple: true, default: [] },
    "remembered-references": {
      type: "string",
      default: String(defaultPersonality.rememberedReferences),
    },
    "late-arrival-ms": { type: "string", default: String(defaultPersonality.lateArrivalMs) },
    "no-dedupe": { type: "boolean", default: false },
    "no-inquiries": { type: "boolean", default: false },
    "no-repeats": { type: "boolean", default: false },
    "no-partial-capture": { type: "boolean", default: false },
    echoing: { type: "boolean", default: false },
  },
});

const server = await startAcquirerServer({
  clock: systemClock,
  scheduler: systemScheduler,
  port: Number(values.port),
  seed: values.seed,
  approveTestBins: values["test-bin"],
  rememberedReferences: Number(values["remembered-references"]),
  lateArrivalMs: Number(values["late-arrival-ms"]),
  dedupes: !values["no-dedupe"],
  answersInquiries: !values["no-inquiries"],
  repeatsFollowUps: !values["no-repeats"],
  partialCapture: !values["no-partial-capture"],
  echoes: values.echoing,
});
process.stdout.write(`${server.port}\n`);

async function stop(): Promise<void> {
  await server.close();
  process.exit(0);
}
process.once("SIGTERM", () => void stop());
process.stdin.once("end", () => void stop()).resume();
