import {
  type StoredCredential,
  storedCredentialReasons,
  type ThreeDSecure,
} from "../../payment/payment.ts";
import type { DirectInput } from "../../operations/direct-input.ts";
import { brandOf } from "../../vault/bin.ts";
import { cut } from "../decode/card-like.ts";
import type { CardReading } from "./card-node.ts";
import { fieldOf, hasWrongShape, nodeOf } from "./fields.ts";
import { refusal } from "../errors/refusal.ts";
import type { TreeObject } from "../decode/tree.ts";

export const credentialLongest = { mandate: 64, xid: 28, version: 10, transactionId: 40 } as const;

export const uses = ["initial", "stored"] as const;
export const initiators = ["CIT", "MIT"] as const;

/** Whether the request charges stored credentials: those have no security code (interface 3.6). */
export function isStoredCredential(parent: TreeObject): boolean {
  const node = nodeOf(parent, "cof_info");
  return node !== undefined && fieldOf(node, "cof_type")?.toLowerCase() === "stored";
}

/**
 * `cof_info` of a payment or a verification (interface 3.6). Without a `cof_type` it is ignored.
 * The documentation has case-dependent reasons that are not known here: such a reason is replaced
 * by the initiator's plain one, because the original accepts it.
 */
export function readStoredCredential(parent: TreeObject): StoredCredential | undefined {
  const node = nodeOf(parent, "cof_info");
  const type = node === undefined ? undefined : fieldOf(node, "cof_type");
  if (node === undefined || type === undefined) return undefined;
  const use = uses.find((name) => name === type.toLowerCase());
  if (use === undefined) throw refusal("COFRE-26", { field: "cof_type" });
  const who = fieldOf(node, "initiator")?.toUpperCase() ?? (use === "initial" ? "CIT" : "MIT");
  const initiator = initiators.find((name) => name === who);
  if (initiator === undefined) throw refusal("COFRE-26", { field: "initiator" });
  const why = (fieldOf(node, "trans_type") ?? fieldOf(node, "transType"))?.toUpperCase();
  const plain = initiator === "CIT" ? "CUSTOMER_COF" : "MERCHANT_COF";
  const mandate = fieldOf(node, "mandate_id");
  return {
    use,
    initiator,
    reason: storedCredentialReasons.find((name) => name === why) ?? plain,
    mandateId: mandate === undefined ? undefined : cut(mandate, credentialLongest.mandate),
  };
}

/**
 * The result of an external 3-D Secure server, without the cryptogram (interface 3.3). An indicator
 * that claims an authentication or an attempt requires the cryptogram that proves it, the card's or
 * the network token's, except in later payments of a stored credential.
 */
export function readThreeDSecure(
  node: TreeObject,
  card: CardReading | undefined,
  isStored: boolean,
): ThreeDSecure | undefined {
  if (hasWrongShape(node, "threeds_eci"))
    throw refusal("COFRE-27", { field: "threeds_eci", problem: "invalid" });
  const text = fieldOf(node, "threeds_eci");
  if (text === undefined) return undefined;
  const eci = text.padStart(2, "0");
  if (!/^0[012567]$/.test(eci))
    throw refusal("COFRE-27", { field: "threeds_eci", problem: "invalid" });
  if (card?.cryptogramGiven !== true && !isStored && claimsProof(eci, card)) {
    throw refusal("COFRE-27", { field: "threeds_cryptogram", problem: "required" });
  }
  return {
    eci,
    version: shortText(node, "threeds_version", credentialLongest.version),
    transactionId: shortText(node, "threeds_trxid", credentialLongest.transactionId),
    xid: shortText(node, "threeds_xid", credentialLongest.xid),
  };
}

/**
 * 06 is an attempt for every brand but Mastercard, where it means an exemption. The brand of a
 * token is not known yet.
 */
function claimsProof(eci: string, card: CardReading | undefined): boolean {
  if (eci !== "06") return eci === "01" || eci === "02" || eci === "05";
  const brand = card?.pan === undefined ? undefined : brandOf(card.pan);
  return brand !== undefined && brand !== "mastercard";
}

/**
 * For the sandbox's header X-Cofre-Warning: values that an acquirer may refuse although the
 * interface accepts them.
 */
export function threeDSecureWarnings({ order, source }: DirectInput): readonly string[] {
  const { country, paymentType, threeDSecure } = order;
  const warnings: string[] = [];
  if (country === "br" && paymentType === "debit" && threeDSecure === undefined) {
    warnings.push(
      "Acquirers in Brazil decline debit cards without 3-D Secure: no threeds_eci is given",
    );
  }
  const brand = source.kind === "token" ? undefined : brandOf(source.card.pan);
  const other =
    brand === "mastercard"
      ? threeDSecure?.eci === "05"
      : threeDSecure?.eci === "01" || threeDSecure?.eci === "02";
  if (brand !== undefined && other)
    warnings.push(`threeds_eci ${threeDSecure?.eci} is not an indicator of ${brand}`);
  return warnings;
}

/**
 * Refuses a cryptogram that was sent and cannot be used. Without it the payment would be processed
 * as unauthenticated, and the sender would notice at the first dispute.
 */
export function refuseCryptogram({ kind, cryptogramGiven, cryptogram }: CardReading): void {
  if (!cryptogramGiven || cryptogram !== undefined) return;
  throw refusal("COFRE-27", {
    field: kind === "network_token" ? "network_token_cryptogram" : "threeds_cryptogram",
    problem: "invalid",
  });
}

function shortText(node: TreeObject, name: string, characters: number): string | undefined {
  const text = fieldOf(node, name);
  return text === undefined ? undefined : cut(text, characters);
}
