import { wirePaths } from "../../interface/paths.ts";
import { acting, reading, whenGiven } from "../../wire/permission.ts";
import { suggestionFor } from "../../kernel/suggestion.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { declineReasons, type DeclineReason } from "../../payment/payment.ts";
import { containsTestNumber } from "../../vault/test-numbers.ts";
import {
  type Fault,
  type FaultQueue,
  maxFaults,
  maxTimes,
  type WaitingFault,
} from "../faults/fault-queue.ts";
import {
  appliesTo,
  type FaultKind,
  faultKindNames,
  type FaultTarget,
  rowOf,
} from "../faults/fault-kinds.ts";
import { isInterfacePath } from "../routes.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import type { Endpoint, KeyedEndpoint } from "../../wire/endpoint.ts";
import { lengthOf } from "../../wire/requests/fields.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { refusal } from "../../wire/errors/refusal.ts";
import { isTreeObject, textOf, type TreeObject } from "../../wire/decode/tree.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

const members = ["kind", "times", "path", "merchant_payment_code", "delay_ms", "reason"] as const;

const longestFaultCode = 128;
const longestDelayMs = 120_000;
const usualDelayMs = 5_000;
/** Up to this number of operations, a refusal names each. */
const maxNamed = 5;

const fault = json.object(
  {
    id: json.text,
    kind: json.oneOf(faultKindNames),
    times: { ...json.integer, description: "0: until it is cleared." },
    injected: { ...json.integer, description: "The number of requests that it was injected into." },
  },
  {
    path: json.text,
    merchant_payment_code: json.text,
    delay_ms: json.integer,
    reason: json.text,
  },
);

const answerSchema = new NamedSchema(
  "FaultsAnswer",
  json.object(
    {
      faults: {
        ...json.list(fault),
        description: "Active faults, in the order in which they were added.",
      },
      status: json.success,
    },
    {
      fault: { ...fault, description: "The added fault." },
      cleared: { ...json.integer, description: "The number of removed faults." },
    },
  ),
);

const doc: EndpointDoc = {
  id: "faults",
  tag: "Sandbox",
  summary: "Inject faults into requests",
  description:
    "Adds a fault for the account's next requests, removes faults, or lists them. docs/wire/sandbox.md describes each kind.",
  fields: [
    secretKey,
    {
      name: "add",
      type: "object",
      note: "A fault for the account's next requests. Without add and clear the faults are listed; with both: COFRE-98. COFRE-99 for unknown members, COFRE-96 when a hundred faults are active.",
      fields: [
        {
          name: "kind",
          type: "text",
          required: { code: "COFRE-90" },
          values: faultKindNames,
          note: "The kind of fault.",
        },
        {
          name: "times",
          type: "whole",
          note: "The number of requests, 1 to 1000, or 0 for all until it is cleared. Default: 1. Any other value: COFRE-91.",
        },
        {
          name: "path",
          type: "text",
          note: `Only requests of this operation, such as ${wirePaths.direct}. Any other value: COFRE-92.`,
        },
        {
          name: "merchant_payment_code",
          type: "text",
          longest: { characters: longestFaultCode, code: "COFRE-93" },
          note: "Only requests about this payment.",
        },
        {
          name: "delay_ms",
          type: "whole",
          note: "The delay in milliseconds, for faults that delay, 1 to 120000. Default: 5000. Any other value: COFRE-94.",
        },
        {
          name: "reason",
          type: "text",
          note: `The reason of a decline: ${declineReasons.join(", ")}. Any other value: COFRE-95.`,
        },
      ],
    },
    {
      name: "clear",
      type: "text",
      note: "The id of an active fault, or all. Any other value: COFRE-97.",
    },
  ],
  answer: answerSchema,
  codes: [
    "COFRE-90",
    "COFRE-91",
    "COFRE-92",
    "COFRE-93",
    "COFRE-94",
    "COFRE-95",
    "COFRE-96",
    "COFRE-97",
    "COFRE-98",
    "COFRE-99",
    "COFRE-100",
  ],
  example: {
    ...exampleKey,
    add: { kind: "drop_after_commit", path: wirePaths.direct, merchant_payment_code: "$ORDER" },
  },
};

/**
 * `/__cofre/faults`, in the sandbox only: faults for the account's next requests. `add`, an object
 * with a `kind` and optionally `times`, `path`, `merchant_payment_code`, `delay_ms` and `reason`,
 * adds one; `clear`, an id or `all`, removes. Every answer lists the active faults. `operations`
 * are the endpoints whose requests a fault can match. If `isSimulated` is false, another server
 * processes the account's payments, and no faults are injected.
 */
