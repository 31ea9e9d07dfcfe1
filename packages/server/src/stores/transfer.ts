/**
 * A whole installation as rows, for moving it from one store to another. Both SQL stores pack the
 * values of rows in the same way (rows.ts), so rows are copied unchanged, with version, order and
 * times.
 */

/**
 * The format of a column in a row: `bytes` as hex, `integer` of at most 53 bits as a number,
 * `amount` of 64 bits as text.
 */
type ColumnForm = "bytes" | "text" | "integer" | "amount";

interface TransferTable {
  readonly columns: Readonly<Record<string, ColumnForm>>;
  /** Orders the rows and identifies each of them. */
  readonly key: readonly string[];
  /** The part of the key that may be shown when a row differs: nothing chosen by a merchant. */
  readonly shown: readonly string[];
}

/**
 * Columns are those of the PostgreSQL store; each `key` is one of its indexes. Sessions are not
 * moved: users sign in again.
 */
export const transferTables = {
  account: {
    columns: { merchant: "bytes", version: "integer", name: "text", settings: "text" },
    key: ["merchant"],
    shown: ["merchant"],
  },
  account_key: {
    columns: { digest: "bytes", merchant: "bytes", grants: "text", mac: "bytes" },
    key: ["digest"],
    shown: ["merchant"],
  },
  payment: {
    columns: {
      merchant: "bytes",
      id: "bytes",
      no: "integer",
      code: "text",
      created_at: "integer",
      version: "integer",
      state: "text",
      status_at: "integer",
      captured_at: "integer",
      capture_by: "integer",
      authorized: "amount",
      captured: "amount",
      refunded: "amount",
      refunds: "text",
      chargeback: "text",
      review: "text",
      attempts: "integer",
      attempt: "text",
      due_at: "integer",
      verdict: "text",
      mandate: "text",
      rerouted: "text",
      needs_review: "integer",
      order_json: "text",
    },
    key: ["merchant", "id"],
    shown: ["merchant", "id"],
  },
  refund: {
    columns: { id: "integer", merchant: "bytes", code: "text", payment: "bytes" },
    key: ["id"],
    shown: ["merchant", "id"],
  },
  history: {
    columns: {
      merchant: "bytes",
      payment: "bytes",
      version: "integer",
      at: "integer",
      facts: "text",
      detail: "text",
      entries: "text",
    },
    key: ["merchant", "payment", "version"],
    shown: ["merchant", "payment", "version"],
  },
  outbox: {
    columns: {
      merchant: "bytes",
      number: "integer",
      sequence: "integer",
      payment: "bytes",
      version: "integer",
      kind: "text",
      at: "integer",
    },
    key: ["merchant", "number"],
    shown: ["merchant", "number"],
  },
  delivery: {
    columns: {
      merchant: "bytes",
      endpoint: "text",
      number: "integer",
      payment: "bytes",
      kind: "text",
      version: "integer",
      state: "text",
      asked_at: "integer",
      due_at: "integer",
      attempts: "integer",
      outcome: "text",
      in_order: "integer",
      message: "integer",
    },
    key: ["merchant", "endpoint", "number"],
    shown: ["merchant", "number"],
  },
  card: {
    columns: {
      merchant: "bytes",
      token_digest: "bytes",
      no: "integer",
      version: "integer",
      created_at: "integer",
      last_used_at: "integer",
      brand: "text",
      masked_pan: "text",
      fingerprint: "bytes",
      ref: "bytes",
      mac: "bytes",
    },
    key: ["merchant", "token_digest"],
    shown: ["merchant"],
  },
  named_request: {
    columns: {
      merchant: "bytes",
      key: "text",
      digest: "bytes",
      claimed_at: "integer",
      status: "integer",
      body: "text",
    },
    key: ["merchant", "key"],
    shown: ["merchant"],
  },
  person: {
    columns: {
      id: "bytes",
      version: "integer",
      name: "text",
      name_key: "text",
      role: "text",
      state: "text",
      created_at: "integer",
      last_signed_in_at: "integer",
      passwords: "text",
      totp: "bytes",
      totp_step: "integer",
      failures: "integer",
      locked_until: "integer",
      invitation: "bytes",
      invitation_ends_at: "integer",
      mac: "bytes",
    },
    key: ["id"],
    shown: ["id"],
  },
  key_record: {
    columns: {
      merchant: "bytes",
      purpose: "text",
      version: "integer",
      state: "text",
      sequence: "integer",
      epoch: "integer",
      check_value: "bytes",
      wraps: "text",
      created_at: "integer",
      changed_at: "integer",
      mac: "bytes",
    },
    key: ["merchant", "purpose", "version"],
    shown: ["merchant", "purpose", "version"],
  },
  key_order: {
    columns: { no: "integer", at: "integer", body: "text", mac: "bytes" },
    key: ["no"],
    shown: ["no"],
  },
  audit_entry: {
    columns: { no: "integer", digest: "bytes", body: "text", mac: "bytes" },
    key: ["no"],
    shown: ["no"],
  },
  identity: {
    columns: {
      one: "integer",
      keys: "text",
      epoch: "integer",
      beat: "integer",
      is_copy: "integer",
    },
    key: ["one"],
    shown: [],
  },
  audit_head: {
    columns: { one: "integer", no: "integer", digest: "bytes" },
    key: ["one"],
    shown: ["no"],
  },
} as const satisfies Readonly<Record<string, TransferTable>>;

