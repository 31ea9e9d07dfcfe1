import type { PlantedBug } from "../../server/test/support/planted-bug.ts";

const dispatcher = "delivery/dispatcher.ts";
const delivery = "delivery/delivery.ts";
const memoryStore = "stores/memory/memory-store.ts";

/** Plausible mistakes with notifications. */
export const plantedDeliveryBugs: readonly PlantedBug[] = [
  {
    name: "what jobs find out is announced and delivered to nobody",
    file: "operations/runner.ts",
    find: `      if (endpoints.length === 0) return decided;`,
    replace: `      if (endpoints.length === 0 || decided.facts.some(({ by }) => by !== "merchant")) return decided;`,
  },
  {
    name: "a delivery is written down as made before it is sent",
    file: dispatcher,
    find: `    const { outcome, tookMs, exchange } = await this.#sender.send(message, target, plan?.breakSignature === true, signal);`,
    replace: `    await this.#recorder.write(withOutcomeOfFirst(message, { ...first, attempts: first.attempts + 1, state: "delivered" }));
    const { outcome, tookMs, exchange } = await this.#sender.send(message, target, plan?.breakSignature === true, signal);`,
  },
  {
    name: "a message that is sent again has another id",
    file: "delivery/message-sender.ts",
    find: `const id = messageId(this.#installation, {`,
    replace: `const id = messageId(this.#installation + message[0].attempts, {`,
  },
  {
    name: "the endpoints of an account share their messages' ids",
    file: "notification/endpoint.ts",
    find: `\\0\${numbers.join(",")}\\0\${endpoint}\``,
    replace: `\\0\${numbers.join(",")}\\0\${endpoint.length}\``,
  },
  {
    name: "a payment's messages overtake one that is tried again",
    file: "stores/memory/due-deliveries.ts",
    find: `first < 0 ? chain : chain.slice(0, first + 1)`,
    replace: `first < 0 ? chain : chain.slice(0, first + 2)`,
  },
  {
    name: "an answer that refuses a message counts as its delivery",
    file: delivery,
    find: `outcome.status >= 200 && outcome.status <= 299`,
    replace: `outcome.status >= 200 && outcome.status <= 499`,
  },
  {
    name: "a receiver that does not answer is given up at once",
    file: delivery,
    find: `  const again = nextAttemptAt(attempts, now, random);`,
    replace: `  const again = outcome.kind === "failed" ? undefined : nextAttemptAt(attempts, now, random);`,
  },
  {
    name: "what waits for an endpoint that is switched off is given up",
    file: delivery,
    find: `    return { next: { ...attempted, attempts: delivery.attempts, dueAt: now }, verdict: "gone", notBefore: undefined };`,
    replace: `    return { next: { ...attempted, state: "failed" }, verdict: "gone", notBefore: undefined };`,
  },
  {
    name: "a notification is written down although its change is stale",
    file: memoryStore,
    find: `    if (conflict !== undefined) return conflict;
    this.#writePayment(change);`,
    replace: `    const stored = change.payment && this.#payments.get(keyOf(change.merchantId, change.payment.next.id))?.current;
    if (conflict?.outcome === "stale" && stored !== undefined && change.notifications.length > 0) {
      this.#writePayment({ ...change, payment: { next: stored, replaces: undefined }, facts: [], entries: [] });
    }
    if (conflict !== undefined) return conflict;
    this.#writePayment(change);`,
  },
  {
    name: "a payment's own address is told beside the account's endpoints",
    file: "notification/endpoint.ts",
    find: `  return notificationUrl === undefined ? endpoints.map(endpointId) : [urlEndpoint(notificationUrl)];`,
    replace: `  return [...endpoints.map(endpointId), ...(notificationUrl === undefined ? [] : [urlEndpoint(notificationUrl)])];`,
  },
  {
    name: "a message is begun again from a read that was on its way when it ended",
    file: dispatcher,
    find: `    const busy = new Set(queue.inFlight);`,
    replace: `    const busy = queue.inFlight;`,
  },
  {
    name: "a delivery that is due later is never looked at again",
    file: dispatcher,
    find: `      void this.#nextRound().then(() => this.#poll(this.#parts.pollMs ?? defaultPollMs));`,
    replace: `      void this.#nextRound();`,
  },
];
