import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { startAcquirer } from "../../acquirer/start-acquirer.ts";
import { Chance } from "../../simulation/chance.ts";
import { CofreProcess } from "./cofre-process.ts";
import { until } from "./faulty-run.ts";
import { approvedBins, canaries, type Canary, type LeakTarget, type Way, wayOf } from "./leak-load.ts";
import { type Finding, LeakScanner, scanForSecurityCodes } from "./leak-scanner.ts";
import { canReadMemory, memoryOf } from "./process-memory.ts";
import { WireClient } from "./wire-client.ts";

export interface LeakReport {
  readonly findings: readonly (Finding & { readonly way: string })[];
  /** Card numbers of finished requests in the heap of the process, which is no place at rest. */
  readonly inHeap: readonly (Finding & { readonly way: string })[];
  readonly figures: Readonly<Record<string, number>>;
  /** Ways that all cards together were sent by, and how many got an answer. */
  readonly ways: ReadonlyMap<string, { sent: number; answered: number }>;
}

const integrationKey = "test_ik_leakleakleakleakleakleak";
const clients = 16;

/** How each life of the server ends; the load goes on until then. */
const endings = ["SIGTERM", "SIGKILL", "SIGTERM", "SIGABRT"] as const;

export interface LeakOptions {
  /** packages/server, or a copy of it with something planted. */
  readonly root: string;
  readonly cards: number;
  readonly seed: number;
}

