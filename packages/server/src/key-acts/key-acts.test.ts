import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { describe, test } from "node:test";
import { ManualClock } from "../../test/server.ts";
import { hour, minute } from "../kernel/instant.ts";
import { MemoryAudit } from "../stores/memory/memory-audit.ts";
import { MemoryKeyRecords } from "../stores/memory/memory-key-records.ts";
import { createMemoryUsers } from "../stores/memory/memory-users.ts";
import { entryOf } from "../user/audit-chain.ts";
import type { UserRecord } from "../user/user-store.ts";
import type { Role, UserId, UserView } from "../user/user.ts";
import { noEarlierRows, RowMacs } from "../vault/row-mac.ts";
import { type ActPerformers, KeyActRefused, KeyActs, type ActSender } from "./key-acts.ts";
import { approvalMs, type OrdersState } from "./key-order.ts";
import { KeyOrders } from "./key-orders.ts";

const installation = "0f".repeat(16);
const macs = new RowMacs(() => createSecretKey(Buffer.alloc(32, 7)), noEarlierRows);
const reason = { reason: "card data may have leaked" };

function adminOf(name: string, number: number) {
  const id = number.toString(16).padStart(16, "0") as UserId;
  const sender: ActSender = { by: { kind: "user", id, name }, origin: "192.0.2.1" };
  return { id, name, sender };
}
const alice = adminOf("alice", 1);
const bob = adminOf("bob", 2);
const byKey: ActSender = { by: { kind: "key" }, origin: "192.0.2.2" };

/** Two nodes on one store, and the users that the store has. */
class Fixture {
  readonly clock = new ManualClock(Date.UTC(2026, 10, 30));
  readonly refused: number[] = [];
  readonly states: OrdersState[] = [];
  readonly #audit = new MemoryAudit();
  readonly log = createMemoryUsers({ audit: this.#audit });
  readonly store = new MemoryKeyRecords(this.#audit);
  readonly #users = new Map<UserId, Pick<UserRecord, "role" | "state">>();
  readonly one = this.node();
  readonly other = this.node();

  constructor() {
    for (const { id } of [alice, bob]) this.user(id, "admin", "active");
  }

  user(id: UserId, role: Role, state: UserView["state"]): void {
    this.#users.set(id, { role, state });
  }

  node(of = { installation, macs }, perform: ActPerformers = {}) {
    const orders = new KeyOrders({
      ...of,
      store: this.store,
      log: this.log,
      clock: this.clock,
      changed: (state) => void this.states.push(state),
      refused: (number) => this.refused.push(number),
    });
    const users = { user: async (id: UserId) => this.#users.get(id) as UserRecord | undefined };
    return {
      orders,
      acts: new KeyActs({ orders, users, perform, checkKeys: async () => undefined }),
    };
  }

  async entries(): Promise<unknown[]> {
    return (await this.log.auditAfter(0, 100))
      .map(entryOf)
      .map(({ actor, action, target, detail }) => [
        actor.kind === "user" ? actor.name : actor.kind,
        action,
        target,
        detail,
      ]);
  }

  async requested(act = "resume") {
    const given = { act, parameters: reason, isDryRun: false };
    const result = await this.one.acts.order(alice.sender, given);
    assert.ok(result.result === "requested");
    return { request: result.number, check: result.check };
  }

  async stopped(): Promise<void> {
    const given = { act: "stop", parameters: reason, isDryRun: false };
    assert.equal((await this.one.acts.order(alice.sender, given)).result, "done");
  }
}

async function refusedWith(work: Promise<unknown>, refusal: KeyActRefused["refusal"]) {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof KeyActRefused);
    assert.deepEqual(error.refusal, refusal);
    return true;
  });
}

describe("an act upon keys", () => {
  test("that does not exist, or with other parameters, is refused and leaves nothing", async () => {
    const { one, entries } = bound(new Fixture());
    const order = (act: string, parameters: Readonly<Record<string, string>>) =>
      one.acts.order(alice.sender, { act, parameters, isDryRun: false });
    await refusedWith(order("open", reason), { kind: "unknown_act" });
    await refusedWith(order("toString", reason), { kind: "unknown_act" });
    for (const value of ["", " a", "a ", "a\nb", "a".repeat(201)])
      await refusedWith(order("stop", { reason: value }), { kind: "parameter", name: "reason" });
    await refusedWith(order("stop", {}), { kind: "parameter", name: "reason" });
    await refusedWith(order("stop", { ...reason, toString: "x" }), {
      kind: "parameter",
      name: "toString",
    });
    await refusedWith(order("resume", reason), { kind: "not_now", problem: "not_stopped" });
    assert.deepEqual(await entries(), []);
    assert.equal((await one.acts.state()).last, 0);
    for (const value of ["a", "a b", "a".repeat(200), "fuga de información"])
      assert.equal((await order("stop", { reason: value })).result, "done", value);
  });

  test("is only checked in a dry run", async () => {
    const fixture = new Fixture();
    const { acts } = fixture.one;
    const dry = (act: string) =>
      acts.order(alice.sender, { act, parameters: reason, isDryRun: true });
    assert.deepEqual(await dry("stop"), { result: "checked", act: "stop", needsApproval: false });
    await refusedWith(dry("resume"), { kind: "not_now", problem: "not_stopped" });
    assert.deepEqual(await fixture.entries(), []);
    await fixture.stopped();
    assert.deepEqual(await dry("resume"), {
      result: "checked",
      act: "resume",
      needsApproval: true,
    });
    assert.equal((await fixture.entries()).length, 1);
    assert.equal((await acts.state()).requests.length, 0);
  });

  test("of one admin takes effect on every node, and is in the audit log with its reason", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    assert.equal(fixture.other.orders.state.stop, undefined, "not read yet");
    const { stop } = await fixture.other.acts.state();
    assert.deepEqual(stop?.by, alice.sender.by);
    assert.deepEqual(stop.parameters, reason);
    assert.deepEqual(await fixture.entries(), [
      ["alice", "key_act", "stop", "reason: card data may have leaked"],
    ]);
    // A node that starts now.
    assert.equal((await fixture.node().acts.state()).stop?.number, 1);
  });

  test("by the key of a sandbox without sign-in needs no second person", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const given = { act: "resume", parameters: reason, isDryRun: false };
    assert.equal((await fixture.one.acts.order(byKey, given)).result, "done");
    assert.equal((await fixture.other.acts.state()).stop, undefined);
    const [, entry] = await fixture.entries();
    assert.deepEqual(entry, ["key", "key_act", "resume", "reason: card data may have leaked"]);
  });
});

