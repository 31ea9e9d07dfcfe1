import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import { endpointsOf, endpointsWithout } from "../merchant/notification-endpoints.ts";
import type { NotificationSettings } from "../notification/endpoint.ts";
import type { EndpointId } from "../notification/events.ts";
import type { AccountDirectory } from "./account-directory.ts";
import { changeSettings } from "./change-settings.ts";
import type { Runner } from "./runner.ts";

/**
 * Implements the dispatcher's NotificationAccounts (dispatcher.ts) with the account directory and
 * the operation that changes settings.
 */
export function notificationAccounts(
  accounts: AccountDirectory,
  runner: Pick<Runner, "run">,
): {
  settingsOf(
    merchantId: MerchantId,
  ): Promise<(NotificationSettings & { readonly accountVersion: number }) | undefined>;
  disable(merchantId: MerchantId, endpoint: EndpointId, at: Instant): Promise<void>;
} {
  return {
    async settingsOf(merchantId) {
      const account = await accounts.byId(merchantId);
      if (account === undefined) return undefined;
      const { settings, version } = account;
      return {
        endpoints: endpointsOf(settings),
        chaos: settings.notificationChaos,
        accountVersion: version,
      };
    },
    async disable(merchantId, endpoint, at) {
      const account = await accounts.byId(merchantId);
      if (account === undefined) return;
      await runner.run(changeSettings, account, (settings) => ({
        ...settings,
        notificationEndpoints: endpointsWithout(settings, endpoint, at),
      }));
      accounts.forget(merchantId);
    },
  };
}
