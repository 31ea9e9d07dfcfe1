import type { AuthorizeOutcome, Connector } from "../../src/connectors/connector.ts";
import type { Simulator } from "../../src/connectors/simulator/simulator-connector.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import type { SimulatorSettings } from "../../src/merchant/account.ts";
import type { Auditor } from "./auditor.ts";
import type { Chance } from "./chance.ts";
import type { Step } from "./store-in-steps.ts";

/** What befalls requests on their way to the acquirers of an installation, until the faults are over. */
export class AcquirerNetwork {
  readonly #auditor: Auditor;
  readonly #chance: Chance;
  readonly #certainNoPerMille: number;
  #faultsOn = true;

  constructor(auditor: Auditor, chance: Chance, certainNoPerMille: number) {
    this.#auditor = auditor;
    this.#chance = chance;
    this.#certainNoPerMille = certainNoPerMille;
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
    ): Promise<T> =>
      step(async () => {
        void this.#auditor.sends(request.merchantId, request.reference);
        this.#auditor.note(`to ${name}: ${what} ${request.reference}`);
        const outcome = await call(this.#overNetwork(request));
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
      reverse: (request) => send("reverse", request, (sent) => simulator.reverse(sent)),
      inquire: (request) => send("inquire", request, (sent) => simulator.inquire(sent)),
    };
  }

  /** Now and then the acquirer is not reached, or says that it does not work. */
  #certainNo(): AuthorizeOutcome | undefined {
    if (!this.#faultsOn || !this.#chance.happens(this.#certainNoPerMille)) return undefined;
    const declined = { kind: "declined", reason: "acquirer_error", responseCode: "96", adviceCode: undefined, refusedBeforeIssuer: true };
    return this.#chance.happens(500) ? { kind: "not_sent" } : (declined as AuthorizeOutcome);
  }

  /** The request over the plan's network, or over one without faults once they are over. */
  #overNetwork<R extends { readonly simulator: SimulatorSettings }>(request: R): R {
    if (this.#faultsOn) return request;
    return { ...request, simulator: { ...request.simulator, loseAnswer: 0, loseRequest: 0, lateAnswer: 0, doubleRequest: 0 } };
  }
}
