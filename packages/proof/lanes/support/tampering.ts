import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Place, Row, Value } from "./tamper-database.ts";

/** Something that a program without the keys writes into the database. */
export interface Tampering {
  readonly name: string;
  readonly table: string;
  readonly statements: readonly string[];
  /** Why it may pass unnoticed; undefined: it is refused or raises an alarm. */
  readonly harmless?: string;
  /** A merchant's key is missing afterwards, so that a new one of the same name is made. */
  readonly losesKey?: boolean;
  /** Users sign in with their passwords too: those of a database with this tampering. */
  readonly signsIn?: boolean;
}

/** Columns without a MAC, and what that costs. */
const uncovered: Readonly<Record<string, string>> = {
  "account_key digest": "a key of the settings is added again at the start, others are unknown",
  "key_record made_entry": "tells other nodes of a new key of a merchant",
  "card no": "the order of the cards",
  "card last_used_at": "written at each use, without the key",
  "account_key no": "the order of the rows",
  "person no": "the order of the rows",
  "person name_key": "made of the name, and compared with it when a user is found by it",
  "person_session last_used_at": "written at each use, without the key",
  "identity epoch": "a larger number only changes the names of later messages",
  "identity beat": "counts up while a server runs",
  "identity is_copy": "marks a backup that was not served yet",
  "identity server": "names the database server",
};

const states = ["made", "current", "retired", "compromised", "destroyed"];
/** Other values of columns that hold one of a few words. */
const words: Readonly<Record<string, readonly string[]>> = {
  "key_record state": states,
  "key_record purpose": [
    "epoch",
    "merchant",
    "sign_in",
    "notifications",
    "nodes",
    "records",
    "tokens",
    "roots",
  ],
  "person role": ["viewer", "operator", "admin"],
  "person state": ["invited", "active", "disabled"],
  "account_key grants": ["secret", "public"],
};

export const tables = [
  "key_record",
  "card",
  "account_key",
  "person",
  "person_session",
  "identity",
] as const;

/** Each column of each row of these tables, with several values each. */
export async function everyColumn(
  { writer }: Place,
  only: readonly (typeof tables)[number][] = tables,
): Promise<readonly Tampering[]> {
  const all: Tampering[] = [];
  for (const table of only) {
    const rows = await writer.rows(table);
    for (const [index, row] of rows.entries()) {
      const others = rows.filter((each) => each !== row);
      for (const column of Object.keys(row))
        for (const [at, value] of otherValues(table, column, row, others).entries())
          all.push({
            name: `${table} ${nameOf(table, row, index)}: ${column}, value ${at + 1}`,
            table,
            statements: [
              `UPDATE ${table} SET ${column} = ${writer.literal(value)} WHERE ${writer.where(row)}`,
            ],
            ...harmlessIf(uncovered[`${table} ${column}`]),
            ...(table === "key_record" &&
            isMerchants(row) &&
            ["merchant", "version", "purpose"].includes(column)
              ? { losesKey: true }
              : {}),
          });
    }
  }
  return all;
}

function harmlessIf(reason: string | undefined): Pick<Tampering, "harmless"> {
  return reason === undefined ? {} : { harmless: reason };
}

