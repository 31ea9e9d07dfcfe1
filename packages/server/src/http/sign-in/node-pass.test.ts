import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "../../../test/office.ts";
import { sha256Hex } from "../../kernel/digest.ts";
import { instant, laterBy, minute, second } from "../../kernel/instant.ts";
import type { SignedIn } from "../../sign-in/users.ts";
import type { PersonId } from "../../user/user.ts";
import { createMemoryKeyProvider } from "../../vault/memory-key-provider.ts";
import { createSealing } from "../../vault/sealed-secret.ts";
import { NodePasses, type Passenger, type PassedRequest } from "./node-pass.ts";

const start = instant(Date.UTC(2026, 10, 28, 12));
const signedIn: SignedIn = {
  person: {
    id: "0123456789abcdef" as PersonId,
    name: "Olga",
    role: "operator",
    state: "active",
    createdAt: start,
    lastSignedInAt: start,
    lockedUntil: undefined,
  },
  csrf: "what no other node has to know",
  idleUntil: laterBy(start, 15 * minute),
  endsAt: laterBy(start, 60 * minute),
};
const passenger: Passenger = { signedIn, origin: "198.51.100.7", account: "0a1b2c3d" };
const request: PassedRequest = { method: "POST", target: "/ws/capture", digest: sha256Hex('{"hash":"x"}') };

/** Nodes of one installation, and a stranger's with keys of its own. */
function newNodes() {
  let now = start;
  const clock = { now: () => now };
  const own = createSealing({ provider: createMemoryKeyProvider(random), random });
  const node = (name: string, sealing = own, environment = "sandbox") =>
    new NodePasses({ sealing, environment, node: name, clock, random });
  const foreign = createSealing({ provider: createMemoryKeyProvider(random), random });
  return {
    one: node("one"),
    two: node("two"),
    stranger: node("one", foreign),
    production: node("one", own, "production"),
    again: () => node("two"),
    advance: (ms: number) => {
      now = laterBy(now, ms);
    },
    sealing: own,
  };
}

describe("a pass", () => {
  test("says to the node that it is for who is signed in, where, and for which account; and nothing that proves a session", async () => {
    const { one, two } = newNodes();
    const read = await two.read(await one.write("two", request, passenger), request);
    const { lockedUntil: _, ...person } = signedIn.person;
    assert.deepEqual(read, { ...passenger, signedIn: { ...signedIn, csrf: sha256Hex(signedIn.csrf), person } });
    const none = { method: "GET", target: "/__cofre/worlds", digest: sha256Hex("") } as const;
    assert.equal((await two.read(await one.write("two", none, { ...passenger, account: undefined }), none))?.account, undefined);
  });

  test("is good once, for that node as it runs, that method, target and body, and for a minute", async () => {
    const { one, two, again, advance } = newNodes();
    const written = () => one.write("two", request, passenger);
    const once = await written();
    assert.notEqual(await two.read(once, request), undefined);
    assert.equal(await two.read(once, request), undefined, "again");
    for (const other of [
      { ...request, method: "GET" as const },
      { ...request, target: "/ws/refund" },
      { ...request, target: "/ws/capture?amount=1" },
      { ...request, digest: sha256Hex('{"hash":"y"}') },
    ]) {
      assert.equal(await two.read(await written(), other), undefined, JSON.stringify(other));
    }
    assert.equal(await one.read(await written(), request), undefined, "at another node");
    const late = await written();
    advance(minute);
    assert.equal(await two.read(late, request), undefined, "late");
    const ahead = await written();
    advance(-minute);
    assert.equal(await two.read(ahead, request), undefined, "from a time to come");
    assert.notEqual(await again().read(await written(), request), undefined, "control");
  });

  test("is in the letters of base64url alone, and no longer than fits a header", async () => {
    const { one, two } = newNodes();
    const pass = await one.write("two", request, passenger);
    // All of them decode to the same bytes.
    for (const text of ["", `${pass}=`, `${pass}.`, `.${pass}`, ` ${pass}`, `${pass}\n`])
      assert.equal(await two.read(text, request), undefined);
    const longest = await one.write("two", request, { ...passenger, origin: "x".repeat(5_000) });
    assert.ok(longest.length < 8_192);
    assert.equal((await two.read(longest, request))?.origin.length, 5_000);
    const longer = await one.write("two", request, { ...passenger, origin: "x".repeat(6_000) });
    assert.ok(longer.length > 8_192);
    assert.equal(await two.read(longer, request), undefined);
    assert.ok((await two.read(pass, request)) !== undefined, "it was not used up");
  });

  test("that was used is remembered for as long as it could be good", async () => {
    const { one, two, advance } = newNodes();
    const pass = await one.write("two", request, passenger);
    advance(1 - minute);
    assert.notEqual(await two.read(pass, request), undefined, "written by a clock that is a minute ahead");
    for (let step = 0; step < 12; step += 1) {
      advance(10 * second);
      assert.equal(await two.read(pass, request), undefined, `${step}`);
      assert.notEqual(await two.read(await one.write("two", request, passenger), request), undefined, "others are good");
    }
  });

  test("of another installation, another use of the keys, or altered in any byte, lets nobody in", async () => {
    const { one, two, stranger, production, sealing } = newNodes();
    assert.equal(await two.read(await stranger.write("two", request, passenger), request), undefined);
    assert.equal(await two.read(await production.write("two", request, passenger), request), undefined);
    const other = await sealing.seal(
      Buffer.from(JSON.stringify({ at: start, nonce: "x", request, ...passenger })),
      "sandbox/people/0123456789abcdef",
    );
    assert.equal(await two.read(Buffer.from(other).toString("base64url"), request), undefined);
    const pass = Buffer.from(await one.write("two", request, passenger), "base64url");
    for (let place = 0; place < pass.length; place += 1) {
      const altered = Buffer.from(pass);
      altered[place] = (altered[place] ?? 0) ^ 1;
      assert.equal(await two.read(altered.toString("base64url"), request), undefined, `byte ${place}`);
      assert.equal(await two.read(pass.subarray(0, place).toString("base64url"), request), undefined, `cut at ${place}`);
    }
    const claims = Buffer.from(JSON.stringify({ at: start, nonce: "x", request, ...passenger })).toString("base64url");
    for (const odd of ["", "x", "=", " ", claims, "A".repeat(8_192), "A".repeat(1_000_000)])
      assert.equal(await two.read(odd, request), undefined);
    assert.notEqual(await two.read(pass.toString("base64url"), request), undefined, "control");
  });
});
