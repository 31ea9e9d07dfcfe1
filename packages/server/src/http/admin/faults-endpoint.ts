import { closestTo } from "../../kernel/closest.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { declineReasons, type DeclineReason } from "../../payment/payment.ts";
import { holdsTestNumber } from "../../vault/test-numbers.ts";
import { type Fault, type FaultBoard, mostFaults, mostTimes, type WaitingFault } from "../faults/fault-board.ts";
import { type FaultKind, faultKindNames, rowOf } from "../faults/fault-kinds.ts";
import { isInterfacePath } from "../routes.ts";
import { errorAnswer, type WireAnswer } from "../../wire/answers/answer.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { lengthOf } from "../../wire/requests/fields.ts";
import { isTreeObject, textOf, type TreeObject } from "../../wire/decode/tree.ts";
import { WireError } from "../../wire/decode/wire-error.ts";

const members = ["kind", "times", "path", "merchant_payment_code", "delay_ms", "reason"] as const;

export const longestFaultCode = 128;
const longestDelayMs = 120_000;
const usualDelayMs = 5_000;
/** Operations that a refusal names one by one. */
const mostNamed = 5;

/**
 * `/__cofre/faults`, in the sandbox only: what goes wrong with the account's next requests. `add`, an object with a
 * `kind` and perhaps `times`, `path`, `merchant_payment_code`, `delay_ms` and `reason`, adds one; `clear`, an id or `all`, takes away. Every answer lists
 * those that wait. `operations` are the endpoints whose requests can be met; nothing goes wrong on purpose where `isSimulated` says that
 * another server carries the account's payments out.
 */
export function faultsEndpoint(
  board: FaultBoard,
  operations: readonly Endpoint[],
  isSimulated: (merchantId: MerchantId) => boolean,
): Endpoint {
  const paths = operations.filter(({ key, path }) => key !== "none" && isInterfacePath(path)).map(({ path }) => path);
  return {
    path: "/__cofre/faults",
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      if (!isSimulated(account.id))
        return errorAnswer("COFRE-100", "Another server carries this account's payments out: there are no faults");
      const { add, clear } = params;
      if (add !== undefined && clear !== undefined) return errorAnswer("COFRE-98", "Either add or clear, not both");
      if (add !== undefined) {
        if (!isTreeObject(add)) throw kindInvalid();
        const added = board.add(account.id, readFault(add, paths));
        if (added === undefined)
          return errorAnswer("COFRE-96", `No more faults can wait: an account has ${mostFaults} at most. Clear some`);
        return listing(board.list(account.id), { fault: shown(added) });
      }
      if (clear === undefined) return listing(board.list(account.id), {});
      const id = textOf(params, "clear");
      const cleared = id === undefined ? 0 : board.clear(account.id, id === "all" ? undefined : id);
      if (cleared === 0 && id !== "all") return errorAnswer("COFRE-97", "Parameter clear must be all, or the id of a fault that waits");
      return listing(board.list(account.id), { cleared });
    },
  };
}

function listing(faults: readonly WaitingFault[], more: Readonly<Record<string, unknown>>): WireAnswer {
  return { status: 200, body: JSON.stringify({ ...more, faults: faults.map(shown), status: "SUCCESS" }) };
}

function shown({ id, kind, times, met, path, code, delayMs, reason }: WaitingFault): object {
  const delay = rowOf(kind).waits ? { delay_ms: delayMs } : {};
  // What is undefined is left out.
  return { id, kind, times, met, path, merchant_payment_code: code, ...delay, reason };
}

/** Throws a WireError that quotes nothing of what it was given. */
function readFault(add: TreeObject, paths: readonly string[]): Omit<Fault, "id"> {
  const unknown = Object.keys(add).some((name) => !members.some((member) => member === name));
  if (unknown) throw new WireError("COFRE-99", `Parameter add has members other than ${members.join(", ")}`);
  const kind = faultKindNames.find((name) => name === textOf(add, "kind"));
  if (kind === undefined) throw kindInvalid();
  return {
    kind,
    times: readTimes(add),
    path: readPath(add, rowOf(kind).paths ?? paths),
    code: readCode(add),
    delayMs: readDelay(add, kind),
    reason: readReason(add, kind),
  };
}

function kindInvalid(): WireError {
  return new WireError(
    "COFRE-90",
    `Parameter add must be an object with a kind, in a form such as add[kind]=${faultKindNames[0]}, which is one of ${faultKindNames.join(", ")}`,
  );
}

function readTimes(add: TreeObject): number {
  const times = given(add, "times") ? wholeNumberOf(textOf(add, "times")) : 1;
  if (times === undefined || times > mostTimes) {
    throw new WireError("COFRE-91", `Parameter add.times must be a whole number from 1 to ${mostTimes}, or 0 for all until it is cleared`);
  }
  return times;
}

function readPath(add: TreeObject, allowed: readonly string[]): string | undefined {
  if (!given(add, "path")) return undefined;
  const asked = textOf(add, "path")?.trim().replace(/\/$/, "").toLowerCase();
  const path = allowed.find((each) => each.toLowerCase() === asked);
  if (path !== undefined) return path;
  const which = allowed.length > mostNamed ? "an operation such as /ws/direct" : `one of ${allowed.join(", ")} for this kind`;
  const closest = asked === undefined ? undefined : closestTo(asked, allowed);
  // What was meant is told, what was written is not.
  throw new WireError("COFRE-92", `Parameter add.path must be ${which}${closest === undefined ? "" : `. Did you mean ${closest}?`}`);
}

/** A payment's code, which may look like a card number by chance: only a published one, which would be kept and listed, is refused. */
function readCode(add: TreeObject): string | undefined {
  if (!given(add, "merchant_payment_code")) return undefined;
  const code = textOf(add, "merchant_payment_code")?.trim();
  if (code === undefined || code === "" || lengthOf(code) > longestFaultCode || /\p{Cc}/u.test(code) || holdsTestNumber(code)) {
    throw new WireError(
      "COFRE-93",
      `Parameter add.merchant_payment_code must have between 1 and ${longestFaultCode} characters, and no card number in it`,
    );
  }
  return code;
}

function readDelay(add: TreeObject, kind: FaultKind): number {
  if (!given(add, "delay_ms")) return usualDelayMs;
  const delayMs = rowOf(kind).waits ? wholeNumberOf(textOf(add, "delay_ms")) : undefined;
  if (delayMs === undefined || delayMs < 1 || delayMs > longestDelayMs) {
    const kinds = faultKindNames.filter((name) => rowOf(name).waits).join(", ");
    throw new WireError("COFRE-94", `Parameter add.delay_ms must be a whole number from 1 to ${longestDelayMs}, and is for ${kinds} alone`);
  }
  return delayMs;
}

function readReason(add: TreeObject, kind: FaultKind): DeclineReason | undefined {
  const reason = declineReasons.find((name) => name === textOf(add, "reason"));
  const isRight = kind === "decline" ? reason !== undefined : !given(add, "reason");
  if (!isRight) {
    throw new WireError("COFRE-95", `Parameter add.reason is for decline alone, which needs one of ${declineReasons.join(", ")}`);
  }
  return reason;
}

function given(add: TreeObject, name: (typeof members)[number]): boolean {
  return add[name] !== undefined;
}

function wholeNumberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}
