import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { attemptsInFlight } from "../support/attempts-in-flight.ts";
import { CofreProcess } from "../support/cofre-process.ts";
import { serverRoot } from "../support/planted-copy.ts";
import { WireClient } from "../support/wire-client.ts";
import { Chance } from "../support/chance.ts";
import { compareBooks, unsettledRefunds } from "./compare-books.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { anyFault, longestLateMs } from "./faults.ts";
import { until } from "../until.ts";

export interface FaultOptions {
  /** Minimum number of payments with a fault in at least one exchange. */
  readonly faulted: number;
  readonly seed: number;
  /** packages/server, or a copy of it with a planted bug. */
  readonly root?: string;
  readonly settleMs: number;
}

export interface FaultReport {
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

const outerKey = "test_ik_upstream_faults_outer";
const innerKey = "test_ik_upstream_faults_inner";
const answerMs = 300;
const clients = 16;
/** Probability of a fault in an exchange, in 1/1000. */
const faultPerMille = 550;
/** Clock steps: recovery's minutes pass in seconds, but slowly compared to the network's delays. */
const stepMs = 30_000;
const stepEveryMs = 1_200;

const approved = ["4111115666052208", "5555555555554444", "378282246310005", "6062825624254001"];
const refused = "4716909774636285";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Two Cofre processes: the inner one is the acquirer of the outer one, and the network between them
 * has every kind of fault. The outer one is killed during the run. Afterwards the faults end, and
 * both books must agree to the cent.
 */
export async function runFaults(options: FaultOptions): Promise<FaultReport> {
  const scratch = mkdtempSync(join(tmpdir(), "cofre-upstream-"));
  const run = new FaultRun({ ...options, root: options.root ?? serverRoot }, scratch);
  try {
    return await run.run();
  } finally {
    await run.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

class FaultRun {
  readonly #options: Required<FaultOptions>;
  readonly #scratch: string;
  readonly #client = new WireClient(clients * 2);
  readonly #chance: Chance;
  readonly #network: Chance;
  readonly #violations = new Set<string>();
  /** merchant_payment_codes at the inner server that had a fault. */
  readonly #faulted = new Set<string>();
  /** The final status of the outer payments, as clients received it. */
  readonly #reported = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  #inner: CofreProcess | undefined;
  #outer: CofreProcess | undefined;
  #proxy: FaultProxy | undefined;
  #outerPort: number | undefined;
  #starts = 0;
  #aheadMs = 0;
  #timePasses = true;
  #isOver = false;
  #payments = 0;
  #settledMs = 0;

  constructor(options: Required<FaultOptions>, scratch: string) {
    this.#options = options;
    this.#scratch = scratch;
    this.#chance = new Chance(options.seed);
    this.#network = new Chance(options.seed + 1);
    for (const name of ["inner", "outer"]) mkdirSync(join(scratch, name));
  }

  async run(): Promise<FaultReport> {
    await this.#startBoth();
    const time = this.#keepTime();
    const paying = this.#pay(this.#options.faulted);
    // Killed at a busy moment: recovery must resolve what was in flight.
    await until(
      "half of the payments have met a fault",
      () => this.#faulted.size >= this.#options.faulted / 2,
      { maxMs: 600_000 },
    );
    await this.#restartOuter();
    await paying;
    this.#timePasses = false;
    await time;
    await this.#settle();
    await this.#checkReported();
    await this.#outer?.end("SIGTERM");
    await this.#inner?.end("SIGTERM");
    const books = compareBooks(this.#directory("outer"), this.#directory("inner"));
    for (const violation of books.violations) this.#violations.add(violation);
    this.#findCards();
    this.#findAlarms();
    return {
      violations: [...this.#violations],
      figures: {
        ...books.figures,
        "payments that met a fault": this.#faulted.size,
        "ms until all was settled": this.#settledMs,
        ...Object.fromEntries(
          [...this.#counts]
            .toSorted(([one], [other]) => (one < other ? -1 : 1))
            .map(([kind, count]) => [`exchanges, ${kind}`, count]),
        ),
      },
    };
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#timePasses = false;
    await this.#outer?.end("SIGKILL");
    await this.#inner?.end("SIGKILL");
    await this.#proxy?.close();
    this.#client.close();
  }

  async #startBoth(): Promise<void> {
    const environment = { COFRE_SANDBOX_INTEGRATION_KEY: innerKey };
    const inner = CofreProcess.spawn({
      root: serverRoot,
      dataDirectory: this.#directory("inner"),
      logDirectory: this.#scratch,
      name: "inner",
      environment,
    });
    this.#inner = inner;
    const port = (await inner.listening()) ?? 0;
    this.#proxy = await FaultProxy.start(port);
    const settings = { partialCapture: true, refundRequestedMinutes: 0, refundPendingMinutes: 0 };
    await this.#client.ask(port, "/__cofre/settings", { integration_key: innerKey, settings });
    await this.#startOuter();
    await this.#ask("/__cofre/settings", { settings });
    this.#proxy.plan = ({ head }) => {
      const fault = this.#network.happens(faultPerMille)
        ? anyFault(this.#network)
        : ({ kind: "none" } as const);
      this.#counts.set(fault.kind, (this.#counts.get(fault.kind) ?? 0) + 1);
      const code = /"merchant_payment_code":"([0-9a-f]{40})"/.exec(head.toString("latin1"))?.[1];
      if (code !== undefined && fault.kind !== "none") this.#faulted.add(code);
      return fault;
    };
  }

  async #startOuter(): Promise<void> {
    this.#starts += 1;
    this.#outer = CofreProcess.spawn({
      root: this.#options.root,
      dataDirectory: this.#directory("outer"),
      logDirectory: this.#scratch,
      name: `outer-${this.#starts}`,
      nodeOptions: ["--import", fileURLToPath(new URL("ahead-clock.ts", import.meta.url))],
      environment: {
        COFRE_UPSTREAM_URL: `http://127.0.0.1:${this.#proxy?.port ?? 0}`,
        COFRE_UPSTREAM_INTEGRATION_KEY: innerKey,
        COFRE_ACQUIRER_TIMEOUT_MS: String(answerMs),
        COFRE_SANDBOX_INTEGRATION_KEY: outerKey,
        TEST_CLOCK_STEP_MS: String(stepMs),
        TEST_CLOCK_AHEAD_MS: String(this.#aheadMs),
      },
    });
    this.#outerPort = await this.#outer.listening();
  }

  async #restartOuter(): Promise<void> {
    this.#outerPort = undefined;
    await this.#outer?.end("SIGKILL");
    await this.#startOuter();
  }

  #step(): void {
    if (this.#outerPort === undefined) return;
    this.#aheadMs += stepMs;
    this.#outer?.signal("SIGUSR2");
  }

  async #keepTime(): Promise<void> {
    while (this.#timePasses) {
      await sleep(stepEveryMs);
      this.#step();
    }
  }

  /** Pays until `faulted` payments have had a fault. */
  async #pay(faulted: number): Promise<void> {
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (!this.#isOver && this.#faulted.size < faulted) await this.#shop();
      }),
    );
  }

  /** One payment with its follow-up requests. */
  async #shop(): Promise<void> {
    this.#payments += 1;
    const code = `upstream-${this.#options.seed}-${this.#payments}`;
    const plan = this.#chance.pick([
      "sale",
      "sale",
      "refunds",
      "hold",
      "capture",
      "capture",
      "part",
      "cancel",
      "cancel",
      "decline",
    ] as const);
    const cents = this.#chance.between(100, 99_999);
    await this.#ask(
      "/ws/direct",
      directFields(
        code,
        cents,
        plan === "decline" ? refused : this.#chance.pick(approved),
        isSale(plan),
      ),
    );
    if (plan === "sale" || plan === "hold" || plan === "decline") return;
    const payment = await this.#whenKnown(code);
    if (payment?.["status"] === "CO" && plan === "refunds") {
      const part = this.#chance.between(1, cents);
      await this.#ask("/ws/refund", {
        operation: "request",
        merchant_payment_code: code,
        amount: decimal(part),
        description: "part",
      });
      if (part < cents && this.#chance.happens(500)) {
        await this.#ask("/ws/refund", {
          operation: "request",
          merchant_payment_code: code,
          amount: decimal(cents - part),
          description: "rest",
        });
      }
    }
    if (payment?.["capture_available"] !== true) return;
    if (plan === "cancel") await this.#ask("/ws/cancel", { merchant_payment_code: code });
    if (plan === "capture") await this.#ask("/ws/capture", { merchant_payment_code: code });
    if (plan === "part")
      await this.#ask("/ws/capture", {
        merchant_payment_code: code,
        amount: decimal(this.#chance.between(1, cents)),
      });
  }

  /**
   * A shop repeats its query until the status is final; after a while it stops, and recovery
   * continues alone.
   */
  async #whenKnown(code: string): Promise<Fields | undefined> {
    for (let look = 0; look < 25; look += 1) {
      const payment = paymentIn(await this.#ask("/ws/query", { merchant_payment_code: code }));
      if (
        payment?.["status"] === "CO" ||
        payment?.["status"] === "CA" ||
        payment?.["capture_available"] === true
      )
        return payment;
      await sleep(200);
    }
    return undefined;
  }

  async #ask(path: string, fields: Fields): Promise<Fields | undefined> {
    if (this.#outerPort === undefined) {
      await sleep(50);
      return undefined;
    }
    const answer = await this.#client.ask(this.#outerPort, path, {
      integration_key: outerKey,
      ...fields,
    });
    const payment = paymentIn(answer);
    const [code, status] = [payment?.["merchant_payment_code"], payment?.["status"]];
    if (typeof code === "string" && (status === "CO" || status === "CA")) {
      const before = this.#reported.get(code);
      if (before !== undefined && before !== status)
        this.#violations.add(`what was told stays true: ${code} was ${before} and is ${status}`);
      this.#reported.set(code, status);
    }
    return answer;
  }

  /** Ends the faults and waits for late requests; then nothing may be left open. */
  async #settle(): Promise<void> {
    const proxy = this.#proxy;
    if (proxy !== undefined) proxy.plan = () => ({ kind: "none" });
    await sleep(longestLateMs + answerMs);
    await this.#restartOuter();
    const begin = Date.now();
    while (this.#isUnsettled() && Date.now() - begin < this.#options.settleMs) {
      this.#step();
      await sleep(150);
    }
    this.#settledMs = Date.now() - begin;
  }

  #isUnsettled(): boolean {
    return ["outer", "inner"].some(
      (name) =>
        attemptsInFlight(this.#directory(name)) + unsettledRefunds(this.#directory(name)) > 0,
    );
  }

  async #checkReported(): Promise<void> {
    for (const code of this.#reported.keys())
      await this.#ask("/ws/query", { merchant_payment_code: code });
  }

  #findCards(): void {
    const files = readdirSync(this.#scratch, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile(),
    );
    let masked = 0;
    for (const { parentPath, name } of files) {
      const bytes = readFileSync(join(parentPath, name));
      masked += bytes.includes("411111xxxxxx2208") ? 1 : 0;
      for (const digits of [...approved, refused]) {
        if (bytes.includes(digits)) this.#violations.add(`no card number is written down: ${name}`);
      }
    }
    if (masked === 0) this.#violations.add("control: the search finds masked numbers");
  }

  #findAlarms(): void {
    for (const name of readdirSync(this.#scratch).filter((each) => each.endsWith(".stdout"))) {
      const text = readFileSync(join(this.#scratch, name), "utf8");
      for (const line of text.split("\n"))
        if (line.includes('"event":"alarm"')) this.#violations.add(`no alarm: ${name} ${line}`);
    }
  }

  #directory(name: string): string {
    return join(this.#scratch, name);
  }
}

function isSale(plan: string): boolean {
  return plan === "sale" || plan === "refunds" || plan === "decline";
}

function decimal(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}

function paymentIn(answer: Fields | undefined): Fields | undefined {
  const payment = answer?.["payment"];
  return typeof payment === "object" && payment !== null ? (payment as Fields) : undefined;
}

function directFields(code: string, cents: number, card: string, sale: boolean): Fields {
  return {
    operation: "request",
    payment: {
      merchant_payment_code: code,
      amount_total: decimal(cents),
      currency_code: "USD",
      country: "br",
      name: "Ana Lima",
      email: "ana.lima@example.com",
      document: "853.513.468-93",
      zipcode: "61919-230",
      address: "Rua E",
      street_number: "1040",
      city: "Maracanaú",
      state: "CE",
      phone_number: "8522847035",
      payment_type_code: "creditcard",
      creditcard: {
        card_number: card,
        card_name: "Ana Lima",
        card_due_date: "12/2060",
        card_cvv: card.length === 15 ? "1234" : "123",
        auto_capture: sale,
      },
    },
  };
}
