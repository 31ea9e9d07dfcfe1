import assert from "node:assert/strict";
import { verify, X509Certificate } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { Webhook } from "standardwebhooks";
import { day, hour, minute, second } from "../../src/kernel/instant.ts";
import { allSlots } from "../../src/kernel/slot-assignment.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { sandboxEgress } from "../../src/delivery/address-guard.ts";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { createEgress } from "../../src/delivery/egress.ts";
import {
  type NotificationEndpoint,
  noChaos,
  secretName,
  withEndpointGone,
  targetsOf,
} from "../../src/notification/endpoint.ts";
import {
  type NotificationKeys,
  openNotificationKeys,
  receiverSecret,
} from "../../src/delivery/notification-keys.ts";
import { createSigner } from "../../src/delivery/signature.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { Store } from "../../src/stores/store.ts";
import * as given from "../contract/store-fixtures.ts";
import { freePort } from "../free-port.ts";
import { ManualScheduler } from "../manual-scheduler.ts";
import { ManualClock } from "../server.ts";
import { until } from "../until.ts";

const { merchantA } = given;
const random = new SystemRandom();

/** The twenty-second timeout of a receiver: it ends when a test says so. */
const isPatience = (ms: number): boolean => ms === 20 * second;

type Behaviour = (response: ServerResponse, attempt: number) => void;

/**
 * A receiver on its own socket: behaves as configured until it is healed, and checks every
 * signature.
 */
class Receiver {
  readonly received: { readonly number: number; readonly id: string; readonly healthy: boolean }[] =
    [];
  readonly unverified: string[] = [];
  behaviour: Behaviour | undefined;
  port: number | undefined;
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();

  constructor(behaviour?: Behaviour) {
    this.behaviour = behaviour;
  }

  /** Listens again on the same port. */
  reopen: () => Promise<void> = async () => undefined;

  async listen(keys: NotificationKeys, secret: string): Promise<void> {
    this.reopen = () => this.listen(keys, secret);
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.#receive(Buffer.concat(chunks).toString(), request.headers, keys, secret);
        if (this.behaviour === undefined) response.end("OK");
        else this.behaviour(response, this.received.length);
      });
    });
    server.on("connection", (socket) => this.#sockets.add(socket));
    this.port ??= await freePort();
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
    this.#server = server;
  }

  #receive(
    body: string,
    headers: IncomingHttpHeaders,
    keys: NotificationKeys,
    secret: string,
  ): void {
    const flat = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(value)]),
    );
    const { publicKey } = new X509Certificate(keys.certificate.pem);
    try {
      new Webhook(secret).verify(body, flat, { jsonParse: false });
      assert.ok(
        verify(
          "RSA-SHA1",
          Buffer.from(body),
          publicKey,
          Buffer.from(flat["x-signaturecontent"] ?? "", "base64"),
        ),
      );
      assert.equal(flat["x-signature-content"], flat["x-signaturecontent"]);
      assert.equal(flat["x-signaturefingerprint"], keys.certificate.fingerprint);
    } catch {
      this.unverified.push(body);
    }
    this.received.push({
      number: Number(flat["x-cofre-sequence"]),
      id: flat["webhook-id"] ?? "",
      healthy: this.behaviour === undefined,
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.close();
    await once(server, "close");
  }
}

interface Post {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly endpoints: () => readonly NotificationEndpoint[];
  /** Ends the wait for all pending answers. */
  readonly runOut: () => void;
  /** Messages in flight. */
  readonly underWay: () => number;
  readonly event: () => Promise<void>;
  /** Moves the clock in steps and lets real time pass until `holds`. */
  readonly meets: (
    what: string,
    holds: () => boolean | Promise<boolean>,
    stepMs?: number,
  ) => Promise<void>;
}

/** Real parts: embedded store, keys, sockets; only the clock is moved by the test. */
async function post(
  context: TestContext,
  receivers: Readonly<Record<string, Receiver>>,
): Promise<Post> {
  const clock = new ManualClock(Date.now());
  const storage = { load: async () => undefined, save: async (content: Uint8Array) => content };
  const keys = await openNotificationKeys({ storage, environment: "sandbox", random, clock });
  const store = await openEmbeddedStore({ file: ":memory:" });
  let endpoints: readonly NotificationEndpoint[] = [];
  for (const [id, receiver] of Object.entries(receivers)) {
    const secret = receiverSecret(keys, merchantA, secretName({ id }, 1));
    await receiver.listen(keys, secret);
    endpoints = [
      ...endpoints,
      { id, url: `http://127.0.0.1:${receiver.port}/notify`, enabled: true, secretVersion: 1 },
    ];
  }
  const sign = createSigner(keys);
  const time = new ManualScheduler(isPatience);
  const egress = createEgress({ policy: sandboxEgress, scheduler: time });
  let underWay = 0;
  const alarms: string[] = [];
  const dispatcher = new Dispatcher({
    store,
    accounts: {
      settingsOf: async () => ({ endpoints, chaos: noChaos }),
      disable: async (_, endpoint, at) =>
        void (endpoints = withEndpointGone(endpoints, endpoint, at) ?? endpoints),
    },
    sender: {
      send(...message) {
        underWay += 1;
        return egress.send(...message).finally(() => (underWay -= 1));
      },
    },
    // The receivers' reference library uses the machine's clock.
    sign: (message) => sign({ ...message, at: systemClock.now() }),
    installation: keys.certificate.fingerprint,
    clock,
    random,
    scheduler: systemScheduler,
    pollMs: 40,
    slotAssignment: allSlots,
    report: () => undefined,
    alarm: (what) => void alarms.push(what),
  });
  dispatcher.start();
  context.after(async () => {
    await dispatcher.stop();
    await egress.close();
    await store.close();
    for (const receiver of Object.values(receivers)) await receiver.close();
    assert.deepEqual(alarms, []);
  });
  let payments = 0;
  return {
    store,
    clock,
    endpoints: () => endpoints,
    runOut: () => time.release(),
    underWay: () => underWay,
    async event() {
      payments += 1;
      const plain = given.newPayment(payments);
      const payment = { ...plain, order: { ...plain.order, notificationUrl: undefined } };
      await store.commit(given.paymentChange(payment));
      await store.commit(
        given.paidChange(payment, { at: clock.now(), endpoints: targetsOf(endpoints, undefined) }),
      );
      dispatcher.nudge();
    },
    async meets(what, holds, stepMs = 0) {
      const holdsNow = async (): Promise<boolean> => {
        if (await holds()) return true;
        clock.advance(stepMs);
        return false;
      };
      await until(what, holdsNow, { everyMs: 5 });
    },
  };
}

