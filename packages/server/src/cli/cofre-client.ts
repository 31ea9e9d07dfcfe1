import { type NotificationChaos, type NotificationEndpoint, readEndpoints } from "../outbox/endpoint.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { Secret } from "../kernel/secret.ts";
import { baseUrl } from "./banner.ts";
import type { CommandCall, CommandHost, OptionRow } from "./command.ts";
import { exchange, isLoopback } from "./http.ts";

/** Options of every command that talks to a running Cofre. */
export const clientOptions = {
  "--url": { form: "URL", doc: "where Cofre listens; otherwise where COFRE_HOST and COFRE_PORT say" },
  "--key": { form: "KEY", doc: "the account's secret integration key; otherwise COFRE_SANDBOX_INTEGRATION_KEY" },
  "--json": { doc: "one JSON object a line" },
} as const satisfies Readonly<Record<string, OptionRow>>;

/** Something that the user has to know: the message is whole sentences without anything secret. `misuse`: the command line is wrong. */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
  readonly misuse: boolean;

  constructor(message: string, { misuse = false } = {}) {
    super(message);
    this.misuse = misuse;
  }
}

const timeoutMs = 10_000;

/** The client that a command line asks for. Throws ClientProblem. */
export function clientOf({ flags }: CommandCall, { config, scheduler }: CommandHost): CofreClient {
  const reading = config();
  if ("problems" in reading)
    throw new ClientProblem(["The settings of this environment are wrong:", ...reading.problems].join("\n  "), { misuse: true });
  const { host, port, sandboxIntegrationKey } = reading.config;
  const text = flags.get("--url") ?? baseUrl(host, port);
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "" || !isLoopback(url)) {
    const reason = "it must be an http:// address of this machine, such as http://127.0.0.1:8787, since the key goes there without TLS";
    throw new ClientProblem(`--url is not where a Cofre can be spoken to: ${reason}.`, { misuse: true });
  }
  const given = flags.get("--key");
  const key = given === undefined ? sandboxIntegrationKey : new Secret(given);
  if (key === undefined) {
    throw new ClientProblem("There is no key: give the account's secret integration key in COFRE_SANDBOX_INTEGRATION_KEY or with --key.", {
      misuse: true,
    });
  }
  return new CofreClient(url.origin, key, scheduler);
}

/** Speaks to a running Cofre for one account. What it cannot do it says by a ClientProblem. */
export class CofreClient {
  readonly origin: string;
  readonly #key: Secret<string>;
  readonly #scheduler: Scheduler;

  constructor(origin: string, key: Secret<string>, scheduler: Scheduler) {
    this.origin = origin;
    this.#key = key;
    this.#scheduler = scheduler;
  }

  async endpoints(): Promise<readonly NotificationEndpoint[]> {
    return this.#endpointsIn(await this.#call("/__cofre/settings", {}));
  }

  async setEndpoints(notificationEndpoints: readonly NotificationEndpoint[]): Promise<readonly NotificationEndpoint[]> {
    return this.#endpointsIn(await this.#call("/__cofre/settings", { settings: { notificationEndpoints } }));
  }

  /** The account's chaos, after `changes` if there are any. */
  async chaos(changes?: Partial<NotificationChaos>): Promise<Readonly<Record<string, unknown>>> {
    const { settings } = await this.#call("/__cofre/settings", changes === undefined ? {} : { settings: { notificationChaos: changes } });
    const chaos = isRecord(settings) ? settings["notificationChaos"] : undefined;
    return isRecord(chaos) ? chaos : this.#otherVersion();
  }

  /** What this endpoint's messages are verified with: `whsec_...`, `whpk_...` and a certificate in PEM. */
  async receiverKeys(
    endpoint: string,
  ): Promise<{ readonly secret: Secret<string>; readonly publicKey: string; readonly certificate: string }> {
    // No notifications, only what stands beside them.
    const { endpoints, public_key: publicKey } = await this.#call("/__cofre/notifications", { after: "999999999999999" });
    const listed: unknown[] = Array.isArray(endpoints) ? endpoints : [];
    const secret = listed.filter(isRecord).find(({ id }) => id === endpoint)?.["secret"];
    if (typeof secret !== "string" || typeof publicKey !== "string") return this.#otherVersion();
    const pem = await this.#exchange("GET", "/__cofre/certificate.pem", new Uint8Array());
    return { secret: new Secret(secret), publicKey, certificate: pem.toString("utf8") };
  }

  /** What a payment is now; undefined when that is not found out. */
  async paymentStatus(hash: string): Promise<string | undefined> {
    try {
      const { payment } = await this.#call("/ws/query", { hash });
      const status = isRecord(payment) ? payment["status"] : undefined;
      return typeof status === "string" && /^[A-Z]{2}$/.test(status) ? status : undefined;
    } catch (error) {
      if (error instanceof ClientProblem) return undefined;
      throw error;
    }
  }

  #endpointsIn({ settings }: Readonly<Record<string, unknown>>): readonly NotificationEndpoint[] {
    return readEndpoints(isRecord(settings) ? settings["notificationEndpoints"] : undefined) ?? this.#otherVersion();
  }

  #otherVersion(): never {
    throw new ClientProblem(`The Cofre at ${this.origin} answers otherwise than this version's: use the command that came with it.`);
  }

  async #call(path: string, fields: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> {
    const text = (
      await this.#exchange("POST", path, Buffer.from(JSON.stringify({ ...fields, integration_key: this.#key.reveal() })))
    ).toString("utf8");
    const answer = objectIn(text);
    if (typeof answer?.["status"] !== "string") throw new ClientProblem(`What answers at ${this.origin} is not Cofre.`);
    if (answer["status"] === "SUCCESS") return answer;
    if (answer["status_code"] === "BP-SA-2") {
      throw new ClientProblem(
        `The Cofre at ${this.origin} does not know this key. It must be the account's secret integration key, not the public one.`,
      );
    }
    throw new ClientProblem(`Cofre refused: ${printable(answer["status_code"])} ${printable(answer["status_message"])}`);
  }

  async #exchange(method: "GET" | "POST", path: string, body: Uint8Array): Promise<Buffer> {
    const url = new URL(path, this.origin);
    // Host stands here because a list of headers leaves nothing to Node.
    const headers = ["Host", url.host, "Content-Type", "application/json"];
    const answer = await exchange(this.#scheduler, { method, url, headers, body, timeoutMs });
    if ("failure" in answer) {
      if (answer.failure === "timeout") throw new ClientProblem(`The Cofre at ${this.origin} has not answered within ten seconds.`);
      throw new ClientProblem(
        `Nothing answers at ${this.origin}. Is Cofre running? \`cofre start\` starts it; --url names another address.`,
      );
    }
    if (answer.status === 404 || answer.status === 405) throw new ClientProblem(`What answers at ${this.origin} is not a Cofre sandbox.`);
    if (answer.status >= 500) throw new ClientProblem(`The Cofre at ${this.origin} cannot answer now (HTTP ${answer.status}).`);
    return answer.body;
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text from elsewhere without what would move a terminal's cursor. */
function printable(value: unknown): string {
  return typeof value === "string" ? value.replaceAll(/\p{C}/gu, "").slice(0, 300) : "";
}
