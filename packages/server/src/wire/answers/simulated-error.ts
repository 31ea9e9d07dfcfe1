import type { MerchantId } from "../../kernel/ids.ts";
import { errorAnswer, type WireAnswer } from "./answer.ts";
import type { SandboxDeps } from "../endpoints/deps.ts";
import { documentedErrors } from "../errors/error-reference.ts";
import { refusalAnswer } from "./refusal-answer.ts";

const messages = new Map<string, string>(
  documentedErrors
    .filter(({ code }) => code.startsWith("BP-"))
    .map(({ code, example }) => [code, example]),
);

/**
 * What `X-EBANX-Simulate-Internal-Error` on a charge asks for (interface 1.4), in the sandbox only.
 * An answer: nothing is done. Undefined: the request goes on, with BP-DR-119 to an acquirer whose
 * answer gets lost. Unknown values are not looked at.
 */
export async function simulatedError(
  asked: string | undefined,
  merchantId: MerchantId,
  sandbox: SandboxDeps | undefined,
): Promise<WireAnswer | undefined> {
  if (asked === undefined || sandbox === undefined) return undefined;
  const value = asked.trim().toUpperCase();
  // Like the real one no last word: asked again under its Idempotency-Key, the request runs.
  if (value === "503") return { ...refusalAnswer("COFRE-21"), keep: false };
  if (value === "BP-DR-119") {
    await sandbox.loseNextAuthorization(merchantId);
    return undefined;
  }
  const message = messages.get(value);
  return message === undefined ? undefined : errorAnswer(value, message);
}
