import type {
  SimulatedAuthentication,
  SimulatedAuthenticator,
} from "../../authentication/simulated-authenticator.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { DirectInput } from "../../operations/direct-input.ts";
import { maskOf } from "../../vault/mask.ts";

/**
 * How the 3-D Secure values of a payment differ from those that the simulated server issued, in
 * words for X-Cofre-Warning. Undefined if they do not, or if another server issued them.
 * `maskedPanOf`: the mask of a stored card.
 */
export async function problemOfProof(
  authenticator: Pick<SimulatedAuthenticator, "issuerOf">,
  merchantId: MerchantId,
  input: DirectInput,
  maskedPanOf: (token: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const { order, source } = input;
  const { threeDSecure } = order;
  // A network token has a cryptogram of its own, and another number than the card.
  if (threeDSecure === undefined || source.kind === "network_token") return undefined;
  const { transactionId, xid } = threeDSecure;
  const cryptogram = source.cryptogram?.reveal();
  const issued = authenticator.issuerOf(merchantId, { transactionId, xid, cryptogram });
  if (issued === undefined) return undefined;
  const difference = differenceOf(issued, threeDSecure.eci, cryptogram);
  if (difference !== undefined) return difference;
  const maskedPan =
    source.kind === "token" ? await maskedPanOf(source.token) : maskOf(source.card.pan);
  if (maskedPan !== undefined && maskedPan !== issued.maskedPan) return "they are of another card";
  const { amount } = order;
  // The customer may have agreed to the amount in the local currency.
  return amount.currency === issued.amount.currency && amount.minor !== issued.amount.minor
    ? "they are of another amount"
    : undefined;
}

function differenceOf(
  { status, eci, authenticationValue }: SimulatedAuthentication,
  givenEci: string,
  cryptogram: Uint8Array | undefined,
): string | undefined {
  if (status === "C") return "the challenge has not ended";
  const isCryptogramRight =
    authenticationValue === undefined || cryptogram === undefined
      ? authenticationValue === cryptogram
      : Buffer.compare(Buffer.from(authenticationValue), cryptogram) === 0;
  if (givenEci === eci && isCryptogramRight) return undefined;
  return authenticationValue === undefined
    ? "the cardholder was not authenticated"
    : "the indicator or the cryptogram is another one";
}
