import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import { ManualClock } from "../../test/server.ts";
import { minute } from "../kernel/instant.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import type { LogEvent } from "../logging/log-event.ts";
import { MemoryAudit } from "../stores/memory/memory-audit.ts";
import { MemoryKeyRecords } from "../stores/memory/memory-key-records.ts";
import { createMemoryUsers } from "../stores/memory/memory-users.ts";
import { entryOf } from "../user/audit-chain.ts";
import { noEarlierRows, RowMacs } from "../vault/row-mac.ts";
import { KeyOrderWatch } from "./key-order-watch.ts";

const macs = new RowMacs(() => createSecretKey(Buffer.alloc(32, 7)), noEarlierRows);
const key = "transit:transit/cofre";

/** Nodes on one store. */
class Fixture {
  readonly clock = new ManualClock(Date.UTC(2026, 10, 30));
  readonly events: LogEvent[] = [];
  readonly #audit = new MemoryAudit();
  readonly users = createMemoryUsers({ audit: this.#audit });
  readonly keys = new MemoryKeyRecords(this.#audit);

  node(name: string, { isAlone = false, rootKeys = 1 } = {}): Promise<KeyOrderWatch> {
    return KeyOrderWatch.open({
      store: { keys: this.keys, users: this.users },
      keys: { macs, keySetId: "0f".repeat(16), keyring: undefined },
      clock: this.clock,
      scheduler: systemScheduler,
      log: { write: (event) => void this.events.push(event) },
      slotAssignment: { isAlone },
      node: name,
      rootKeys,
    });
  }

  async reports(): Promise<unknown[]> {
    return (await this.users.auditAfter(0, 100))
      .map(entryOf)
      .map(({ action, target, detail }) => [action, target, detail]);
  }
}

test("a denied root key stops cards when the only node has seen it, and until it is usable again", async () => {
  const fixture = new Fixture();
  const node = await fixture.node("a", { isAlone: true });
  await node.rootConfirmed(key, "ok");
  assert.deepEqual(await fixture.reports(), [], "nothing to report");
  await node.rootConfirmed(key, "denied");
  assert.ok(node.areCardsStopped);
  await node.rootConfirmed(key, "denied");
  assert.ok((await fixture.node("started")).areCardsStopped, "a node that starts now");
  fixture.clock.advance(minute);
  await node.rootConfirmed(key, "ok");
  assert.ok(!node.areCardsStopped);
  assert.deepEqual(await fixture.reports(), [
    ["root_key_reported", "denied", "node a"],
    ["root_key_reported", "ok", "node a"],
  ]);
  assert.deepEqual(
    fixture.events.map((event) => (event.event === "cards_stopped" ? event.cause : event.event)),
    ["root_denied", "root_denied", "cards_resumed"],
  );
});

test("of several nodes two must agree, in both directions", async () => {
  const fixture = new Fixture();
  const [one, two] = [await fixture.node("a"), await fixture.node("b")];
  await one.rootConfirmed(key, "denied");
  await one.rootConfirmed(key, "denied");
  assert.ok(!one.areCardsStopped, "one node, twice");
  await two.rootConfirmed(key, "denied");
  assert.ok(two.areCardsStopped);
  await one.orders.refresh();
  assert.ok(one.areCardsStopped);
  await one.rootConfirmed(key, "ok");
  assert.ok(one.areCardsStopped);
  await two.rootConfirmed(key, "ok");
  assert.ok(!two.areCardsStopped);
});

test("a report ends when its node sees the key again, and after ten minutes", async () => {
  const fixture = new Fixture();
  const [one, two] = [await fixture.node("a"), await fixture.node("b")];
  await one.rootConfirmed(key, "denied");
  await one.rootConfirmed(key, "ok");
  await two.rootConfirmed(key, "denied");
  assert.ok(!two.areCardsStopped, "withdrawn");
  fixture.clock.advance(10 * minute);
  await one.rootConfirmed(key, "denied");
  assert.ok(!one.areCardsStopped, "too old");
  await two.rootConfirmed(key, "denied");
  assert.ok(two.areCardsStopped, "reported again");
});

test("with two root keys both must be denied, and one that does not answer is not", async () => {
  const fixture = new Fixture();
  const node = await fixture.node("a", { isAlone: true, rootKeys: 2 });
  await node.rootConfirmed(key, "denied");
  assert.ok(!node.areCardsStopped, "nothing is known of the other");
  await node.rootConfirmed("aws-kms:other", "ok");
  assert.ok(!node.areCardsStopped);
  await node.rootConfirmed("aws-kms:other", "denied");
  assert.ok(node.areCardsStopped);
  fixture.clock.advance(minute);
  await node.rootConfirmed(key, "ok");
  assert.ok(!node.areCardsStopped, "one suffices");
});

test("a report that cannot be stored is made at the next check", async () => {
  const fixture = new Fixture();
  const node = await fixture.node("a", { isAlone: true });
  const commit = fixture.keys.commitOrder.bind(fixture.keys);
  fixture.keys.commitOrder = () => Promise.reject(new Error("the store does not answer"));
  await node.rootConfirmed(key, "denied");
  assert.ok(!node.areCardsStopped);
  fixture.keys.commitOrder = commit;
  await node.rootConfirmed(key, "denied");
  assert.ok(node.areCardsStopped);
});
