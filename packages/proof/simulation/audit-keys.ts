import type { KeyRecord, KeyState } from "../../server/src/vault/records/key-record.ts";

/** A record that was written, and the one that was there before. */
export interface KeyMove {
  readonly next: KeyRecord;
  readonly before: KeyRecord | undefined;
}

/** The auditor's own table, independent of the store's. */
const allowedMoves: Readonly<Record<KeyState | "nothing", readonly KeyState[]>> = {
  nothing: ["made", "current"],
  made: ["made", "current", "retired", "compromised", "destroyed"],
  current: ["current", "retired", "compromised", "destroyed"],
  retired: ["retired", "compromised", "destroyed"],
  compromised: ["compromised", "destroyed"],
  destroyed: [],
};

/** What is wrong with key records after a commit. `all`: every stored record. */
export function wrongMoves(
  moves: readonly KeyMove[],
  all: readonly KeyRecord[],
): readonly string[] {
  const problems: string[] = [];
  const is = (isTrue: boolean, text: string): void => {
    if (!isTrue) problems.push(`K1: ${text}`);
  };
  for (const { next, before } of moves) {
    const name = nameOf(next);
    is(
      allowedMoves[before?.state ?? "nothing"].includes(next.state),
      `no move from ${before?.state ?? "nothing"} to ${next.state}: ${name}`,
    );
    is(next.sequence === (before?.sequence ?? 0) + 1, `a change of ${name} is the next one`);
    is(
      before === undefined || Buffer.compare(before.check, next.check) === 0,
      `no key is replaced by another of its name: ${name}`,
    );
  }
  const current = new Map<string, number>();
  for (const record of all) {
    if (record.state === "current")
      current.set(ownerOf(record), (current.get(ownerOf(record)) ?? 0) + 1);
    if (record.state === "destroyed" || record.epoch === undefined) continue;
    const epoch = all.find(
      ({ purpose, version }) => purpose === "epoch" && version === record.epoch,
    );
    is(
      epoch !== undefined && epoch.state !== "destroyed",
      `the epoch that wraps ${nameOf(record)} is there`,
    );
  }
  for (const record of all)
    is(current.get(ownerOf(record)) === 1, `${ownerOf(record)} has one current key`);
  return problems;
}

function ownerOf({ purpose, merchant }: KeyRecord): string {
  return merchant === undefined ? purpose : `merchant ${merchant}`;
}

function nameOf(record: KeyRecord): string {
  return `${ownerOf(record)} ${record.version}`;
}
