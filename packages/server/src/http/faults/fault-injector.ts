import type { AuthenticationFault } from "../../authentication/test-cards.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { Account, AcquirerFault, SimulatorBehaviour } from "../../merchant/account.ts";
import { query } from "../../operations/query.ts";
import { answers } from "../static-responses.ts";
import { retryAfterSeconds } from "../headers.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import type { WireRequest } from "../../wire/endpoint.ts";
import type { OperationRunner } from "../../wire/endpoints/deps.ts";
import { answerWithOtherStatus, refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { hashOf } from "../../wire/requests/fields.ts";
import { isTreeObject, textOf, type TreeObject } from "../../wire/decode/tree.ts";
import type { Fault, FaultQueue } from "./fault-queue.ts";
import type { FaultKind, FaultTarget } from "./fault-kinds.ts";

interface FaultParts {
  readonly queue: FaultQueue;
  readonly scheduler: Scheduler;
  readonly runner: OperationRunner;
}

/** How an answer is sent under a fault. */
export interface Delivery {
  readonly answer: WireResponse;
  /** Wait before anything is written, in milliseconds; for `half`, after the half. */
  readonly waitMs: number;
  /**
   * `half`: the head and half of the body, then the connection is cut; `nothing`: it is cut at
   * once.
   */
  readonly form: "whole" | "half" | "nothing";
  readonly fault: FaultKind;
}

type Waits = NonNullable<SimulatorBehaviour["waits"]>;
type Handle = (request: WireRequest) => Promise<WireResponse>;

/**
 * Carries out faults for the server: which fault a request meets, what is done with the request,
 * and how the answer is sent. Owns the waits, each of which belongs to a request.
 */
export class FaultInjector {
  readonly #parts: FaultParts;
  /**
   * The function that ends each wait early, with the account of the wait; undefined: the work is
   * done, and its answer waits.
   */
  readonly #waits = new Map<() => void, MerchantId | undefined>();
  #isClosed = false;

  constructor(parts: FaultParts) {
    this.#parts = parts;
  }

  waitsFor(merchantId: MerchantId): boolean {
    return this.#parts.queue.waitsFor(merchantId);
  }

  /** The fault that matches this request, if any. */
  async match(endpoint: FaultTarget, { account, params }: WireRequest): Promise<Fault | undefined> {
    const { queue } = this.#parts;
    const code = queue.needsCode(account.id, endpoint)
      ? await this.#codeIn(params, account)
      : undefined;
    return queue.take(account.id, endpoint, code);
  }

  /**
   * Handles a request under a fault. `handle` never rejects; `waits` is called with each wait
   * before the request is carried out.
   */
  async answer(
    fault: Fault,
    request: WireRequest,
    handle: Handle,
    waits: Waits,
  ): Promise<Delivery> {
    const delivery = await faultHandlers[fault.kind](fault, request, handle, (ms) =>
      waits(this.#waitUndone(ms, request.account.id)),
    );
    const headers = [
      ...(delivery.answer.headers ?? []),
      ["X-Cofre-Fault", `${fault.id} ${fault.kind}`] as const,
    ];
    return { ...delivery, answer: { ...delivery.answer, headers }, fault: fault.kind };
  }

  /**
   * The refusal of a request whose wait was ended early; undefined: the request is to be carried
   * out.
   */
  async #waitUndone(ms: number, merchantId: MerchantId): Promise<WireResponse | undefined> {
    if (await this.pause(ms, { of: merchantId })) return undefined;
    return this.#isClosed ? answers.stopping : unavailable;
  }

  /**
   * Resolves with true after `ms` milliseconds, or with false as soon as the wait is ended early:
   * for the account `of`, for a client that is `gone`, or for all.
   */
  pause(
    ms: number,
    { of, gone }: { readonly of?: MerchantId; readonly gone?: AbortSignal } = {},
  ): Promise<boolean> {
    if (this.#isClosed || gone?.aborted === true) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (isOver: boolean): void => {
        this.#waits.delete(cut);
        gone?.removeEventListener("abort", cut);
        resolve(isOver);
      };
      const cancel = this.#parts.scheduler.after(ms, () => end(true));
      const cut = (): void => {
        cancel();
        end(false);
      };
      this.#waits.set(cut, of);
      gone?.addEventListener("abort", cut);
    });
  }

  /**
   * Ends the waits of requests that have not been carried out: the account's state that they were
   * sent to no longer exists.
   */
  forget(merchantId: MerchantId): void {
    for (const [cut, of] of this.#waits) if (of === merchantId) cut();
  }

  /** Ends all waits, including later ones. */
  close(): void {
    this.#isClosed = true;
    for (const cut of this.#waits.keys()) cut();
  }

  /** The code of the payment that the request is about, whichever of its names was given. */
  async #codeIn(params: TreeObject, account: Account): Promise<string | undefined> {
    const { payment } = params;
    // As the operations read it: the hash wins.
    const hash = hashOf(params);
    if (hash !== undefined && hash !== "") return this.#codeOf(account, hash);
    return (
      textOf(params, "merchant_payment_code") ??
      (isTreeObject(payment) ? textOf(payment, "merchant_payment_code") : undefined)
    )?.trim();
  }

  /**
   * Undefined if there is no such payment, or it cannot be read now: the request itself will report
   * that.
   */
  async #codeOf(account: Account, hash: string): Promise<string | undefined> {
    try {
      return (await this.#parts.runner.run(query, account, { hash })).order.code;
    } catch {
      return undefined;
    }
  }
}

