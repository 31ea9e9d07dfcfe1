import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startAcquirer } from "../../../server/test/acquirer/start-acquirer.ts";
import { Chance } from "../../../server/test/support/chance.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { until } from "./faulty-run.ts";
import { startEchoingServer } from "../../../server/test/upstream/echoing-server.ts";
import {
  approvedBins,
  canaries,
  type Canary,
  declinedBins,
  type LeakTarget,
  type Way,
  wayOf,
} from "../../../server/test/support/leak-load.ts";
import {
  type Finding,
  LeakScanner,
  scanForSecurityCodes,
  scanForSensitiveText,
} from "../../../server/test/support/leak-scanner.ts";
import { embeddedIn, type LeakStore, postgresOfItsOwn } from "./leak-store.ts";
import { canReadMemory, memoryOf } from "./process-memory.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";

export interface LeakReport {
  readonly findings: readonly (Finding & { readonly way: string })[];
  /** Card numbers of finished requests in the process's heap, which is not storage. */
  readonly inHeap: readonly (Finding & { readonly way: string })[];
  readonly figures: Readonly<Record<string, number>>;
  /** Requests by way, and how many got an answer. */
  readonly ways: ReadonlyMap<string, { sent: number; answered: number }>;
}

const integrationKey = "test_ik_leakleakleakleakleakleak";
const clients = 16;

/** How each server process ends; the load continues until then. */
const endings = ["SIGTERM", "SIGKILL", "SIGTERM", "SIGABRT"] as const;

export interface LeakOptions {
  /** packages/server, or a copy of it with a planted bug. */
  readonly root: string;
  readonly cards: number;
  readonly seed: number;
  /**
   * Default: a simulated acquirer in its own process, with normal answers. The others repeat the
   * card in their answers.
   */
  readonly acquirer?: EchoingAcquirer;
  /** The way in which each card is sent; default: all ways in turn. */
  readonly way?: (canary: Canary) => Way;
  /** Default: embedded. */
  readonly store?: "postgres";
}

export const echoingAcquirers = ["remote", "in_process", "upstream"] as const;
type EchoingAcquirer = (typeof echoingAcquirers)[number];

/** The server's settings to reach an acquirer, and the account settings once it listens. */
interface OpenAcquirer extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>;
  readonly instruction?: Readonly<Record<string, string>>;
}

