import { wirePaths } from "../interface/paths.ts";
import {
  type NotificationChaos,
  type NotificationEndpoint,
  readEndpoints,
} from "../notification/endpoint.ts";
import { parseInstant } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { Secret } from "../kernel/secret.ts";
import { baseUrl } from "./banner.ts";
import { ClientProblem } from "./client-problem.ts";
import type { CommandCall, CommandHost, OptionRow } from "./command.ts";
import { exchange, type Exchanged, isLoopback } from "./http.ts";
import { settingsOf } from "./settings-of.ts";

/** Options of every command that talks to a running Cofre. */
export const clientOptions = {
  "--url": {
    form: "URL",
    doc: "address of Cofre; from COFRE_HOST and COFRE_PORT by default",
  },
  "--key": {
    form: "KEY",
    doc: "the account's secret integration key, visible to other users of this machine in the process list; otherwise COFRE_SANDBOX_INTEGRATION_KEY, or the content of COFRE_SANDBOX_INTEGRATION_KEY_FILE",
  },
  "--json": { doc: "one JSON object per line" },
} as const satisfies Readonly<Record<string, OptionRow>>;

type Answer = Readonly<Record<string, unknown>>;

/** Headers of a session: names and values alternate. */
export type SignedIn = readonly string[];

const timeoutMs = 10_000;

/** Several years' due notifications may have to be delivered. */
const clockTimeoutMs = 600_000;

/** Most calls of one replay, each of which replays hundreds. */
const maxCalls = 1_000;

const visibleKey =
  "Other users of this machine can see the value of --key in the process list. Use COFRE_SANDBOX_INTEGRATION_KEY or COFRE_SANDBOX_INTEGRATION_KEY_FILE to avoid this.";

/** The client for a command line. Throws ClientProblem. */
export function clientOf(call: CommandCall, host: CommandHost): CofreClient {
  const { origin, key, isKeyVisible } = addressed(call, host);
  if (isKeyVisible && host.isTerminal) host.say(visibleKey);
  if (key === undefined) {
    throw new ClientProblem(
      "The key is missing: give the account's secret integration key in COFRE_SANDBOX_INTEGRATION_KEY or with --key.",
      {
        misuse: true,
      },
    );
  }
  return new CofreClient(origin, key, host.scheduler);
}

/** A client for calls that need no key. Throws ClientProblem. */
export function keylessClientOf(call: CommandCall, host: CommandHost): CofreClient {
  return new CofreClient(addressed(call, host).origin, new Secret(""), host.scheduler);
}

/**
 * A client for the calls about all worlds, which need no key, except that of the server's own
 * account when the console has sign-in: COFRE_SANDBOX_INTEGRATION_KEY, if it is set. Throws
 * ClientProblem.
 */
export function worldsClientOf(call: CommandCall, host: CommandHost): CofreClient {
  // Here `--key` is the key of a world.
  const { sandboxIntegrationKey = new Secret("") } = settingsOf({ flags: new Map() }, host);
  return new CofreClient(addressed(call, host).origin, sandboxIntegrationKey, host.scheduler);
}

interface Addressed {
  readonly origin: string;
  readonly key: Secret<string> | undefined;
  /** The key is on the command line, and no setting has one. */
  readonly isKeyVisible: boolean;
}

function addressed({ flags }: CommandCall, { config }: CommandHost): Addressed {
  const { host, port, sandboxIntegrationKey } = settingsOf({ flags: new Map() }, { config });
  const text = flags.get("--url") ?? baseUrl(host, port);
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "" || !isLoopback(url)) {
    const reason =
      "it must be an http:// address of this machine, such as http://127.0.0.1:8787, because the key is sent without TLS";
    throw new ClientProblem(`--url cannot be used: ${reason}.`, {
      misuse: true,
    });
  }
  const given = flags.get("--key");
  return {
    origin: url.origin,
    key: given === undefined ? sandboxIntegrationKey : new Secret(given),
    isKeyVisible: given !== undefined && sandboxIntegrationKey === undefined,
  };
}

/** Calls a running Cofre for one account. Failures are ClientProblems. */
export class CofreClient {
  readonly origin: string;
  readonly #key: Secret<string>;
  readonly #scheduler: Scheduler;

  constructor(origin: string, key: Secret<string>, scheduler: Scheduler) {
    this.origin = origin;
    this.#key = key;
    this.#scheduler = scheduler;
  }

