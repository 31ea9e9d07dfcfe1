import { chargebackReasons } from "../payment/chargeback.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, printable } from "./cofre-client.ts";
import { type ClientCommand, exitCodes } from "./command.ts";
import { causeEvent, eventDetails, eventNamed, eventNames, minorOf } from "./payment-events.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Causes an event of a payment that otherwise an issuer, a reviewer or the time causes. */
export const triggerCommand: ClientCommand = {
  summary: "cause an event of a payment: a dispute, a refund, an expiry",
  words: eventNames,
  needsWord: true,
  options: {
    "--code": { form: "C", doc: "the payment: its merchant_payment_code or hash" },
    "--amount": { form: "A", doc: "refunded: amount in the payment's currency" },
    "--description": { form: "TEXT", doc: "refunded, dispute: the text" },
    "--reason": { form: "REASON", doc: `dispute: ${chargebackReasons.join(", ")}` },
    ...clientOptions,
  },
  choices: { Events: eventNames.map((name) => [name, eventNamed(name)?.doc ?? ""]) },
  examples: [
    "cofre trigger captured --code order-1",
    "cofre trigger dispute --code order-1 --reason fraud",
    "cofre trigger refunded --code order-1 --amount 25.00",
  ],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const event = eventNamed(call.word ?? "");
      const name = call.flags.get("--code");
      if (event === undefined || name === undefined)
        throw new ClientProblem("Name the payment with --code CODE, or --code HASH.", {
          misuse: true,
        });
      for (const detail of eventDetails)
        if (call.flags.has(`--${detail}`) && event.takes?.includes(detail) !== true)
          throw new ClientProblem(`--${detail} is not for ${printable(call.word)}.`, {
            misuse: true,
          });
      const client = clientOf(call, host);
      await causeEvent(client, event, {
        name,
        amount: call.flags.get("--amount"),
        description: call.flags.get("--description"),
        reason: call.flags.get("--reason"),
      });
      const { payments } = await client.findPayment(name);
      const [payment = {}] = payments;
      host.print(call.flags.has("--json") ? JSON.stringify(payment) : lineOf(payment));
      return exitCodes.done;
    }),
};

/** `0a1b...  captured, charged back`. */
function lineOf(payment: Fields): string {
  const { hash, state, charged_back: isChargedBack, disputed: wasDisputed, refunded } = payment;
  const facts = [
    printable(state),
    isChargedBack === true ? "charged back" : wasDisputed === true ? "dispute won" : "",
    minorOf(refunded) > 0n ? `refunded ${printable(refunded)}` : "",
  ];
  return `${printable(hash)}  ${facts.filter((fact) => fact !== "").join(", ")}`;
}
