import { day, minute, second } from "../../server/src/kernel/instant.ts";
import { changeSettings } from "../../server/src/operations/change-settings.ts";
import { replay } from "../../server/src/delivery/replay.ts";
import type { Installation } from "./installation.ts";
import { endpointUrl } from "./receivers.ts";
import { askForAnswers } from "./shop-client.ts";
import type { Shop } from "./shop.ts";

const maximumEvents = 200_000;
/**
 * A clock that was set back is noticed in seconds, and changes that were being written then are
 * found minutes later.
 */
const noticedMs = 12 * minute;
/** Several rounds of the jobs that complete a rotation. */
const rotatedMs = 3 * minute;
/**
 * The clock jumps over waits longer than a minute: after this many rounds nothing changes any more.
 */
const maxRounds = 60;

/** Ends the faults, lets `days` pass, waits until nothing is open, and judges the result. */
export async function healAndAudit(
  installation: Installation,
  shops: readonly Shop[],
  days: number,
): Promise<void> {
  const { auditor, time } = installation;
  const merchants = shops.map(({ account }) => account.id);
  await auditor.checkBooks(merchants);
  auditor.note("--- the faults are over");
  installation.heal();
  // A paused process resumes first: until then it does nothing, and then slots change hands.
  const pauseMs = installation.pauseLeftMs();
  if (pauseMs > 0) await time.run(pauseMs, () => false, maximumEvents);
  if (installation.plan.clockJumps !== undefined) {
    await time.run(noticedMs, () => false, maximumEvents);
    // All clocks are right, and the servers had time to notice. Recent writes are checked within
    // seconds.
    const waiting = await installation.waitingForWrongClock();
    if (waiting.length > 0) await time.run(10 * second, () => false, maximumEvents);
    for (const what of await installation.waitingForWrongClock())
      if (waiting.includes(what)) auditor.violation(`M8: ${what}`);
  }
  // A server that died before the store's clock was set back may count as alive for as long as the
  // clock was ahead, up to a minute.
  if (installation.plan.databaseStep !== undefined)
    await time.run(minute, () => false, maximumEvents);
  if (days > 0) time.jump(days * day);
  for (let rounds = 0; rounds < maxRounds; rounds += 1) {
    await time.run(minute, () => false, maximumEvents);
    if (rounds === 0 && installation.plan.servers > 1) installation.checkShares(true);
    if (rounds === 0) await switchOn(installation, shops);
    if (rounds < 1) continue;
    const dueAt = (await installation.nextDue()) ?? (await repeatRequests(installation, shops));
    if (dueAt === undefined && (await answerAll(installation, shops)) === 0) break;
    if (dueAt === undefined) continue;
    // Nothing else is open, so the clock can jump to the next delivery.
    if (dueAt > time.now() + minute) time.jump(dueAt - time.now());
  }
  if (installation.plan.rotations !== undefined) {
    await time.run(rotatedMs, () => false, maximumEvents);
    for (const what of await installation.leftUnderEarlierKeys())
      auditor.violation(`K5: a rotation is completed: ${what}`);
  }
  await auditor.checkSettled(
    merchants,
    new Map(shops.map(({ account, codes }) => [account.id, codes])),
    time.now(),
  );
  for (const shop of shops) await checkResultsOf(installation, shop);
}

/** Merchants repair endpoints that answered 410, and enable them. */
async function switchOn(installation: Installation, shops: readonly Shop[]): Promise<void> {
  if (!installation.plan.receivers.comesBack) return;
  for (const { account } of shops) {
    const isOn = await mend(installation, account);
    if (!isOn) installation.auditor.violation("settings can be changed when the faults are over");
  }
}

async function mend(installation: Installation, account: Shop["account"]): Promise<boolean> {
  const stored = (await installation.store.accounts()).find(({ id }) => id === account.id);
  if (stored?.settings.notificationEndpoints.every(({ goneAt }) => goneAt === undefined) === true)
    return true;
  installation.auditor.mark("an endpoint that was gone is switched on");
  let answered = false;
  const requested = installation.call(changeSettings, account, (settings) => ({
    ...settings,
    notificationEndpoints: settings.notificationEndpoints.map(
      ({ id, url, enabled, secretVersion }) => ({
        id,
        url,
        enabled,
        secretVersion,
      }),
    ),
  }));
  void requested.then(({ kind }) => (answered = kind === "answer"));
  await installation.time.run(minute, () => answered, maximumEvents);
  return answered;
}

/** Merchants request failed notifications again; resolves with the time if there were any. */
async function repeatRequests(
  { store, time, auditor }: Installation,
  shops: readonly Shop[],
): Promise<number | undefined> {
  let requested = 0;
  for (const { account } of shops) {
    const { deliveries } = await replay(
      { store, clock: time },
      account.id,
      { endpoints: [], chaos: account.settings.notificationChaos },
      { failedFrom: 1 },
    );
    requested += deliveries;
  }
  if (requested === 0) return undefined;
  auditor.mark("deliveries that had failed are asked for again");
  return time.now();
}

/** Resolves with the number of requests that were sent again. */
async function answerAll(installation: Installation, shops: readonly Shop[]): Promise<number> {
  let requested: number | undefined;
  const asking = Promise.all(shops.map((shop) => askForAnswers(installation, shop)));
  void asking.then((numbers) => (requested = numbers.reduce((sum, number) => sum + number, 0)));
  await installation.time.run(10 * minute, () => requested !== undefined, maximumEvents);
  if (requested === undefined)
    installation.auditor.violation("requests are answered when all is well");
  return requested ?? 0;
}

async function checkResultsOf(
  { store, auditor }: Installation,
  { account, index }: Shop,
): Promise<void> {
  const stored = (await store.accounts()).find(({ id }) => id === account.id);
  const endpoints = stored?.settings.notificationEndpoints ?? [];
  const addresses = new Map(
    account.settings.notificationEndpoints.map(({ id }, endpoint) => [
      id,
      endpointUrl(index, endpoint),
    ]),
  );
  const off = new Set(endpoints.flatMap(({ id, goneAt }) => (goneAt === undefined ? [] : [id])));
  await auditor.deliveries.checkAllDelivered({ merchantId: account.id, addresses, off });
}
