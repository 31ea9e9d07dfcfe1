import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import type { AcquirerBooks } from "../../../server/src/connectors/simulator/messages-and-books.ts";
import { decode, readBooks } from "../../../server/src/connectors/simulator/wire.ts";
import type { MerchantId } from "../../../server/src/kernel/ids.ts";
import { instant } from "../../../server/src/kernel/instant.ts";
import { slotOf } from "../../../server/src/kernel/slot.ts";
import type { AccountSettings } from "../../../server/src/merchant/account.ts";
import { defaultAccountSettings } from "../../../server/src/merchant/settings.ts";
import { digestOfKey, withKeyMac } from "../../../server/src/operations/account-directory.ts";
import { accountChange } from "../../../server/src/operations/sandbox-account.ts";
import {
  type AcquirerProcess,
  startAcquirer,
} from "../../../server/test/acquirer/start-acquirer.ts";
import * as given from "../../../server/test/contract/store-fixtures.ts";
import { startCluster } from "../../../server/test/postgres/cluster.ts";
import { rowMacsOf } from "../../../server/test/row-macs.ts";
import { openStoreOn, query, TestDatabases } from "../../../server/test/postgres/databases.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { serverRoot } from "../../../server/test/support/planted-copy.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";

/** A merchant in every other slot, each with its key. */
export const merchants = Array.from({ length: 16 }, (_, number) => ({
  id: given.merchantId(number * 2),
  key: `test_ik_nodes_${number}`,
}));

/** A request may reach the acquirer this long after it was sent. */
const lateArrivalMs = 300;
const answerMs = 1_000;

export interface RunningNode {
  readonly process: CofreProcess;
  readonly port: number;
  /** The node's identifier in the table of nodes. */
  readonly id: string;
}

/** One message as the receiver got it. */
export interface ReceivedMessage {
  readonly merchantId: string;
  readonly id: string;
  readonly number: number;
  readonly hash: string;
}

/**
 * Several Cofre processes on one PostgreSQL server, with an acquirer in its own process and a
 * receiver of notifications in this one. Each node has a copy of the first one's key files.
 */
export class NodeGroup implements AsyncDisposable {
  readonly client = new WireClient(64);
  readonly nodes: RunningNode[] = [];
  readonly received: ReceivedMessage[] = [];
  /** The receiver's response time. */
  receiverMs = 0;
  readonly url: string;
  readonly #scratch: string;
  /** Everything that was started, closed in reverse order. */
  #parts = new AsyncDisposableStack();
  readonly #acquirer: AcquirerProcess;
  readonly #receiver: Server;
  readonly #all: CofreProcess[] = [];

