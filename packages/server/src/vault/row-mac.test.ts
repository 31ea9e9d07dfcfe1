import assert from "node:assert/strict";
import { createHmac, createSecretKey, hash } from "node:crypto";
import { describe, test } from "node:test";
import { type EarlierRows, type RowField, rowKinds, RowMacs } from "./row-mac.ts";

const keyOf = (installation: string) => (label: string) =>
  createSecretKey(hash("sha256", `${installation} ${label}`, { outputEncoding: "buffer" }));
const macsOf = (installation = "here", earlier: EarlierRows = "none") =>
  new RowMacs(keyOf(installation), { earlier, lastUnkeyedEntry: 0 });

describe("the MAC of a row", () => {
  test("is accepted for the same fields of the same kind alone, under the keys of this installation", () => {
    const fields = ["0a0b0c0d", 7, Uint8Array.of(1, 2)];
    for (const kind of rowKinds) {
      const mac = macsOf().of(kind, fields);
      assert.equal(mac.length, 32);
      for (const other of rowKinds)
        assert.equal(macsOf().accepts(other, fields, mac), other === kind, `${kind} as ${other}`);
      assert.equal(macsOf("elsewhere").accepts(kind, fields, mac), false);
      for (const at of [0, 31]) {
        const altered = Uint8Array.from(mac);
        altered[at] = (altered[at] ?? 0) ^ 1;
        assert.equal(macsOf().accepts(kind, fields, altered), false, `byte ${at}`);
      }
      assert.equal(macsOf().accepts(kind, fields, mac.subarray(1)), false);
    }
  });

  test("distinguishes rows whose fields hold the same bytes in another division, order or number", () => {
    const rows: readonly (readonly RowField[])[] = [
      ["ab", "c"],
      ["a", "bc"],
      ["abc"],
      ["abc", ""],
      ["", "abc"],
      ["c", "ab"],
      ["abc", undefined],
      [undefined, "abc"],
      ["abc", Uint8Array.of(0xff, 0xff, 0xff, 0xff)],
      [1, 23],
      [12, 3],
      [],
    ];
    const macs = rows.map((fields) => Buffer.from(macsOf().of("person", fields)).toString("hex"));
    assert.equal(new Set(macs).size, rows.length);
  });

  test("has the bytes that earlier rows were written with", () => {
    const mac = macsOf().of("card", [
      "0a0b0c0d",
      7,
      Uint8Array.of(1, 2, 255),
      undefined,
      "José ☂",
      0,
      "",
    ]);
    assert.equal(
      Buffer.from(mac).toString("hex"),
      "4e6065745eefd79719b9fda7d64634c9c90451c63f47f3062d6b03d11a65afd9",
    );
  });

  test("is HMAC-SHA-256 over each field with its length before it, for rows of every length and one after another", () => {
    const macs = macsOf();
    for (const length of [0, 1, 2_039, 2_040, 2_041, 700, 5_000, 3]) {
      for (const text of ["x", "é", "☂", "\ud800"].map((character) => character.repeat(length))) {
        const fields: readonly RowField[] = [
          text,
          length,
          undefined,
          Uint8Array.from({ length }, (_, index) => index % 256),
        ];
        const hmac = createHmac("sha256", keyOf("here")("row-mac 1 card"));
        for (const field of fields) {
          const bytes = field instanceof Uint8Array ? field : Buffer.from(String(field ?? ""));
          const before = Buffer.alloc(4);
          before.writeUInt32BE(field === undefined ? 0xffff_ffff : bytes.length);
          hmac.update(before).update(bytes);
        }
        assert.equal(
          Buffer.from(macs.of("card", fields)).toString("hex"),
          hmac.digest("hex"),
          `${length} of ${text.slice(0, 1)}`,
        );
      }
    }
  });

  test("may be missing while rows of earlier versions may be there, and never be wrong", () => {
    for (const [earlier, isAccepted] of [
      ["none", false],
      ["read", true],
      ["written", true],
    ] as const) {
      const macs = macsOf("here", earlier);
      assert.equal(macs.accepts("person", ["ana"], undefined), isAccepted, earlier);
      assert.equal(macs.accepts("person", ["ana"], macs.of("person", ["bea"])), false, earlier);
      assert.equal(macs.accepts("person", ["ana"], new Uint8Array(0)), false, earlier);
    }
  });
});
