/** The files of a recovery key, and what the command does. */
export const keyFile = "recovery.pub";
export const recordFile = "recovery-record.json";
export const recoveryWords = ["init", "renew", "drill", "open"] as const;