/** Attacks of several columns, rows or tables, by an attacker who knows how the program works. */
export async function knownAttacks({ writer }: Place, other: Place): Promise<readonly Tampering[]> {
  const records = await writer.rows("key_record");
  const cards = await writer.rows("card");
  const people = await writer.rows("person");
  const merchants = records.filter(isMerchants);
  const [one, two] = merchants;
  const epoch = records.find((row) => row["purpose"] === "epoch");
  const tokens = records.find((row) => row["purpose"] === "tokens");
  const signIn = records.find((row) => row["purpose"] === "sign_in");
  const [card, sibling] = cards.filter((row) => sameBytes(row["merchant"], one?.["merchant"]));
  const foreign = cards.find((row) => !sameBytes(row["merchant"], one?.["merchant"]));
  assert.ok(one !== undefined && two !== undefined && epoch !== undefined);
  assert.ok(tokens !== undefined && signIn !== undefined);
  assert.ok(card !== undefined && sibling !== undefined && foreign !== undefined);
  const others = await other.writer.rows("key_record");
  const theirs = await other.writer.rows("card");
  const change = (table: string, row: Row, changed: Row): string =>
    `UPDATE ${table} SET ${Object.entries(changed)
      .map(([column, value]) => `${column} = ${writer.literal(value)}`)
      .join(", ")} WHERE ${writer.where(row)}`;
  const remove = (table: string, row: Row): string =>
    `DELETE FROM ${table} WHERE ${writer.where(row)}`;
  const insert = (table: string, row: Row): string =>
    `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.values(row)
      .map((value) => writer.literal(value))
      .join(", ")})`;
  const pick = (row: Row, ...columns: readonly string[]): Row =>
    Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
  const swap = (table: string, left: Row, right: Row, ...columns: readonly string[]) => [
    change(table, left, pick(right, ...columns)),
    change(table, { ...right }, pick(left, ...columns)),
  ];
  const attack = (
    name: string,
    table: string,
    statements: readonly string[],
    more: Partial<Tampering> = {},
  ): Tampering => ({ name, table, statements, ...more });
  const keyColumns = ["check_value", "wraps"] as const;
  const epochWraps = JSON.parse(String(epoch["wraps"])) as readonly (readonly [string, string])[];
  const root = epochWraps[0]?.[0] ?? "";
  const attackersWrap = (by: string): string =>
    JSON.stringify([[by, randomBytes(61).toString("hex")]]);
  const key = (merchant: Value): Row => ({
    ...one,
    merchant,
    mac: randomBytes(32),
    wraps: attackersWrap("epoch:1"),
    check_value: randomBytes(32),
  });
  return [
    attack(
      "the wraps of two merchants' keys are exchanged",
      "key_record",
      swap("key_record", one, two, "wraps"),
    ),
    attack(
      "the keys of two merchants are exchanged",
      "key_record",
      swap("key_record", one, two, ...keyColumns),
    ),
    attack(
      "the keys of two merchants are exchanged with their MACs",
      "key_record",
      swap("key_record", one, two, ...keyColumns, "mac", "created_at", "changed_at"),
    ),
    attack(
      "the keys of two purposes are exchanged",
      "key_record",
      swap("key_record", tokens, signIn, ...keyColumns),
    ),
    attack(
      "the keys of two purposes are exchanged with their MACs",
      "key_record",
      swap("key_record", tokens, signIn, ...keyColumns, "mac"),
    ),
    attack("a merchant gets the key of another one", "key_record", [
      change("key_record", one, pick(two, ...keyColumns, "mac")),
    ]),
    attack("a merchant's key is the key of a purpose", "key_record", [
      change("key_record", one, pick(tokens, ...keyColumns, "mac")),
    ]),
    attack("the records key is another purpose's", "key_record", [
      change(
        "key_record",
        records.find((row) => row["purpose"] === "records") ?? one,
        pick(tokens, ...keyColumns, "mac"),
      ),
    ]),
    attack("a second epoch of the attacker is current", "key_record", [
      change("key_record", epoch, { state: "retired" }),
      insert("key_record", {
        ...epoch,
        version: 2,
        wraps: attackersWrap(root),
        check_value: randomBytes(32),
        mac: randomBytes(32),
      }),
    ]),
    attack("a second epoch of the attacker is made and not used yet", "key_record", [
      insert("key_record", {
        ...epoch,
        version: 2,
        state: "made",
        wraps: attackersWrap(root),
        check_value: randomBytes(32),
        mac: randomBytes(32),
      }),
    ]),
    attack("a second epoch is a copy of the first", "key_record", [
      insert("key_record", { ...epoch, version: 2, state: "made" }),
    ]),
    attack("the epoch is wrapped by the attacker's root", "key_record", [
      change("key_record", epoch, { wraps: attackersWrap("attacker") }),
    ]),
    attack("the epoch has another wrap, for the attacker's recovery key", "key_record", [
      change("key_record", epoch, {
        wraps: JSON.stringify([
          ...epochWraps,
          ["recovery:attacker", randomBytes(61).toString("hex")],
        ]),
      }),
    ]),
    attack("a merchant's second key is the attacker's", "key_record", [
      change("key_record", one, { state: "retired" }),
      insert("key_record", { ...key(one["merchant"] ?? null), version: 2 }),
    ]),
    attack("a merchant's second key is a copy of the first", "key_record", [
      change("key_record", one, { state: "retired" }),
      insert("key_record", { ...one, version: 2 }),
    ]),
    attack("a key for a merchant that has none is the attacker's", "key_record", [
      remove("key_record", one),
      insert("key_record", key(one["merchant"] ?? null)),
    ]),
    ...records
      .filter((row) => !isMerchants(row))
      .map((row) =>
        attack(
          `the record of ${String(row["purpose"])} is deleted`,
          "key_record",
          [remove("key_record", row)],
          // What the settings do not name is not in the new one.
          harmlessIf(row["purpose"] === "roots" ? "it is made again from the settings" : undefined),
        ),
      ),
    attack("a merchant's key record is deleted", "key_record", [remove("key_record", one)], {
      losesKey: true,
    }),
    attack(
      "all merchants' key records are deleted",
      "key_record",
      merchants.map((row) => remove("key_record", row)),
      { losesKey: true },
    ),
    attack("all key records are deleted", "key_record", ["DELETE FROM key_record"], {
      losesKey: true,
    }),
    attack("the cards of a merchant are exchanged", "card", swap("card", card, sibling, "ref")),
    attack(
      "the cards of a merchant are exchanged with their MACs",
      "card",
      swap("card", card, sibling, "ref", "mac", "brand", "masked_pan", "created_at"),
    ),
    attack("a card is another merchant's", "card", [change("card", card, pick(foreign, "ref"))]),
    attack("a card is another merchant's with its MAC", "card", [
      change("card", card, pick(foreign, "ref", "mac", "brand", "masked_pan", "created_at")),
    ]),
    attack("a card is moved to another merchant", "card", [
      change("card", foreign, pick(card, "merchant")),
    ]),
    attack("a card is deleted", "card", [remove("card", card)], {
      harmless: "its token is unknown then, as after a deletion",
    }),
    attack("a card without a MAC is inserted", "card", [change("card", card, { mac: null })]),
    // The other installation has the same root key.
    ...others.map((row) => {
      const own = records.find(
        (each) =>
          each["purpose"] === row["purpose"] && sameBytes(each["merchant"], row["merchant"]),
      );
      return attack(
        `the key record ${String(row["purpose"])} is another installation's with the same root key`,
        "key_record",
        own === undefined ? [insert("key_record", row)] : [change("key_record", own, row)],
        own === undefined ? { harmless: "a merchant who does not exist here" } : {},
      );
    }),
    attack("all key records are another installation's with the same root key", "key_record", [
      "DELETE FROM key_record",
      ...others.map((row) => insert("key_record", row)),
    ]),
    ...theirs.flatMap((row, index) => [
      attack(`card ${index + 1} of another installation is moved here`, "card", [
        change("card", card, pick(row, "ref", "version")),
      ]),
      attack(`card ${index + 1} of another installation is moved here with its MAC`, "card", [
        change(
          "card",
          card,
          pick(row, "ref", "version", "mac", "brand", "masked_pan", "created_at"),
        ),
      ]),
    ]),
    ...people.flatMap((row, index) => {
      const admin = people.find((each) => each["role"] === "admin");
      const password = pick(admin ?? row, "passwords", "totp", "totp_step");
      return row === admin
        ? []
        : [
            attack(
              `user ${index + 1} becomes an admin`,
              "person",
              [change("person", row, { role: "admin" })],
              { signsIn: true },
            ),
            attack(
              `user ${index + 1} has the admin's password`,
              "person",
              [change("person", row, password)],
              { signsIn: true },
            ),
            attack(
              `user ${index + 1} has the admin's row but the name`,
              "person",
              [
                change("person", row, {
                  ...password,
                  ...pick(admin ?? row, "role", "state", "mac", "version"),
                }),
              ],
              { signsIn: true },
            ),
            attack(
              `user ${index + 1} has no MAC`,
              "person",
              [change("person", row, { mac: null })],
              { signsIn: true },
            ),
          ];
    }),
    attack("every session is the admin's", "person_session", [
      `UPDATE person_session SET person = (SELECT id FROM person WHERE role = 'admin')`,
    ]),
    attack("public keys charge cards", "account_key", [
      "UPDATE account_key SET grants = 'secret', mac = NULL",
    ]),
    attack("every key is the second merchant's", "account_key", [
      `UPDATE account_key SET account = ${writer.literal(two["merchant"] ?? null)}`,
    ]),
    attack("the installation id is another installation's", "identity", [
      `UPDATE identity SET keys = ${writer.literal((await other.writer.rows("identity"))[0]?.["keys"] ?? null)}`,
    ]),
  ];
}

