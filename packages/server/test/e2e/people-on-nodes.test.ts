import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { temporaryFolder } from "../command.ts";
import { ask, codeOf, ConsolePeople, type Fields, type Headers, type Reply, type Signed } from "../console-people.ts";
import { freePort } from "../free-port.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import { directBody, integrationKey, startWorld, testCard, type World } from "../world.ts";

/*
 * Where people sign in, and several nodes have worlds: each of them shows and opens all, and the log says who it was and where they were, whichever node
 * they came to; and nobody becomes somebody by what they send to a node themselves.
 */

interface Letter {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What is between a node and whoever leads to it: keeps what comes by, and passes it on. */
async function startTap(context: TestContext, port: number): Promise<{ readonly url: string; readonly letters: readonly Letter[] }> {
  const letters: Letter[] = [];
  const tap = createServer((incoming, response) => {
    const pieces: Buffer[] = [];
    incoming.on("data", (piece: Buffer) => pieces.push(piece));
    // A request whose node is closed has no end.
    incoming.on("end", () => {
      const { url: path = "", method = "", headers } = incoming;
      const body = Buffer.concat(pieces);
      letters.push({ path, method, headers, body });
      const sent = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
        answer.pipe(response);
      });
      sent.on("error", () => response.destroy());
      sent.end(body);
    });
  });
  await new Promise<void>((resolve) => void tap.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    tap.closeAllConnections();
    tap.close();
  });
  return { url: `http://127.0.0.1:${(tap.address() as AddressInfo).port}`, letters };
}

interface Nodes {
  readonly one: World;
  readonly two: World;
  readonly people: ConsolePeople;
  readonly admin: Signed;
  readonly operator: Signed;
  readonly viewer: Signed;
  /** What came to the first node from the other one. */
  readonly letters: readonly Letter[];
  /** As somebody, at the second node, from behind its proxy at this address. */
  readonly at: (who: Signed, path: string, fields: Fields | undefined, headers?: Headers) => Promise<Reply>;
}

const clientAddress = "203.0.113.77";

async function startNodes(context: TestContext, databases: TestDatabases): Promise<Nodes> {
  const databaseUrl = await databases.copy();
  const scratch = temporaryFolder(context);
  const start = async (number: number, nodeUrl: string, port: number): Promise<World> => {
    const directory = join(scratch, String(number));
    if (number > 1) cpSync(join(scratch, "1"), directory, { recursive: true });
    const environment = {
      COFRE_CONSOLE: "login",
      COFRE_CLIENT_ADDRESS_HEADER: "X-Forwarded-For",
      COFRE_PORT: String(port),
      COFRE_DATA_DIR: directory,
      COFRE_DATABASE_URL: databaseUrl,
      COFRE_DATABASE_WAIVE_STANDBY: "yes",
      COFRE_DATABASE_BEGIN_ANEW: "yes",
      COFRE_NODE_URL: nodeUrl,
    };
    const node = await startWorld({ environment, ports: { clock: systemClock }, seed: `node ${number}` });
    context.after(() => node[Symbol.asyncDispose]());
    return node;
  };
  const ports = [await freePort(), await freePort()] as const;
  const tap = await startTap(context, ports[0]);
  const one = await start(1, tap.url, ports[0]);
  const people = new ConsolePeople(one, systemClock);
  const admin = await people.firstAdmin();
  const [operator, viewer] = [await people.invited(admin, "Olga", "operator"), await people.invited(admin, "Vera", "viewer")];
  const two = await start(2, `http://127.0.0.1:${ports[1]}`, ports[1]);
  const at = ({ cookie, csrf }: Signed, path: string, fields: Fields | undefined, headers: Headers = {}) =>
    ask(two, path, fields, { Cookie: cookie, "X-Cofre-CSRF": csrf, "X-Forwarded-For": clientAddress, ...headers });
  return { one, two, people, admin, operator, viewer, letters: tap.letters, at };
}

async function worldOf(admin: Signed, name: string): Promise<string> {
  const { body } = await admin.call("/__cofre/worlds", { name, seed: name });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return (body["world"] as { readonly id: string }).id;
}

const payment = (code: string): Fields => {
  const { integration_key: _, ...fields } = directBody(code, { creditcard: { ...testCard, auto_capture: false } });
  return fields;
};

interface Entry {
  readonly who: string;
  readonly origin: string;
  readonly act: string;
  readonly result: string;
  readonly detail: string | null;
}

async function entriesOf(admin: Signed): Promise<readonly Entry[]> {
  const { body } = await admin.call("/__cofre/audit", { limit: 200 });
  return (body["entries"] as readonly Entry[]).toReversed();
}