  /** The same server for another account. */
  withKey(key: Secret<string>): CofreClient {
    return new CofreClient(this.origin, key, this.#scheduler);
  }

  /**
   * What `/readyz` answers: whether payments are accepted, and its fields. `waitMs`: for the whole
   * answer, in milliseconds.
   */
  async readiness(waitMs: number): Promise<{ readonly isReady: boolean; readonly fields: Answer }> {
    const { status, body } = await this.#answered("GET", "/readyz", new Uint8Array(), waitMs);
    const fields = objectIn(body.toString("utf8"));
    if (typeof fields?.["status"] !== "string" || (status !== 200 && status !== 503))
      throw new ClientProblem(`What answers at ${this.origin} is not Cofre.`);
    return { isReady: status === 200, fields };
  }

  /** The account's settings, after `changes` if given. */
  async settings(changes?: Answer): Promise<Answer> {
    const { settings } = await this.#call(
      "/__cofre/settings",
      changes === undefined ? {} : { settings: changes },
    );
    return isRecord(settings) ? settings : this.#otherVersion();
  }

  async endpoints(): Promise<readonly NotificationEndpoint[]> {
    return this.#endpointsIn(await this.settings());
  }

  async setEndpoints(
    notificationEndpoints: readonly NotificationEndpoint[],
  ): Promise<readonly NotificationEndpoint[]> {
    return this.#endpointsIn(await this.settings({ notificationEndpoints }));
  }

  /** The account's notification faults, after `changes` if given. */
  async chaos(changes?: Partial<NotificationChaos>): Promise<Answer> {
    const { notificationChaos } = await this.settings(
      changes === undefined ? undefined : { notificationChaos: changes },
    );
    return isRecord(notificationChaos) ? notificationChaos : this.#otherVersion();
  }

  /** Instructs the simulated acquirer, like `/__cofre/simulator`. */
  async simulate(instruction: Answer): Promise<void> {
    await this.#call("/__cofre/simulator", instruction);
  }

  /**
   * The faults of the account's next requests, after `change` was applied; the answer of
   * `/__cofre/faults`.
   */
  async faults(change: Answer): Promise<{
    readonly faults: readonly Answer[];
    readonly fault?: Answer;
    readonly cleared?: number;
  }> {
    const { faults, fault, cleared } = await this.#call("/__cofre/faults", change);
    const listed: unknown[] = Array.isArray(faults) ? faults : this.#otherVersion();
    return {
      faults: listed.filter(isRecord),
      ...(isRecord(fault) ? { fault } : {}),
      ...(typeof cleared === "number" ? { cleared } : {}),
    };
  }

