import type { MerchantId } from "../../kernel/ids.ts";
import { errorAnswer, type WireAnswer } from "./answer.ts";
import type { SandboxDeps } from "../endpoints/deps.ts";
import { catalogue } from "./error-catalogue.ts";
import { serviceUnavailable } from "./errors.ts";

const messages = new Map(catalogue.filter(({ code }) => code.startsWith("BP-")).map(({ code, message }) => [code, plain(message)]));

/**
 * What `X-EBANX-Simulate-Internal-Error` on a charge asks for (interface 1.4), in the sandbox only. An answer: nothing is done.
 * Undefined: the request goes on, with BP-DR-119 to an acquirer whose answer gets lost. Unknown values are not looked at.
 */
export async function simulatedError(
  asked: string | undefined,
  merchantId: MerchantId,
  sandbox: SandboxDeps | undefined,
): Promise<WireAnswer | undefined> {
  if (asked === undefined || sandbox === undefined) return undefined;
  const value = asked.trim().toUpperCase();
  // Like the real one no last word: asked again under its Idempotency-Key, the request runs.
  if (value === "503") return { ...errorAnswer(serviceUnavailable.code, serviceUnavailable.message, 503), keep: false };
  if (value === "BP-DR-119") {
    await sandbox.loseNextAuthorization(merchantId);
    return undefined;
  }
  const message = messages.get(value);
  return message === undefined ? undefined : errorAnswer(value, message);
}

/** The first of alternatives, and the name of what changes from case to case. */
function plain(message: string): string {
  return message.replaceAll(/\{([^|}]*)[^}]*\}/g, (_, first: string) => first.trim());
}
