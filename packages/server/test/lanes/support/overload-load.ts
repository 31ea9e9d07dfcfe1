import { Agent, request as openRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type ToldPayment, toldPaymentOf } from "./kill-promises.ts";

/** What became of one payment that was asked for once. Times are in milliseconds of one clock. */
export interface Asked {
  readonly code: string;
  readonly sent: number;
  readonly ended: number;
  readonly end: "accepted" | "refused" | "wrong";
  /** The payment as it was told, when it was accepted. */
  readonly told: ToldPayment | undefined;
  /** What came instead, when it was neither accepted nor refused as the interface has it. */
  readonly instead: string;
}

export interface OverloadLoadOptions {
  readonly port: number;
  readonly integrationKey: string;
  /** Prefix of all payment codes. */
  readonly name: string;
  readonly connections: number;
}

interface Answered {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/**
 * Shops that ask for one sale after the other, none of them twice: what was refused stays refused.
 */
export class OverloadLoad implements Disposable {
  readonly #options: OverloadLoadOptions;
  readonly #agent: Agent;
  #codes = 0;

  constructor(options: OverloadLoadOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /**
   * So many sales a second whether or not earlier ones were answered, which is what a server meets
   * that has more customers than it can serve. What the generator was late with is sent at once.
   */
  async open(perSecond: number, ms: number): Promise<readonly Asked[]> {
    const asked: Promise<Asked>[] = [];
    const begin = performance.now();
    const total = Math.floor((perSecond * ms) / 1_000);
    while (asked.length < total) {
      const due = Math.min(total, Math.ceil(((performance.now() - begin) * perSecond) / 1_000));
      while (asked.length < due) asked.push(this.sale());
      await sleep(2);
    }
    return Promise.all(asked);
  }

  /**
   * So many shops, each of which sends its next sale as soon as the last one has ended, for so
   * long.
   */
  async closed(shops: number, ms: number): Promise<readonly Asked[]> {
    const asked: Asked[] = [];
    const until = performance.now() + ms;
    const shop = async (): Promise<void> => {
      while (performance.now() < until) asked.push(await this.sale());
    };
    await Promise.all(Array.from({ length: shops }, shop));
    return asked;
  }

  async sale(): Promise<Asked> {
    this.#codes += 1;
    const code = `${this.#options.name}-${this.#codes}`;
    const sent = performance.now();
    const answered = await this.#send(saleBody(this.#options.integrationKey, code));
    return { code, sent, ended: performance.now(), ...endOf(answered) };
  }

  /** Never rejects; undefined when the connection ended before the answer was whole. */
  #send(body: string): Promise<Answered | undefined> {
    return new Promise((resolve) => {
      const headers = {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      };
      const { port } = this.#options;
      const request = openRequest({
        host: "127.0.0.1",
        port,
        method: "POST",
        path: "/ws/direct",
        agent: this.#agent,
        headers,
      });
      request.on("error", () => resolve(undefined));
      request.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        response.on("error", () => resolve(undefined));
        response.on("close", () => {
          const { statusCode: status = 0, headers: told, complete } = response;
          resolve(complete ? { status, retryAfter: told["retry-after"], text } : undefined);
        });
      });
      request.end(body);
    });
  }
}

/** A sale that every rule accepts. */
export function saleBody(integrationKey: string, code: string): string {
  return JSON.stringify({
    integration_key: integrationKey,
    operation: "request",
    payment: {
      amount_total: "12.30",
      currency_code: "PEN",
      merchant_payment_code: code,
      name: "Ana Lima",
      email: "ana.lima@example.com",
      country: "pe",
      phone_number: "51987654321",
      payment_type_code: "creditcard",
      creditcard: {
        card_number: "4111111111111111",
        card_name: "Ana Lima",
        card_due_date: "12/2060",
        card_cvv: "123",
      },
    },
  });
}

function endOf(answered: Answered | undefined): Pick<Asked, "end" | "told" | "instead"> {
  if (answered === undefined) return { end: "wrong", told: undefined, instead: "no answer" };
  const { status, retryAfter, text } = answered;
  let answer: Readonly<Record<string, unknown>> = {};
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    return { end: "wrong", told: undefined, instead: `${status} without JSON` };
  }
  if (status === 200 && answer["status"] === "SUCCESS")
    return { end: "accepted", told: toldPaymentOf(answer), instead: "" };
  const says = `${status} ${String(answer["status"])} ${String(answer["status_code"])}`;
  const isRefusal = says === "503 ERROR COFRE-12" && /^[1-9]\d*$/.test(retryAfter ?? "");
  return {
    end: isRefusal ? "refused" : "wrong",
    told: undefined,
    instead: isRefusal ? "" : `${says}, Retry-After ${retryAfter}`,
  };
}

/** The value below which this share of them lies; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}

export function latencies(asked: readonly Asked[], end: Asked["end"]): readonly number[] {
  return asked.filter((each) => each.end === end).map(({ sent, ended }) => ended - sent);
}
