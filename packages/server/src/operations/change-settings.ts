import { assert } from "../kernel/assert.ts";
import type { Account, AccountSettings } from "../merchant/account.ts";
import { withOffTimes } from "../merchant/notification-endpoints.ts";
import { read } from "./commit.ts";
import { defineOperation } from "./operation.ts";
import { accountChange } from "./sandbox-account.ts";

/**
 * Replaces an account's settings, which validateSettings has checked. The caller removes the
 * account from the directory's cache.
 */
export const changeSettings = defineOperation<
  (current: AccountSettings) => AccountSettings,
  Account
>({
  name: "change_settings",
  errors: [],

  async run(context, settingsAfter) {
    const change = await context.change(async () => {
      const current = await read(context.store.accountById(context.account.id));
      assert(current !== undefined, "an account that a key opened is kept");
      const now = context.clock.now();
      const settings = settingsAfter(current.settings);
      const notificationEndpoints = withOffTimes(
        settings.notificationEndpoints,
        current.settings.notificationEndpoints,
        now,
      );
      const next: Account = {
        ...current,
        version: current.version + 1,
        settings: { ...settings, notificationEndpoints },
      };
      return { ...accountChange(next, current.version, now, []), next };
    });
    return change.next;
  },
});
