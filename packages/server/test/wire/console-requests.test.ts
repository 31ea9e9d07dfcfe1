import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, test } from "node:test";
import { hostile } from "../browser/hostile.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import "../support/session-storage.ts";

/** What a browser makes of the page is in packages/proof/lanes/support/console-requests.ts. */
const folder = fileURLToPath(new URL("../../../console/src/", import.meta.url));
// The page's language is English in every environment.
Object.defineProperty(navigator, "languages", { value: ["en-US"] });
type Fields = Readonly<Record<string, unknown>>;
const { recordedCurl, testCardFor } = (await import(
  pathToFileURL(`${folder}recorded-curl.js`).href
)) as {
  readonly recordedCurl: (
    path: string,
    fields: Fields,
    tables: { readonly year: number; readonly cards: unknown },
    origin: string,
  ) => string;
  readonly testCardFor: (
    mask: string,
    cards: unknown,
  ) => { readonly card_number: string; readonly card_cvv: string };
};
const { durationText } = (await import(pathToFileURL(`${folder}request-parts.js`).href)) as {
  readonly durationText: (ms: number | undefined) => string;
};

/** Sends a command as curl would, with the variables of a user's shell. */
async function run(command: string): Promise<Fields> {
  const script = `curl() { for each; do printf '%s\\000' "$each"; done; }\nKEY=${integrationKey}; TOKEN=${"t".repeat(40)}; ${command}`;
  const [, url = "", ...rest] = execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);
  const body = rest.filter(
    (_, place) => rest[place - 1] === "-d" || rest[place - 1] === "--data-urlencode",
  );
  const text =
    body.length === 1
      ? body[0]
      : new URLSearchParams(
          body.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
        ).toString();
  const response = await fetch(url, {
    method: "POST",
    ...(text === undefined ? {} : { body: text }),
  });
  return (await response.json()) as Fields;
}

async function cardsOf(server: TestServer): Promise<unknown> {
  const { body } = await server.get("/__cofre/test-cards", { integration_key: integrationKey });
  return body["cards"];
}

/** The command for the newest recorded request, to be sent to another server. */
async function commandFor(server: TestServer, origin: string): Promise<string> {
  const key = { integration_key: integrationKey };
  const { body } = await server.get("/__cofre/requests", { ...key, order: "newest", limit: "1" });
  const [{ number = 0 } = {}] = body["requests"] as readonly { readonly number?: number }[];
  const { body: read } = await server.get("/__cofre/requests", { ...key, number: String(number) });
  const [whole] = read["requests"] as readonly {
    readonly path: string;
    readonly parameters: Fields;
  }[];
  assert.ok(whole !== undefined);
  return recordedCurl(
    whole.path,
    whole.parameters,
    { year: 2026, cards: await cardsOf(server) },
    origin,
  );
}

describe("a recorded request as a command", () => {
  test("sends it again with the same test card, and gets the same answer", async () => {
    await using first = await startTestServer();
    await using second = await startTestServer();
    const amex = { ...testCard, card_number: "378282246310005", card_cvv: "1234" };
    const declined = { ...testCard, card_number: "4716909774636285" };
    for (const [code, creditcard, status] of [
      [hostile.slice(0, 40).replaceAll(/[\u202E\u2066]/g, ""), testCard, "CO"],
      ["it's $KEY & `date`", amex, "CO"],
      ["declined", declined, "CA"],
    ] as const) {
      const { body } = await first.postJson("/ws/direct", directBody(code, { creditcard }));
      assert.equal(
        (body["payment"] as Fields | undefined)?.["status"],
        status,
        JSON.stringify(body),
      );
      const command = await commandFor(first, second.url);
      assert.ok(!command.includes(integrationKey));
      const again = await run(command);
      const payment = again["payment"] as Fields | undefined;
      assert.deepEqual(
        [payment?.["status"], payment?.["merchant_payment_code"]],
        [status, code],
        command + JSON.stringify(again),
      );
    }
    const query = { integration_key: integrationKey, merchant_payment_code: "declined" };
    await first.get("/ws/query", query);
    const found = await run(await commandFor(first, second.url));
    assert.equal((found["payment"] as Fields)["merchant_payment_code"], "declined");
  });

  test("takes a token from a variable, and another test card than one that is not published", async () => {
    await using server = await startTestServer();
    const cards = await cardsOf(server);
    const commandOf = (fields: Fields): string =>
      recordedCurl("/ws/direct", fields, { year: 2026, cards }, "http://127.0.0.1");
    assert.match(
      commandOf({ payment: { creditcard: { token: "01234567…" } } }),
      /"token": "'"\$TOKEN"'"/,
    );
    const usual = { card_number: "4111111111111111", card_cvv: "123" };
    assert.deepEqual(testCardFor("411111xxxxxx1111", cards), usual);
    assert.deepEqual(testCardFor("378282xxxxx0005", cards), {
      card_number: "378282246310005",
      card_cvv: "1234",
    });
    assert.deepEqual(testCardFor("999999xxxxxx9999", cards), usual);
    assert.deepEqual(testCardFor("[not kept]", cards), usual);
    assert.match(
      commandOf({ network_token_expire_date: "[not kept]" }),
      /-d "network_token_expire_date=\$NETWORK_TOKEN_EXPIRE_DATE"/,
    );
  });
});

test("durations are milliseconds or seconds, with three digits", () => {
  assert.deepEqual([0.3456, 12.34, 999, 1_234, 61_000, undefined].map(durationText), [
    "0.346 ms",
    "12.3 ms",
    "999 ms",
    "1.23 sec",
    "61 sec",
    "–",
  ]);
});
