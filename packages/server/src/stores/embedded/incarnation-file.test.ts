import assert from "node:assert/strict";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { placeBy, placeOf } from "./incarnation-file.ts";
import { until } from "../../../test/until.ts";

describe("the place of a database", () => {
  const born = { ino: 7n, birthtimeNs: 1_000n, ctimeNs: 2_000n };
  const unchanged = (): never => assert.fail("the file is left alone");

  // Each commit changes the time of the last change: every start took the database for another one
  // and started an incarnation.
  test("is not taken from the time of the last change, which Node gives where a file system has no time of birth", () => {
    let changedAt = 1_000n;
    const place = placeBy(
      () => ({ ino: 7n, birthtimeNs: changedAt, ctimeNs: changedAt }),
      () => (changedAt += 1n),
    );
    assert.equal(place, undefined);
  });

  test("is taken from the time of birth, also for a copy that was not changed yet", () => {
    assert.equal(
      placeBy(() => born, unchanged),
      "7/1000",
    );
    let changedAt = 1_000n;
    const place = placeBy(
      () => ({ ...born, ctimeNs: changedAt }),
      () => (changedAt += 1n),
    );
    assert.equal(place, "7/1000");
  });

  test("is unknown where the system numbers no files, gives no time, or its clock has not moved on since", () => {
    assert.equal(
      placeBy(() => ({ ...born, ino: 0n }), unchanged),
      undefined,
    );
    assert.equal(
      placeBy(() => ({ ...born, birthtimeNs: 0n }), unchanged),
      undefined,
    );
    assert.equal(
      placeBy(() => ({ ...born, birthtimeNs: -1n }), unchanged),
      undefined,
    );
    assert.equal(
      placeBy(
        () => ({ ...born, ctimeNs: born.birthtimeNs }),
        () => undefined,
      ),
      undefined,
    );
  });

  test("is the same after changes and under another name, and another one for a copy", async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-place-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const [file, copy, moved] = [join(folder, "a"), join(folder, "b"), join(folder, "c")];
    writeFileSync(file, "1", { mode: 0o600 });
    await until("the file has a place", () => placeOf(file) !== undefined, { everyMs: 1 });
    const place = placeOf(file);
    appendFileSync(file, "2");
    cpSync(file, copy);
    await until("the copy has a place", () => placeOf(copy) !== undefined, { everyMs: 1 });
    renameSync(file, moved);
    assert.equal(placeOf(moved), place);
    assert.notEqual(placeOf(copy), place);
    assert.equal(statSync(moved).mode & 0o777, 0o600);
  });
});