type Wait = (ms: number) => Promise<WireResponse | undefined>;
type Handled = Omit<Delivery, "fault">;
type FaultHandler = (
  fault: Fault,
  request: WireRequest,
  handle: Handle,
  wait: Wait,
) => Promise<Handled>;

const htmlPage = `<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n`;

const garbage: WireResponse = { status: 502, body: htmlPage, type: "text/html" };
const failure = answerWithOtherStatus("COFRE-14");
const unavailable = refusalAnswer("COFRE-21");
const throttled: WireResponse = {
  ...answerWithOtherStatus("COFRE-12"),
  headers: [["Retry-After", retryAfterSeconds]],
};

/** One row per kind; fault-kinds.ts describes each. */
const faultHandlers: Readonly<Record<FaultKind, FaultHandler>> = {
  fail_before_commit: nothingDone(failure),
  unavailable: nothingDone(unavailable),
  throttle: nothingDone(throttled),
  drop_before_commit: async () => ({ answer: failure, waitMs: 0, form: "nothing" }),
  drop_after_commit: async (_, request, handle) => ({
    answer: await handle(request),
    waitMs: 0,
    form: "nothing",
  }),
  error_after_commit: doneAndAnswered(failure),
  garbage_after_commit: doneAndAnswered(garbage),
  stall_in_body: async ({ delayMs }, request, handle) => ({
    answer: await handle(request),
    waitMs: delayMs,
    form: "half",
  }),
  late_answer: async ({ delayMs }, request, handle) => ({
    answer: await handle(request),
    waitMs: delayMs,
    form: "whole",
  }),
  // Independent of the client: a gateway carries out a request even if its client has left.
  slow: async ({ delayMs }, request, handle, wait) =>
    whole((await wait(delayMs)) ?? (await handle(request))),
  decline: async ({ reason }, request, handle) =>
    whole(await handle(treated(request, { decline: reason ?? "not_accepted" }))),
  acquirer_unknown_then_yes: async (_, request, handle) =>
    whole(await handle(treated(request, "lose_answer"))),
  acquirer_unknown_then_no: async (_, request, handle) =>
    whole(await handle(treated(request, "lose_request"))),
  directory_server_silent: authenticated("directory_server_silent"),
  bank_silent: authenticated("bank_silent"),
  bank_late: authenticated("bank_late"),
  result_lost: authenticated("result_lost"),
  result_forged: authenticated("result_forged"),
};

function whole(answer: WireResponse): Handled {
  return { answer, waitMs: 0, form: "whole" };
}

function nothingDone(answer: WireResponse): FaultHandler {
  return async () => whole(answer);
}

function doneAndAnswered(answer: WireResponse): FaultHandler {
  return async (_, request, handle) => {
    await handle(request);
    return whole(answer);
  };
}

function authenticated(kind: AuthenticationFault["kind"]): FaultHandler {
  return async ({ delayMs }, request, handle) =>
    whole(await handle({ ...request, authenticationFault: { kind, delayMs } }));
}

/** The same request with another behaviour of the simulated acquirer than the account's own. */
function treated(request: WireRequest, fault: AcquirerFault): WireRequest {
  const { account } = request;
  const simulator: SimulatorBehaviour = { ...account.settings.simulator, fault };
  return { ...request, account: { ...account, settings: { ...account.settings, simulator } } };
}