/** A merchant's key record. */
function isMerchants(row: Row): boolean {
  return row["purpose"] === "merchant";
}

function nameOf(table: string, row: Row, index: number): string {
  return table === "key_record" ? `${String(row["purpose"])} (${index + 1})` : String(index + 1);
}

function otherValues(
  table: string,
  column: string,
  row: Row,
  others: readonly Row[],
): readonly Value[] {
  const value = row[column] ?? null;
  const known = words[`${table} ${column}`];
  const foreign = others.map((each) => each[column] ?? null).filter((each) => !isSame(each, value));
  const values: Value[] =
    known === undefined ? [...foreign.slice(0, 2), ...inventedFor(value)] : [...known];
  if (value !== null) values.push(null);
  const seen = new Set([textOf(value)]);
  return values.filter((each) => !seen.has(textOf(each)) && seen.add(textOf(each)) !== undefined);
}

function inventedFor(value: Value): readonly Value[] {
  if (value === null) return [1, Buffer.alloc(32, 7)];
  if (typeof value === "number") return [value + 1, value - 1, 0, value + 1_000_000];
  if (value instanceof Uint8Array) {
    const flipped = (at: number): Uint8Array =>
      value.map((byte, index) => (index === at ? byte ^ 1 : byte));
    return [
      flipped(0),
      flipped(value.length >> 1),
      flipped(value.length - 1),
      value.map(() => 0),
      value.subarray(0, -1),
      Uint8Array.from(randomBytes(value.length)),
    ];
  }
  if (!value.startsWith("[[")) return [`${value}x`, value.slice(1), "attacker"];
  const [[root, hex], ...rest] = JSON.parse(value) as [[string, string], ...[string, string][]];
  const flipped = `${hex.slice(0, -2)}${hex.endsWith("00") ? "01" : "00"}`;
  return [
    [],
    [[root, flipped], ...rest],
    [["epoch:2", hex], ...rest],
    [["attacker", hex], ...rest],
    [[root, hex], ["attacker", hex], ...rest],
    [["attacker", flipped], [root, hex], ...rest],
  ].map((wraps) => JSON.stringify(wraps));
}

function sameBytes(left: Value | undefined, right: Value | undefined): boolean {
  return (
    left instanceof Uint8Array && right instanceof Uint8Array && Buffer.compare(left, right) === 0
  );
}

function isSame(left: Value, right: Value): boolean {
  return textOf(left) === textOf(right);
}

function textOf(value: Value): string {
  return value instanceof Uint8Array ? `x${Buffer.from(value).toString("hex")}` : String(value);
}
