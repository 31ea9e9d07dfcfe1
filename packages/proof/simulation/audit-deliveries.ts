import type { MerchantId } from "../../server/src/kernel/ids.ts";
import { isUrlEndpoint, urlEndpoint } from "../../server/src/notification/endpoint.ts";
import type { Delivery, NotificationKind } from "../../server/src/notification/events.ts";
import type { Payment } from "../../server/src/payment/payment.ts";
import type { OutboxRow, Store } from "../../server/src/stores/store.ts";
import type { Message } from "./receivers.ts";

/** What must hold for a payment that a notification is about: receivers query it at once. */
const isSoAfter: Readonly<Record<NotificationKind, (payment: Payment) => boolean>> = {
  // A result of recovery or a reviewer's acceptance may leave a payment PE; the acquirer's answer
  // to the authorization is known then.
  update: ({ state }) => state !== "authorizing" && state !== "reversing",
  refund: ({ refunds }) =>
    refunds.some(({ pendingAt, state }) => pendingAt !== undefined || state === "cancelled"),
  chargeback: ({ chargeback }) => chargeback !== undefined,
  chargeback_credit: ({ chargeback }) => chargeback?.state === "credited",
};

const all = 1_000_000;
/** The first attempt, and nine more within the 75.6 hours that Standard Webhooks proposes. */
const attemptsInAll = 10;

interface ReceivedMessage {
  readonly id: string;
  count: number;
  acknowledged: boolean;
}

/**
 * The addresses of an account's notifications, and which endpoints are disabled because they
 * answered 410.
 */
export interface Audience {
  readonly merchantId: MerchantId;
  /** By endpoint id. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly off: ReadonlySet<string>;
}

/**
 * The independent judge of notifications: observes every receiver, and compares with what was
 * committed.
 */
export class DeliveryAuditor {
  readonly #store: Store;
  readonly #violation: (text: string) => void;
  readonly #mark: (what: string) => void;
  /** By address and number; numbers are per account, and no two accounts share an address. */
  readonly #received = new Map<string, ReceivedMessage>();
  readonly #ids = new Map<string, string>();
  readonly #isCalm: boolean;
  #isPutBack = false;

  /**
   * `isCalm`: reads are up to date and no process stalls; then no message is sent twice, with any
   * number of servers.
   */
  constructor(
    store: Store,
    isCalm: boolean,
    violation: (text: string) => void,
    mark: (what: string) => void,
  ) {
    this.#store = store;
    this.#isCalm = isCalm;
    this.#violation = violation;
    this.#mark = mark;
  }

  /**
   * An older copy of the store is restored: earlier messages may be sent again, and their numbers
   * may be reused for other messages.
   */
  forgets(): void {
    this.#received.clear();
    this.#isPutBack = true;
  }

  /**
   * A delivery was committed: it may fail for good only after all its attempts, after 30 days, or
   * when the payment's own address is gone.
   */
  committed({ state, attempts, outcome, endpoint, number }: Delivery): void {
    if (
      state !== "failed" ||
      attempts >= attemptsInAll ||
      outcome === "expired" ||
      (outcome === "410" && isUrlEndpoint(endpoint))
    )
      return;
    this.#violation(
      `I9: nothing is given up before its time: ${number} to ${endpoint} after ${attempts}`,
    );
  }

