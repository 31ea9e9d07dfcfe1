import { recoveryKeyOf, type RecoveryKey } from "../../vault/recovery/recovery-key.ts";
import { joinShares, readShare, type Share, ShareError } from "../../vault/recovery/slip39.ts";
import { ClientProblem } from "../client-problem.ts";
import type { Screen } from "./screen.ts";

/** The shares' recovery key, and the numbers of the shares, from 1. */
export interface Collected {
  readonly key: RecoveryKey;
  readonly shares: readonly number[];
}

/** The SLIP's most shares, and some mistyped ones of each. */
const mostLines = 160;

/**
 * Reads shares, one per line, until there are as many as they need. At a terminal a mistyped share
 * is asked for again. Throws ClientProblem when they do not open.
 */
export async function collectShares(screen: Screen): Promise<Collected> {
  const shares: Share[] = [];
  for (let line = 0; line < mostLines; line += 1) {
    const [{ memberThreshold: needed } = { memberThreshold: undefined }] = shares;
    if (needed !== undefined && shares.length >= needed) break;
    if (screen.isTerminal)
      screen.say(
        `Type share ${shares.length + 1}${needed === undefined ? "" : ` of ${needed}`}, all words in one line:`,
      );
    const share = await nextShare(shares, screen);
    screen.clear();
    if (share !== undefined) shares.push(share);
  }
  const seed = telling("The shares do not open", () => joinShares(shares));
  try {
    return {
      key: recoveryKeyOf(seed),
      shares: shares.map(({ member }) => member + 1).toSorted((one, other) => one - other),
    };
  } finally {
    seed.fill(0);
    for (const { value } of shares) value.fill(0);
  }
}

/** undefined: not accepted, and asked for again. */
async function nextShare(before: readonly Share[], screen: Screen): Promise<Share | undefined> {
  const number = before.length + 1;
  const text = await screen.answer();
  try {
    return telling(`Share ${number} was not accepted`, () => {
      const share = readShare(text);
      if (before.some(({ set }) => set !== share.set))
        throw new ShareError("it belongs to another recovery key than the first one");
      if (before.some(({ member }) => member === share.member))
        throw new ShareError("it was given before");
      return share;
    });
  } catch (error) {
    if (!screen.isTerminal || !(error instanceof ClientProblem)) throw error;
    screen.clear();
    screen.say(error.message);
    return undefined;
  }
}

function telling<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ShareError ? new ClientProblem(`${what}: ${error.message}.`) : error;
  }
}
