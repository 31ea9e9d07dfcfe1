import type { Random } from "../kernel/random.ts";
import { hexOf } from "../kernel/ids.ts";
import {
  type MoveMark,
  type TargetHolding,
  TransferError,
  transferKinds,
  type TransferTarget,
} from "../stores/transfer.ts";
import { type CompareOptions, type Compared, compare, Difference } from "./compare.ts";

/** The installation's file and keys, and the database. */
export interface MoveSides extends Pick<CompareOptions, "source" | "vault"> {
  /** Undefined if no database is configured. */
  readonly target: TransferTarget | undefined;
  readonly random: Random;
  close(): Promise<void>;
}

export interface MoveOptions extends CompareOptions {
  readonly random: Random;
}

export type MoveBackOptions = Omit<CompareOptions, "target"> & Pick<MoveSides, "target">;

/**
 * `moved`: by this run; `already_moved`: by an earlier run, and nothing was changed; `completed`: an
 * earlier run stopped after its commit.
 */
export type MoveResult =
  | ({ readonly result: "moved" } & Compared)
  | { readonly result: "already_moved" | "completed" };

/**
 * Copies everything into the database in one transaction, compares it there, and commits. A killed
 * run leaves nothing in the database, because the transaction is atomic. The file is marked just
 * before the commit, so that file and database are never both served: `moving` until the commit is
 * known to have succeeded, then `moved`. Rejects with TransferError, or with Difference if the copy
 * differs from the file.
 */
export async function moveStore(options: MoveOptions): Promise<MoveResult> {
  const { source, target } = options;
  const holding = await target.begin();
  const before = stateOf(source.mark, holding);
  if (before !== "free") {
    await target.rollback();
    if (before === "completed")
      await source.setMark({ state: "moved", move: holdingMove(holding) });
    return { result: before };
  }
  let compared: Compared;
  const move = hexOf(options.random.bytes(16));
  try {
    await copy(options);
    await target.note("moved", move);
    compared = await compare(options);
  } catch (error) {
    await target.rollback();
    throw error;
  }
  options.report({ step: "switch" });
  const mark = source.mark;
  await source.setMark({ state: "moving", move });
  const answer = await target.commit();
  if (answer === "unknown") throw new TransferError("unknown");
  if (answer !== "committed") {
    await source.setMark(mark);
    throw new TransferError(answer === "served" ? answer : "unavailable");
  }
  await source.setMark({ state: "moved", move });
  // The server would do this itself some time later.
  await target.analyze().catch(() => undefined);
  return { result: "moved", ...compared };
}

/** Compares a database with the file that was moved into it; changes neither. */
export async function verifyMove(options: CompareOptions): Promise<Compared> {
  const { source, target } = options;
  const holding = await target.begin();
  try {
    if (source.mark.state === "free") throw new TransferError("not_moved");
    if (!isSameMove(source.mark, holding)) throw new TransferError("elsewhere");
    return await compare(options);
  } finally {
    await target.rollback();
  }
}

/**
 * Makes the file servable again. The database must be as the move left it; it is marked as
 * returned, so that no Cofre starts on it. With `discardChanges` the database may have changed, or
 * may be gone: an empty database, another returned one or none is then accepted in its place.
 * Changes since the move are lost. Resolves with whether the database is known to be marked; if
 * not, only the operator can keep a Cofre from using it.
 */
export async function moveBack(
  { target, ...rest }: MoveBackOptions,
  discardChanges: boolean,
): Promise<boolean> {
  const { source } = rest;
  if (source.mark.state === "free") throw new TransferError("not_moved");
  const isMarked =
    target !== undefined &&
    (await returnDatabase({ ...rest, target }, source.mark, discardChanges));
  await source.setMark({ state: "free" });
  return isMarked;
}

async function returnDatabase(
  options: CompareOptions,
  mark: MoveMark,
  discardChanges: boolean,
): Promise<boolean> {
  const { target } = options;
  try {
    const holding = await target.begin();
    if (!isSameMove(mark, holding)) {
      const wasReturned = isReturned(mark, holding);
      // A commit that never took effect has left nothing to mark.
      const nothing = holding.state === "empty" && mark.state === "moving";
      const mayBeMissing =
        discardChanges && (holding.state === "empty" || holding.state === "returned");
      if (!nothing && !wasReturned && !mayBeMissing) throw new TransferError("elsewhere");
      await target.rollback();
      return wasReturned;
    }
    if (!discardChanges) await compareUnchanged(options);
    await target.note("returned", holdingMove(holding));
  } catch (error) {
    await target.rollback();
    throw error;
  }
  const answer = await target.commit();
  if (answer !== "committed")
    throw new TransferError(answer === "refused" ? "unavailable" : answer);
  return true;
}

async function compareUnchanged(options: CompareOptions): Promise<void> {
  try {
    await compare(options);
  } catch (error) {
    throw error instanceof Difference ? new TransferError("changed") : error;
  }
}

function stateOf(mark: MoveMark, holding: TargetHolding): "free" | "already_moved" | "completed" {
  if (mark.state === "free") {
    if (holding.state !== "empty") throw new TransferError("occupied");
    return "free";
  }
  if (isSameMove(mark, holding)) return mark.state === "moved" ? "already_moved" : "completed";
  if (holding.state !== "empty") throw new TransferError("occupied");
  // The commit never took effect: nothing was moved yet.
  if (mark.state === "moving") return "free";
  throw new TransferError("elsewhere");
}

function isSameMove(mark: MoveMark, holding: TargetHolding): boolean {
  return mark.state !== "free" && holding.state === "moved" && holding.move === mark.move;
}

function isReturned(mark: MoveMark, holding: TargetHolding): boolean {
  return mark.state !== "free" && holding.state === "returned" && holding.move === mark.move;
}

function holdingMove(holding: TargetHolding): string {
  return "move" in holding ? holding.move : "";
}

async function copy({ source, target, report }: CompareOptions): Promise<void> {
  for (const kind of transferKinds) {
    const of = await source.count(kind);
    let rows = 0;
    for await (const piece of source.pieces(kind)) {
      await target.write(kind, piece);
      rows += piece.length;
      report({ step: "copy", kind, rows, of });
    }
  }
}