  /** A message is sent: its content must be committed and true, and its turn must have come. */
  async sends(message: Message): Promise<void> {
    const { merchantId, url, number, kind, hash, id } = message;
    const what = `${kind} ${number} to ${url}`;
    const [row] = await this.#store.notificationsOf(merchantId, number - 1, 1);
    if (row?.paymentId !== hash || row.kind !== kind) {
      this.#violation(`I9: nothing is told that was not committed: ${what}`);
      return;
    }
    const payment = await this.#store.paymentById(merchantId, row.paymentId);
    const isSo =
      payment !== undefined && payment.version >= row.version && isSoAfter[row.kind](payment);
    if (!isSo) this.#violation(`I9: who is told and asks sees it: ${what} of ${payment?.state}`);

    const key = keyOf(url, number);
    const known = this.#received.get(key);
    const content = `${url} ${number} ${kind} ${hash} ${row.version}`;
    if ((this.#ids.get(id) ?? content) !== content)
      this.#violation(`no two messages share an id: ${what}`);
    this.#ids.set(id, content);
    if (known !== undefined) {
      this.#mark("told again");
      if (known.id !== id) this.#violation(`a message that is sent again has the same id: ${what}`);
      if (this.#isCalm && known.acknowledged && (await this.#isCommitted(message)))
        this.#violation(`a message is not sent again when its delivery is written down: ${what}`);
      return;
    }
    this.#received.set(key, { id, count: 0, acknowledged: false });
    await this.#checkTurn(message, row);
  }

  async #isCommitted({ merchantId, number, url }: Message): Promise<boolean> {
    const deliveries = await this.#store.deliveriesOf(merchantId, number, 10);
    const accounts = await this.#store.accounts();
    const endpoints =
      accounts.find(({ id }) => id === merchantId)?.settings.notificationEndpoints ?? [];
    const endpoint = endpoints.find((each) => each.url === url)?.id ?? urlEndpoint(url);
    return deliveries.some(
      (each) => each.number === number && each.endpoint === endpoint && each.state === "delivered",
    );
  }

  onMessage({ url, number }: Message, acknowledged: boolean): void {
    const entry = this.#received.get(keyOf(url, number));
    if (entry === undefined) return;
    entry.count += 1;
    if (entry.count > 1) this.#mark("heard again");
    if (acknowledged) entry.acknowledged = true;
  }

  /**
   * A payment's message must not be started before the earlier ones were acknowledged or have
   * failed for good.
   */
  async #checkTurn({ merchantId, url, number }: Message, row: OutboxRow): Promise<void> {
    const before = (
      await this.#store.notificationsOfPayment(merchantId, row.paymentId, all)
    ).filter((each) => each.number < number);
    const open = before.filter(
      (each) => this.#received.get(keyOf(url, each.number))?.acknowledged !== true,
    );
    if (open.length === 0 || this.#isPutBack) return;
    const failed = await this.#store.deliveriesOf(merchantId, 1, all, "failed");
    for (const each of open) {
      if (
        !failed.some(
          (delivery) => delivery.number === each.number && delivery.paymentId === row.paymentId,
        )
      )
        this.#violation(
          `I9: a payment's messages are told in order: ${row.kind} ${number} to ${url} before ${each.number}`,
        );
    }
  }

  /**
   * All notifications were delivered to every enabled endpoint, and none waits for another reason.
   */
  async checkAllDelivered({ merchantId, addresses, off }: Audience): Promise<void> {
    if (this.#isPutBack) return;
    const deliveries = await this.#store.deliveriesOf(merchantId, 1, all);
    const kept = new Map(
      deliveries.map((delivery) => [`${delivery.number} ${delivery.endpoint}`, delivery]),
    );
    let expected = 0;
    for (const { number, paymentId, kind } of await this.#store.notificationsOf(
      merchantId,
      0,
      all,
    )) {
      const own = (await this.#store.paymentById(merchantId, paymentId))?.order.notificationUrl;
      const targets = own === undefined ? [...addresses] : [[undefined, own] as const];
      expected += targets.length;
      for (const [endpoint, url] of targets) {
        const delivery =
          endpoint === undefined
            ? ownDelivery(deliveries, number)
            : kept.get(`${number} ${endpoint}`);
        const isOff = endpoint !== undefined && off.has(endpoint);
        if (!isOff && this.#received.get(keyOf(url, number))?.acknowledged !== true)
          this.#violation(
            `I9: ${kind} ${number} is told at ${url}; its delivery is ${delivery?.state ?? "not there"}`,
          );
        if (
          delivery !== undefined &&
          delivery.state !== (isOff && delivery.state === "waiting" ? "waiting" : "delivered")
        )
          this.#violation(
            `a delivery that was made says so: ${number} to ${url} is ${delivery.state}`,
          );
      }
    }
    if (deliveries.length !== expected)
      this.#violation(
        `I9: ${expected} deliveries follow from what was committed, not ${deliveries.length}`,
      );
    if (off.size > 0) this.#mark("an endpoint stays off");
  }
}

function ownDelivery(deliveries: readonly Delivery[], number: number): Delivery | undefined {
  return deliveries.find(
    (delivery) => delivery.number === number && isUrlEndpoint(delivery.endpoint),
  );
}

function keyOf(url: string, number: number): string {
  return `${url} ${number}`;
}
