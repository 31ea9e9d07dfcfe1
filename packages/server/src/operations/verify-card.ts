import type { CardToAuthorize, VerifyOutcome } from "../connectors/connector.ts";
import { assert } from "../kernel/assert.ts";
import type { TokenDigest } from "../kernel/ids.ts";
import { newPaymentId } from "../payment/payment-id.ts";
import { countryOf } from "../payment/countries.ts";
import type { OrderCard } from "../payment/payment.ts";
import { withCard } from "./with-card.ts";
import type { VerifyInput } from "./direct-input.ts";
import { routeFor } from "./route.ts";
import { defineOperation, type OperationContext } from "./operation.ts";

/**
 * Verifies a card with the acquirer. It creates no payment and holds no money: the acquirer itself
 * reverses a ghost authorization, so nothing has to be committed first.
 */
export const verifyCard = defineOperation<VerifyInput, VerifyOutcome>({
  name: "verify_card",
  errors: ["token_not_found", "card_not_storable", "card_not_for_tests", "card_not_readable"],

  async run(context, { source, country, storedCredential }) {
    const { account, clock, random, connectors } = context;
    const currency = countryOf(country)?.currency;
    assert(currency !== undefined, "a verification that was read names a country of the table");
    return withCard(context, source, async (card, toAuthorize) => {
      const request = {
        merchantId: account.id,
        settings: account.settings,
        country,
        currency,
        card,
        storedCredential,
      };
      const reference = `${newPaymentId(clock.now(), random)}-v`;
      if (card.tokenDigest !== undefined) await useCard(context, card.tokenDigest);
      let outcome: VerifyOutcome = { kind: "not_sent" };
      // There is no amount, so only routes without an amount limit match.
      for (const name of routeOfVerification(context, country, currency, card, toAuthorize)) {
        outcome = await connectors
          .of(name)
          .verify({ ...request, reference, deadline: context.answerBy() }, toAuthorize);
        if (outcome.kind !== "not_sent") break;
      }
      return outcome;
    });
  },
});

/**
 * A verification counts as use from its start: the token expires 14 months from now (interface
 * 2.1), however long the acquirer takes.
 */
async function useCard(
  context: Parameters<typeof verifyCard.run>[0],
  tokenDigest: TokenDigest,
): Promise<void> {
  const at = context.clock.now();
  const cardUse = { tokenDigest, at };
  await context.change(() => ({
    merchantId: context.account.id,
    at,
    cardUse,
    facts: [],
    entries: [],
    notifications: [],
  }));
}

function routeOfVerification(
  { account, clock, connectors }: OperationContext,
  country: string,
  currency: string,
  { brand }: OrderCard,
  { card: { pan } }: CardToAuthorize,
): readonly string[] {
  return (
    routeFor(
      { brand, pan, currency, country, pricing: undefined, at: clock.now() },
      account.settings,
    ) ?? connectors.standard
  );
}
