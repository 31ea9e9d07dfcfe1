import assert from "node:assert/strict";
import { test } from "node:test";
import { day, hour, instant, laterBy } from "../kernel/instant.ts";
import { type AlarmFacts, alarmChecks } from "./alarm-checks.ts";
import { findingsOf } from "./check.ts";

const now = instant(Date.UTC(2026, 10, 30));
const sound: AlarmFacts = {
  now,
  certificateEndsAt: laterBy(now, 14 * day),
  activeAdmins: 2,
  backupAt: laterBy(now, -26 * hour),
  drilledAt: laterBy(now, -366 * day),
  epochKeyAt: laterBy(now, -366 * day),
};

function alarmsAt(facts: AlarmFacts): readonly string[] {
  return findingsOf(alarmChecks, facts).flatMap(({ name, fault }) =>
    fault === undefined ? [] : [name],
  );
}

test("an alarm is raised from the limit on, for each check alone", () => {
  assert.deepEqual(alarmsAt(sound), []);
  const rows: readonly (readonly [name: string, change: Partial<AlarmFacts>])[] = [
    ["certificate_ends", { certificateEndsAt: laterBy(now, 14 * day - 1) }],
    ["certificate_ends", { certificateEndsAt: laterBy(now, -day) }],
    ["admins", { activeAdmins: 1 }],
    ["backup", { backupAt: laterBy(now, -26 * hour - 1) }],
    ["backup", { backupAt: undefined }],
    ["recovery_drill", { drilledAt: laterBy(now, -366 * day - 1) }],
    ["recovery_drill", { drilledAt: undefined }],
    ["epoch_key", { epochKeyAt: laterBy(now, -366 * day - 1) }],
  ];
  for (const [name, change] of rows)
    assert.deepEqual(alarmsAt({ ...sound, ...change }), [name], JSON.stringify(change));
  assert.deepEqual(
    [...new Set(rows.map(([name]) => name))],
    alarmChecks.map(({ name }) => name),
    "every check has a row",
  );
});

test("without a certificate or a console there is nothing to raise", () => {
  assert.deepEqual(
    alarmsAt({ ...sound, certificateEndsAt: undefined, activeAdmins: undefined }),
    [],
  );
});

test("every alarm of an installation is raised ten years later, and its texts are sentences", () => {
  const later = findingsOf(alarmChecks, {
    ...sound,
    activeAdmins: 0,
    now: laterBy(now, 3_653 * day),
  });
  for (const { name, rule, fault, remedy } of later)
    for (const text of [rule, fault ?? "", remedy]) assert.match(text, /^[A-Z].*\.$/, name);
});
