import type { MerchantId } from "../../kernel/ids.ts";
import { errorAnswer, type WireResponse } from "./answer.ts";
import type { SandboxDeps } from "../endpoints/deps.ts";
import { type DocumentedError, documentedErrors } from "../errors/error-reference.ts";
import { refusalAnswer } from "./refusal-answer.ts";

const examples = new Map<string, DocumentedError>(
  documentedErrors.filter(({ code }) => code.startsWith("BP-")).map((error) => [error.code, error]),
);

/**
 * Carries out `X-EBANX-Simulate-Internal-Error` on a charge (interface 1.4), in the sandbox only.
 * If it returns an answer, nothing else is done. If it returns undefined, the charge is processed;
 * with BP-DR-119 the acquirer's answer gets lost. Unknown values are ignored.
 */
export async function simulatedError(
  requested: string | undefined,
  merchantId: MerchantId,
  sandbox: SandboxDeps | undefined,
): Promise<WireResponse | undefined> {
  if (requested === undefined || sandbox === undefined) return undefined;
  const value = requested.trim().toUpperCase();
  // Like the real error it is not final: repeated under its Idempotency-Key, the request runs.
  if (value === "503") return { ...refusalAnswer("COFRE-21"), keep: false };
  if (value === "BP-DR-119") {
    await sandbox.loseNextAuthorization(merchantId);
    return undefined;
  }
  const error = examples.get(value);
  return error === undefined ? undefined : errorAnswer(value, error.example, 200, error.field);
}
