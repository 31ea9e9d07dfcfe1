import { reading } from "./permission.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newAccount } from "../../test/contract/store-fixtures.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Credential } from "../operations/account-directory.ts";
import type { KeyedEndpoint } from "./endpoint.ts";
import { keyGiven, resolveHolder } from "./key-check.ts";
import type { TreeObject } from "./decode/tree.ts";

const account = newAccount("0a0b0c0d" as MerchantId);
const longest = "k".repeat(100);
const holders = new Map<string, Credential>([
  ["secret", { account, grants: "secret" }],
  [longest, { account, grants: "secret" }],
  [`${longest}k`, { account, grants: "secret" }],
  ["public", { account, grants: "public" }],
]);

function endpoint(key: "secret" | "public", family: "json" | "parameters" = "json"): KeyedEndpoint {
  const handle = () => Promise.reject(new Error("nobody asks"));
  return {
    path: "/ws/some",
    doc: "page",
    family,
    key,
    permission: reading,
    recorded: false,
    cors: false,
    handle,
  };
}

/** The key that was looked up, and the account's id or the code and message of the refusal. */
async function reported(
  params: TreeObject,
  of = endpoint("secret"),
): Promise<readonly (string | undefined)[]> {
  let requested: string | undefined;
  const resolve = async (key: string) => {
    requested = key;
    return holders.get(key);
  };
  try {
    const holder = await resolveHolder(of, params, resolve);
    return [requested, holder.account.id];
  } catch (error) {
    const { statusCode, message } = error as {
      readonly statusCode: string;
      readonly message: string;
    };
    return [requested, statusCode, message];
  }
}

describe("the key of a request", () => {
  test("is missing, in the words of its kind of operation", async () => {
    for (const key of ["secret", "public"] as const) {
      assert.deepEqual(await reported({}, endpoint(key)), [
        undefined,
        "BP-SA-1",
        "Field integration_key is required",
      ]);
      assert.deepEqual(await reported({}, endpoint(key, "parameters")), [
        undefined,
        "BP-SA-1",
        "Parameter integration_key not informed",
      ]);
    }
  });

  test("is wrong, in the words of its kind of operation: unknown, too long, or no text", async () => {
    assert.deepEqual(await reported({ integration_key: "unknown" }), [
      "unknown",
      "DA-1",
      "Invalid integration key",
    ]);
    assert.deepEqual(
      await reported({ integration_key: "unknown" }, endpoint("secret", "parameters")),
      ["unknown", "BP-SA-2", "Invalid integration key"],
    );
    for (const integration_key of [`${longest}k`, { a: "secret" }, ["secret"]]) {
      assert.deepEqual(await reported({ integration_key }), [
        undefined,
        "DA-1",
        "Invalid integration key",
      ]);
    }
    assert.deepEqual(await reported({ integration_key: longest }), [longest, account.id]);
    // As read from a file.
    assert.deepEqual(await reported({ integration_key: ` ${longest}\r\n` }), [longest, account.id]);
  });

  test("a public key is refused where a secret one is required, under either name", async () => {
    assert.deepEqual(await reported({ integration_key: "public" }), [
      "public",
      "DA-1",
      "Invalid integration key",
    ]);
    assert.deepEqual((await reported({ public_integration_key: "public" }))[1], "BP-SA-1");
    assert.deepEqual((await reported({ public_integration_key: "secret" }))[1], "BP-SA-1");
    assert.deepEqual(await reported({ integration_key: "secret" }), ["secret", account.id]);
  });

  test("is either one where a public one is enough; of both the secret one counts", async () => {
    const open = endpoint("public");
    assert.deepEqual(await reported({ public_integration_key: "public" }, open), [
      "public",
      account.id,
    ]);
    assert.deepEqual(await reported({ integration_key: "public" }, open), ["public", account.id]);
    assert.deepEqual(
      await reported({ integration_key: "secret", public_integration_key: "unknown" }, open),
      ["secret", account.id],
    );
    assert.equal(keyGiven(open, { integration_key: "a", public_integration_key: "b" }), "a");
  });
});
