import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import type { startCofre } from "../../../server/src/app.ts";
import { startAcquirerServer } from "../../../server/src/connectors/simulator/acquirer-server.ts";
import { defaultPersonality } from "../../../server/src/connectors/simulator/personality.ts";
import { systemClock } from "../../../server/src/kernel/system-clock.ts";
import { systemScheduler } from "../../../server/src/kernel/system-scheduler.ts";
import { createLog } from "../../../server/src/logging/log.ts";
import { Chance } from "../../../server/test/support/chance.ts";
import { rowMacsOf } from "../../../server/test/row-macs.ts";
import {
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  type TestServer,
} from "../../../server/test/server.ts";
import { startEchoingServer } from "../../../server/test/upstream/echoing-server.ts";
import { approvedBins, canaries } from "../../../server/test/support/leak-load.ts";

/*
 * Non-interference: two runs of the whole server, on a real database and real sockets, with the
 * same clock and the same random numbers, that differ only in a secret. Any difference in what they
 * leave behind contains information about the secret: in clear, encoded, or through a branch that
 * depends on it. No scanner has to know the form.
 */

/**
 * Everything that a run has left, by name: files, database columns, answers, log and notifications.
 */
export type Artefacts = ReadonlyMap<string, string>;

export interface Secret {
  readonly pan: string;
  readonly cvv: string;
}

export interface RunOptions {
  /** Chooses the scenario and the card; both runs of a pair have the same. */
  readonly seed: number;
  readonly secret: Secret;
  readonly start?: typeof startCofre;
}

/** The same card with another security code of the same length. */
export function otherCvv({ pan, cvv }: Secret, chance: Chance): Secret {
  for (;;) {
    const other = Array.from(cvv, () => chance.below(10)).join("");
    if (other !== cvv) return { pan, cvv: other };
  }
}

/** The same first six and last four digits, security code and length, with other middle digits. */
export function otherMiddle({ pan, cvv }: Secret, chance: Chance): Secret {
  for (;;) {
    const middle = Array.from({ length: pan.length - 10 }, () => chance.below(10)).join("");
    const other = pan.slice(0, 6) + middle + pan.slice(-4);
    if (other !== pan && passesLuhn(other)) return { pan: other, cvv };
  }
}

