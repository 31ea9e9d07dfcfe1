import type { AuthorizeOutcome, Connector, ReverseRequest, Unknown } from "../../src/connectors/connector.ts";
import type { Simulator } from "../../src/connectors/simulator/simulator-connector.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import type { SimulatorSettings } from "../../src/merchant/account.ts";
import type { Auditor } from "./auditor.ts";
import type { Chance } from "./chance.ts";
import type { Plan } from "./plan.ts";
import type { Step } from "./store-in-steps.ts";

type AcquirerFaults = Pick<Plan, "certainNoPerMille" | "garbledPerMille" | "liesPerMille">;

/** What befalls requests on their way to the acquirers of an installation, until the faults are over. */
export class AcquirerNetwork {
  readonly #auditor: Auditor;
  readonly #chance: Chance;
  readonly #plan: AcquirerFaults;
  /** Whether an acquirer lies about a reversal, by the reference of what is to be reversed: it keeps to it. */
  readonly #lies = new Map<string, boolean>();
  #faultsOn = true;

  constructor(auditor: Auditor, chance: Chance, plan: AcquirerFaults) {
    this.#auditor = auditor;
    this.#chance = chance;
    this.#plan = plan;
  }

  heal(): void {
    this.#faultsOn = false;
  }

  /** The acquirer as one process reaches it. */
  linkTo(name: string, simulator: Simulator, step: Step): Connector {
    type Sent = { readonly merchantId: MerchantId; readonly reference: string; readonly simulator: SimulatorSettings };
    const send = <R extends Sent, T extends { readonly kind: string }>(
      what: string,
      request: R,
      call: (request: R) => Promise<T>,
    ): Promise<T | Unknown> =>
      step(async () => {
        void this.#auditor.sends(request.merchantId, request.reference);
        this.#auditor.note(`to ${name}: ${what} ${request.reference}`);
        const outcome = this.#understood(await call(this.#overNetwork(request)));
        this.#auditor.note(`from ${name}: ${what} ${request.reference} is ${outcome.kind}`);
        return outcome;
      });
    return {
      name,
      capabilities: simulator.capabilities,
      authorize: (request, card) =>
        send("authorize", request, (sent) => {
          this.#auditor.charges(sent, card);
          const no = name === "main" ? this.#certainNo() : undefined;
          return no === undefined ? simulator.authorize(sent, card) : Promise.resolve(no);
        }),
      verify: (request, card) => send("verify", request, (sent) => simulator.verify(sent, card)),
      capture: (request) => send("capture", request, (sent) => simulator.capture(sent)),
      void: (request) => send("void", request, (sent) => simulator.void(sent)),
      refund: (request) => send("refund", request, (sent) => simulator.refund(sent)),
      reverse: (request) =>
        send("reverse", request, (sent) =>
          this.#liesAbout(sent) ? Promise.resolve({ kind: "refused", responseCode: "57" } as const) : simulator.reverse(sent),
        ),
      inquire: (request) => send("inquire", request, (sent) => simulator.inquire(sent)),
    };
  }

  /** Now and then the acquirer is not reached, or says that it does not work. */
  #certainNo(): AuthorizeOutcome | undefined {
    if (!this.#faultsOn || !this.#chance.happens(this.#plan.certainNoPerMille)) return undefined;
    const declined = { kind: "declined", reason: "acquirer_error", responseCode: "96", adviceCode: undefined, refusedBeforeIssuer: true };
    return this.#chance.happens(500) ? { kind: "not_sent" } : (declined as AuthorizeOutcome);
  }

  /** The acquirer did what it was asked to, and then says what nobody understands. */
  #understood<T>(outcome: T): T | Unknown {
    if (!this.#faultsOn || !this.#chance.happens(this.#plan.garbledPerMille)) return outcome;
    this.#auditor.mark("an answer is garbled");
    return { kind: "unknown", cause: "garbled" };
  }

  /** Nothing was captured, and the acquirer says that it cannot be reversed for that. */
  #liesAbout({ merchantId, original }: ReverseRequest): boolean {
    const known = this.#lies.get(original.reference);
    const lies = known ?? (this.#faultsOn && this.#chance.happens(this.#plan.liesPerMille));
    this.#lies.set(original.reference, lies);
    if (lies) this.#auditor.isLiedTo(merchantId, original.reference);
    return lies;
  }

  /** The request over the plan's network, or over one without faults once they are over. */
  #overNetwork<R extends { readonly simulator: SimulatorSettings }>(request: R): R {
    if (this.#faultsOn) return request;
    return { ...request, simulator: { ...request.simulator, loseAnswer: 0, loseRequest: 0, lateAnswer: 0, doubleRequest: 0 } };
  }
}