/** Sends cards in every right and wrong way to a server that ends well or badly, and looks for them in whatever is left behind. */
export async function runLeaks({ root, cards, seed }: LeakOptions): Promise<LeakReport> {
  const scratch = mkdtempSync(join(tmpdir(), "cofre-leaks-"));
  const acquirer = await startAcquirer(approvedBins.flatMap((bin) => ["--test-bin", bin]));
  const client = new WireClient(clients);
  try {
    return await new LeakRun(root, canaries(cards, new Chance(seed)), scratch, acquirer.address, client).run();
  } finally {
    client.close();
    await acquirer.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

class LeakRun {
  readonly #root: string;
  readonly #cards: readonly Canary[];
  readonly #scanner: LeakScanner;
  readonly #byMask = new Map<string, Canary>();
  readonly #scratch: string;
  readonly #acquirerAddress: string;
  readonly #client: WireClient;
  readonly #findings = new Map<string, Finding>();
  readonly #ways = new Map<string, { sent: number; answered: number }>();
  #drawn: readonly Uint8Array[] = [];
  #inHeap: Finding[] = [];
  #heapBytes = 0;
  #inMemory: Finding[] = [];
  #memoryBytes = 0;
  #scannedBytes = 0;
  #scanMs = 0;
  #files = 0;
  #answers: string[] = [];

  constructor(root: string, cards: readonly Canary[], scratch: string, acquirerAddress: string, client: WireClient) {
    this.#root = root;
    this.#cards = cards;
    this.#scanner = new LeakScanner(cards.map(({ pan }) => pan));
    for (const card of cards) this.#byMask.set(card.pan.slice(0, 6) + "x".repeat(card.pan.length - 10) + card.pan.slice(-4), card);
    this.#scratch = scratch;
    this.#acquirerAddress = acquirerAddress;
    this.#client = client;
    for (const folder of ["kept", "heap"]) mkdirSync(join(scratch, folder));
  }

  async run(): Promise<LeakReport> {
    const share = Math.ceil(this.#cards.length / endings.length);
    const begin = Date.now();
    for (const [life, ending] of endings.entries()) {
      await this.#live(life, ending, this.#cards.slice(life * share, (life + 1) * share));
      this.#scanKept();
    }
    return {
      findings: [...this.#findings.values()].map((finding) => this.#withWay(finding)),
      inHeap: this.#inHeap.map((finding) => this.#withWay(finding)),
      ways: this.#ways,
      figures: {
        cards: this.#cards.length,
        ways: this.#ways.size,
        "requests answered": [...this.#ways.values()].reduce((sum, { answered }) => sum + answered, 0),
        "files scanned": this.#files,
        "bytes scanned": this.#scannedBytes,
        "ms of scanning": this.#scanMs,
        "ms in all": Date.now() - begin,
        "cards of the load in the database": this.#countMasked(),
        "diagnostic reports": readdirSync(join(this.#scratch, "kept")).filter((name) => name.startsWith("report.")).length,
        "bytes of heap snapshot": this.#heapBytes,
        "bytes of its memory": this.#memoryBytes,
        "numbers in its memory": numbersIn(this.#inMemory),
        "of those, sent in their own field": numbersIn(this.#inMemory.filter((finding) => this.#wayOf(finding)?.wiped === true)),
        "numbers in the heap": numbersIn(this.#inHeap),
      },
    };
  }

  async #live(life: number, ending: (typeof endings)[number], cards: readonly Canary[]): Promise<void> {
    const kept = join(this.#scratch, "kept");
    const heap = join(this.#scratch, "heap");
    const server = CofreProcess.spawn({
      root: this.#root,
      dataDirectory: join(kept, "data"),
      logDirectory: kept,
      name: `life-${life}`,
      environment: { COFRE_ACQUIRER_URL: this.#acquirerAddress, COFRE_SANDBOX_INTEGRATION_KEY: integrationKey, COFRE_LOG_LEVEL: "debug" },
      nodeOptions: [
        "--report-on-signal",
        "--report-on-fatalerror",
        "--report-uncaught-exception",
        `--report-directory=${kept}`,
        "--heapsnapshot-signal=SIGUSR1",
        `--diagnostic-dir=${heap}`,
      ],
    });
    try {
      const port = await server.listening();
      if (port === undefined) throw new Error("Cofre ended before it listened");
      const target = { client: this.#client, port, integrationKey };
      const inTheEnd = cards.slice(-clients);
      await this.#send(target, cards.slice(0, -clients));
      if (ending === "SIGABRT") {
        this.#inMemory = this.#scanMemory(server.pid);
        await this.#snapshotHeap(server, port, heap);
      }
      // The process ends, and tells of itself before, while the last cards are under way.
      const last = this.#send(target, inTheEnd);
      server.signal("SIGUSR2");
      await sleep(5);
      await server.end(ending);
      await last;
    } finally {
      await server.end("SIGKILL");
    }
    writeFileSync(join(kept, `life-${life}.answers`), this.#answers.join("\n"));
    this.#answers = [];
  }

  async #send(target: LeakTarget, cards: readonly Canary[]): Promise<void> {
    const queue = cards.values();
    await Promise.all(
      Array.from({ length: clients }, async () => {
        for (const card of queue) await this.#sendOne(target, card);
      }),
    );
  }

  async #sendOne(target: LeakTarget, card: Canary): Promise<void> {
    const way: Way = wayOf(card);
    const tally = this.#ways.get(way.name) ?? { sent: 0, answered: 0 };
    this.#ways.set(way.name, tally);
    tally.sent += 1;
    const answer = await way.send(target, card);
    if (answer === "") return;
    tally.answered += 1;
    this.#answers.push(answer);
  }

  async #snapshotHeap(server: CofreProcess, port: number, folder: string): Promise<void> {
    server.signal("SIGUSR1");
    await until("a heap snapshot is begun", async () => readdirSync(folder).length > 0);
    // It is written in one go: who asks meanwhile is answered when it is whole, or finds the connection ended by then.
    await this.#client.send({ port, method: "GET", path: "/readyz" });
    this.#heapBytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    for (const name of readdirSync(folder)) {
      const snapshot = readFileSync(join(folder, name));
      if (!snapshot.includes("/ws/direct")) throw new Error("a heap snapshot shows the strings of the program");
      this.#inHeap.push(...this.#scanner.scan(name, snapshot));
    }
  }

  #scanMemory(pid: number): Finding[] {
    const findings: Finding[] = [];
    for (const piece of canReadMemory ? memoryOf(pid) : []) {
      this.#memoryBytes += piece.length;
      findings.push(...this.#scanner.scan("memory", piece));
    }
    return findings;
  }

  #scanKept(): void {
    const kept = join(this.#scratch, "kept");
    const begin = Date.now();
    this.#drawn = drawnIn(join(kept, "data", "cofre.db"));
    for (const entry of readdirSync(kept, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      this.#files += 1;
      this.#look(relative(kept, file), readFileSync(file));
    }
    this.#scanValues(join(kept, "data", "cofre.db"));
    this.#scanMs += Date.now() - begin;
  }

  #look(place: string, bytes: Uint8Array): void {
    this.#scannedBytes += bytes.length;
    // Answers name the field of the security code when it is wrong, with the number of digits that it must have.
    const codes = place.endsWith(".answers") ? [] : scanForSecurityCodes(place, withoutExamples(bytes), this.#drawn);
    for (const finding of [...this.#scanner.scan(place, bytes), ...codes]) {
      this.#findings.set(`${finding.place} ${finding.offset} ${finding.form} ${finding.maskedPan}`, finding);
    }
  }

  /** Every value as SQLite reads it: on its pages a long one is cut into pieces. */
  #scanValues(file: string): void {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
      for (const { name } of tables) {
        const statement = database.prepare(`SELECT * FROM "${String(name)}"`);
        statement.setReadBigInts(true);
        const rows = statement.all().map((row) => Object.values(row).map(bytesOf));
        this.#look(`data/cofre.db, table ${String(name)}`, Buffer.concat(rows.flat().flatMap((value) => [value, betweenValues])));
      }
    } finally {
      database.close();
    }
  }

  #countMasked(): number {
    const database = new DatabaseSync(join(this.#scratch, "kept", "data", "cofre.db"), { readOnly: true });
    try {
      const masked = database.prepare("SELECT masked_pan AS masked FROM card").all();
      return masked.filter((row) => this.#byMask.has(String(row["masked"]))).length;
    } finally {
      database.close();
    }
  }

  #wayOf({ maskedPan }: Finding): Way | undefined {
    const card = this.#byMask.get(maskedPan);
    return card === undefined ? undefined : wayOf(card);
  }

  #withWay(finding: Finding): Finding & { readonly way: string } {
    return { ...finding, way: this.#wayOf(finding)?.name ?? "" };
  }
}

/** Identifiers, digests, fingerprints and sealed cards: the values that were drawn or look like it, for they are written as bytes. */
function drawnIn(file: string): readonly Uint8Array[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return tables.flatMap(({ name }) => {
      const statement = database.prepare(`SELECT * FROM "${String(name)}"`);
      statement.setReadBigInts(true);
      const values = statement.all().flatMap((row) => Object.values(row));
      return values.filter((value) => value instanceof Uint8Array).filter(({ length }) => length >= leastDrawn);
    });
  } finally {
    database.close();
  }
}

/** Shorter ones are a merchant's number, which is everywhere. */
const leastDrawn = 16;

/** No text, so that what stands in two values is not read as one. */
const betweenValues = Buffer.from("\u0001");

function numbersIn(findings: readonly Finding[]): number {
  return new Set(findings.map(({ maskedPan }) => maskedPan)).size;
}

/** Without the commands that the first start prints for people to try, with a public test card in them. */
function withoutExamples(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1");
  return Buffer.from(
    text.replace(/^TOKEN=\$\(curl .*$/m, (line) => " ".repeat(line.length)),
    "latin1",
  );
}

function bytesOf(value: unknown): Buffer {
  return value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value));
}
