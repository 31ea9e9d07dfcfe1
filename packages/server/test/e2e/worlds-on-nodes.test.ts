import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { freePort } from "../free-port.ts";
import { query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { directBody, integrationKey, startWorld, type World } from "../world.ts";
import { until } from "../until.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Heard {
  readonly status: number;
  /** Name and value of each header but the time. */
  readonly headers: readonly (readonly [string, string])[];
  readonly text: string;
  readonly body: Fields;
}

interface Nodes {
  readonly databaseUrl: string;
  readonly nodes: readonly [World, World, World];
}

/** Three nodes on one database, in this process. Those without an address take no part. */
async function startNodes(context: TestContext, databases: TestDatabases, reached = [true, true, true]): Promise<Nodes> {
  const databaseUrl = await databases.copy();
  const scratch = mkdtempSync(join(tmpdir(), "cofre-worlds-"));
  context.after(() => rmSync(scratch, { recursive: true, force: true }));
  const nodes: World[] = [];
  for (const [number, isReached] of reached.entries()) {
    const directory = join(scratch, String(number));
    if (number > 0) cpSync(join(scratch, "0"), directory, { recursive: true });
    const port = String(await freePort());
    const environment = {
      COFRE_PORT: port,
      COFRE_DATA_DIR: directory,
      COFRE_DATABASE_URL: databaseUrl,
      COFRE_DATABASE_WAIVE_STANDBY: "yes",
      COFRE_DATABASE_BEGIN_ANEW: "yes",
      ...(isReached ? { COFRE_NODE_URL: `http://127.0.0.1:${port}` } : {}),
    };
    const node = await startWorld({ environment, seed: `node ${number}`, ports: { clock: systemClock } });
    context.after(() => node[Symbol.asyncDispose]());
    nodes.push(node);
  }
  const [one, two, three] = nodes;
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  return { databaseUrl, nodes: [one, two, three] };
}

async function ask({ url }: World, path: string, fields: Fields): Promise<Heard> {
  const response = await fetch(url + path, { method: "POST", body: JSON.stringify(fields) });
  const text = await response.text();
  const headers = [...response.headers].filter(([name]) => name !== "date");
  return { status: response.status, headers, text, body: text.startsWith("{") ? (JSON.parse(text) as Fields) : {} };
}

async function make(node: World, fields: Fields = {}): Promise<{ readonly id: string; readonly key: string; readonly publicKey: string }> {
  const { body, text } = await ask(node, "/__cofre/worlds", fields);
  const { id, integration_key: key, public_integration_key: publicKey } = (body["world"] ?? {}) as Record<string, string>;
  assert.ok(id !== undefined && key !== undefined && publicKey !== undefined, text);
  return { id, key, publicKey };
}

const pay = (node: World, key: string, code: string, changes: Fields = {}): Promise<Heard> =>
  ask(node, "/ws/direct", { ...directBody(code, changes), integration_key: key });

const codeOf = ({ body }: Heard): unknown => body["status_code"] ?? body["status"];

function hashOf({ body, text }: Heard): string {
  const { hash } = (body["payment"] ?? {}) as { readonly hash?: string };
  assert.ok(hash !== undefined, text);
  return hash;
}

async function listed(node: World): Promise<readonly string[]> {
  const { body } = await node.get("/__cofre/worlds");
  assert.equal(body["silent_nodes"], undefined);
  return (body["worlds"] as readonly { readonly id: string }[]).map(({ id }) => id);
}

/** Of what happened in the machine's own time, how long it took. */
const timeless = (text: string): string =>
  text.replaceAll(/"duration_ms":[\d.]+/g, '"duration_ms":0').replaceAll(/after (?:less than )?\d+ ms/g, "soon");

