import type { startCofre } from "../../../server/src/app.ts";
import type { Place } from "./tamper-database.ts";
import { hexIn, judgeKeysOf } from "./tamper-keys.ts";
import { type Known, type Probed, probe, refused } from "./tamper-probe.ts";
import type { Tampering } from "./tampering.ts";

/** What became of the database: what its constraints refuse, no program finds in it. */
export type Outcome = "constraint" | "not started" | "refused" | "alarm" | "harmless";

export interface Judged {
  readonly outcome: Outcome;
  readonly violations: readonly string[];
  /** Why the server did not start. */
  readonly notStarted: string | undefined;
}

/** An installation that is whole, what its clients know, and what they see there. */
export interface Model {
  readonly place: Place;
  readonly known: Known;
  readonly control: Probed;
  /** No text may contain them. */
  readonly secrets: readonly string[];
}

/** Names the record, the row or the part that does not fit. */
const namesTheFault =
  /the key (?:record )?\S+|two keys for|current (?:epoch )?key|root key|integration key|installation id|the keys are missing|other keys|belong/;

/** Tampers with a copy of the installation, starts a server on it, and judges what it does. */
export async function judge(
  { place, known, control, secrets }: Model,
  tampering: Tampering,
  program?: typeof startCofre,
): Promise<Judged> {
  const copy = await place.copy();
  try {
    const isWritten = await copy.writer.run(tampering.statements).then(
      () => true,
      () => false,
    );
    if (!isWritten) return { outcome: "constraint", violations: [], notStarted: undefined };
    const probed = await probe(copy, known, { program, signsIn: tampering.signsIn === true });
    const violations: string[] = [];
    for (const secret of secrets)
      if (probed.written.includes(secret)) violations.push("a secret is in what was written");
    const { notStarted } = probed;
    if (notStarted !== undefined) {
      if (
        !/^(?:KeyTaken|(?:Keyring|RootKey|StoreOpen|PostgresOpen)Error): /.test(notStarted) ||
        !namesTheFault.test(notStarted)
      )
        violations.push(`the error does not name the fault: ${notStarted}`);
      return { outcome: "not started", violations, notStarted };
    }
    let isRefused = false;
    for (const [what, result] of control.seen) {
      const seen = probed.seen.get(what);
      if (seen === undefined || seen === result) continue;
      isRefused = true;
      if (seen !== refused) violations.push(`${what}: ${seen} instead of ${result}`);
    }
    violations.push(...(await newCardsUnderOtherKeys(place, copy, tampering)));
    const isAlarmed = probed.alarms.some((alarm) => !control.alarms.includes(alarm));
    const outcome = isAlarmed ? "alarm" : isRefused ? "refused" : "harmless";
    if (outcome === "harmless" && tampering.harmless === undefined)
      violations.push("nothing is refused, and there is no alarm");
    return { outcome, violations, notStarted };
  } finally {
    await copy[Symbol.asyncDispose]();
  }
}

/**
 * A card that was stored after the tampering opens with the installation's own keys: those that it
 * had before, or, if a merchant's key was taken away, those that it has now.
 */
async function newCardsUnderOtherKeys(
  before: Place,
  after: Place,
  { losesKey = false }: Tampering,
): Promise<readonly string[]> {
  const keys = await judgeKeysOf(losesKey ? after : before);
  const earlier = new Set<string>();
  for (const row of await before.writer.rows("card"))
    for (const column of ["token_digest", "ref"]) earlier.add(hexIn(row, column));
  const violations: string[] = [];
  for (const row of await after.writer.rows("card")) {
    if (["token_digest", "ref"].some((column) => earlier.has(hexIn(row, column)))) continue;
    if ((await keys.maskOf(row)) !== row["masked_pan"])
      violations.push("a new card is sealed under a key that is not the installation's");
  }
  return violations;
}
