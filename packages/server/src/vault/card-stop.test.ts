import assert from "node:assert/strict";
import { test } from "node:test";
import { cardOf } from "../../test/vectors/cards.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { CardsStopped, stoppableVault } from "./card-stop.ts";
import { KeyringError } from "./key-provider.ts";
import { type Vault, VaultError } from "./vault.ts";

const merchantId = "0a1b2c3d" as MerchantId;
const owner = { merchantId, tokenDigest: "0".repeat(64) as TokenDigest, recordVersion: 1 };
const ref = new Uint8Array(130);

test("work that loses its key to a stop was not processed, and other failures stay what they are", async () => {
  let isStopped = false;
  let failure: Error | undefined;
  let stopsMeanwhile = false;
  const work = async (): Promise<never> => {
    if (stopsMeanwhile) isStopped = true;
    throw failure ?? new Error("no failure was set");
  };
  const inner: Pick<Vault, "put" | "prepare" | "use"> = { put: work, prepare: work, use: work };
  const vault = stoppableVault(inner as Vault, () => isStopped);
  const card = cardOf("4111111111111111");
  const calls = [
    () => vault.put(card, owner),
    () => vault.prepare(merchantId),
    () => vault.use(ref, owner, async () => 1),
  ];
  for (const call of calls)
    for (const error of [new VaultError(), new KeyringError("not open"), new Error("another")]) {
      failure = error;
      [isStopped, stopsMeanwhile] = [false, false];
      await assert.rejects(call(), error);
      stopsMeanwhile = true;
      if (error.name === "Error") await assert.rejects(call(), error);
      else await assert.rejects(call(), CardsStopped);
      isStopped = true;
      await assert.rejects(call(), CardsStopped, "before it begins");
    }
});
