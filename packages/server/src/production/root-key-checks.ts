import type { Check } from "./check.ts";

/** What the provider of the root key states; undefined: it does not say. */
export interface StatedRootKey {
  readonly kind: string;
  readonly protection: "hardware" | "software" | undefined;
  readonly isExtractable: boolean | undefined;
  readonly maker?: string;
  readonly model?: string;
}

/** Checks of the root key, before a key is made or opened: faults refuse the start. */
export const rootKeyChecks: readonly Check<StatedRootKey>[] = [
  {
    name: "software_token",
    rule: "A PKCS#11 token is hardware.",
    fault: ({ kind, protection, maker = "", model = "" }) =>
      kind === "pkcs11" && (protection === "software" || /softhsm/i.test(`${maker} ${model}`))
        ? `The token ${`${maker} ${model}`.trim()} keeps its keys in files.`
        : undefined,
    remedy: "Use the library and the token of an HSM.",
  },
  {
    name: "extractable_root_key",
    rule: "The root key cannot be read out of its service.",
    fault: ({ isExtractable }) =>
      isExtractable === true ? "The root key is exportable." : undefined,
    remedy:
      "Make another root key, in OpenBao without exportable and allow_plaintext_backup: a key that was exportable stays so.",
  },
];