  /**
   * The keys that verify this endpoint's messages: `whsec_...`, `whpk_...` and a certificate in
   * PEM.
   */
  async receiverKeys(endpoint: string): Promise<{
    readonly secret: Secret<string>;
    readonly publicKey: string;
    readonly certificate: string;
  }> {
    // Requests no notifications, only the other members of the answer.
    const { endpoints, public_key: publicKey } = await this.#call("/__cofre/notifications", {
      after: "999999999999999",
    });
    const listed: unknown[] = Array.isArray(endpoints) ? endpoints : [];
    const secret = listed.filter(isRecord).find(({ id }) => id === endpoint)?.["secret"];
    if (typeof secret !== "string" || typeof publicKey !== "string") return this.#otherVersion();
    const pem = await this.#exchange("GET", "/__cofre/certificate.pem", new Uint8Array());
    return { secret: new Secret(secret), publicKey, certificate: pem.toString("utf8") };
  }

  /** Creates a world, like `/__cofre/worlds`. */
  async createWorld(fields: Answer): Promise<Answer> {
    return this.#worldIn(await this.#call("/__cofre/worlds", fields));
  }

  async worlds(): Promise<readonly Answer[]> {
    const { worlds } = await this.#call("/__cofre/worlds", {}, { method: "GET" });
    const listed: unknown[] = Array.isArray(worlds) ? worlds : this.#otherVersion();
    return listed.filter(isRecord);
  }

  /** Shows, resets, snapshots or restores the key's world, like `/__cofre/world`. */
  async world(fields: Answer = {}): Promise<Answer> {
    return this.#worldIn(await this.#call("/__cofre/world", fields));
  }

  async deleteWorld(): Promise<void> {
    await this.#call("/__cofre/world", { action: "delete" });
  }

  /** The account's time, or the result of moving it; the answer of `/__cofre/clock`. */
  async clock(fields: Answer = {}): Promise<Answer> {
    const answer = await this.#call("/__cofre/clock", fields, { timeoutMs: clockTimeoutMs });
    return isRecord(answer["clock"]) ? answer : this.#otherVersion();
  }

  /** The account's time; undefined when it cannot be determined. */
  async now(): Promise<Instant | undefined> {
    try {
      const { clock } = await this.#call("/__cofre/clock", {});
      const now = isRecord(clock) ? clock["now"] : undefined;
      return typeof now === "string" ? parseInstant(now) : undefined;
    } catch (error) {
      if (error instanceof ClientProblem) return undefined;
      throw error;
    }
  }

  /**
   * A payment's state, money and history, by its hash or the merchant's code; the answer of
   * `/__cofre/explain`.
   */
  async explain(name: string): Promise<Answer> {
    return this.#ofPayment("/__cofre/explain", name);
  }

  /** All events of a payment, by its hash or code; the answer of `/__cofre/timeline`. */
  async timeline(name: string): Promise<Answer> {
    return this.#ofPayment("/__cofre/timeline", name);
  }

  /** A request of the interface, or another call that changes something, as a client sends it. */
  async operate(path: string, fields: Answer, waitMs = timeoutMs): Promise<Answer> {
    return this.#call(path, fields, { timeoutMs: waitMs });
  }

  /** The payment with this code or hash, as the list of payments shows it: one, or none. */
  async findPayment(name: string): Promise<{ readonly payments: readonly Answer[] }> {
    const { payments } = await this.#call("/__cofre/payments", { search: name, limit: 1 });
    const listed: unknown[] = Array.isArray(payments) ? payments : this.#otherVersion();
    return { payments: listed.filter(isRecord) };
  }

  /** The account's newest payments, at most `most`, and whether there are no others. */
  async newestPayments(
    most: number,
  ): Promise<{ readonly payments: readonly Answer[]; readonly isComplete: boolean }> {
    const found: Answer[] = [];
    for (let before: Answer = {}; ;) {
      const { payments, next } = await this.#call("/__cofre/payments", { ...before, limit: 100 });
      const listed: unknown[] = Array.isArray(payments) ? payments : this.#otherVersion();
      found.push(...listed.filter(isRecord));
      if (typeof next !== "string" || found.length >= most)
        return {
          payments: found.slice(0, most),
          isComplete: typeof next !== "string" && found.length <= most,
        };
      before = { before: next };
    }
  }

  /** The newest requests of the account, oldest first: at most fifty, after the number `after`. */
  async requests(
    after: number,
  ): Promise<{ readonly requests: readonly Answer[]; readonly next: number | undefined }> {
    const { requests, next } = await this.#call("/__cofre/requests", { after: String(after) });
    const listed: unknown[] = Array.isArray(requests) ? requests : this.#otherVersion();
    return {
      requests: listed.filter(isRecord),
      next: typeof next === "number" ? next : undefined,
    };
  }

  /** Some hundreds of the account's notifications, after the number `after`. */
  async notifications(after: number): Promise<readonly Answer[]> {
    const { notifications } = await this.#call("/__cofre/notifications", { after: String(after) });
    const listed: unknown[] = Array.isArray(notifications) ? notifications : this.#otherVersion();
    return listed.filter(isRecord);
  }

  /**
   * Replays notifications, like `/__cofre/notifications`, with as many calls as needed. Resolves
   * with the number of deliveries.
   */
  async replayAll(selection: Answer): Promise<number> {
    let all = 0;
    let from: Answer = {};
    for (let calls = 0; calls < maxCalls; calls += 1) {
      const { deliveries, next } = await this.#call("/__cofre/notifications", {
        ...selection,
        ...from,
      });
      if (typeof deliveries !== "number") return this.#otherVersion();
      all += deliveries;
      if (typeof next !== "number") break;
      from = { from: String(next) };
    }
    return all;
  }

  /** A payment's present status; undefined when it cannot be determined. */
  async paymentStatus(hash: string): Promise<string | undefined> {
    try {
      const { payment } = await this.#call(wirePaths.query, { hash });
      const status = isRecord(payment) ? payment["status"] : undefined;
      return typeof status === "string" && /^[A-Z]{2}$/.test(status) ? status : undefined;
    } catch (error) {
      if (error instanceof ClientProblem) return undefined;
      throw error;
    }
  }

  /** Signs an admin in; `keys` and `signOut` take the result. */
  async signIn(given: {
    readonly name: string;
    readonly password: string;
    readonly code: string;
  }): Promise<SignedIn> {
    const body = Buffer.from(JSON.stringify({ action: "sign_in", ...given }));
    const answer = await this.#answered(
      "POST",
      "/__cofre/session",
      body,
      timeoutMs,
      // Its presence shows that no page of another site sends this.
      ["X-Cofre-CSRF", "none"],
    );
    if (answer.status === 404)
      throw new ClientProblem(`The Cofre at ${this.origin} has no sign-in: omit --user.`);
    const { csrf } = this.#read(answer.body);
    const cookies = (answer.headers["set-cookie"] ?? []).map((each) => each.split(";")[0]);
    return typeof csrf === "string"
      ? ["Cookie", cookies.join("; "), "X-Cofre-CSRF", csrf]
      : this.#otherVersion();
  }

  async signOut(signedIn: SignedIn): Promise<void> {
    await this.#call("/__cofre/session", { action: "sign_out" }, { signedIn });
  }

  /** Orders or approves an act upon keys, or reads the state; by the key, or as a signed-in admin. */
  async keys(fields: Answer, signedIn?: SignedIn): Promise<Answer> {
    return this.#call("/__cofre/keys", fields, signedIn === undefined ? {} : { signedIn });
  }

  async #ofPayment(path: string, name: string): Promise<Answer> {
    const answer = await this.#call(
      path,
      /^[0-9a-f]{48}$/.test(name) ? { hash: name } : { merchant_payment_code: name },
    );
    return typeof answer["hash"] === "string" ? answer : this.#otherVersion();
  }

  #endpointsIn(settings: Answer): readonly NotificationEndpoint[] {
    return readEndpoints(settings["notificationEndpoints"]) ?? this.#otherVersion();
  }

  #otherVersion(): never {
    throw new ClientProblem(
      `The Cofre at ${this.origin} is of another version: use the command that came with it.`,
    );
  }

  #worldIn({ world }: Answer): Answer {
    return isRecord(world) ? world : this.#otherVersion();
  }

  /** The key is sent in the body, also of a GET; an empty one counts as none. */
  async #call(
    path: string,
    fields: Answer,
    how: {
      readonly method?: "GET";
      readonly timeoutMs?: number;
      readonly signedIn?: SignedIn;
    } = {},
  ): Promise<Answer> {
    const body = Buffer.from(JSON.stringify({ ...fields, integration_key: this.#key.reveal() }));
    return this.#read(
      await this.#exchange(how.method ?? "POST", path, body, how.timeoutMs, how.signedIn),
    );
  }

  #read(body: Buffer): Answer {
    const answer = objectIn(body.toString("utf8"));
    if (typeof answer?.["status"] !== "string")
      throw new ClientProblem(`What answers at ${this.origin} is not Cofre.`);
    if (answer["status"] === "SUCCESS") return answer;
    if (answer["status_code"] === "BP-SA-2") {
      throw new ClientProblem(
        `The Cofre at ${this.origin} does not accept this key. It must be the account's secret integration key, not the public one.`,
      );
    }
    if (answer["status_code"] === "COFRE-71") {
      throw new ClientProblem(
        "Cofre refused: COFRE-71 One of the keys is already in use. Choose another, or reset the world that has it.",
      );
    }
    throw new ClientProblem(
      `Cofre refused: ${printable(answer["status_code"])} ${printable(answer["status_message"])}`,
    );
  }

  async #exchange(
    method: "GET" | "POST",
    path: string,
    body: Uint8Array,
    waitMs = timeoutMs,
    signedIn: SignedIn = [],
  ): Promise<Buffer> {
    const answer = await this.#answered(method, path, body, waitMs, signedIn);
    if (answer.status === 404 || answer.status === 405)
      throw new ClientProblem(`What answers at ${this.origin} is not a Cofre sandbox.`);
    if (answer.status >= 500)
      throw new ClientProblem(
        `The Cofre at ${this.origin} cannot answer now (HTTP ${answer.status}).`,
      );
    return answer.body;
  }

  /** The answer, whatever its status. */
  async #answered(
    method: "GET" | "POST",
    path: string,
    body: Uint8Array,
    waitMs: number,
    signedIn: SignedIn = [],
  ): Promise<Exclude<Exchanged, { readonly failure: unknown }>> {
    const url = new URL(path, this.origin);
    // Host is listed because Node adds no headers to a list.
    const headers = ["Host", url.host, "Content-Type", "application/json", ...signedIn];
    const answer = await exchange(this.#scheduler, {
      method,
      url,
      headers,
      body,
      timeoutMs: waitMs,
    });
    if ("failure" in answer) {
      if (answer.failure === "timeout")
        throw new ClientProblem(
          `The Cofre at ${this.origin} has not answered within ${waitMs / 1_000} seconds.`,
        );
      if (answer.failure === "cut") {
        throw new ClientProblem(
          `The connection to ${this.origin} ended without a complete HTTP response: another program listens there, or a Cofre that is stopping or has reached its connection limit.`,
        );
      }
      throw new ClientProblem(
        `Nothing answers at ${this.origin}. Is Cofre running? \`cofre start\` starts it; --url names another address.`,
      );
    }
    return answer;
  }
}

/** Parses a JSON object; undefined when the text is not one. */
export function objectIn(text: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An external text without characters that would move a terminal's cursor. */
export function printable(value: unknown): string {
  return typeof value === "string" ? value.replaceAll(/\p{C}/gu, "").slice(0, 1_000) : "";
}