describe("an act of two admins", () => {
  test("takes effect when another admin approves it on any node", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const approval = await fixture.requested();
    const waiting = await fixture.other.acts.state();
    assert.equal(waiting.stop?.number, 1, "a request alone changes nothing");
    assert.deepEqual(
      waiting.requests.map(({ number, act, by }) => [number, act, by]),
      [[2, "resume", alice.sender.by]],
    );
    const done = await fixture.other.acts.approve(bob.sender, approval);
    assert.deepEqual(done, { result: "done", act: "resume", number: 3, report: {} });
    const state = await fixture.one.acts.state();
    assert.equal(state.stop, undefined);
    assert.deepEqual(state.requests, []);
    assert.deepEqual((await fixture.entries()).slice(1), [
      ["alice", "key_act_requested", "resume", "reason: card data may have leaked"],
      ["bob", "key_act_approved", "resume", "request 2; reason: card data may have leaked"],
    ]);
  });

  test("is performed once it is stored, on the node that has the approval", async () => {
    const fixture = new Fixture();
    const performed: unknown[] = [];
    const perform: ActPerformers = {
      resume: async (parameters, number) => {
        performed.push([parameters, number, fixture.states.at(-1)?.stop]);
        return { cards: 3 };
      },
    };
    const node = fixture.node(undefined, perform);
    await fixture.stopped();
    const approval = await fixture.requested();
    await refusedWith(node.acts.approve(alice.sender, approval), { kind: "same_person" });
    assert.deepEqual(performed, []);
    const done = await node.acts.approve(bob.sender, approval);
    assert.ok(done.result === "done");
    assert.deepEqual(done.report, { cards: 3 });
    assert.deepEqual(performed, [[reason, 3, undefined]]);
  });

  test("is not approved by the admin who requested it, nor by a key", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const approval = await fixture.requested();
    for (const sender of [alice.sender, byKey])
      await refusedWith(fixture.other.acts.approve(sender, approval), { kind: "same_person" });
    assert.equal((await fixture.one.acts.state()).stop?.number, 1);
    assert.equal((await fixture.entries()).length, 2);
  });

  test("is approved once: neither again, nor by a second node at the same time", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const approval = await fixture.requested();
    const results = await Promise.allSettled(
      [fixture.one, fixture.other].map(({ acts }) => acts.approve(bob.sender, approval)),
    );
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    await fixture.stopped();
    await refusedWith(fixture.one.acts.approve(bob.sender, approval), { kind: "no_request" });
    assert.equal((await fixture.other.acts.state()).stop?.number, 4, "stopped again");
  });

  test("is not approved with the check of another request, or under another number", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const { request, check } = await fixture.requested();
    const given = { act: "resume", parameters: { reason: "another" }, isDryRun: false };
    const other = await fixture.one.acts.order(alice.sender, given);
    assert.ok(other.result === "requested");
    for (const wrong of [
      { request, check: other.check },
      { request: other.number, check },
      { request, check: "" },
      { request: 1, check },
      { request: 9, check },
    ])
      await refusedWith(fixture.one.acts.approve(bob.sender, wrong), { kind: "no_request" });
    assert.equal((await fixture.one.acts.state()).stop?.number, 1);
  });

  test("is not approved an hour after the request", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const late = await fixture.requested();
    fixture.clock.advance(minute);
    const inTime = await fixture.requested();
    fixture.clock.advance(hour - minute);
    assert.equal(approvalMs, hour);
    await refusedWith(fixture.one.acts.approve(bob.sender, late), { kind: "no_request" });
    fixture.clock.advance(minute - 1);
    assert.equal((await fixture.one.acts.approve(bob.sender, inTime)).result, "done");
  });

  test("is not approved when the admin who requested it is no longer one", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const approval = await fixture.requested();
    for (const [role, state] of [
      ["admin", "disabled"],
      ["admin", "invited"],
      ["operator", "active"],
    ] as const) {
      fixture.user(alice.id, role, state);
      await refusedWith(fixture.other.acts.approve(bob.sender, approval), { kind: "no_request" });
    }
    fixture.user(alice.id, "admin", "active");
    assert.equal((await fixture.other.acts.approve(bob.sender, approval)).result, "done");
  });

  test("is checked again when it is approved", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const [first, second] = [await fixture.requested(), await fixture.requested()];
    await fixture.other.acts.approve(bob.sender, first);
    await refusedWith(fixture.other.acts.approve(bob.sender, second), {
      kind: "not_now",
      problem: "not_stopped",
    });
  });
});