describe("receivers on sockets", () => {
  test("that fail, hang, redirect, are gone, are busy, reset or come too late receive everything once they are healed", async (context) => {
    const late: ServerResponse[] = [];
    const receivers = {
      good: new Receiver(),
      failing: new Receiver((response) => response.writeHead(500).end()),
      hanging: new Receiver(() => undefined),
      redirecting: new Receiver((response) =>
        response.writeHead(301, { Location: "http://127.0.0.1:1/" }).end(),
      ),
      gone: new Receiver((response) => response.writeHead(410).end()),
      busy: new Receiver((response) => response.writeHead(429, { "Retry-After": "120" }).end()),
      resetting: new Receiver((response) => response.socket?.resetAndDestroy()),
      late: new Receiver((response) => void late.push(response)),
    };
    const { store, clock, meets, event, endpoints, runOut, underWay } = await post(
      context,
      receivers,
    );
    for (let count = 0; count < 3; count += 1) await event();

    const all = Object.entries(receivers);
    await meets(
      "each receiver is called, the good one for all",
      () =>
        receivers.good.received.length === 3 &&
        all.every(([, { received }]) => received.length > 0),
    );
    await meets("the receiver that is gone is noted", () =>
      endpoints().some(({ id, goneAt }) => id === "gone" && goneAt !== undefined),
    );
    const outcomes = async (): Promise<ReadonlyMap<string, string | undefined>> =>
      new Map(
        (await store.deliveriesOf(merchantA, 1, 100))
          .filter(({ number }) => number === 1)
          .map((each) => [each.endpoint, each.outcome]),
      );
    const hasFailed = async (except: readonly string[] = []): Promise<boolean> =>
      [...(await outcomes())].every(
        ([id, outcome]) => outcome !== undefined || except.includes(id),
      );
    await meets("the attempts without an answer have failed", () => hasFailed(["hanging", "late"]));
    await until("all attempts have failed or were answered", async () => {
      runOut();
      return hasFailed();
    });
    for (const response of late) response.end("OK");
    assert.deepEqual(
      await outcomes(),
      new Map([
        ["busy", "429"],
        ["failing", "500"],
        ["gone", "410"],
        ["good", "200"],
        ["hanging", "failed_timeout"],
        ["late", "failed_timeout"],
        ["redirecting", "301"],
        ["resetting", "failed_connection"],
      ]),
    );
    await until("no message is under way", () => {
      runOut();
      return underWay() === 0;
    });
    const busy = receivers.busy.received.length;
    clock.advance(60 * second);
    await systemScheduler.sleep(50);
    assert.equal(receivers.busy.received.length, busy, "it asked for two minutes");

    for (const [, receiver] of all) receiver.behaviour = undefined;
    runOut();
    const healed = all.filter(([id]) => id !== "gone");
    await meets(
      "each healed receiver has all messages",
      () => healed.every(([, { received }]) => receivedAll(received, 3)),
      minute,
    );
    assert.equal(
      receivers.gone.received.filter(({ healthy }) => healthy).length,
      0,
      "what is gone is left alone",
    );
    for (const [id, { received, unverified }] of all) {
      assert.deepEqual(unverified, [], `${id} could not verify`);
      assert.ok(
        new Set(received.map((each) => each.id)).size <= 3,
        `${id} heard a message under two ids`,
      );
    }
  });

  test("that are down for three days have missed nothing when they are back", async (context) => {
    const receivers = { shop: new Receiver(), books: new Receiver() };
    const { clock, meets, event, store } = await post(context, receivers);
    await event();
    await meets("the shop has its first message", () => receivers.shop.received.length === 1);
    await receivers.shop.close();
    const end = clock.now() + 3 * day;
    let events = 1;
    while (clock.now() < end) {
      await event();
      events += 1;
      await meets(
        `the other receiver has ${events} messages`,
        () => receivers.books.received.length === events,
      );
      clock.advance(2 * hour);
    }
    assert.equal(receivers.shop.received.length, 1);
    const failing = await store.deliveriesOf(merchantA, 1, 1_000, "failed");
    assert.deepEqual(failing, [], "nothing was given up");

    await receivers.shop.reopen();
    await meets(
      "the shop has all messages",
      () => receivedAll(receivers.shop.received, events),
      second,
    );
    assert.equal(new Set(receivers.shop.received.map(({ id }) => id)).size, events);
  });
});

function receivedAll(received: Receiver["received"], events: number): boolean {
  return (
    new Set(received.filter(({ healthy }) => healthy).map(({ number }) => number)).size === events
  );
}
