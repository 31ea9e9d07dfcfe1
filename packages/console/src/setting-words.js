// The settings of an account: their groups, their order and their names.
import { t } from "./language.js";

/**
 * `settings`: names by the settings' identifiers. A setting of the server without a name here is in
 * the last group, with the server's English description.
 * @typedef {{ title: string, settings: Readonly<Record<string, string>> }} SettingGroup
 */

/** @type {readonly SettingGroup[]} */
export const settingGroups = [
  {
    title: t("view.payments"),
    settings: {
      country: t("setting.country"),
      profile: t("setting.profile"),
      rateTable: t("setting.rateTable"),
      taxPolicy: t("setting.taxPolicy"),
      taxPaidBy: t("setting.taxPaidBy"),
      maximumAmountUsd: t("setting.maximumAmountUsd"),
      reviewAboveUsd: t("setting.reviewAboveUsd"),
      partialCapture: t("setting.partialCapture"),
      captureWindowDays: t("setting.captureWindowDays"),
      createToken: t("setting.createToken"),
      pageAuthentication: t("setting.pageAuthentication"),
      requireCvv: t("setting.requireCvv"),
      requireDebitThreeDSecure: t("setting.requireDebitThreeDSecure"),
      fieldOrigins: t("setting.fieldOrigins"),
      publicRequestsPerMinute: t("setting.publicRequestsPerMinute"),
      publicCardsPerTenMinutes: t("setting.publicCardsPerTenMinutes"),
      publicFailuresPerTenMinutes: t("setting.publicFailuresPerTenMinutes"),
      strictMandates: t("setting.strictMandates"),
      descriptor: t("setting.descriptor"),
      routes: t("setting.routes"),
      savedViews: t("views.title"),
    },
  },
  {
    title: t("refunds.title"),
    settings: {
      refundWindowDays: t("setting.refundWindowDays"),
      refundRequestedMinutes: t("setting.refundRequestedMinutes"),
      refundPendingMinutes: t("setting.refundPendingMinutes"),
      strictRefundCancel: t("setting.strictRefundCancel"),
    },
  },
  {
    title: t("view.notifications"),
    settings: {
      notificationUrl: t("setting.notificationUrl"),
      notificationEndpoints: t("setting.notificationEndpoints"),
      notifySynchronous: t("setting.notifySynchronous"),
    },
  },
  {
    title: t("settings.answers"),
    settings: {
      strictForms: t("setting.strictForms"),
      strictAmounts: t("setting.strictAmounts"),
      refuseCardLikeCodes: t("setting.refuseCardLikeCodes"),
      declineCodes: t("setting.declineCodes"),
      legacyDescriptions: t("setting.legacyDescriptions"),
      acquirerName: t("setting.acquirerName"),
    },
  },
  {
    title: t("settings.hosted"),
    settings: {
      responseUrl: t("setting.responseUrl"),
      imageUrl: t("setting.imageUrl"),
      receiptEmail: t("setting.receiptEmail"),
    },
  },
  {
    title: t("settings.simulator"),
    settings: {
      "simulator.seed": t("setting.seed"),
      "simulator.latencyMs": t("setting.latencyMs"),
      "simulator.loseAnswer": t("setting.loseAnswer"),
      "simulator.loseRequest": t("setting.loseRequest"),
      "simulator.lateAnswer": t("setting.lateAnswer"),
      "simulator.doubleRequest": t("setting.doubleRequest"),
    },
  },
  {
    title: t("settings.chaos"),
    settings: {
      "notificationChaos.seed": t("setting.seed"),
      "notificationChaos.drop": t("setting.drop"),
      "notificationChaos.delay": t("setting.delay"),
      "notificationChaos.reorder": t("setting.reorder"),
      "notificationChaos.delayMs": t("setting.delayMs"),
      "notificationChaos.double": t("setting.double"),
      "notificationChaos.breakSignature": t("setting.breakSignature"),
      "notificationChaos.beforeAnswer": t("setting.beforeAnswer"),
    },
  },
];

/**
 * The form of the settings that are lists.
 * @type {Readonly<Record<string, string>>}
 */
export const listForms = {
  routes: t("setting.routes.form"),
  notificationEndpoints: t("setting.notificationEndpoints.form"),
  savedViews: t("setting.savedViews.form"),
};
