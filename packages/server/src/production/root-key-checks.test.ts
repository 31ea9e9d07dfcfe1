import assert from "node:assert/strict";
import { test } from "node:test";
import { findingsOf } from "./check.ts";
import { rootKeyChecks, type StatedRootKey } from "./root-key-checks.ts";

const unstated = { protection: undefined, isExtractable: undefined };

function faultsOf(stated: StatedRootKey): readonly string[] {
  return findingsOf(rootKeyChecks, stated).flatMap(({ name, fault }) =>
    fault === undefined ? [] : [name],
  );
}

test("a token that is a program is refused, by its protection or its name", () => {
  const rows = [
    { protection: "software" },
    { maker: "SoftHSM project" },
    { model: "SoftHSM v2" },
  ] as const;
  for (const row of rows)
    assert.deepEqual(faultsOf({ kind: "pkcs11", ...unstated, ...row }), ["software_token"]);
  assert.deepEqual(faultsOf({ kind: "pkcs11", ...unstated, maker: "Example HSM", model: "3" }), []);
  // The program of transit is a service on another machine.
  assert.deepEqual(faultsOf({ kind: "transit", ...unstated, protection: "software" }), []);
});

test("a root key that can be read out is refused, in any service", () => {
  for (const kind of ["transit", "aws-kms", "pkcs11"]) {
    assert.deepEqual(faultsOf({ kind, ...unstated, isExtractable: true }), [
      "extractable_root_key",
    ]);
    assert.deepEqual(faultsOf({ kind, ...unstated, isExtractable: false }), []);
    assert.deepEqual(faultsOf({ kind, ...unstated }), []);
  }
});
