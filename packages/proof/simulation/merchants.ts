import { act, look, refundBunch, sleepLong, takeBack, upset } from "./afterwards.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import type { Installation } from "./installation.ts";
import type { Plan } from "./plan.ts";
import { leaveCode, pay, payTwice, storeCard, verify } from "./purchases.ts";
import type { Shop } from "./shop.ts";

/**
 * One client of a shop: sends commands one after the other, and retries after a lost answer as real
 * clients do.
 */
export async function runClient(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  name: string,
  plan: Plan,
): Promise<void> {
  for (let command = 0; command < plan.commandsPerClient; command += 1) {
    await installation.time.sleep(chance.pick([0, 0, 1, 500, 3_000, 40_000]));
    await oneCommand(installation, shop, chance, `${name}-${command}`, plan);
  }
}

async function oneCommand(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  name: string,
  { jumps, putsBack }: Plan,
): Promise<void> {
  if (putsBack && chance.happens(150)) return upset(installation, shop, chance, name);
  if (jumps === "months" && chance.happens(80))
    return sleepLong(installation, shop, chance, jumps, name);
  const choice = chance.below(100);
  if (choice < 7) await storeCard(installation, shop, chance);
  else if (choice < 33) await pay(installation, shop, chance, name);
  else if (choice < 39) await payTwice(installation, shop, chance, name);
  else if (choice < 46) await act(installation, shop, chance, ["capture"]);
  else if (choice < 51) await act(installation, shop, chance, ["capture", "capture"]);
  else if (choice < 56) await act(installation, shop, chance, ["capture", "cancel"]);
  else if (choice < 59) await act(installation, shop, chance, ["cancel"]);
  else if (choice < 73) await refundBunch(installation, shop, chance);
  else if (choice < 77) await takeBack(installation, shop, chance);
  else if (choice < 85) await act(installation, shop, chance, chance.pick(reviews));
  else if (choice < 90) await act(installation, shop, chance, chance.pick(disputes));
  else if (choice < 92) await verify(installation, shop, chance);
  else if (choice < 93) await leaveCode(installation, shop, chance);
  else if (choice < 95) await upset(installation, shop, chance, name);
  else if (choice < (jumps === "months" ? 95 : 98) || jumps === "none")
    await look(installation, shop, chance);
  else await sleepLong(installation, shop, chance, jumps, name);
}

const reviews = [
  ["accept"],
  ["accept", "accept"],
  ["accept", "reject"],
  ["reject"],
  ["reject", "cancel"],
  ["accept", "cancel"],
] as const;
const disputes = [
  ["dispute"],
  ["dispute", "dispute"],
  ["credit"],
  ["credit", "credit"],
  ["dispute", "credit"],
] as const;