describe("an entry of the list", () => {
  test("that was not written with the installation's keys has no effect, and is reported", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    const approval = await fixture.requested();
    const [stop, request] = await fixture.store.keyOrders(0, 10);
    assert.ok(stop !== undefined && request !== undefined);
    const body = JSON.stringify({ kind: "approval", ...approval, by: bob.sender.by });
    const events = [
      {
        actor: { kind: "server" },
        origin: undefined,
        action: "key_act",
        target: undefined,
        result: "done",
        completes: undefined,
        detail: undefined,
      },
    ] as const;
    const forged = { number: 3, at: stop.at, body, mac: request.mac };
    await fixture.store.commitOrder({ at: stop.at, order: forged, events });
    const other = fixture.node({ installation: "00".repeat(16), macs });
    // Genuine, but of another installation.
    await assert.rejects(other.acts.approve(bob.sender, approval), KeyActRefused);
    assert.deepEqual(fixture.refused, [1, 2, 3]);
    fixture.refused.length = 0;
    assert.equal((await fixture.other.acts.state()).stop?.number, 1);
    assert.deepEqual(fixture.refused, [3]);
    // The next order follows it.
    assert.equal((await fixture.other.acts.approve(bob.sender, approval)).result, "done");
    assert.equal((await fixture.one.acts.state()).last, 4);
    assert.equal(fixture.one.orders.state.stop, undefined);
  });

  test("of a later version is skipped", async () => {
    const fixture = new Fixture();
    await fixture.stopped();
    await fixture.one.orders.append(() => ({
      body: { kind: "order", act: "later" as "stop", parameters: {}, by: alice.sender.by },
      event: {
        actor: alice.sender.by,
        origin: undefined,
        action: "key_act",
        target: undefined,
        result: "done",
        completes: undefined,
        detail: undefined,
      },
    }));
    assert.equal((await fixture.other.acts.state()).last, 2);
    assert.equal(fixture.other.orders.state.stop?.number, 1);
  });
});

/** Methods that may be taken out of the fixture. */
function bound(fixture: Fixture) {
  return { one: fixture.one, entries: () => fixture.entries() };
}
