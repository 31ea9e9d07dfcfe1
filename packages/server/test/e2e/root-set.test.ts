import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import type { LogEvent } from "../../src/logging/log-event.ts";
import { recoverableKeyOf } from "../../src/vault/recovery/recovery-wraps.ts";
import { startTestServer } from "../server.ts";
import { earlierFolder } from "./earlier-installation.ts";
import { newFolder, newRecoveryKey, type RecoveryKeyOfTest } from "../support/recovery.ts";

type Environment = Readonly<Record<string, string>>;
type SetEvent = Extract<LogEvent, { readonly event: "root_keys" | "root_keys_changed" }>;

/** Starts and ends a server; what its log says about the set of root keys. */
async function startOnce(environment: Environment, seed = "own"): Promise<SetEvent> {
  await using server = await startTestServer({ environment, seed });
  const events = server.events.filter(
    (each): each is SetEvent => each.event === "root_keys" || each.event === "root_keys_changed",
  );
  const [event] = events;
  assert.ok(event !== undefined && events.length === 1);
  return event;
}

/** What a program does that writes the database: nothing in it holds it back. */
function attack(directory: string, write: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(join(directory, "cofre.db"));
  for (const name of ["moves_on", "is_kept", "is_not_replaced"])
    database.exec(`DROP TRIGGER IF EXISTS key_record_${name}`);
  write(database);
  database.close();
}

/** Fingerprints of the recovery keys for which the epoch keys in a database are sealed. */
function sealedFor(directory: string): readonly (string | undefined)[] {
  const database = new DatabaseSync(join(directory, "cofre.db"), { readOnly: true });
  const rows = database.prepare("SELECT wraps FROM key_record WHERE purpose = 'epoch'").all();
  database.close();
  return rows
    .flatMap(({ wraps }) => JSON.parse(String(wraps)) as [string, string][])
    .map(([, bytes]) => recoverableKeyOf(Buffer.from(bytes, "hex"))?.recoveryKey);
}

function environmentFor(
  directory: string,
  key: RecoveryKeyOfTest | undefined,
  pins = "",
): Environment {
  return {
    COFRE_DATA_DIR: directory,
    ...key?.environment,
    ...(pins === "" ? {} : { COFRE_ROOT_KEYS_FINGERPRINT: pins }),
  };
}

const pinned = /has the fingerprint [0-9a-f]{64}, which is not in COFRE_ROOT_KEYS_FINGERPRINT/;

