import { assert } from "../kernel/assert.ts";
import { sha256Hex } from "../kernel/digest.ts";
import { type CardNamed, maskedPanOf } from "../operations/masked-pan-of.ts";
import { containsDigits, containsMaskedPan } from "../vault/contains-pan.ts";
import { errorCodeIn, type WireResponse } from "./answers/answer.ts";
import { holdsCardNumber } from "./decode/card-like.ts";
import { answeringAnswer, type EndpointDeps } from "./endpoints/deps.ts";
import type { KeyedEndpoint, WireRequest } from "./endpoint.ts";
import type { ErrorMappings } from "./answers/errors.ts";
import { cardNodeOf, fieldOf, hashOf, nodeOf } from "./requests/fields.ts";
import { codeOf } from "./requests/payment-request.ts";
import { refusal } from "./errors/refusal.ts";
import { Lifted, textOf, type Tree, type TreeObject } from "./decode/tree.ts";

/**
 * Adds Idempotency-Key to the endpoint: the same key with the same request gets the first answer
 * again, marked by the header `Idempotent-Replayed`. The interface has no such header; requests
 * without it are unaffected.
 */
export function idempotent(
  endpoint: KeyedEndpoint,
  errors: ErrorMappings,
  { requests, runner }: Pick<EndpointDeps, "requests" | "runner">,
): KeyedEndpoint {
  assert(endpoint.key === "secret", "only a key that may move money names requests");
  return {
    ...endpoint,
    movesMoney: true,
    handle(request) {
      const key = request.headers.idempotencyKey;
      if (key === undefined) return endpoint.handle(request);
      if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw refusal("COFRE-46");
      const refuseKey = async (): Promise<void> => {
        if (
          !request.account.settings.refuseCardLikeCodes ||
          !(await holdsOwnNumber(key, request, runner))
        )
          return;
        throw refusal("COFRE-151");
      };
      const digest = sha256Hex(`${endpoint.path}\n${canonical(request.params)}`);
      return answeringAnswer(errors, async () => {
        const run = async () => {
          const made = await endpoint.handle({
            ...request,
            named: { digest: sha256Hex(`${key}\n${digest}`) },
          });
          return { ...made, keep: made.keep !== false };
        };
        const answer = await requests.answer(request.account.id, key, digest, run, refuseKey);
        return "replayed" in answer ? replayOf(answer) : answer;
      });
    },
  };
}

/**
 * Like a payment code (docs/decisions/0007), the key is stored unchanged, and before anything else
 * is. So this checks first whether it contains the number of the request's card. A stored card is
 * looked up only for a key that contains something in the form of a card number, and compared by
 * its mask.
 */
async function holdsOwnNumber(
  key: string,
  { params, account }: WireRequest,
  runner: EndpointDeps["runner"],
): Promise<boolean> {
  if (holdsLifted(key, params)) return true;
  const named = holdsCardNumber(key) ? cardNamedBy(params) : undefined;
  const maskedPan = named === undefined ? undefined : await runner.run(maskedPanOf, account, named);
  return maskedPan !== undefined && containsMaskedPan(key, maskedPan);
}

const shortestPan = 14;

function holdsLifted(key: string, tree: Tree): boolean {
  if (typeof tree === "string") return false;
  if (tree instanceof Lifted)
    return tree.bytes.length >= shortestPan && containsDigits(key, tree.bytes);
  return Object.values(tree).some((member: Tree) => holdsLifted(key, member));
}

/**
 * The card that a request refers to, as far as it names one. The operation reports invalid names.
 */
function cardNamedBy(params: TreeObject): CardNamed | undefined {
  const payment = nodeOf(params, "payment");
  if (payment !== undefined) {
    const token = fieldOf(cardNodeOf(payment) ?? payment, "token") ?? fieldOf(payment, "token");
    return token === undefined ? undefined : { token };
  }
  const [hash, code] = [hashOf(params), codeOf(params)];
  if (hash !== undefined || code !== undefined)
    return { payment: hash === undefined ? { code: code ?? "" } : { hash } };
  const [id, refundCode] = [fieldOf(params, "refund_id"), textOf(params, "merchant_refund_code")];
  if (id !== undefined && /^\d{1,10}$/.test(id)) return { refund: { id: Number(id) } };
  return refundCode === undefined ? undefined : { refund: { code: refundCode } };
}

function replayOf({ status, body }: WireResponse): WireResponse {
  const code = errorCodeIn(body);
  return { status, body, headers: replayed, ...(code === undefined ? {} : { code }) };
}

const replayed: NonNullable<WireResponse["headers"]> = [["Idempotent-Replayed", "true"]];

/**
 * One text per request, whatever its encoding and the order of its fields. The text contains a card
 * number only as its mask, and no security code, because its digest is stored.
 */
function canonical(tree: Tree): string {
  if (typeof tree === "string") return JSON.stringify(tree);
  if (tree instanceof Lifted) return shown(tree);
  if (Array.isArray(tree)) return `[${tree.map((member: Tree) => canonical(member)).join(",")}]`;
  const members = Object.entries(tree).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join(",")}}`;
}

/**
 * Card numbers have 14 digits or more; security codes and values that are too short to mask are
 * replaced by one fixed word.
 */
function shown({ bytes }: Lifted): string {
  if (bytes.length < 14 || bytes.length > 19) return "secret";
  const digits = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return `card ${digits.slice(0, 6).join("")} ${digits.slice(-4).join("")} ${bytes.length}`;
}