export function faultsEndpoint(
  queue: FaultQueue,
  operations: readonly Endpoint[],
  isSimulated: (merchantId: MerchantId) => boolean,
): Endpoint {
  const targets = operations.filter(
    (endpoint): endpoint is KeyedEndpoint =>
      endpoint.key !== "none" && isInterfacePath(endpoint.path),
  );
  return {
    path: "/__cofre/faults",
    doc,
    permission: whenGiven(["add", "clear"], acting("admin", "faults_changed"), reading),
    recorded: "actions",
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      if (!isSimulated(account.id)) return refusalAnswer("COFRE-100");
      const { add, clear } = params;
      if (add !== undefined && clear !== undefined) return refusalAnswer("COFRE-98");
      if (add !== undefined) {
        if (!isTreeObject(add)) throw refusal("COFRE-90", { list: faultKindNames.join(", ") });
        const added = queue.add(account.id, readFault(add, targets));
        if (added === undefined) return refusalAnswer("COFRE-96", { most: maxFaults });
        return listing(queue.list(account.id), { fault: shown(added) });
      }
      if (clear === undefined) return listing(queue.list(account.id), {});
      const id = textOf(params, "clear");
      const cleared = id === undefined ? 0 : queue.clear(account.id, id === "all" ? undefined : id);
      if (cleared === 0 && id !== "all") return refusalAnswer("COFRE-97");
      return listing(queue.list(account.id), { cleared });
    },
  };
}

function listing(
  faults: readonly WaitingFault[],
  more: Readonly<Record<string, unknown>>,
): WireResponse {
  return {
    status: 200,
    body: JSON.stringify({ ...more, faults: faults.map(shown), status: "SUCCESS" }),
  };
}

function shown({ id, kind, times, injected, path, code, delayMs, reason }: WaitingFault): object {
  const delay = rowOf(kind).waits ? { delay_ms: delayMs } : {};
  // JSON omits undefined members.
  return { id, kind, times, injected, path, merchant_payment_code: code, ...delay, reason };
}

/** Throws a WireError that quotes nothing of the request. */
function readFault(add: TreeObject, targets: readonly FaultTarget[]): Omit<Fault, "id"> {
  const unknown = Object.keys(add).some((name) => !members.some((member) => member === name));
  if (unknown) throw refusal("COFRE-99", { list: members.join(", ") });
  const kind = faultKindNames.find((name) => name === textOf(add, "kind"));
  if (kind === undefined) throw refusal("COFRE-90", { list: faultKindNames.join(", ") });
  return {
    kind,
    times: readTimes(add),
    path: readPath(
      add,
      targets.filter((target) => appliesTo(kind, target)).map(({ path }) => path),
    ),
    code: readCode(add),
    delayMs: readDelay(add, kind),
    reason: readReason(add, kind),
  };
}

function readTimes(add: TreeObject): number {
  const times = given(add, "times") ? wholeNumberOf(textOf(add, "times")) : 1;
  if (times === undefined || times > maxTimes) throw refusal("COFRE-91", { most: maxTimes });
  return times;
}

function readPath(add: TreeObject, allowed: readonly string[]): string | undefined {
  if (!given(add, "path")) return undefined;
  const requested = textOf(add, "path")?.trim().replace(/\/$/, "").toLowerCase();
  const path = allowed.find((each) => each.toLowerCase() === requested);
  if (path !== undefined) return path;
  const suggestion = requested === undefined ? undefined : suggestionFor(requested, allowed);
  // The message suggests the closest operation and does not quote the request.
  throw refusal("COFRE-92", {
    ...(allowed.length > maxNamed
      ? { paths: "an operation such as {path}", path: wirePaths.direct }
      : { paths: "one of {list} for this kind", list: allowed.join(", ") }),
    ...(suggestion === undefined
      ? { hint: "" }
      : { hint: ". Did you mean {suggestion}?", suggestion }),
  });
}

/**
 * The code of a payment, which may look like a card number by chance. Only a published test number
 * is refused, because it would be kept and listed.
 */
function readCode(add: TreeObject): string | undefined {
  if (!given(add, "merchant_payment_code")) return undefined;
  const code = textOf(add, "merchant_payment_code")?.trim();
  if (
    code === undefined ||
    code === "" ||
    lengthOf(code) > longestFaultCode ||
    /\p{Cc}/u.test(code) ||
    containsTestNumber(code)
  ) {
    throw refusal("COFRE-93", { longest: longestFaultCode });
  }
  return code;
}

function readDelay(add: TreeObject, kind: FaultKind): number {
  if (!given(add, "delay_ms")) return usualDelayMs;
  const delayMs = rowOf(kind).waits ? wholeNumberOf(textOf(add, "delay_ms")) : undefined;
  if (delayMs === undefined || delayMs < 1 || delayMs > longestDelayMs) {
    const kinds = faultKindNames.filter((name) => rowOf(name).waits).join(", ");
    throw refusal("COFRE-94", { longest: longestDelayMs, kinds });
  }
  return delayMs;
}

function readReason(add: TreeObject, kind: FaultKind): DeclineReason | undefined {
  const reason = declineReasons.find((name) => name === textOf(add, "reason"));
  const isRight = kind === "decline" ? reason !== undefined : !given(add, "reason");
  if (!isRight) throw refusal("COFRE-95", { list: declineReasons.join(", ") });
  return reason;
}

function given(add: TreeObject, name: (typeof members)[number]): boolean {
  return add[name] !== undefined;
}

function wholeNumberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}
