import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Chance } from "../../../server/test/support/chance.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { canaries, type Canary } from "../../../server/test/support/leak-load.ts";
import { LeakScanner } from "../../../server/test/support/leak-scanner.ts";
import { serverRoot } from "../../../server/test/support/planted-copy.ts";
import { memoryOf } from "./process-memory.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";

export interface CoreDump {
  readonly answered: number;
  /** Distinct card numbers of answered requests, in any form. */
  readonly numbers: number;
  /** Security codes beside their field name, as a request contains them. */
  readonly securityCodes: number;
  readonly bytes: number;
}

const integrationKey = "test_ik_dumpdumpdumpdumpdumpdump";
const clients = 16;

/**
 * Options for both servers: a young generation so large that it is never collected for lack of
 * space, because V8 reuses collected memory, and data that was overwritten by chance proves
 * nothing. On SIGUSR2 everything is collected, so what remains is not just uncollected garbage.
 */
const nodeOptions = [
  "--min-semi-space-size=256",
  "--max-semi-space-size=256",
  "--expose-gc",
  "--import",
  `data:text/javascript,process.on("SIGUSR2",()=>{for(let i=0;i<6;i+=1)gc();})`,
];

/**
 * A request's security code beside its field name. 123 is in the program's own examples and in no
 * request of the load.
 */
const securityCode =
  /c\0?a\0?r\0?d\0?_\0?c\0?v\0?v\0?"\0?:\0?"\0?(?!1\0?2\0?3\0?")(?:\d\0?){3,4}"/g;

/**
 * The card data in the memory of a server that has stored `cards` cards: Cofre, or the server that
 * reads requests as strings.
 */
export async function dumpAfter(cards: number, program: "cofre" | "strings"): Promise<CoreDump> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-dump-"));
  const server = program === "cofre" ? await startCofreIn(folder) : await startStringServer();
  const client = new WireClient(clients);
  try {
    const load = canaries(cards, new Chance(17));
    const answered = await sendAll(client, server.port, load);
    await sendOthers(client, server.port);
    server.collect();
    // The server collects between two requests: the last of these is answered after the collection.
    for (let count = 0; count < 3; count += 1)
      await client.ask(server.port, "/ws/query", { integration_key: integrationKey });
    await sleep(1_500);
    const scanner = new LeakScanner(load.map(({ pan }) => pan));
    const found = new Set<string>();
    let [securityCodes, bytes] = [0, 0];
    for (const piece of memoryOf(server.pid)) {
      for (const { maskedPan } of scanner.scan("memory", piece)) found.add(maskedPan);
      securityCodes += (piece.toString("latin1").match(securityCode) ?? []).length;
      bytes += piece.length;
    }
    // Two cards may have the same mask: both count then.
    const numbers = load.filter(({ pan }) =>
      found.has(pan.slice(0, 6) + "x".repeat(pan.length - 10) + pan.slice(-4)),
    ).length;
    return { answered, numbers, securityCodes, bytes };
  } finally {
    client.close();
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sends each card once, in valid requests. Resolves with the number of tokens issued. */
async function sendAll(
  client: WireClient,
  port: number,
  cards: readonly Canary[],
): Promise<number> {
  const queue = cards.values();
  let answered = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (const { pan, cvv } of queue) {
        const creditcard = {
          card_number: pan,
          card_name: "Ana Lima",
          card_due_date: "12/2060",
          card_cvv: cvv === "123" ? "124" : cvv,
        };
        const body = {
          integration_key: integrationKey,
          country: "pe",
          payment_type_code: "creditcard",
          creditcard,
        };
        if ((await client.ask(port, "/ws/token", body))?.["status"] === "SUCCESS") answered += 1;
      }
    }),
  );
  return answered;
}

/**
 * Sends requests without a card: no program can wipe the buffers that node:http reads into, and
 * these hold the last data read.
 */
async function sendOthers(client: WireClient, port: number): Promise<void> {
  const body = {
    integration_key: integrationKey,
    merchant_payment_code: "none",
    note: "no card ".repeat(60),
  };
  await Promise.all(Array.from({ length: 8 * clients }, () => client.ask(port, "/ws/query", body)));
}

interface Dumped {
  readonly pid: number;
  readonly port: number;
  collect(): void;
  end(): Promise<void>;
}

async function startCofreIn(folder: string): Promise<Dumped> {
  const server = CofreProcess.spawn({
    root: serverRoot,
    // The test does not depend on the disk.
    dataDirectory: ":memory:",
    logDirectory: folder,
    name: "dumped",
    environment: { COFRE_SANDBOX_INTEGRATION_KEY: integrationKey },
    nodeOptions,
  });
  const port = await server.listening();
  if (port === undefined) throw new Error("Cofre ended before it listened");
  return {
    pid: server.pid,
    port,
    collect: () => server.signal("SIGUSR2"),
    end: () => server.end("SIGKILL"),
  };
}

async function startStringServer(): Promise<Dumped> {
  const file = fileURLToPath(new URL("string-server.ts", import.meta.url));
  const child = spawn(process.execPath, [...nodeOptions, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const port = await once(createInterface({ input: child.stdout }), "line").then(([line]) =>
    Number(line),
  );
  if (child.pid === undefined) throw new Error("the control has started");
  return {
    pid: child.pid,
    port,
    collect: () => void child.kill("SIGUSR2"),
    end: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
