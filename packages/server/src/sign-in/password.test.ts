import assert from "node:assert/strict";
import { argon2Sync } from "node:crypto";
import { test } from "node:test";
import { SystemRandom } from "../kernel/system-random.ts";
import { createPasswords, holdsName, normalizedPassword } from "./password.ts";

const passwords = createPasswords({ random: new SystemRandom() });
const password = "correct horse battery staple";

/** The tag is too short to be valid. */
const cheap = "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$";

test("a hash says what it was made with, and opens for its password alone", async () => {
  const [hash, other] = await Promise.all([passwords.hash(password), passwords.hash(password)]);
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(hash, other, "each has a salt of its own");
  assert.equal(await passwords.matches(password, hash), true);
  assert.equal(await passwords.matches(`${password} `, hash), false);
  assert.equal(await passwords.matches("", hash), false);
  assert.equal(passwords.isOld(hash), false);
});

test("a weaker hash opens, and is old; a stronger one is not", async () => {
  const salt = Buffer.from("saltsaltsaltsalt");
  const phc = (memory: number, passes: number) => {
    const tag = argon2Sync("argon2id", {
      message: Buffer.from(password),
      nonce: salt,
      memory,
      passes,
      parallelism: 1,
      tagLength: 32,
    });
    const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64").replaceAll("=", "");
    return `$argon2id$v=19$m=${memory},t=${passes},p=1$${base64(salt)}$${base64(tag)}`;
  };
  for (const [memory, passes, isOld] of [
    [19_456, 1, true],
    [8_192, 2, true],
    [19_456, 3, false],
    [32_768, 2, false],
  ] as const) {
    const hash = phc(memory, passes);
    assert.equal(await passwords.matches(password, hash), true, hash);
    assert.equal(passwords.isOld(hash), isOld, hash);
  }
});

test("a text that is not a hash matches no password, and takes as long as one that is", async () => {
  const odd = [
    "",
    "x",
    cheap,
    "$argon2d$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  ];
  for (const each of [undefined, ...odd])
    assert.equal(await passwords.matches(password, each), false, String(each));
});

test("an unknown name costs what a known one costs", async () => {
  const hash = await passwords.hash(password);
  const millis = async (against: string | undefined): Promise<number> => {
    const times: number[] = [];
    for (let attempts = 0; attempts < 9; attempts += 1) {
      const before = process.cpuUsage();
      await passwords.matches("not the password", against);
      // CPU time of all threads of this process: other work on the machine does not affect it.
      const { user, system } = process.cpuUsage(before);
      times.push((user + system) / 1_000);
    }
    return times.toSorted((one, other) => one - other)[4] ?? 0;
  };
  const [unknown, known] = [await millis(undefined), await millis(hash)];
  assert.ok(unknown > known / 2 && unknown < known * 2, `${unknown} ms against ${known} ms`);
});

test("two are hashed at a time, sixteen wait, and the next one is turned away", async () => {
  const crowd = await Promise.allSettled(
    Array.from({ length: 30 }, () => passwords.matches(password, undefined)),
  );
  const turnedAway = crowd.flatMap((each) =>
    each.status === "rejected" ? [each.reason as unknown] : [],
  );
  assert.equal(turnedAway.length, 12);
  for (const error of turnedAway)
    assert.ok(error instanceof Error && "code" in error && error.code === "busy");
  // The queue is empty again.
  const later = await Promise.allSettled(
    Array.from({ length: 18 }, () => passwords.matches(password, undefined)),
  );
  assert.ok(later.every(({ status }) => status === "fulfilled"));
});

test("12 to 128 code points, in NFC", () => {
  assert.equal(normalizedPassword("x".repeat(11)), undefined);
  assert.equal(normalizedPassword("x".repeat(12)), "x".repeat(12));
  assert.equal(normalizedPassword("x".repeat(128)), "x".repeat(128));
  assert.equal(normalizedPassword("x".repeat(129)), undefined);
  assert.equal(normalizedPassword("💳".repeat(11)), undefined, "22 units are 11 code points");
  assert.equal(normalizedPassword("💳".repeat(128)), "💳".repeat(128));
  assert.equal(normalizedPassword("e\u0301".repeat(12)), "\u00e9".repeat(12));
  assert.equal(normalizedPassword("e\u0301".repeat(11)), undefined, "22 code points are 11 in NFC");
  assert.equal(normalizedPassword(`${"x".repeat(12)}\ud800`), undefined);
  assert.equal(normalizedPassword("x".repeat(10_000_000)), undefined);
  assert.equal(normalizedPassword(" ".repeat(12)), " ".repeat(12), "blanks are characters");
});

test("a name is found in it in any letter case, or is not in it", () => {
  assert.ok(holdsName("the BOB of all", "bob"));
  assert.ok(!holdsName("the rob of all", "bob"));
});
