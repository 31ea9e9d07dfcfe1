import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../server/test/server.ts";

/*
 * Row 4 of the attack table: one parameter twice, in two places, with two values, so that a proxy
 * or a fraud filter in front sees another payment than Cofre does. wire/decoder.test.ts tests the
 * decoder's errors; here whole requests reach the server, and none may have an effect.
 */

type Layer = "query" | "form" | "json";
const layers: readonly Layer[] = ["query", "form", "json"];

type Parameters = readonly (readonly [name: string, value: string])[];

/**
 * The parameters of each layer, as one request. JSON beside a form is the form's `request_body`.
 */
async function send(
  server: TestServer,
  path: string,
  of: Partial<Record<Layer, Parameters>>,
): Promise<string> {
  const form = new URLSearchParams((of.form ?? []).map(([name, value]) => [name, value]));
  // An object could not contain a name twice.
  const json =
    of.json === undefined
      ? undefined
      : `{${of.json.map((pair) => pair.map((text) => JSON.stringify(text)).join(":")).join(",")}}`;
  if (json !== undefined && of.form !== undefined) form.set("request_body", json);
  const body = of.form === undefined ? json : form.toString();
  const query = new URLSearchParams((of.query ?? []).map(([name, value]) => [name, value]));
  const response = await fetch(`${server.url}${path}?${query.toString()}`, {
    method: "POST",
    ...(body === undefined ? {} : { body }),
  });
  return response.text();
}

async function twoPayments(server: TestServer): Promise<readonly [string, string]> {
  const hashes: string[] = [];
  for (const code of ["one", "other"]) {
    const { body } = await server.postJson(
      "/ws/direct",
      directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
    );
    hashes.push((body["payment"] as { readonly hash: string }).hash);
  }
  return [hashes[0] ?? "", hashes[1] ?? ""];
}

async function states(server: TestServer): Promise<readonly string[]> {
  const read = async (code: string): Promise<string> =>
    JSON.stringify(
      (
        await server.get("/__cofre/explain", {
          integration_key: integrationKey,
          merchant_payment_code: code,
        })
      ).body,
    );
  return [await read("one"), await read("other")];
}

describe("a parameter with two values in one request", () => {
  for (const [path, wanted] of [
    ["/ws/capture", {}],
    ["/ws/cancel", {}],
    ["/ws/refundOrCancel", { description: "x" }],
    ["/ws/refund", { operation: "request", description: "x" }],
  ] as const) {
    test(`is accepted by ${path} from no two places`, async (context) => {
      await using server = await startTestServer();
      const [hash, otherHash] = await twoPayments(server);
      const before = await states(server);
      const conflicts = {
        hash: [hash, otherHash],
        merchant_payment_code: ["one", "other"],
        amount: ["1.00", "100.00"],
        integration_key: [integrationKey, "test_ik_another"],
      } as const;
      let refused = 0;
      for (const [name, [first, second]] of Object.entries(conflicts)) {
        const base: Record<string, string> = {
          integration_key: integrationKey,
          hash,
          amount: "1.00",
          ...wanted,
        };
        if (name === "merchant_payment_code") delete base["hash"];
        delete base[name];
        for (const one of layers) {
          for (const two of layers) {
            const whole: Parameters = [...Object.entries(base), [name, first]];
            const again: Parameters = [[name, second]];
            const parts =
              one === two ? { [one]: [...whole, ...again] } : { [one]: whole, [two]: again };
            const answer = await send(server, path, parts);
            assert.match(answer, /"status":"ERROR"/, `${name} in ${one} and ${two}: ${answer}`);
            refused += 1;
          }
        }
      }
      context.diagnostic(`${refused} refused`);
      assert.deepEqual(await states(server), before);
    });
  }

  test("control: each place alone, and two places with one value, are understood", async () => {
    await using server = await startTestServer();
    const [hash, otherHash] = await twoPayments(server);
    const [key, first, other] = [
      ["integration_key", integrationKey],
      ["hash", hash],
      ["hash", otherHash],
    ] as const;
    assert.match(
      await send(server, "/ws/capture", { query: [key, first], json: [first] }),
      /"status":"SUCCESS"/,
    );
    assert.match(await send(server, "/ws/capture", { form: [key, other] }), /"status":"SUCCESS"/);
  });
});