export function secretOf(seed: number): Secret {
  const [card] = canaries(1, new Chance(seed));
  if (card === undefined) throw new Error("there is a card for each seed");
  return { pan: card.pan, cvv: card.pan.length === 15 ? `${card.cvv}0` : card.cvv };
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of Array.from(digits).toReversed().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

type Body = Readonly<Record<string, unknown>>;
type Step = (run: Run) => Promise<unknown>;

const initialUse = {
  cof_info: { cof_type: "initial", initiator: "CIT", trans_type: "SCHEDULED_RECURRING" },
};

/** Acquirers that repeat the card in their answers, one for each connector. */
const echoingAcquirers = ["in this process", "in a process of its own", "upstream"] as const;
type EchoingAcquirer = (typeof echoingAcquirers)[number];

function echoedAt(kind: EchoingAcquirer, what: string): string {
  return `${what}, repeated by the acquirer ${kind}`;
}

const losingAnswers = "a sale in an installation that loses answers";

/** What merchants do with a card: the first part of each run, in which the secret is used. */
const scenarios: readonly Scenario[] = [
  ["a sale", (run) => run.pay({})],
  [
    "a sale that fails at the acquirer",
    (run) => run.pay({}, { next: "decline", reason: "insufficient_funds", message: "authorize" }),
  ],
  [
    "a hold and its capture",
    (run) => run.pay({ auto_capture: false }),
    (run) => run.follow("/ws/capture", { amount: "10.00" }),
  ],
  [
    "a hold that is given up",
    (run) => run.pay({ auto_capture: false }),
    (run) => run.follow("/ws/cancel", {}),
  ],
  ["a sale with a token made", (run) => run.pay({ create_token: true })],
  [
    "a sale and its refund",
    (run) => run.pay({}),
    (run) => run.follow("/ws/refund", { operation: "request", amount: "5.00", description: "x" }),
  ],
  ["a token and a sale with it", (run) => run.store(), (run) => run.payByToken(run.secret.cvv)],
  [
    "a token, its code left for later, and a sale",
    (run) => run.store(),
    (run) => run.leaveCvv(),
    (run) => run.payByToken(),
  ],
  ["a verification", (run) => run.verify()],
  ["a code that is no code", (run) => run.pay({ card_cvv: `${run.secret.cvv.slice(1)}x` })],
  ["a code that is too long", (run) => run.pay({ card_cvv: run.secret.cvv.repeat(3) })],
  ["a card that is out of date", (run) => run.pay({ card_due_date: "12/2020" })],
  [losingAnswers, (run) => run.pay({}, { next: "lose_answer", message: "authorize" })],
  ["a named request, sent twice", (run) => run.payNamed(), (run) => run.payNamed()],
  ["a body that is cut", (run) => run.sendCut()],
  ...echoingAcquirers.flatMap(
    (kind) =>
      [
        [echoedAt(kind, "a sale"), (run: Run) => run.pay({}, undefined, initialUse)],
        [
          echoedAt(kind, "a hold and its capture"),
          (run: Run) => run.pay({ auto_capture: false }),
          (run: Run) => run.follow("/ws/capture", {}),
        ],
        [echoedAt(kind, "a verification"), (run: Run) => run.verify(initialUse)],
      ] satisfies Scenario[],
  ),
];

type Scenario = readonly [name: string, ...steps: Step[]];

export const scenarioCount = scenarios.length;

/**
 * One run and its artefacts. `receiver` gets its notifications; both runs of a pair share it,
 * because its address is part of the artefacts.
 */
export async function runOnce(
  { seed, secret, start }: RunOptions,
  receiver: Receiver,
): Promise<Artefacts> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-pair-"));
  cpSync(receiver.template, folder, { recursive: true });
  const artefacts = new Map<string, string>();
  const [name, ...steps] = scenarios[seed % scenarios.length] ?? [""];
  const echoing = echoingAcquirers.find((kind) => name.endsWith(` ${kind}`));
  const acquirer = await openAcquirer(echoing);
  // Where an answer is to be lost the timeout is short; elsewhere a busy machine must not cause
  // one.
  const acquirerTimeoutMs = name === losingAnswers ? "100" : "20000";
  try {
    const testServer = await startTestServer({
      environment: {
        COFRE_DATA_DIR: folder,
        ...acquirer.environment,
        COFRE_ACQUIRER_TIMEOUT_MS: acquirerTimeoutMs,
      },
      seed: `pair ${seed}`,
      ...(start === undefined ? {} : { start }),
    });
    const run = new Run(testServer, join(folder, "cofre.db"), secret, seed, receiver);
    try {
      if (echoing === "in this process")
        await run.ask("/__cofre/simulator", { next: "echo_card", times: "100" });
      await run.all(steps);
    } finally {
      await testServer[Symbol.asyncDispose]();
    }
    artefacts.set("answers", run.answers.join("\n"));
    artefacts.set("notifications", receiver.receivedSince().join("\n"));
    artefacts.set("log", logOf(testServer));
    for (const [name, bytes] of filesOf(folder)) artefacts.set(name, bytes);
    for (const [name, values] of columnsOf(join(folder, "cofre.db"))) artefacts.set(name, values);
    artefacts.set(otherCardMacs, await otherMacsOf(folder));
    return artefacts;
  } finally {
    await acquirer.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function openAcquirer(
  echoing: EchoingAcquirer | undefined,
): Promise<{ readonly environment: Readonly<Record<string, string>>; close(): Promise<void> }> {
  if (echoing === "in this process") return { environment: {}, close: async () => undefined };
  if (echoing === "upstream") {
    const upstream = await startEchoingServer();
    const url = `http://127.0.0.1:${upstream.port}`;
    const connectors = JSON.stringify([
      { name: "echo", kind: "upstream", url, integrationKey: "test_ik_upstream" },
    ]);
    return {
      environment: { COFRE_CONNECTORS: connectors },
      close: async () => upstream[Symbol.asyncDispose](),
    };
  }
  const acquirer = await startAcquirerServer({
    clock: systemClock,
    scheduler: systemScheduler,
    port: 0,
    ...defaultPersonality,
    approveTestBins: approvedBins,
    echoes: echoing !== undefined,
  });
  return {
    environment: { COFRE_ACQUIRER_URL: `http://127.0.0.1:${acquirer.port}` },
    close: () => acquirer.close(),
  };
}

/** The names of artefacts that differ. */
export function differences(one: Artefacts, other: Artefacts): readonly string[] {
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].filter((name) => one.get(name) !== other.get(name));
}

class Run {
  readonly secret: Secret;
  readonly answers: string[] = [];
  readonly #testServer: TestServer;
  readonly #file: string;
  readonly #seed: number;
  readonly #receiver: Receiver;
  #token = "";

  constructor(
    testServer: TestServer,
    file: string,
    secret: Secret,
    seed: number,
    receiver: Receiver,
  ) {
    this.#testServer = testServer;
    this.#file = file;
    this.secret = secret;
    this.#seed = seed;
    this.#receiver = receiver;
  }

  get card(): Body {
    return {
      card_number: this.secret.pan,
      card_name: "Ana Lima",
      card_due_date: "12/2060",
      card_cvv: this.secret.cvv,
    };
  }

  async all(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await step(this);
    const key = { integration_key: integrationKey };
    await this.ask("/ws/query", { ...key, merchant_payment_code: this.#code });
    await this.ask("/__cofre/explain", { ...key, merchant_payment_code: this.#code });
    await this.#settled();
  }

  /** Notifications during shutdown would depend on its timing. */
  async #settled(): Promise<void> {
    const database = new DatabaseSync(this.#file, { readOnly: true });
    const count = database.prepare("SELECT count(*) AS count FROM delivery");
    const reported = (): number =>
      this.#testServer.events.filter(({ event }) => event === "notification_delivered").length;
    for (let look = 0; look < 30_000 && reported() < Number(count.get()?.["count"]); look += 1)
      await sleep(2);
    database.close();
  }

  async ask(
    path: string,
    body: Body,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    return this.#send(path, JSON.stringify({ integration_key: integrationKey, ...body }), headers);
  }

  /** Pays; with `instruction` the acquirer's answer is lost or is a decline. */
  async pay(creditcard: Body, instruction?: Body, payment: Body = {}): Promise<void> {
    const lost =
      instruction?.["next"] === "lose_answer"
        ? { "X-EBANX-Simulate-Internal-Error": "BP-DR-119" }
        : {};
    if (instruction !== undefined) await this.ask("/__cofre/simulator", instruction);
    await this.ask("/ws/direct", this.#payment({ ...this.card, ...creditcard }, payment), lost);
  }

  async verify(more: Body = {}): Promise<void> {
    await this.ask("/ws/verifycard", {
      payment_type_code: "creditcard",
      country: "pe",
      card: this.card,
      ...more,
    });
  }

  async payNamed(): Promise<void> {
    await this.ask("/ws/direct", this.#payment(this.card), {
      "Idempotency-Key": `request-${this.#seed}`,
    });
  }

  async store(): Promise<void> {
    const answer = await this.ask("/ws/token", {
      payment_type_code: "creditcard",
      country: "pe",
      creditcard: this.card,
    });
    this.#token = /"token":"(\w+)"/.exec(answer)?.[1] ?? "";
  }

  async leaveCvv(): Promise<void> {
    const body = {
      public_integration_key: publicIntegrationKey,
      token: this.#token,
      card_cvv: this.secret.cvv,
    };
    await this.#send("/ws/token/setCVV", JSON.stringify(body), {});
  }

  async payByToken(card_cvv?: string): Promise<void> {
    await this.ask(
      "/ws/direct",
      this.#payment({ token: this.#token, ...(card_cvv === undefined ? {} : { card_cvv }) }),
    );
  }

  async follow(path: string, body: Body): Promise<void> {
    await this.ask(path, { merchant_payment_code: this.#code, ...body });
  }

  /** The body ends after the card: the data read is discarded, and the error reveals nothing. */
  async sendCut(): Promise<void> {
    const body = JSON.stringify({ integration_key: integrationKey, ...this.#payment(this.card) });
    await this.#send("/ws/direct", body.slice(0, -2), {});
  }

  get #code(): string {
    return `pair-${this.#seed}`;
  }

  #payment(creditcard: Body, more: Body = {}): Body {
    return {
      operation: "request",
      payment: {
        merchant_payment_code: this.#code,
        amount_total: "25.50",
        currency_code: "PEN",
        country: "pe",
        name: "Ana Lima",
        email: "ana.lima@example.com",
        phone_number: "51987654321",
        payment_type_code: "creditcard",
        notification_url: this.#receiver.url,
        creditcard,
        ...more,
      },
    };
  }

  async #send(
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<string> {
    const response = await fetch(this.#testServer.url + path, { method: "POST", body, headers });
    const text = await response.text();
    // The date is the machine's.
    const reported = [...response.headers]
      .filter(([name]) => name !== "date")
      .map((header) => header.join(": "));
    this.answers.push([response.status, ...reported, text].join("\n"));
    return text;
  }
}

/**
 * All events of all levels as lines of JSON, sorted, because the order of a payment's notification
 * and its answer depends on sockets.
 */
function logOf({ events, clock }: TestServer): string {
  const lines: string[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    clock,
    destination: { write: (line) => void lines.push(line) },
  });
  for (const event of events) log.write(event);
  return lines.toSorted().join("");
}

function filesOf(folder: string): (readonly [string, string])[] {
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      // The file identifies the database by values that differ between any two copies.
      .filter(
        (entry) => entry.isFile() && entry.name !== "cofre.db" && entry.name !== "incarnation.json",
      )
      .map(
        (entry) =>
          [
            `file ${entry.name}`,
            readFileSync(join(entry.parentPath, entry.name), "latin1"),
          ] as const,
      )
  );
}

function columnsOf(file: string): (readonly [string, string])[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .all();
    return tables.flatMap(({ name: table }) => {
      const statement = database.prepare(`SELECT * FROM "${String(table)}"`);
      statement.setReadBigInts(true);
      const rows = statement.all();
      const columns = Object.keys(rows[0] ?? {});
      return [
        [`table ${String(table)}`, String(rows.length)] as const,
        // The number of ticks of a timer depends on the machine.
        ...columns
          .filter((column) => `${String(table)}.${column}` !== "identity.beat")
          .map(
            (column) =>
              [
                `column ${String(table)}.${column}`,
                rows.map((row) => textOf(row[column])).join("\n"),
              ] as const,
          ),
      ];
    });
  } finally {
    database.close();
  }
}

/**
 * The MAC of a card's row covers the sealed card, so it depends on the number as that does. That is allowed, because its key is in no dump. This artefact verifies that it is
 * exactly that MAC, computed from the row and the installation's key: any other value is listed
 * here.
 */
const otherCardMacs = "MACs of cards that are not their row's";

async function otherMacsOf(folder: string): Promise<string> {
  const macs = await rowMacsOf(folder);
  const database = new DatabaseSync(join(folder, "cofre.db"), { readOnly: true });
  try {
    const rows = database
      .prepare(
        "SELECT merchant, token_digest, version, ref, fingerprint, brand, masked_pan, created_at, mac FROM card ORDER BY no",
      )
      .all();
    return rows
      .filter(
        ({
          merchant,
          token_digest,
          version,
          ref,
          fingerprint,
          brand,
          masked_pan,
          created_at,
          mac,
        }) => {
          const ids = [textOf(merchant), textOf(token_digest)];
          const fields = [
            ...ids,
            Number(version),
            bytesOf(ref),
            bytesOf(fingerprint),
            String(brand),
            String(masked_pan),
            Number(created_at),
          ];
          return textOf(mac) !== textOf(macs.of("card", fields));
        },
      )
      .map(({ mac }) => textOf(mac))
      .join("\n");
  } finally {
    database.close();
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error("the column has bytes");
  return value;
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
}

/**
 * Receives notifications on loopback, and holds the installation that every run copies, so that all
 * runs sign with the same keys.
 */
export class Receiver {
  readonly #server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      this.#received.push(
        [
          ...Object.entries(request.headers).map(([name, value]) => `${name}: ${String(value)}`),
          Buffer.concat(pieces).toString(),
        ].join("\n"),
      );
      response.end("OK");
    });
  });
  #received: string[] = [];

  readonly template = mkdtempSync(join(tmpdir(), "cofre-pairs-"));

  async listen(): Promise<void> {
    await (
      await startTestServer({ environment: { COFRE_DATA_DIR: this.template }, seed: "pairs" })
    ).cofre.close();
    await new Promise<void>((resolve) => void this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the receiver listens");
    return `http://127.0.0.1:${address.port}/notify`;
  }

  receivedSince(): readonly string[] {
    const received = this.#received;
    this.#received = [];
    return received;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.template, { recursive: true, force: true });
  }
}
