import type { RootKeyAddress } from "./root-key-address.ts";
import type { Config } from "./settings.ts";

/** The settings of one root key. */
export interface RootKeyPlace {
  /** The variable with the address; the others begin with it. */
  readonly variable: "COFRE_ROOT_KEY" | "COFRE_ROOT_KEY_NEXT";
  readonly moduleVariable: "COFRE_PKCS11_MODULE" | "COFRE_ROOT_KEY_NEXT_PKCS11_MODULE";
  /** Undefined: there is no second root key. */
  readonly address: RootKeyAddress | undefined;
  readonly secretFile: Config["rootKeySecretFile"];
  readonly ca: Config["rootKeyCa"];
  readonly endpoint: Config["rootKeyEndpoint"];
  readonly module: Config["pkcs11Module"];
}

export function firstRootKey(config: Partial<Config>): RootKeyPlace {
  return {
    variable: "COFRE_ROOT_KEY",
    moduleVariable: "COFRE_PKCS11_MODULE",
    address: config.rootKey,
    secretFile: config.rootKeySecretFile,
    ca: config.rootKeyCa,
    endpoint: config.rootKeyEndpoint,
    module: config.pkcs11Module,
  };
}

export function nextRootKey(config: Partial<Config>): RootKeyPlace {
  return {
    variable: "COFRE_ROOT_KEY_NEXT",
    moduleVariable: "COFRE_ROOT_KEY_NEXT_PKCS11_MODULE",
    address: config.rootKeyNext,
    secretFile: config.rootKeyNextSecretFile,
    ca: config.rootKeyNextCa,
    endpoint: config.rootKeyNextEndpoint,
    module: config.rootKeyNextModule,
  };
}

/** Credentials and an address for a key service that is used, and for no other. */
export function rootKeyProblems(
  { variable, moduleVariable, address, secretFile, ca, endpoint, module }: RootKeyPlace,
  dataDirectory: string | undefined,
): string[] {
  const ofModule =
    module === undefined || address?.kind === "pkcs11"
      ? []
      : [`${moduleVariable} needs ${variable} with pkcs11:.`];
  if (address === undefined || address.kind === "file") {
    const left = [
      ...(secretFile === undefined ? [] : [`${variable}_SECRET_FILE`]),
      ...(ca === undefined ? [] : [`${variable}_CA`]),
      ...(endpoint === undefined ? [] : [`${variable}_ENDPOINT`]),
    ];
    return [
      ...ofModule,
      ...left.map((name) => `${name} needs ${variable} with the address of a key service.`),
    ];
  }
  const problems = ofModule;
  if (address.kind === "pkcs11") {
    // A token is reached by its module, and not by an address.
    if (module === undefined)
      problems.push(`${variable} needs ${moduleVariable} with the path of the maker's library.`);
    if (ca !== undefined) problems.push(`${variable}_CA is not for pkcs11.`);
    if (endpoint !== undefined) problems.push(`${variable}_ENDPOINT is for aws-kms only.`);
  }
  // A container of AWS has credentials of its own.
  if (secretFile === undefined && address.kind !== "aws-kms")
    problems.push(`${variable} needs ${variable}_SECRET_FILE with the credentials.`);
  if (dataDirectory === ":memory:")
    problems.push(
      `${variable} needs a persistent COFRE_DATA_DIR, which has the keys that it wraps.`,
    );
  if (address.kind === "transit" && endpoint !== undefined)
    problems.push(`${variable}_ENDPOINT is for aws-kms only: ${variable} has the address.`);
  if (address.kind === "aws-kms" && address.url === undefined && endpoint === undefined)
    problems.push(`${variable} is in a partition whose address ${variable}_ENDPOINT must name.`);
  return problems;
}