function describeNodes(databases: TestDatabases): void {
  test("each node lists the worlds of all to a person, without keys, and opens them; the log says who, and from where", async (context) => {
    const { admin, operator, viewer, at, letters } = await startNodes(context, databases);
    const [here, there] = [await worldOf(admin, "on the first"), await at(admin, "/__cofre/worlds", { name: "on the second" })];
    const other = (there.body["world"] as { readonly id: string }).id;
    const inWorld = { "X-Cofre-Account": here };
    for (const headers of [{}, inWorld]) {
      for (const listed of [
        await at(viewer, "/__cofre/worlds", undefined, headers),
        await viewer.call("/__cofre/worlds", undefined, headers),
      ]) {
        assert.equal(codeOf(listed), "SUCCESS");
        assert.equal(listed.body["silent_nodes"], undefined);
        assert.deepEqual(
          (listed.body["worlds"] as readonly { readonly id: string }[]).map(({ id }) => id).toSorted(),
          [here, other].toSorted(),
        );
        assert.doesNotMatch(JSON.stringify(listed.body), /test_[ip]k_|integration_key/);
      }
    }

    const made = await at(operator, "/ws/direct", payment("led"), inWorld);
    assert.equal(codeOf(made), "SUCCESS", JSON.stringify(made.body));
    const { hash } = made.body["payment"] as { readonly hash: string };
    assert.equal(made.headers["x-cofre-role"], "operator");
    assert.ok(Number(made.headers["x-cofre-session-seconds"]) > 800);
    assert.equal(made.headers["x-cofre-node"], undefined);
    assert.equal(codeOf(await at(operator, "/ws/capture", { hash }, inWorld)), "SUCCESS");
    assert.equal(codeOf(await at(viewer, "/__cofre/timeline", { hash }, inWorld)), "SUCCESS");
    assert.equal(codeOf(await operator.call("/ws/query", { hash }, inWorld)), "SUCCESS", "control: it is in that world");
    assert.equal(codeOf(await at(operator, "/ws/query", { hash })), "BP-QRY-2", "and in no other account");
    assert.equal(codeOf(await at(admin, "/__cofre/clock", { advance: "1d" }, inWorld)), "SUCCESS");
    const shown = await at(viewer, "/__cofre/world", {}, inWorld);
    assert.equal((shown.body["world"] as { readonly name: string }).name, "on the first");
    assert.doesNotMatch(JSON.stringify(shown.body), /test_[ip]k_|integration_key/);

    const log = (await entriesOf(admin)).filter(({ detail }) => detail?.includes(here) === true);
    assert.deepEqual(
      log.filter(({ origin }) => origin === clientAddress).map(({ who, act, result }) => `${who} ${act} ${result}`),
      [
        "Olga payment_made asked",
        "Olga payment_made done",
        "Olga capture asked",
        "Olga capture done",
        "Vera looked done",
        "admin clock_moved asked",
        "admin clock_moved done",
      ],
    );
    assert.ok(letters.length >= 7, "control: it was led there");
    const sent = letters.map(({ headers, body }) => `${JSON.stringify(headers)} ${body.toString()}`).join("\n");
    for (const who of [admin, operator, viewer]) {
      for (const secret of [who.cookie, who.csrf, "cofre_session", who.name])
        assert.ok(!sent.includes(secret), "a session stays where it came to");
    }
  });

  test("what a role does not allow is refused at both nodes, and a changed role or an ended session holds at once", async (context) => {
    const { admin, operator, viewer, at, letters } = await startNodes(context, databases);
    const inWorld = { "X-Cofre-Account": await worldOf(admin, "theirs") };
    assert.equal(codeOf(await at(viewer, "/ws/direct", payment("no"), inWorld)), "COFRE-113");
    assert.equal(codeOf(await at(operator, "/__cofre/world", { do: "delete" }, inWorld)), "COFRE-113");
    assert.equal(codeOf(await at(operator, "/__cofre/payments", {}, inWorld)), "SUCCESS");
    await admin.call("/__cofre/people", { do: "set_role", id: operator.id, role: "viewer" });
    assert.equal(codeOf(await at(operator, "/ws/direct", payment("no"), inWorld)), "COFRE-113");
    await operator.call("/__cofre/session", { do: "sign_out" });
    const before = letters.length;
    assert.equal(codeOf(await at(operator, "/__cofre/payments", {}, inWorld)), "COFRE-110");
    for (const headers of [{ Origin: "https://shop.example" }, { "Sec-Fetch-Site": "same-site" }, { "X-Cofre-CSRF": "none" }]) {
      assert.equal(codeOf(await at(viewer, "/__cofre/payments", {}, { ...inWorld, ...headers })), "COFRE-112");
    }
    assert.equal(letters.length, before, "nothing of it was led on");
  });

  test("a world that is gone, or its node, is said to be so, and the person stays signed in", async (context) => {
    const { admin, viewer, at, one } = await startNodes(context, databases);
    const [gone, left] = [await worldOf(admin, "gone"), await worldOf(admin, "left")];
    assert.equal(codeOf(await at(admin, "/__cofre/world", { do: "delete" }, { "X-Cofre-Account": gone })), "SUCCESS");
    const reply = await at(viewer, "/__cofre/payments", {}, { "X-Cofre-Account": gone });
    assert.equal(reply.body["status_message"], "Header X-Cofre-Account is invalid");
    for (const odd of ["00000000", "x", "' OR 1=1"]) {
      assert.equal(codeOf(await at(viewer, "/__cofre/payments", {}, { "X-Cofre-Account": odd })), "COFRE-119", odd);
    }
    await one[Symbol.asyncDispose]();
    for (let tries = 0; tries < 200; tries += 1) {
      const answer = codeOf(await at(viewer, "/__cofre/payments", {}, { "X-Cofre-Account": left }));
      if (answer === "COFRE-119") break;
      assert.ok(["COFRE-120", "COFRE-13", undefined].includes(answer as string | undefined), String(answer));
      await sleep(100);
    }
    assert.equal(codeOf(await at(viewer, "/__cofre/payments", {}, { "X-Cofre-Account": left })), "COFRE-119");
    assert.equal(codeOf(await at(viewer, "/__cofre/payments", {})), "SUCCESS");
  });

  test("what says who somebody is is good once, for one request, and nobody can make one", async (context) => {
    const { admin, operator, at, letters, one, two } = await startNodes(context, databases);
    const inWorld = { "X-Cofre-Account": await worldOf(admin, "theirs") };
    const made = await at(operator, "/ws/direct", payment("once"), inWorld);
    const { hash } = made.body["payment"] as { readonly hash: string };
    assert.equal(codeOf(await at(operator, "/ws/capture", { hash }, inWorld)), "SUCCESS");
    const letter = letters.at(-1);
    assert.ok(letter?.path === "/ws/capture");
    const node = String(letter.headers["x-cofre-for-node"]);
    const pass = String(letter.headers["x-cofre-person"]);
    const fields = JSON.parse(letter.body.toString()) as Fields;
    const before = (await entriesOf(admin)).length;
    const claimed = Buffer.from(JSON.stringify({ person: { id: admin.id, name: "admin", role: "admin" } })).toString("base64url");
    const tries: readonly (readonly [string, World, string, Fields, Headers])[] = [
      ["the same again", one, "/ws/capture", fields, { "X-Cofre-For-Node": node, "X-Cofre-Person": pass }],
      ["with another body", one, "/ws/capture", { hash, amount: "1" }, { "X-Cofre-For-Node": node, "X-Cofre-Person": pass }],
      ["for another operation", one, "/ws/refund", fields, { "X-Cofre-For-Node": node, "X-Cofre-Person": pass }],
      ["of somebody's own making", one, "/ws/capture", fields, { "X-Cofre-For-Node": node, "X-Cofre-Person": claimed }],
      ["empty", one, "/ws/capture", fields, { "X-Cofre-For-Node": node, "X-Cofre-Person": "" }],
      [
        "beside a session of one's own, which does not count then",
        one,
        "/ws/capture",
        fields,
        { "X-Cofre-For-Node": node, "X-Cofre-Person": claimed, Cookie: operator.cookie, "X-Cofre-CSRF": operator.csrf },
      ],
    ];
    for (const [name, at_, path, given, headers] of tries) {
      assert.equal(codeOf(await ask(at_, path, given, headers)), "COFRE-124", name);
    }
    // Without the word that it was led it is no pass; at the other node it is for nobody.
    assert.equal(codeOf(await ask(one, "/ws/capture", fields, { "X-Cofre-Person": pass })), "BP-SA-1");
    assert.equal(codeOf(await ask(two, "/ws/capture", fields, { "X-Cofre-For-Node": node, "X-Cofre-Person": pass })), "COFRE-122");
    // A key counts more than what is said of a person, as beside a cookie.
    const byKey = await ask(
      one,
      "/ws/query",
      { hash, integration_key: integrationKey },
      { "X-Cofre-For-Node": node, "X-Cofre-Person": claimed },
    );
    assert.equal(codeOf(byKey), "BP-QRY-2");
    // Whoever says to have been led is not led on, and is who they are.
    const own = await operator.call("/ws/query", { hash }, { ...inWorld, "X-Cofre-For-Node": node });
    assert.equal(codeOf(own), "SUCCESS");
    const ends = (await entriesOf(admin)).slice(before).filter(({ act }) => act !== "looked");
    assert.deepEqual(ends, [], "nothing of it was anybody's act");
  });
}

if (testUrl === undefined) {
  test("people on several nodes", { skip: "COFRE_TEST_POSTGRES_URL names no server" }, () => undefined);
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("people on several nodes", () => describeNodes(databases));
}
