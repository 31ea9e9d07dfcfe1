import type { Config } from "../config/settings.ts";
import type { RecoveredKeys } from "../cli/command.ts";
import { ClientProblem } from "../cli/client-problem.ts";
import { KeyringError, type KeyProvider, provenWrap } from "../vault/key-provider.ts";
import type { WrappedKeys } from "../vault/keyring.ts";
import type { RecoveryKey } from "../vault/recovery/recovery-key.ts";
import { recoverable, RecoveryWraps } from "../vault/recovery/recovery-wraps.ts";
import { hasWrappedKeys, storedKeyFiles } from "../vault/root-key-file.ts";
import { withWrappedKey } from "../vault/sealed-secret.ts";
import { ownRandom } from "./ports.ts";
import { recoverRecords } from "./recover-records.ts";
import { openNewRoot, openOne } from "./recovered-key.ts";

/** The secrets of an installation that are files of their own. */
const secretNames = ["notifications", "rows"] as const;

interface OpenedKey {
  readonly label: string;
  /** Wiped at the end. */
  readonly key: Uint8Array;
}

interface OpenedSecret extends OpenedKey {
  readonly name: (typeof secretNames)[number];
  readonly sealed: Uint8Array;
}

interface Opened {
  readonly kept: WrappedKeys;
  /** In the order of the stored keys. */
  readonly keys: readonly OpenedKey[];
  readonly secrets: readonly OpenedSecret[];
}

/**
 * Opens all keys of an installation with the recovery key and, with `replaceRoot`, wraps them by
 * the root key of the settings, which is made if it is a file that does not exist. Every key is
 * opened before anything is written, and a run that was interrupted can be repeated. Rejects with
 * ClientProblem.
 */
export async function recoverKeys(
  config: Config,
  recovery: RecoveryKey,
  replaceRoot: boolean,
): Promise<RecoveredKeys> {
  try {
    if (!(await hasWrappedKeys(config.dataDirectory)))
      return await recoverRecords(config, recovery, replaceRoot);
    const opened = await openAll(config, recovery);
    try {
      const rootKeyId = replaceRoot ? await wrapAll(config, recovery, opened) : undefined;
      return { keys: opened.keys.length, secrets: opened.secrets.length, rootKeyId };
    } finally {
      for (const { key } of [...opened.keys, ...opened.secrets]) key.fill(0);
    }
  } catch (error) {
    throw error instanceof KeyringError ? new ClientProblem(`${error.message}.`) : error;
  }
}

async function openAll({ dataDirectory }: Config, recovery: RecoveryKey): Promise<Opened> {
  const { store, secretFile } = storedKeyFiles(dataDirectory, ownRandom);
  const kept = await store.load();
  if (kept === undefined)
    throw new KeyringError(`${dataDirectory} has no file keys.<n>.json: copy the keys there`);
  const { environment } = kept;
  const keys = kept.keys.map(({ purpose, id, wrapped }) => {
    const label = `${environment}/${purpose}/${id}`;
    return { label, key: openOne(wrapped, label, recovery) };
  });
  const secrets: OpenedSecret[] = [];
  for (const name of secretNames) {
    const sealed = await secretFile(name).load();
    if (sealed === undefined) continue;
    const label = `${environment}/${name}`;
    let wrapped = new Uint8Array(0);
    await withWrappedKey(sealed, label, async (stored) => void (wrapped = Uint8Array.from(stored)));
    secrets.push({ name, sealed, label, key: openOne(wrapped, label, recovery) });
  }
  return { kept, keys, secrets };
}

/** The id of the root key that wraps the keys now. */
async function wrapAll(
  config: Config,
  recovery: RecoveryKey,
  { kept, keys, secrets }: Opened,
): Promise<string> {
  const { environment } = kept;
  const files = await openNewRoot(config, environment);
  const provider = recoverable(files.provider, new RecoveryWraps(recovery.public));
  const wrapped = await wrapEach(keys, provider);
  for (const { name, sealed, label, key } of secrets) {
    const whole = await withWrappedKey(sealed, label, () => provenWrap(provider, key, label));
    if (whole !== undefined) await files.secretFile(name).replace(whole);
  }
  await files.store.load();
  await files.store.save({
    environment,
    rootKeyId: provider.keyId,
    keys: kept.keys.map((record, at) => ({ ...record, wrapped: wrapped[at] ?? record.wrapped })),
  });
  return provider.keyId;
}

function wrapEach(
  keys: readonly OpenedKey[],
  provider: KeyProvider,
): Promise<readonly Uint8Array[]> {
  return Promise.all(keys.map(({ key, label }) => provenWrap(provider, key, label)));
}