  private constructor(scratch: string, url: string, acquirer: AcquirerProcess) {
    this.#scratch = scratch;
    this.url = url;
    this.#acquirer = acquirer;
    this.#receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.received.push({
          merchantId: (request.url ?? "").slice(1),
          id: String(request.headers["webhook-id"]),
          number: Number(request.headers["x-cofre-sequence"]),
          hash: new URLSearchParams(Buffer.concat(chunks).toString()).get("hash_codes") ?? "",
        });
        void sleep(this.receiverMs).then(() => response.end("OK"));
      });
    });
  }

  /** Starts with one node and all merchants. */
  static async start(settings: Partial<AccountSettings> = {}): Promise<NodeGroup> {
    await using parts = new AsyncDisposableStack();
    const cluster = parts.use(await startCluster({ log_parameter_max_length: "0" }));
    const acquirer = await startAcquirer([
      "--remembered-references",
      "1000000",
      "--late-arrival-ms",
      String(lateArrivalMs),
    ]);
    parts.defer(() => acquirer.stop());
    const url = await new TestDatabases(cluster.url).create();
    const group = new NodeGroup(mkdtempSync(join(tmpdir(), "cofre-nodes-")), url, acquirer);
    parts.defer(() => group.#close());
    group.#receiver.listen(0, "127.0.0.1");
    await once(group.#receiver, "listening");
    await group.add();
    await group.#addMerchants(settings);
    group.#parts = parts.move();
    return group;
  }

  /** Starts another node; resolves when it serves. */
  async add(): Promise<RunningNode> {
    const name = `node-${this.#all.length + 1}`;
    const dataDirectory = join(this.#scratch, name);
    if (this.#all.length > 0)
      cpSync(join(this.#scratch, "node-1"), dataDirectory, { recursive: true });
    const known = new Set((await this.livingNodes()).map(({ id }) => id));
    const process = CofreProcess.spawn({
      root: serverRoot,
      dataDirectory,
      logDirectory: this.#scratch,
      name,
      environment: {
        COFRE_DATABASE_URL: this.url,
        COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
        COFRE_ACQUIRER_URL: this.#acquirer.address,
        COFRE_ACQUIRER_TIMEOUT_MS: String(answerMs),
        COFRE_LOG_LEVEL: "debug",
      },
    });
    this.#all.push(process);
    const port = await process.listening();
    const id = (await this.livingNodes()).find((each) => !known.has(each.id))?.id;
    if (port === undefined || id === undefined) throw new Error(`${name} did not start`);
    const node = { process, port, id };
    this.nodes.push(node);
    return node;
  }

  async kill(node: RunningNode): Promise<void> {
    this.nodes.splice(this.nodes.indexOf(node), 1);
    await node.process.end("SIGKILL");
  }

  async livingNodes(): Promise<readonly { readonly id: string }[]> {
    const there = await query<{ readonly there: boolean }>(
      this.url,
      "SELECT to_regclass('node') IS NOT NULL AS there",
    );
    return there[0]?.there === true
      ? query(
          this.url,
          "SELECT id FROM node WHERE until > extract(epoch FROM clock_timestamp()) * 1000",
        )
      : [];
  }

  /** The holder of each slot, and the transaction that wrote it. */
  async holders(): Promise<
    readonly { readonly no: number; readonly holder: string | null; readonly written: string }[]
  > {
    return query(this.url, "SELECT no, holder, xmin::text AS written FROM slot ORDER BY no");
  }

  /** Whether every slot is held by a running node, and all nodes hold about as many. */
  async isLevel(): Promise<boolean> {
    const slots = await this.holders();
    const counts = this.nodes.map(({ id }) => slots.filter(({ holder }) => holder === id).length);
    return (
      counts.reduce((sum, count) => sum + count, 0) === slots.length &&
      Math.max(...counts) - Math.min(...counts) <= 1
    );
  }

  async merchantsOf(node: RunningNode): Promise<readonly MerchantId[]> {
    const slots = await this.holders();
    return merchants.filter(({ id }) => slots[slotOf(id)]?.holder === node.id).map(({ id }) => id);
  }

  async count(from: string): Promise<number> {
    return (
      (
        await query<{ readonly count: number }>(
          this.url,
          `SELECT count(*)::integer AS count FROM ${from}`,
        )
      )[0]?.count ?? -1
    );
  }

  async books(): Promise<AcquirerBooks> {
    const received = await this.client.send({
      port: Number(new URL(this.#acquirer.address).port),
      method: "GET",
      path: "/books",
    });
    return readBooks(decode(received?.body ?? ""));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
  }

  async #close(): Promise<void> {
    this.client.close();
    await Promise.all(this.#all.map((process) => process.end("SIGKILL")));
    this.#receiver.closeAllConnections();
    this.#receiver.close();
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  async #addMerchants(settings: Partial<AccountSettings>): Promise<void> {
    const store = await openStoreOn(this.url);
    const macs = await rowMacsOf(join(this.#scratch, "node-1"), this.url);
    const { port } = this.#receiver.address() as AddressInfo;
    for (const { id, key } of merchants) {
      const notificationEndpoints = [
        { id: "shop", url: `http://127.0.0.1:${port}/${id}`, enabled: true, secretVersion: 1 },
      ];
      const account = {
        id,
        version: 1,
        name: key,
        settings: { ...defaultAccountSettings(), notificationEndpoints, ...settings },
      };
      const granted = withKeyMac(macs, id, { digest: digestOfKey(key), grants: "secret" });
      await store.commit(accountChange(account, undefined, instant(Date.now()), [granted]));
    }
    await store.close();
  }
}

/** Polls until the condition holds, for at most `seconds`; returns whether it held. */
export async function until(
  seconds: number,
  isSo: () => Promise<boolean> | boolean,
): Promise<boolean> {
  const end = performance.now() + seconds * 1_000;
  while (!(await isSo())) {
    if (performance.now() > end) return false;
    await sleep(100);
  }
  return true;
}