async function openAcquirer(kind: EchoingAcquirer | undefined): Promise<OpenAcquirer> {
  if (kind === "in_process") {
    return {
      environment: {},
      instruction: { next: "echo_card", times: "9999" },
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  if (kind === "upstream") {
    const upstream = await startEchoingServer({ declines: declinedBins });
    const url = `http://127.0.0.1:${upstream.port}`;
    const connectors = JSON.stringify([
      { name: "echo", kind, url, integrationKey: "test_ik_upstream" },
    ]);
    return {
      environment: { COFRE_CONNECTORS: connectors },
      [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
    };
  }
  const acquirer = await startAcquirer([
    ...(kind === undefined ? [] : ["--echoing"]),
    ...approvedBins.flatMap((bin) => ["--test-bin", bin]),
  ]);
  return {
    environment: { COFRE_ACQUIRER_URL: acquirer.address },
    [Symbol.asyncDispose]: () => acquirer.stop(),
  };
}

/**
 * Sends cards in every valid and invalid way to a server that is shut down or killed, and searches
 * everything that it leaves behind.
 */
export async function runLeaks({
  root,
  cards,
  seed,
  way = wayOf,
  acquirer: kind,
  store: kept,
}: LeakOptions): Promise<LeakReport> {
  const scratch = mkdtempSync(join(tmpdir(), "cofre-leaks-"));
  const client = new WireClient(clients);
  try {
    await using acquirer = await openAcquirer(kind);
    await using store =
      kept === "postgres" ? await postgresOfItsOwn() : embeddedIn(join(scratch, "kept", "data"));
    return await new LeakRun(
      root,
      canaries(cards, new Chance(seed)),
      way,
      scratch,
      acquirer,
      store,
      client,
    ).run();
  } finally {
    client.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

class LeakRun {
  readonly #root: string;
  readonly #cards: readonly Canary[];
  readonly #way: (canary: Canary) => Way;
  readonly #scanner: LeakScanner;
  readonly #byMask = new Map<string, Canary>();
  readonly #scratch: string;
  readonly #acquirer: OpenAcquirer;
  readonly #store: LeakStore;
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

  constructor(
    root: string,
    cards: readonly Canary[],
    way: (canary: Canary) => Way,
    scratch: string,
    acquirer: OpenAcquirer,
    store: LeakStore,
    client: WireClient,
  ) {
    this.#root = root;
    this.#cards = cards;
    this.#way = way;
    this.#scanner = new LeakScanner(cards.map(({ pan }) => pan));
    for (const card of cards)
      this.#byMask.set(
        card.pan.slice(0, 6) + "x".repeat(card.pan.length - 10) + card.pan.slice(-4),
        card,
      );
    this.#scratch = scratch;
    this.#acquirer = acquirer;
    this.#store = store;
    this.#client = client;
    for (const folder of ["kept", "heap"]) mkdirSync(join(scratch, folder));
  }

  async run(): Promise<LeakReport> {
    const share = Math.ceil(this.#cards.length / endings.length);
    const begin = Date.now();
    for (const [life, ending] of endings.entries()) {
      await this.#live(life, ending, this.#cards.slice(life * share, (life + 1) * share));
      await this.#scanKept();
    }
    return {
      findings: [...this.#findings.values()].map((finding) => this.#withWay(finding)),
      inHeap: this.#inHeap.map((finding) => this.#withWay(finding)),
      ways: this.#ways,
      figures: {
        cards: this.#cards.length,
        ways: this.#ways.size,
        "requests answered": [...this.#ways.values()].reduce(
          (sum, { answered }) => sum + answered,
          0,
        ),
        "files scanned": this.#files,
        "bytes scanned": this.#scannedBytes,
        "ms of scanning": this.#scanMs,
        "ms in all": Date.now() - begin,
        "cards of the load in the database": await this.#countMasked(),
        "diagnostic reports": readdirSync(join(this.#scratch, "kept")).filter((name) =>
          name.startsWith("report."),
        ).length,
        "bytes of heap snapshot": this.#heapBytes,
        "bytes of its memory": this.#memoryBytes,
        "numbers in its memory": numbersIn(this.#inMemory),
        "of those, sent in their own field": numbersIn(
          this.#inMemory.filter((finding) => this.#wayOf(finding)?.wiped === true),
        ),
        "numbers in the heap": numbersIn(this.#inHeap),
      },
    };
  }

  async #live(
    life: number,
    ending: (typeof endings)[number],
    cards: readonly Canary[],
  ): Promise<void> {
    const kept = join(this.#scratch, "kept");
    const heap = join(this.#scratch, "heap");
    const server = CofreProcess.spawn({
      root: this.#root,
      dataDirectory: join(kept, "data"),
      logDirectory: kept,
      name: `life-${life}`,
      environment: {
        ...this.#acquirer.environment,
        ...this.#store.environment,
        COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
        COFRE_LOG_LEVEL: "debug",
      },
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
      await this.#instruct(target);
      const inTheEnd = cards.slice(-clients);
      await this.#send(target, cards.slice(0, -clients));
      if (ending === "SIGABRT") {
        this.#inMemory = this.#scanMemory(server.pid);
        await this.#snapshotHeap(server, port, heap);
      }
      // The process writes a heap snapshot and ends while the last cards are in flight.
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

  async #instruct({ port }: LeakTarget): Promise<void> {
    const { instruction } = this.#acquirer;
    if (instruction === undefined) return;
    const body = new URLSearchParams({
      integration_key: integrationKey,
      ...instruction,
    }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await this.#client.send({ port, path: "/__cofre/simulator", headers, body });
    if (answer?.body.includes("SUCCESS") !== true)
      throw new Error(`the simulator is told to echo: ${answer?.body}`);
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
    const way = this.#way(card);
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
    // The snapshot is written synchronously: a request during the write is answered after it, or
    // its connection ends.
    await this.#client.send({ port, method: "GET", path: "/readyz" });
    this.#heapBytes = readdirSync(folder).reduce(
      (sum, name) => sum + statSync(join(folder, name)).size,
      0,
    );
    for (const name of readdirSync(folder)) {
      const snapshot = readFileSync(join(folder, name));
      if (!snapshot.includes("/ws/direct"))
        throw new Error("a heap snapshot shows the strings of the program");
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

  async #scanKept(): Promise<void> {
    const begin = Date.now();
    await this.#store.flush();
    const tables = await this.#store.tables();
    this.#drawn = drawnIn(tables);
    for (const folder of [join(this.#scratch, "kept"), ...this.#store.folders])
      this.#scanFiles(folder);
    for (const [table, rows] of tables) {
      this.#look(
        `table ${table}`,
        Buffer.concat(rows.flat().flatMap((value) => [bytesOf(value), betweenValues])),
      );
    }
    this.#scanMs += Date.now() - begin;
  }

  #scanFiles(folder: string): void {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      const bytes = contentOf(file);
      if (bytes === undefined) continue;
      this.#files += 1;
      this.#look(relative(folder, file), bytes);
    }
  }

  #look(place: string, bytes: Uint8Array): void {
    this.#scannedBytes += bytes.length;
    // Answers name the field of an invalid security code, with the number of digits that it must
    // have.
    const codes = place.endsWith(".answers")
      ? []
      : scanForSecurityCodes(place, withoutExamples(bytes), this.#drawn);
    for (const finding of [
      ...this.#scanner.scan(place, bytes),
      ...codes,
      ...scanForSensitiveText(place, bytes),
    ]) {
      this.#findings.set(
        `${finding.place} ${finding.offset} ${finding.form} ${finding.maskedPan}`,
        finding,
      );
    }
  }

  async #countMasked(): Promise<number> {
    return (await this.#store.storedMasks()).filter((mask) => this.#byMask.has(mask)).length;
  }

  #wayOf({ maskedPan }: Finding): Way | undefined {
    const card = this.#byMask.get(maskedPan);
    return card === undefined ? undefined : this.#way(card);
  }

  #withWay(finding: Finding): Finding & { readonly way: string } {
    return { ...finding, way: this.#wayOf(finding)?.name ?? "" };
  }
}

/**
 * Identifiers, digests, fingerprints and sealed cards: the random or random-looking values, which
 * are stored as bytes.
 */
function drawnIn(tables: Awaited<ReturnType<LeakStore["tables"]>>): readonly Uint8Array[] {
  const values = tables.flatMap(([, rows]) => rows.flat());
  return values
    .filter((value) => value instanceof Uint8Array)
    .filter(({ length }) => length >= minDrawn);
}

/**
 * Undefined for a file that was removed since it was listed: PostgreSQL removes some while it runs.
 */
function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Shorter values are a merchant's number, which occurs everywhere. */
const minDrawn = 16;

/** Not text, so that a match cannot span two values. */
const betweenValues = Buffer.from("\u0001");

function numbersIn(findings: readonly Finding[]): number {
  return new Set(findings.map(({ maskedPan }) => maskedPan)).size;
}

/** Without the sample commands that the first start prints, which contain a public test card. */
function withoutExamples(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1");
  return Buffer.from(
    text.replace(/^TOKEN=\$\(curl .*$/m, (line) => " ".repeat(line.length)),
    "latin1",
  );
}

function bytesOf(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  return Buffer.from(
    typeof value === "string"
      ? value
      : String(typeof value === "bigint" ? value : JSON.stringify(value)),
  );
}
