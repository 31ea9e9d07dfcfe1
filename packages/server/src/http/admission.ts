import type { Socket } from "node:net";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Log } from "../logging/log-event.ts";
import type { Account, AccountSettings, SimulatorBehaviour } from "../merchant/account.ts";
import { requestError } from "../wire/decode/request-errors.ts";
import { type Place, type PlaceLimits, Places } from "./places.ts";

export interface AdmissionParts {
  readonly limits: PlaceLimits;
  /** Maximum number of requests in flight on one connection. */
  readonly maxPerConnection: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly isWorld: (merchantId: MerchantId) => boolean;
  /** true: in the sandbox, a request releases its place while it waits for something simulated. */
  readonly hasFaults: boolean;
}

/** Interval of the log events about refusals, in milliseconds: at most one in each. */
const reportMs = 1_000;

/**
 * Admits requests within the limits on requests in flight: of the server, a connection and an
 * account.
 */
export class Admission {
  readonly #parts: AdmissionParts;
  readonly #places: Places;
  readonly #inFlightOf = new WeakMap<Socket, number>();
  #refused = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.#places = new Places(parts.limits, parts.clock);
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#places.taken;
  }

  get isFull(): boolean {
    return this.#places.isFull;
  }

  /** Requests in flight on a connection. */
  inFlightOn(socket: Socket): number {
    return this.#inFlightOf.get(socket) ?? 0;
  }

  /** Resolves when no request is in flight. */
  empty(): Promise<void> {
    return this.#places.empty();
  }

  /** Resolves every pending `empty` call. */
  giveUp(): void {
    this.#places.giveUp();
  }

  /** Takes a place for a request. Throws if the server or the connection has none left. */
  admit(socket: Socket): Place {
    const ofConnection = this.inFlightOn(socket);
    const { isFull } = this.#places;
    if (isFull || ofConnection >= this.#parts.maxPerConnection) {
      this.countRefusal(isFull ? "in_flight" : "in_flight_of_connection");
      throw requestError("overloaded");
    }
    this.#inFlightOf.set(socket, ofConnection + 1);
    return this.#places.take();
  }

  /**
   * Assigns the place to an account. Throws if the account already has its share. In the sandbox
   * the account's simulated acquirer releases the place while it waits.
   */
  assign(place: Place, account: Account): Account {
    const { isWorld, hasFaults } = this.#parts;
    const refusal = place.assign(account.id, isWorld(account.id));
    if (refusal !== undefined) {
      this.countRefusal(refusal);
      throw requestError("account_overloaded");
    }
    return hasFaults ? { ...account, settings: waitingWith(account.settings, place) } : account;
  }

  leave(socket: Socket, place: Place): void {
    this.#inFlightOf.set(socket, (this.#inFlightOf.get(socket) ?? 1) - 1);
    place.leave();
  }

  /** Logs refusals, at most one event per second. */
  countRefusal(limit: string): void {
    const { clock, log } = this.#parts;
    this.#refused += 1;
    const now = clock.now();
    // Negative if the clock was set back.
    const sinceMs = now - this.#reportedAt;
    if (0 <= sinceMs && sinceMs < reportMs) return;
    log.write({ event: "overloaded", limit, refused: this.#refused });
    this.#refused = 0;
    this.#reportedAt = now;
  }
}

function waitingWith(settings: AccountSettings, { while: waits }: Place): AccountSettings {
  const simulator: SimulatorBehaviour = { ...settings.simulator, waits };
  return { ...settings, simulator };
}