function describeNodes(databases: TestDatabases): void {
  test("a world is the same at every node: what it answers there is byte for byte what its own node answers", async (context) => {
    const { nodes } = await startNodes(context, databases);
    const [a] = nodes;
    const fields = { seed: "alike", settings: { partialCapture: true } };
    const transcripts: Heard[][] = [];
    // The second is asked at the others in turns.
    for (const through of [[a], nodes.slice(1)]) {
      const world = await make(a, fields);
      const heard: Heard[] = [];
      let calls = 0;
      const to = async (path: string, more: Fields = {}, key = world.key): Promise<Heard> => {
        const node = through[(calls += 1) % through.length];
        assert.ok(node !== undefined);
        const answer = await ask(node, path, { integration_key: key, ...more });
        // These are drawn anew for each, and never from its seed.
        const hidden = timeless(answer.text).replaceAll(world.id, "ID").replaceAll(world.key, "KEY").replaceAll(world.publicKey, "PUBLIC");
        const headers = answer.headers.filter(([name]) => name !== "content-length" || hidden === answer.text);
        heard.push({ status: answer.status, headers, text: hidden, body: {} });
        return answer;
      };
      const direct = (code: string, changes: Fields = {}): Promise<Heard> =>
        to("/ws/direct", { ...directBody(code, changes), integration_key: world.key });
      const card = { card_number: "4111111111111111", card_name: "José Ñandú", card_due_date: "12/2060", card_cvv: "123" };
      const { body: stored } = await to("/ws/token", { country: "pe", payment_type_code: "creditcard", creditcard: card }, world.publicKey);
      await direct("a", { creditcard: { token: stored["token"] } });
      const held = hashOf(await direct("b", { creditcard: { ...card, auto_capture: false } }));
      await direct("c", { creditcard: { ...card, card_number: "4000000000000002" } });
      await direct("a", { creditcard: card });
      await to("/__cofre/simulator", { next: "lose_answer", of: "authorize" });
      await direct("d");
      await to("/__cofre/clock", { advance: "90min" });
      await to("/ws/capture", { hash: held, amount: "60" });
      await to("/ws/refund", { operation: "request", hash: held, amount: "20", description: "one cup" });
      await to("/__cofre/faults", { add: { kind: "garbage_after_commit", path: "/ws/query" } });
      await to("/__cofre/faults");
      await to("/__cofre/clock", { advance: "4d" });
      await to("/__cofre/world", { do: "snapshot", name: "s" });
      for (const code of ["b", "c", "d", "e"]) await to("/ws/query", { merchant_payment_code: code });
      await to("/__cofre/timeline", { hash: held });
      await to("/__cofre/requests");
      await to("/__cofre/notifications");
      await to("/__cofre/settings", { settings: { createToken: false } });
      await to("/__cofre/payments");
      await to("/__cofre/explain", { hash: held });
      await to("/__cofre/world", { do: "reset" });
      await to("/ws/query", { hash: held });
      await to("/__cofre/world", { do: "restore", name: "s" });
      await to("/ws/query", { hash: held });
      await to("/__cofre/world");
      transcripts.push(heard);
    }
    const [own = [], others = []] = transcripts;
    assert.ok(own.length > 25);
    for (const [index, answer] of own.entries()) assert.deepEqual(others[index], answer, `answer ${index}`);
    const isIn = (sought: string): boolean => own.some(({ text }) => text.includes(sought));
    assert.ok(isIn('"60.00"') && isIn("<html>"), "control: there was all of it");
  });

  test("a world is listed at every node, found until it is deleted at any, and its key can be taken anew at once", async (context) => {
    const { nodes } = await startNodes(context, databases);
    const made = [];
    for (const node of nodes) made.push(await make(node), await make(node));
    const lists = await Promise.all(nodes.map(listed));
    assert.deepEqual(new Set(lists[0]), new Set(made.map(({ id }) => id)));
    assert.deepEqual([lists[1], lists[2]], [lists[0], lists[0]], "in one order");

    const [a, b, c] = nodes;
    const [first] = made;
    assert.ok(first !== undefined);
    assert.equal(codeOf(await pay(c, first.key, "order")), "SUCCESS");
    assert.equal(codeOf(await ask(b, "/__cofre/world", { integration_key: first.key, do: "delete" })), "SUCCESS");
    for (const node of nodes) {
      assert.equal(codeOf(await pay(node, first.key, "order")), "DA-1");
      assert.equal((await listed(node)).length, 5);
    }
    assert.equal(codeOf(await pay(a, "nobody's", "order")), "DA-1");
    const again = await make(c, { new_integration_key: first.key });
    assert.equal(codeOf(await pay(a, again.key, "order")), "SUCCESS", "the same code once more: it is another world");
  });

  test("a key opens one world: what is taken at one node is refused at all, and of nodes that take one at once one has it", async (context) => {
    const { nodes } = await startNodes(context, databases);
    const [a, b, c] = nodes;
    await make(a, { new_integration_key: "mine", new_public_integration_key: "mine-too" });
    for (const node of nodes) {
      for (const fields of [
        { new_integration_key: "mine" },
        { new_integration_key: "mine-too" },
        { new_public_integration_key: "mine" },
        { new_integration_key: integrationKey },
      ]) {
        assert.equal(codeOf(await ask(node, "/__cofre/worlds", fields)), "COFRE-71");
      }
    }
    for (let round = 0; round < 15; round += 1) {
      const key = `contested-${round}`;
      const outcomes = await Promise.all([b, c, a, b].map((node) => ask(node, "/__cofre/worlds", { new_integration_key: key })));
      const counted = Map.groupBy(outcomes, codeOf);
      assert.deepEqual([counted.get("SUCCESS")?.length, counted.get("COFRE-71")?.length], [1, 3]);
      const shown = await Promise.all(nodes.map((node) => ask(node, "/__cofre/world", { integration_key: key, do: "reset" })));
      assert.equal(new Set(shown.map(({ body }) => (body["world"] as Fields)["id"])).size, 1, "every node leads to the same one");
    }
    assert.equal((await listed(a)).length, 16, "nothing is left of those that were refused");
  });

  test("many requests at once through two nodes are each done once at the third", async (context) => {
    const { nodes } = await startNodes(context, databases);
    const [a, b, c] = nodes;
    const { key } = await make(a);
    const codes = Array.from({ length: 300 }, (_, number) => `many-${number}`);
    const counted = new Map<unknown, number>();
    const count = async (answer: Promise<Heard>): Promise<void> => {
      const code = codeOf(await answer);
      counted.set(code, (counted.get(code) ?? 0) + 1);
    };
    // Each twice, at different nodes: one of both is told of the other. A hundred at once.
    for (let from = 0; from < codes.length; from += 50) {
      await Promise.all(codes.slice(from, from + 50).flatMap((code) => [count(pay(b, key, code)), count(pay(c, key, code))]));
    }
    assert.deepEqual(Object.fromEntries(counted), { SUCCESS: 300, "BP-DR-0": 300 });
    const { body } = await ask(b, "/__cofre/world", { integration_key: key });
    assert.equal((body["world"] as Fields)["payments"], 300);
  });

  test("what makes a request fail at its node makes it fail so at every node", async (context) => {
    const { nodes } = await startNodes(context, databases);
    const [a, b] = nodes;
    const { key } = await make(a);
    const fault = async (kind: string, more: Fields = {}): Promise<void> => {
      const added = await ask(b, "/__cofre/faults", { integration_key: key, add: { kind, path: "/ws/direct", ...more } });
      assert.equal(codeOf(added), "SUCCESS", added.text);
    };
    await fault("drop_after_commit");
    await assert.rejects(pay(b, key, "dropped"));
    assert.equal(codeOf(await pay(b, key, "dropped")), "BP-DR-0", "it was done");
    await fault("drop_before_commit");
    await assert.rejects(pay(b, key, "lost"));
    assert.equal(codeOf(await pay(b, key, "lost")), "SUCCESS", "it was not");
    await fault("stall_in_body", { delay_ms: 200 });
    await assert.rejects(pay(b, key, "half"));
    await fault("unavailable");
    const failed = await pay(b, key, "failed");
    const told = new Map(failed.headers);
    assert.deepEqual([failed.status, told.has("retry-after"), told.has("x-cofre-fault")], [503, true, true]);
    await fault("late_answer", { delay_ms: 700 });
    const began = performance.now();
    assert.equal(codeOf(await pay(b, key, "late")), "SUCCESS");
    assert.ok(performance.now() - began > 600);
  });

  test("a node that closes takes its worlds with it, at once", async (context) => {
    const { nodes, databaseUrl } = await startNodes(context, databases);
    const [a, b, c] = nodes;
    const { key } = await make(a);
    const kept = await make(b);
    assert.equal(codeOf(await pay(b, key, "order")), "SUCCESS");
    await a.cofre.close();
    for (const node of [b, c]) {
      assert.equal(codeOf(await pay(node, key, "order")), "DA-1");
      assert.deepEqual(await listed(node), [kept.id]);
    }
    const [left] = await query<{ readonly count: number }>(databaseUrl, "SELECT count(*)::integer AS count FROM world_key");
    assert.equal(left?.count, 2);
  });

  test("what is lost of where worlds are is put right; a world whose key was given to another goes", async (context) => {
    const { nodes, databaseUrl } = await startNodes(context, databases);
    const [a, b] = nodes;
    const [first, second] = [await make(a), await make(a)];
    // Control: nobody knows of it. Its node puts that right every three seconds, and may be faster.
    let tried = 0;
    await until("the other node finds no world of the key", async () => {
      await query(databaseUrl, "DELETE FROM world_key");
      return codeOf(await pay(b, first.key, `control-${(tried += 1)}`)) === "DA-1";
    });
    assert.equal(codeOf(await pay(a, first.key, "x")), "SUCCESS", "where it lives it is found all the same");
    await until("the key can be used at the other node", async () => codeOf(await pay(b, first.key, "x")) === "BP-DR-0");

    // As if its node had been taken for dead, and the key were free. Its node may be faster, and put that right.
    let other;
    for (let tries = 0; other?.status !== 200 && tries < 20; tries += 1) {
      await query(databaseUrl, "DELETE FROM world_key WHERE world = decode($1, 'hex')", [second.id]);
      const asked = await ask(b, "/__cofre/worlds", { new_integration_key: second.key });
      if (codeOf(asked) === "SUCCESS") other = asked;
    }
    assert.ok(other !== undefined, "one of twenty was faster");
    const { id } = other.body["world"] as { readonly id: string };
    await until("the world is not listed any more", async () => !(await listed(a)).includes(second.id));
    assert.deepEqual(new Set(await listed(a)), new Set([first.id, id]));
    for (const node of nodes) {
      const { body } = await ask(node, "/__cofre/world", { integration_key: second.key });
      assert.equal((body["world"] as Fields)["id"], id, "the key opens the same one everywhere");
    }
  });

  test("a row that is left over opens nothing, and goes", async (context) => {
    const { nodes, databaseUrl } = await startNodes(context, databases);
    const [a, b, c] = nodes;
    const insert = (node: string): Promise<unknown> =>
      query(databaseUrl, `INSERT INTO world_key VALUES (sha256('left over'), '${node}', '\\x01020304')`);
    const left = async (): Promise<number> => (await query(databaseUrl, "SELECT 1 FROM world_key")).length;
    const [known] = await query<{ readonly id: string }>(databaseUrl, "SELECT id FROM node WHERE url = $1", [a.url]);
    assert.ok(known !== undefined);
    await insert(known.id);
    for (const node of [a, b, c]) assert.equal(codeOf(await pay(node, "left over", "x")), "DA-1");
    await until("no row of the worlds is left", async () => (await left()) === 0);

    // Of a node that died, whose address another process has now: within its lease it may still come.
    const inMs = (ms: number): string => `extract(epoch FROM clock_timestamp()) * 1000 + ${ms}`;
    await query(databaseUrl, `INSERT INTO node VALUES ('00000000000000ff', ${inMs(12_000)}, $1)`, [a.url]);
    await insert("00000000000000ff");
    for (const node of [a, b]) {
      const refused = await pay(node, "left over", "x");
      assert.deepEqual([refused.status, codeOf(refused)], [503, "COFRE-120"]);
    }
    await query(databaseUrl, `UPDATE node SET until = ${inMs(500)} WHERE id = '00000000000000ff'`);
    await until("no row of the worlds is left", async () => (await left()) === 0);
    assert.equal(codeOf(await pay(b, "left over", "x")), "DA-1");
  });

  test("an account's own requests cost no look at where worlds live, however many there are", async (context) => {
    const { nodes, databaseUrl } = await startNodes(context, databases);
    const [a, b] = nodes;
    const world = await make(a);
    // A session's statements are in these figures when it has done something else, which is every three seconds.
    const looks = async (): Promise<number> => {
      await sleep(4_500);
      const [row] = await query<{ readonly looks: number }>(
        databaseUrl,
        "SELECT idx_scan::integer AS looks FROM pg_stat_user_indexes WHERE indexrelname = 'world_key_pkey'",
      );
      return row?.looks ?? -1;
    };
    const before = await looks();
    for (let number = 0; number < 100; number += 1) assert.equal(codeOf(await pay(b, integrationKey, `own-${number}`)), "SUCCESS");
    for (let number = 0; number < 100; number += 1) assert.equal(codeOf(await pay(a, world.key, `here-${number}`)), "SUCCESS");
    assert.equal(await looks(), before);
    for (let number = 0; number < 10; number += 1) assert.equal(codeOf(await pay(b, world.key, `there-${number}`)), "SUCCESS");
    assert.equal(await looks(), before + 10, "one for each that is led on");
  });

  test("a node without an address takes part in nothing", async (context) => {
    const { nodes } = await startNodes(context, databases, [true, false, true]);
    const [a, alone, c] = nodes;
    const [there, own] = [await make(a), await make(alone)];
    assert.equal(codeOf(await pay(alone, there.key, "x")), "DA-1");
    for (const node of [a, c]) assert.equal(codeOf(await pay(node, own.key, "x")), "DA-1");
    assert.deepEqual(await Promise.all(nodes.map(listed)), [[there.id], [own.id], [there.id]]);
    // It does not know of the others' keys either, as one that is alone.
    await make(alone, { new_integration_key: there.key });
    // The account of the store works everywhere.
    for (const [number, node] of nodes.entries()) assert.equal(codeOf(await pay(node, integrationKey, `own-${number}`)), "SUCCESS");
  });
}

if (testUrl === undefined) {
  test("worlds on several nodes", { skip: "COFRE_TEST_POSTGRES_URL names no server" }, () => undefined);
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("worlds on several nodes", () => describeNodes(databases));
}
