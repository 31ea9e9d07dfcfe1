import { assert } from "../../kernel/assert.ts";
import { sha256Hex } from "../../kernel/digest.ts";
import type { NamedRequests } from "../../operations/named-requests.ts";
import type { WireAnswer } from "./answer.ts";
import { answeringAnswer } from "./endpoints/deps.ts";
import type { KeyedEndpoint } from "./endpoint.ts";
import type { ErrorFamily } from "./errors.ts";
import { isRefusedCode } from "./direct-request.ts";
import { Lifted, type Tree } from "./tree.ts";
import { WireError } from "./wire-error.ts";

/**
 * The endpoint, with an Idempotency-Key taken: the same key and the same request get the first answer again, marked by the
 * header `Idempotent-Replayed`. The interface has no such header; without it nothing changes.
 */
export function idempotent(endpoint: KeyedEndpoint, family: ErrorFamily, requests: Pick<NamedRequests, "answer">): KeyedEndpoint {
  assert(endpoint.key === "secret", "only whoever may move money names requests");
  return {
    ...endpoint,
    handle(request) {
      const key = request.headers.idempotencyKey;
      if (key === undefined) return endpoint.handle(request);
      if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
        throw new WireError("COFRE-46", "Header Idempotency-Key must have between 1 and 255 characters without blanks");
      }
      const refuseKey = (): void => {
        // The key is kept as it is, like a code. In what is drawn for it, such as a UUID, digits follow each other by chance.
        if (!isDrawn(key) && isRefusedCode(key, request.account))
          throw new WireError("COFRE-151", "Header Idempotency-Key holds a card number");
      };
      const digest = sha256Hex(`${endpoint.path}\n${canonical(request.params)}`);
      return answeringAnswer(family, async () => {
        const run = async () => {
          const made = await endpoint.handle({ ...request, named: { digest: sha256Hex(`${key}\n${digest}`) } });
          return { ...made, keep: made.keep !== false };
        };
        const answer = await requests.answer(request.account.id, key, digest, run, refuseKey);
        return "replayed" in answer ? { status: answer.status, body: answer.body, headers: replayed } : answer;
      });
    },
  };
}

function isDrawn(key: string): boolean {
  return /^[\da-f-]{32,}$/i.test(key) && /[a-f]/i.test(key);
}

const replayed: NonNullable<WireAnswer["headers"]> = [["Idempotent-Replayed", "true"]];

/**
 * One text for one request, whatever its encoding and the order of its fields. A card number stands in it as its mask shows it, a
 * security code not at all: the digest that is made of this is kept.
 */
function canonical(tree: Tree): string {
  if (typeof tree === "string") return JSON.stringify(tree);
  if (tree instanceof Lifted) return shown(tree);
  if (Array.isArray(tree)) return `[${tree.map((member: Tree) => canonical(member)).join(",")}]`;
  const members = Object.entries(tree).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join(",")}}`;
}

/** Card numbers have 14 digits and more; codes and what is too short to mask are as good as not there. */
function shown({ bytes }: Lifted): string {
  if (bytes.length < 14 || bytes.length > 19) return "secret";
  const digits = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return `card ${digits.slice(0, 6).join("")} ${digits.slice(-4).join("")} ${bytes.length}`;
}