export type TransferKind = keyof typeof transferTables;

/** In the order in which they are copied and compared. */
export const transferKinds = Object.keys(transferTables) as readonly TransferKind[];

export const tableOf = (kind: TransferKind): TransferTable => transferTables[kind];

/** A row by its table's columns. */
export type TransferRow = Readonly<Record<string, string | number | null>>;

/**
 * Read access to an installation that no process writes to. Rejects with TransferError if it cannot
 * be read.
 */
export interface TransferSide {
  /** The number of rows, including any that `pieces` would not return. */
  count(kind: TransferKind): Promise<number>;
  /**
   * All rows in the order of their keys, in pieces, so that memory use does not grow with the data.
   */
  pieces(kind: TransferKind): AsyncIterable<readonly TransferRow[]>;
}

/**
 * The mark in the file. `moving`: it may have been moved, the other side knows whether it was;
 * `moved`: it was.
 */
export type MoveMark =
  | { readonly state: "free" }
  | { readonly state: "moving" | "moved"; readonly move: string };

/**
 * The file, opened exclusively by this process. No Cofre serves a file with a mark other than
 * `free`.
 */
export interface TransferSource extends TransferSide {
  readonly mark: MoveMark;
  /** Durable once it resolves. */
  setMark(mark: MoveMark): Promise<void>;
  close(): Promise<void>;
}

/** The balance of a merchant's ledger account in one currency, in minor units, as text. */
export interface TransferBalance {
  readonly merchant: string;
  readonly account: string;
  readonly currency: string;
  readonly minor: string;
}

/**
 * The content of the database. `empty`: nothing; `moved`: the data of the move with this name, and
 * later changes to it; `returned`: the same, but it was moved back into the file; `occupied`:
 * anything else.
 */
export type TargetHolding =
  | { readonly state: "empty" | "occupied" }
  | { readonly state: "moved" | "returned"; readonly move: string };

/** The database. All its tables are locked from `begin` to `commit` or `rollback`. */
export interface TransferTarget extends TransferSide {
  /** Waits until no process writes, and returns the content. Rejects while a Cofre runs on it. */
  begin(): Promise<TargetHolding>;
  write(kind: TransferKind, rows: readonly TransferRow[]): Promise<void>;
  /** Sums of the journal, including accounts that returned to zero. */
  balances(): Promise<readonly TransferBalance[]>;
  /** Records the owner of the rows; new rows are numbered after them. */
  note(state: "moved" | "returned", move: string): Promise<void>;
  /**
   * `served`: a Cofre has come back to it since `begin`, and it was rolled back; `unknown`: the
   * server did not answer, so the commit may take effect or not, now or a moment later.
   */
  commit(): Promise<"committed" | "served" | "refused" | "unknown">;
  rollback(): Promise<void>;
  /** Updates the server's statistics of the new rows for its query planner. */
  analyze(): Promise<void>;
  close(): Promise<void>;
}

/** Why nothing was moved. The texts are fixed and quote no stored data. */
export class TransferError extends Error {
  override readonly name = "TransferError";
  readonly code: TransferRefusal;

  constructor(code: TransferRefusal) {
    super(transferRefusals[code]);
    this.code = code;
  }
}

const transferRefusals = {
  no_file: "there is no cofre.db with data in COFRE_DATA_DIR: nothing can be moved",
  occupied: "the database contains other data than that of this file: use an empty database",
  served: "a Cofre uses the database: stop it first",
  elsewhere:
    "the file was moved already, but not into this database, or the database is empty again; name the database that it was moved into, or, if that is lost, use the file again without COFRE_DATABASE_URL: cofre migrate-store --rollback --discard-changes",
  not_moved: "the file was not moved: it is still in use",
  changed:
    "the database has changed since the file was moved: going back would lose the changes; to go back and discard them: cofre migrate-store --rollback --discard-changes",
  unreadable: "the file could not be read or written completely",
  unavailable:
    "the database closed the connection or refused a statement; nothing was changed there",
  unknown:
    "the database did not answer the commit: run the same command again to determine the outcome",
} as const;
export type TransferRefusal = keyof typeof transferRefusals;