describe("the set of root keys", () => {
  test("is stored by the first start, logged by each, and changed only as the configuration allows", async (context) => {
    const [one, other] = [await newRecoveryKey(context), await newRecoveryKey(context)];
    const directory = join(newFolder(context), "data");
    const first = await startOnce(environmentFor(directory, one));
    assert.deepEqual([first.version, first.recoveryKey], [1, one.fingerprint]);
    const pin = first.fingerprint;
    const again = await startOnce(environmentFor(directory, one, pin));
    assert.deepEqual({ ...again, event: "" }, { ...first, event: "" });
    assert.equal(again.event, "root_keys");

    await assert.rejects(startOnce(environmentFor(directory, one, "0".repeat(64))), {
      message: pinned,
    });
    // Another recovery key, which the pinned fingerprint does not allow.
    const refused = startOnce(environmentFor(directory, other, pin));
    await assert.rejects(refused, { message: pinned });
    assert.deepEqual(sealedFor(directory), [one.fingerprint]);
    // The error has the fingerprint that allows it.
    const message = String(await refused.catch((error: unknown) => error));
    const [next = ""] = /[0-9a-f]{64}(?=, which)/.exec(message) ?? [];
    const changed = await startOnce(environmentFor(directory, other, `${pin}, ${next}`));
    assert.deepEqual(
      [changed.event, changed.version, changed.fingerprint, changed.recoveryKey],
      ["root_keys_changed", 2, next, other.fingerprint],
    );
    assert.deepEqual(sealedFor(directory), [other.fingerprint]);
  });

  test("gives a program that writes the database nothing: not by another set, an older one, or none", async (context) => {
    const [own, later, foreign] = [
      await newRecoveryKey(context),
      await newRecoveryKey(context),
      await newRecoveryKey(context),
    ];
    const folder = newFolder(context);
    const directory = join(folder, "data");
    await startOnce(environmentFor(directory, own));
    const older = join(folder, "older");
    cpSync(directory, older, { recursive: true });
    const { fingerprint, version } = await startOnce(environmentFor(directory, later));
    assert.equal(version, 2);
    // The attacker's own installation, with a recovery key whose shares he has.
    const theirs = join(folder, "theirs");
    await startOnce(environmentFor(theirs, foreign), "theirs");

    const from = (place: string, version: number) => (database: DatabaseSync) => {
      database.exec(`ATTACH '${join(place, "cofre.db")}' AS source`);
      database.exec("DELETE FROM key_record WHERE purpose = 'roots'");
      database.exec(
        `INSERT INTO key_record SELECT * FROM source.key_record WHERE purpose = 'roots' AND version = ${version}`,
      );
    };
    const altered = /does not fit/;
    const attacks: Readonly<
      Record<
        string,
        {
          readonly write: (database: DatabaseSync) => void;
          readonly refusal?: RegExp;
          /** With a pinned fingerprint only. */
          readonly pinnedRefusal?: RegExp;
        }
      >
    > = {
      "a set of another installation": { write: from(theirs, 1), refusal: altered },
      "an altered set": {
        write: (database) =>
          database.exec(
            "UPDATE key_record SET wraps = replace(wraps, 'a', 'b') WHERE purpose = 'roots' AND state = 'current'",
          ),
        refusal: altered,
      },
      "another wrap of the epoch key": {
        write: (database) =>
          database.exec(
            `UPDATE key_record SET wraps = json_insert(wraps, '$[#]', json_array('aws-kms:attacker', '00')) WHERE purpose = 'epoch'`,
          ),
        refusal: altered,
      },
      "the set destroyed": {
        write: (database) =>
          database.exec(
            "UPDATE key_record SET state = 'destroyed', wraps = '[]' WHERE purpose = 'roots'",
          ),
        refusal: altered,
      },
      "only the set before": {
        write: (database) =>
          database.exec("DELETE FROM key_record WHERE purpose = 'roots' AND version = 2"),
        refusal: /none that is current/,
      },
      // The start changes it to the set of the configuration again, which has the same fingerprint.
      "an older set": { write: from(older, 1) },
      "no set": {
        write: (database) => database.exec("DELETE FROM key_record WHERE purpose = 'roots'"),
        pinnedRefusal: pinned,
      },
    };
    for (const [name, { write, refusal, pinnedRefusal = refusal }] of Object.entries(attacks))
      await context.test(name, async (each) => {
        const copy = join(newFolder(each), "data");
        cpSync(directory, copy, { recursive: true });
        attack(copy, write);
        const outcomes = [
          [environmentFor(copy, later, fingerprint), pinnedRefusal],
          [environmentFor(copy, later), refusal],
        ] as const;
        for (const [environment, expected] of outcomes)
          if (expected === undefined) await startOnce(environment);
          else await assert.rejects(startOnce(environment), { message: expected });
        // The configuration decides what keys are sealed for.
        const recoveryKeys = sealedFor(copy).filter((sealed) => sealed !== undefined);
        assert.deepEqual(recoveryKeys, [later.fingerprint]);
      });
    // Control: the same copy without an attack starts.
    assert.equal(
      (await startOnce(environmentFor(directory, later, fingerprint))).event,
      "root_keys",
    );
  });

  test("cannot be pinned where keys are files", async (context) => {
    await assert.rejects(
      startOnce(environmentFor(earlierFolder(context), undefined, "0".repeat(64))),
      { message: /COFRE_ROOT_KEYS_FINGERPRINT needs an installation that keeps its keys/ },
    );
  });
});
