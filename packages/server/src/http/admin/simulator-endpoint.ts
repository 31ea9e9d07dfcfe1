import { acting } from "../../wire/permission.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { declineReasons, type DeclineReason } from "../../payment/payment.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { textOf } from "../../wire/decode/tree.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { doneSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

/** Faults of the simulated acquirer; connectors/simulator describes each. */
const faults = [
  "lose_request",
  "lose_answer",
  "late_answer",
  "double_request",
  "echo_card",
] as const;
const messages = [
  "authorize",
  "verify",
  "capture",
  "void",
  "refund",
  "reverse",
  "inquire",
] as const;

export interface SimulatorInstruction {
  readonly next: (typeof faults)[number] | { readonly decline: DeclineReason };
  readonly times: number;
  readonly message?: (typeof messages)[number];
}

/**
 * Queues an instruction with the simulator of this name, or the first. Throws or rejects if it
 * cannot be queued.
 */
export type Instruct = (
  merchantId: MerchantId,
  instruction: SimulatorInstruction,
  connector?: string,
) => void | Promise<void>;

const doc: EndpointDoc = {
  id: "instructSimulator",
  tag: "Sandbox",
  summary: "Set the next behaviour of the simulated acquirer",
  description: "Lose a request or an answer, answer late, process a request twice, or decline.",
  fields: [
    secretKey,
    {
      name: "next",
      type: "text",
      required: { code: "COFRE-32" },
      values: [...faults, "decline"],
      note: "The behaviour for the next messages.",
    },
    {
      name: "reason",
      type: "text",
      required: { code: "COFRE-32", when: "next is decline" },
      note: `The simulated issuer's reason: ${declineReasons.join(", ")}.`,
    },
    {
      name: "message",
      type: "text",
      values: messages,
      note: "Only messages of this kind. Any other value: COFRE-33.",
    },
    {
      name: "times",
      type: "whole",
      longest: { characters: 4, code: "COFRE-34" },
      note: "Default: 1.",
    },
    {
      name: "connector",
      type: "text",
      note: "The simulator's name. Default: the first. Any other value: COFRE-50.",
    },
  ],
  answer: doneSchema,
  codes: ["COFRE-32", "COFRE-33", "COFRE-34", "COFRE-35", "COFRE-50"],
  example: { ...exampleKey, next: "decline", reason: "insufficient_funds", message: "authorize" },
};

/**
 * `/__cofre/simulator`, in the sandbox only: instructions for the account's next messages to the
 * simulated acquirer. `next`: `lose_request`, `lose_answer`, `late_answer`, `double_request`,
 * `echo_card` or `decline` with a `reason`; `times`: default 1; `message`: only messages of this kind;
 * `connector`: which simulator if there are several, default the first.
 */
export function simulatorEndpoint(instruct: Instruct, names: readonly string[]): Endpoint {
  return {
    path: "/__cofre/simulator",
    doc,
    permission: acting("admin", "simulator_instructed"),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const fault = faults.find((name) => name === textOf(params, "next"));
      const reason = declineReasons.find((name) => name === textOf(params, "reason"));
      const decline =
        textOf(params, "next") === "decline" && reason !== undefined
          ? { decline: reason }
          : undefined;
      const next = fault ?? decline;
      if (next === undefined)
        return refusalAnswer("COFRE-32", {
          list: faults.join(", "),
          reasons: declineReasons.join(", "),
        });
      const requested = textOf(params, "message");
      const message = messages.find((name) => name === requested);
      if (requested !== undefined && message === undefined)
        return refusalAnswer("COFRE-33", { list: messages.join(", ") });
      const times = textOf(params, "times") ?? "1";
      if (!/^[1-9]\d{0,3}$/.test(times)) return refusalAnswer("COFRE-34");
      const connector = textOf(params, "connector");
      if (connector !== undefined && !names.includes(connector)) {
        return refusalAnswer("COFRE-50", { list: names.join(", ") });
      }
      try {
        await instruct(
          account.id,
          { next, times: Number(times), ...(message === undefined ? {} : { message }) },
          connector,
        );
      } catch {
        return refusalAnswer("COFRE-35");
      }
      return { status: 200, body: '{"status":"SUCCESS"}' };
    },
  };
}
