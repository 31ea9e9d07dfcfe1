import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";

/*
 * A capture without an amount captures everything (interface 5.1). So if a part is meant, an
 * unreadable body must never be treated as an empty one.
 */

type Fields = Readonly<Record<string, unknown>>;

interface Sent {
  readonly body: string | Buffer<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

const part = (head: string, value: string, eol = "\r\n"): string =>
  `--edge${eol}Content-Disposition: form-data${head}${eol}${eol}${value}${eol}`;

/** Forms of `amount: 40` that are not supported. */
const unread: Readonly<Record<string, Sent & { readonly code: string }>> = {
  "a compressed form": {
    body: gzipSync("amount=40"),
    headers: { "content-encoding": "gzip" },
    code: "COFRE-7",
  },
  "a form that claims to be compressed": {
    body: "amount=40",
    headers: { "content-encoding": "br" },
    code: "COFRE-7",
  },
  "UTF-16 with a mark": { body: Buffer.from('\ufeff{"amount":40}', "utf16le"), code: "COFRE-7" },
  "UTF-16 without one": { body: Buffer.from("amount=40", "utf16le"), code: "COFRE-7" },
  XML: { body: "<amount>40</amount>", code: "COFRE-7" },
  "XML with attributes": { body: '<?xml version="1.0"?><capture amount="40"/>', code: "COFRE-7" },
  "JSON in a JSON text": { body: JSON.stringify('{"amount":40}'), code: "COFRE-7" },
  "a form in a JSON text": { body: JSON.stringify("amount=40"), code: "COFRE-7" },
  YAML: { body: "amount: 40", code: "COFRE-7" },
  "YAML, percent-encoded": { body: "amount%3A40", code: "COFRE-7" },
  "JSON, percent-encoded": { body: "%7B%22amount%22%3A%2240.00%22%7D", code: "COFRE-7" },
  "a number": { body: "40", code: "COFRE-7" },
  "JSON with single quotes": { body: "{'amount':40}", code: "COFRE-1" },
  "another letter case": { body: "Amount=40", code: "BP-CAP-6" },
  "a blank behind the name": { body: "amount%20=40", code: "BP-CAP-6" },
  "full-width letters": { body: "\uff41\uff4d\uff4f\uff55\uff4e\uff54=40", code: "BP-CAP-6" },
  "stray brackets": { body: "x=1&[amount]=40", code: "BP-CAP-6" },
  "the name that payments have": { body: "amount_total=40", code: "BP-CAP-6" },
  "another name": { body: '{"capture_amount":40}', code: "BP-CAP-6" },
  "a payment's node": { body: '{"payment":{"amount":40}}', code: "BP-CAP-6" },
  "a list": { body: '{"captures":[{"amount":40}]}', code: "BP-CAP-6" },
  semicolons: { body: "x=1;amount=40", code: "BP-CAP-6" },
  "a pair that is encoded as a whole": { body: "x=1&amount%3D40", code: "BP-CAP-6" },
  "YAML behind a field": { body: "x=1&amount%3A40", code: "BP-CAP-6" },
  "an address with an encoded pair": { body: "", query: "&amount%3D40", code: "BP-CAP-6" },
  "lines of text": { body: "x=1\r\namount=40\r\n", code: "BP-CAP-6" },
  "an address": { body: "", query: "&x=1;amount=40", code: "BP-CAP-6" },
  "a part without a name": { body: `${part("", "40")}--edge--\r\n`, code: "COFRE-7" },
  "a part with an encoded name": {
    body: `${part("; name*=utf-8''amount", "40")}--edge--\r\n`,
    code: "COFRE-7",
  },
  "a file": {
    body: `${part('; name="amount"; filename="a.txt"', "40")}--edge--\r\n`,
    code: "COFRE-7",
  },
  "a part of another kind": {
    body: `--edge\r\nContent-Type: text/plain; name="amount"\r\n\r\n40\r\n--edge--\r\n`,
    code: "COFRE-7",
  },
  "a form before the first part": {
    body: `amount=40\r\n${part('; name="x"', "1")}--edge--\r\n`,
    code: "COFRE-7",
  },
};

/** Valid forms: these are supported. */
const read: Readonly<Record<string, Sent>> = {
  "a form": { body: "amount=40" },
  "a form that says that it is not encoded": {
    body: "amount=40",
    headers: { "content-encoding": "identity" },
  },
  "a part": { body: `${part('; name="amount"', "40")}--edge--\r\n` },
  "a name without quotes": { body: `${part("; name=amount", "40")}--edge--\r\n` },
  "line feeds alone": { body: `${part('; name="amount"', "40", "\n")}--edge--\n` },
  "a preamble": {
    body: `This is a message in parts.\r\n\r\n${part('; name="amount"', "40")}--edge--\r\nThe end.`,
  },
  "a folded header": { body: `${part(';\r\n name="amount"', "40")}--edge--\r\n` },
  "a type before the name": {
    body: `--edge\r\nContent-Type: text/plain\r\nContent-Disposition: form-data; name="amount"\r\n\r\n40\r\n--edge--\r\n`,
  },
  "a boundary with equals signs, as mail programs make them": {
    body:
      part('; name="amount"', "40").replace("--edge", "------=_Part_0_1.2") +
      "------=_Part_0_1.2--\r\n",
  },
};

async function capture(
  server: TestServer,
  hash: string,
  { body, headers = {}, query = "" }: Sent,
): Promise<Fields> {
  const response = await fetch(
    `${server.url}/ws/capture?integration_key=${integrationKey}&hash=${hash}${query}`,
    {
      method: "POST",
      headers,
      body,
    },
  );
  return (await response.json()) as Fields;
}

async function authorized(server: TestServer, code: string): Promise<string> {
  const { body } = await server.postJson("/ws/direct", directBody(code, { auto_capture: false }));
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return String((body["payment"] as Fields)["hash"]);
}

describe("a capture of a part", { timeout: 60_000 }, () => {
  test("is never widened to the whole because its body was not understood", async () => {
    await using server = await startTestServer();
    await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { partialCapture: true },
    });
    const hash = await authorized(server, "part-refused");
    for (const [name, { code, ...sent }] of Object.entries(unread)) {
      const answer = await capture(server, hash, sent);
      assert.equal(answer["status_code"], code, `${name}: ${JSON.stringify(answer)}`);
    }
    // The control: nothing was captured, and an empty body captures everything.
    const { payment } = (await capture(server, hash, { body: "" })) as {
      readonly payment?: Fields;
    };
    assert.deepEqual([payment?.["status"], payment?.["amount_ext"]], ["CO", "100.00"]);
  });

  test("is taken in every legal form of a body", async () => {
    await using server = await startTestServer();
    await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { partialCapture: true },
    });
    for (const [index, [name, sent]] of Object.entries(read).entries()) {
      const answer = await capture(server, await authorized(server, `part-${index}`), sent);
      assert.equal(
        (answer["payment"] as Fields | undefined)?.["amount_ext"],
        "40.00",
        `${name}: ${JSON.stringify(answer)}`,
      );
    }
  });
});
