import { ownValue } from "../kernel/own.ts";
import { auditBeginning, type AuditHead, follows } from "../user/audit-chain.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { balancesOf, type Balance } from "../ledger/balances.ts";
import { entriesFromText } from "../stores/rows.ts";
import {
  tableOf,
  type TransferBalance,
  type TransferKind,
  transferKinds,
  type TransferRow,
  type TransferSide,
  type TransferSource,
  type TransferTarget,
} from "../stores/transfer.ts";
import type { CardOwner, Vault } from "../vault/vault.ts";
import type { MoveCounts, Report } from "./report.ts";

/** The first difference of two sides, in words that quote nothing chosen by a merchant. */
export class Difference extends Error {
  override readonly name = "Difference";
  readonly kind: TransferKind;

  constructor(kind: TransferKind, what: string) {
    super(`${kind}: ${what}`);
    this.kind = kind;
  }
}

export interface CompareOptions {
  readonly source: TransferSource;
  readonly target: TransferTarget;
  readonly vault: Vault;
  /** Approximate number of cards to open on both sides, spread evenly; all if there are no more. */
  readonly cards: number;
  readonly report: Report;
}

export interface Compared {
  readonly counts: MoveCounts;
  /** Number of ledger accounts, by merchant and currency. */
  readonly balances: number;
  readonly cardsOpened: number;
}

/**
 * Reads both sides completely, row by row, and rejects with Difference if any column differs. The
 * ledger's balances are summed twice: from the source's rows by Cofre's own reader, and in the
 * target by its view. Cards are decrypted with the installation's keys from the rows of each side;
 * their digits are compared as bytes and wiped. The hash chain of the audit log is verified up to
 * its recorded head.
 */
export async function compare(options: CompareOptions): Promise<Compared> {
  const { source, target, cards, report } = options;
  const counts: Partial<Record<TransferKind, number>> = {};
  const ledger = new Map<string, readonly Balance[]>();
  let cardsOpened = 0;
  let auditHead: AuditHead = auditBeginning;
  for (const kind of transferKinds) {
    const [of, there] = [await source.count(kind), await target.count(kind)];
    if (kind === "identity") {
      // Each start changes it, even if nothing else in the installation changes.
      counts[kind] = of;
      continue;
    }
    if (of !== there)
      throw new Difference(kind, `${of} rows in the file, ${there} in the database`);
    const each = Math.max(1, Math.ceil(of / cards));
    let rows = 0;
    for await (const pairs of pairsOf(kind, source, target)) {
      for (const [row, other] of pairs) {
        if (kind === "history") addTo(ledger, row);
        if (kind === "audit_entry") auditHead = nextOf(auditHead, row);
        if (kind === "audit_head" && !isHead(auditHead, row))
          throw new Difference(kind, "entries are missing at the end of the audit log");
        if (kind === "card" && rows % each === 0) {
          await openBoth(options.vault, row, other);
          cardsOpened += 1;
        }
        rows += 1;
      }
      report({ step: "compare", kind, rows, of });
    }
    if (rows !== of)
      throw new Difference(
        kind,
        `${of} rows in the file, of which ${rows} belong to something that is there`,
      );
    counts[kind] = rows;
  }
  if (auditHead.number > 0 && counts.audit_head === 0)
    throw new Difference("audit_head", "the end of the audit log is not noted");
  const balances = compareBalances(ledger, await target.balances());
  return { counts: counts as MoveCounts, balances, cardsOpened };
}

function nextOf(head: AuditHead, row: TransferRow): AuditHead {
  const next = {
    number: Number(row["no"]),
    digest: String(row["digest"]),
    body: String(row["body"]),
  };
  if (!follows(head, next))
    throw new Difference(
      "audit_entry",
      `entry ${head.number + 1} of the audit log was altered, or is missing`,
    );
  return next;
}

function isHead(head: AuditHead, row: TransferRow): boolean {
  return row["no"] === head.number && row["digest"] === head.digest;
}

type Pair = readonly [TransferRow, TransferRow];

async function* pairsOf(
  kind: TransferKind,
  one: TransferSide,
  other: TransferSide,
): AsyncGenerator<readonly Pair[]> {
  const columns = Object.keys(tableOf(kind).columns);
  const others = rowsOf(other, kind);
  for await (const piece of one.pieces(kind)) {
    const pairs: Pair[] = [];
    for (const row of piece) {
      const next = await others.next();
      if (next.done === true) throw new Difference(kind, `the database lacks ${nameOf(kind, row)}`);
      const differs = columns.find(
        (column) => ownValue(row, column) !== ownValue(next.value, column),
      );
      if (differs !== undefined)
        throw new Difference(kind, `${differs} of ${nameOf(kind, row)} differs`);
      pairs.push([row, next.value]);
    }
    yield pairs;
  }
  if ((await others.next()).done !== true)
    throw new Difference(kind, "the database has more rows than the file");
}

async function* rowsOf(
  side: TransferSide,
  kind: TransferKind,
): AsyncGenerator<TransferRow, undefined> {
  for await (const piece of side.pieces(kind)) yield* piece;
}

function nameOf(kind: TransferKind, row: TransferRow): string {
  return tableOf(kind)
    .shown.map((column) => `${column} ${String(ownValue(row, column))}`)
    .join(", ");
}

async function openBoth(vault: Vault, row: TransferRow, other: TransferRow): Promise<void> {
  const same = await vault
    .use(refOf(row), ownerOf(row), (card) =>
      vault.use(refOf(other), ownerOf(other), async (again) => {
        const [digits, others] = [card.pan.reveal(), again.pan.reveal()];
        return (
          Buffer.compare(digits, others) === 0 &&
          card.expiryMonth === again.expiryMonth &&
          card.expiryYear === again.expiryYear
        );
      }),
    )
    .catch(() => undefined);
  if (same === undefined)
    throw new Difference(
      "card",
      `a card of ${nameOf("card", row)} does not open with the keys in COFRE_DATA_DIR`,
    );
  if (!same) throw new Difference("card", `a card of ${nameOf("card", row)} is another one`);
}

function refOf(row: TransferRow): Uint8Array {
  return Buffer.from(String(row["ref"]), "hex");
}

function ownerOf(row: TransferRow): CardOwner {
  return {
    merchantId: String(row["merchant"]) as MerchantId,
    tokenDigest: String(row["token_digest"]) as TokenDigest,
    recordVersion: Number(row["version"]),
  };
}

/** Keeps a merchant's running balances: a few accounts in a few currencies. */
function addTo(ledger: Map<string, readonly Balance[]>, row: TransferRow): void {
  if (row["entries"] === "") return;
  const merchant = String(row["merchant"]);
  ledger.set(merchant, balancesOf(entriesFromText(String(row["entries"])), ledger.get(merchant)));
}

function compareBalances(
  ledger: ReadonlyMap<string, readonly Balance[]>,
  theirs: readonly TransferBalance[],
): number {
  const left = new Map(
    theirs.map(({ merchant, account, currency, minor }) => [
      `${merchant} ${account} ${currency}`,
      minor,
    ]),
  );
  let count = 0;
  for (const [merchant, balances] of ledger) {
    for (const { account, currency, minor } of balances) {
      const key = `${merchant} ${account} ${currency}`;
      if (left.get(key) !== String(minor))
        throw new Difference(
          "history",
          `the ledger of merchant ${merchant} has a different ${account} in ${currency}`,
        );
      left.delete(key);
      count += 1;
    }
  }
  if (left.size > 0)
    throw new Difference(
      "history",
      "the ledger in the database has accounts that the file does not have",
    );
  return count;
}
