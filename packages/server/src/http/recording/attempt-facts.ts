import type { DeliveryAttempt } from "../../delivery/dispatcher.ts";
import { shownAddress } from "../../merchant/receiver-address.ts";
import type { AttemptFacts } from "../../sandbox/recording/recorder.ts";
import { maskedText } from "../../wire/decode/card-like.ts";
import { detachedCopy } from "./detached-copy.ts";

const longestUrl = 300;

/** The recorded facts of an attempt to deliver a notification. */
export function attemptFactsOf({
  number: attempt,
  url,
  verdict,
  delivery,
}: DeliveryAttempt): AttemptFacts {
  const { paymentId, endpoint, number, kind, state, outcome, dueAt } = delivery;
  return {
    paymentId,
    endpoint,
    url: detachedCopy(maskedText(shownAddress(url), longestUrl)),
    number,
    notificationType: kind,
    attempt,
    outcome: outcome ?? "nothing",
    verdict,
    dueAt: state === "waiting" && verdict === "retry" ? dueAt : undefined,
  };
}
