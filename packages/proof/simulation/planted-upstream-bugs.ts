import type { PlantedBug } from "../../server/test/support/planted-bug.ts";

const connector = "connectors/upstream/upstream-connector.ts";

/** Plausible mistakes in the connector to another server with the interface. */
export const plantedUpstreamBugs: readonly PlantedBug[] = [
  {
    name: "a payment code that the upstream knows already is taken for a decline",
    file: connector,
    find: `    if (answer.code !== codeTaken) return declineOfRefusal(answer.code) ?? refusedToSay;`,
    replace: `    return declineOfRefusal(answer.code === codeTaken ? "BP-DR-1" : answer.code) ?? refusedToSay;`,
  },
  {
    name: "an exchange with the upstream without an answer is taken for one that was not sent",
    file: connector,
    find: `    if (answer.kind !== "complete") return answer;`,
    replace: `    if (answer.kind !== "complete") return { kind: "not_sent" };`,
  },
  {
    name: "a garbled answer of the upstream is taken for a request that was not sent",
    file: connector,
    find: `    } catch {
      return garbled;`,
    replace: `    } catch {
      return { kind: "not_sent" };`,
  },
  {
    name: "a capture that the upstream has done already is taken for a decline",
    file: connector,
    find: `    if (answer.code !== alreadyCaptured) return refusalOf(answer.code);`,
    replace: `    if (answer.code !== "") return answer.code === alreadyCaptured ? declined("12") : refusalOf(answer.code);`,
  },
  {
    name: "a refund is sent to the upstream again under another code",
    file: connector,
    find: `refundCodeOf(merchantId, original.reference, reference), amount.minor);`,
    replace: `refundCodeOf(merchantId, original.reference, \`\${reference}\${request.deadline % 1_000}\`), amount.minor);`,
  },
  {
    name: "a refund that the upstream has done already is taken for a decline",
    file: connector,
    find: `    return known ? this.#outcomeOfRefund(request, existing.payment, refundCode, minor) : refusal;`,
    replace: `    return known && minor === 0n ? this.#outcomeOfRefund(request, existing.payment, refundCode, minor) : declined("12");`,
  },
];
