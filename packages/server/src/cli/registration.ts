import type { NotificationEndpoint } from "../notification/endpoint.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { ClientProblem } from "./client-problem.ts";
import type { CofreClient } from "./cofre-client.ts";
import { exchange } from "./http.ts";
import { readVerifyingKeys, type VerifyingKeys } from "./verify-notification.ts";

/**
 * Every answer of a listener has its endpoint's id in this header: a later listener sees by it that
 * it is alive.
 */
export const listenerHeader = "x-cofre-listen";

const probeTimeoutMs = 1_000;
/**
 * Other clients may write the account's endpoints between our read and our write, which are two
 * calls.
 */
const maxAttempts = 3;

/** The account's endpoint of one listener. */
export class Registration {
  /** `listen-` and the port. */
  readonly id: string;
  readonly #client: CofreClient;
  readonly #scheduler: Scheduler;
  readonly #url: string;

  constructor(client: CofreClient, scheduler: Scheduler, port: number) {
    this.#client = client;
    this.#scheduler = scheduler;
    this.id = `listen-${port}`;
    this.#url = urlOf(port);
  }

  /**
   * Adds the listener to the account's endpoints, removes those whose listener was killed, and
   * resolves with the keys of its messages. Rejects with ClientProblem.
   */
  async enter(): Promise<VerifyingKeys> {
    const mine: NotificationEndpoint = {
      id: this.id,
      url: this.#url,
      enabled: true,
      secretVersion: 1,
    };
    for (let tries = 0; tries < maxAttempts; tries += 1) {
      const others = await this.#othersThatLive();
      await this.#client.setEndpoints([...others, mine]);
      if ((await this.state()) === "on")
        return readVerifyingKeys(await this.#client.receiverKeys(this.id));
    }
    throw new ClientProblem(
      "The listener could not be registered: another client keeps changing the account's notificationEndpoints.",
    );
  }

  /**
   * `off`: it has answered 410. `missing`: another client removed it, or this is another Cofre.
   * Rejects with ClientProblem.
   */
  async state(): Promise<"on" | "off" | "missing"> {
    const found = (await this.#client.endpoints()).find(
      ({ id, url }) => id === this.id && url === this.#url,
    );
    if (found === undefined) return "missing";
    return found.enabled && found.goneAt === undefined ? "on" : "off";
  }

  /**
   * Removes the listener. Its pending deliveries are not sent any more. Rejects with ClientProblem.
   */
  async leave(): Promise<void> {
    for (let tries = 0; tries < maxAttempts && (await this.state()) !== "missing"; tries += 1) {
      await this.#client.setEndpoints(
        (await this.#client.endpoints()).filter(({ id }) => id !== this.id),
      );
    }
  }

  async #othersThatLive(): Promise<NotificationEndpoint[]> {
    const others = (await this.#client.endpoints()).filter(({ id }) => id !== this.id);
    const lives = await Promise.all(others.map((each) => this.#lives(each)));
    return others.filter((_, index) => lives[index] === true);
  }

  async #lives({ id, url }: NotificationEndpoint): Promise<boolean> {
    const port = /^listen-(\d{1,5})$/.exec(id)?.[1];
    // An endpoint with such a name that was not created by a listener.
    if (port === undefined || url !== urlOf(Number(port))) return true;
    const probe = {
      method: "GET",
      url: new URL(url),
      headers: ["Host", `127.0.0.1:${port}`],
      body: new Uint8Array(),
    } as const;
    const answer = await exchange(this.#scheduler, { ...probe, timeoutMs: probeTimeoutMs });
    if ("failure" in answer) return answer.failure === "timeout";
    return answer.headers[listenerHeader] === id;
  }
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}/`;
}
