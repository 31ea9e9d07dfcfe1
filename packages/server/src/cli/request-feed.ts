import type { CofreClient } from "./cofre-client.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Returns each answered request of an account once, although numbers may begin again at 1. */
export class RequestFeed {
  /** The newest request before which all were returned. It is queried again each time. */
  #anchor: { readonly number: number; readonly at: unknown } | undefined;
  /** Numbers behind it that were returned. */
  readonly #returned = new Set<number>();

  /** The requests that were answered since the last call, oldest first. */
  async poll(client: Pick<CofreClient, "requests">): Promise<readonly Fields[]> {
    const listed = await this.#list(client);
    if (this.#beganAgain(listed)) {
      // A world was reset, or the server was restarted.
      this.#anchor = undefined;
      this.#returned.clear();
      return this.poll(client);
    }
    const fresh = listed.filter(
      (request) =>
        isAnswered(request) &&
        numberOf(request) !== this.#anchor?.number &&
        !this.#returned.has(numberOf(request)),
    );
    for (const request of fresh) this.#returned.add(numberOf(request));
    for (const request of listed) {
      const number = numberOf(request);
      if (number !== this.#anchor?.number && !this.#returned.delete(number)) break;
      this.#anchor = { number, at: request["at"] };
    }
    return fresh;
  }

  async #list(client: Pick<CofreClient, "requests">): Promise<readonly Fields[]> {
    const listed: Fields[] = [];
    let after: number | undefined = (this.#anchor?.number ?? 1) - 1;
    while (after !== undefined) {
      const page: Awaited<ReturnType<CofreClient["requests"]>> = await client.requests(after);
      listed.push(...page.requests);
      after = page.next;
    }
    return listed;
  }

  #beganAgain(listed: readonly Fields[]): boolean {
    const anchor = this.#anchor;
    if (anchor === undefined) return false;
    const again = listed.find((request) => numberOf(request) === anchor.number);
    // The oldest are dropped only when there are newer ones.
    return again === undefined ? listed.length === 0 : again["at"] !== anchor.at;
  }
}

function isAnswered(request: Fields): boolean {
  return typeof request["http_status"] === "number";
}

function numberOf(request: Fields): number {
  return Number(request["number"]);
}
