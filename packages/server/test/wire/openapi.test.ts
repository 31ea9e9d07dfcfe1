import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { exampleAt } from "../../src/api-docs/document.ts";
import type { OpenApi, OperationObject } from "../../src/api-docs/types.ts";
import { countryCodes } from "../../src/payment/countries.ts";
import type { Field } from "../../src/wire/field.ts";
import { type DocumentedEndpoint, documentedEndpoints } from "../keyed-endpoints.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { mismatches, problemsOf } from "./openapi-check.ts";

/**
 * The description is compared with the server: every row of it is requested, and every answer is
 * checked against it.
 */
let server: TestServer;
let api: OpenApi;
let count = 0;

before(async () => {
  server = await startTestServer();
  api = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi;
});
after(() => server[Symbol.asyncDispose]());

/** A new server, so that the simulated acquirer has no instructions. */
async function restart(): Promise<void> {
  await server[Symbol.asyncDispose]();
  server = await startTestServer();
}

test("every array says what its items are: generators of clients leave out a schema with one that does not", () => {
  const missing: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    const { type, items } = value as { readonly type?: unknown; readonly items?: unknown };
    const isArray = type === "array" || (Array.isArray(type) && type.includes("array"));
    if (isArray && items === undefined) missing.push(path);
    for (const [name, inner] of Object.entries(value)) visit(inner, `${path}/${name}`);
  };
  visit(api, "");
  assert.deepEqual(missing, []);
});

type Request = Record<string, unknown>;
type Path = readonly string[];

/** The row's example with values for its variables, after creating what it needs. */
async function prepared(row: DocumentedEndpoint): Promise<Request> {
  count += 1;
  const order = `openapi-${count}`;
  const token = `a-token-of-the-openapi-test-${count}`.padEnd(40, "x");
  const text = JSON.stringify(exampleAt(server.clock.now(), row))
    .replaceAll("$PUBLIC_KEY", publicIntegrationKey)
    .replaceAll("$KEY", integrationKey)
    .replaceAll("$ORDER", order)
    .replaceAll("$TOKEN", token);
  await make(row.needs, order, token);
  return JSON.parse(text) as Request;
}

async function make(
  needs: DocumentedEndpoint["needs"],
  order: string,
  token: string,
): Promise<void> {
  if (needs === undefined) return;
  const { body } =
    needs === "stored"
      ? await server.postJson("/ws/token", {
          integration_key: integrationKey,
          country: "br",
          token,
          creditcard: testCard,
        })
      : await server.postJson(
          "/ws/direct",
          directBody(order, { creditcard: { ...testCard, auto_capture: needs === "captured" } }),
        );
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
}

interface Outcome {
  readonly code: string;
  readonly status: number;
}

/**
 * Sends the request, checks the answer against its description, and returns its code; SUCCESS if it
 * is not an error.
 */
async function ask(
  path: string,
  request: Request,
  headers: Record<string, string> = {},
): Promise<Outcome> {
  return read(
    path,
    await fetch(server.url + path, { method: "POST", body: JSON.stringify(request), headers }),
  );
}

async function read(path: string, response: Response): Promise<Outcome> {
  const body = (await response.json()) as Record<string, unknown>;
  const schema =
    operationAt(path).responses[String(response.status)]?.content["application/json"]?.schema;
  assert.ok(schema !== undefined, `${path} answers ${response.status}, which is not described`);
  assert.deepEqual(mismatches(schema, body, api), [], JSON.stringify(body));
  const { status_code: code } = body;
  return { code: typeof code === "string" ? code : "SUCCESS", status: response.status };
}

function operationAt(path: string): OperationObject {
  const item = api.paths[path];
  const operation = item?.post ?? item?.get;
  assert.ok(operation !== undefined, `${path} is not described`);
  return operation;
}

/** A copy with `value` at `path`; undefined removes the member. */
function having(request: Request, [name = "", ...rest]: Path, value: unknown): Request {
  const { [name]: inner, ...others } = request;
  if (rest.length > 0) return { ...request, [name]: having((inner ?? {}) as Request, rest, value) };
  return value === undefined ? others : { ...others, [name]: value };
}

function fieldsOf(
  fields: readonly Field[],
  above: Path = [],
): readonly { readonly field: Field; readonly at: Path }[] {
  return fields.flatMap((field) => {
    const at = [...above, field.name];
    return [{ field, at }, ...fieldsOf(field.fields ?? [], at)];
  });
}

/** Fields that make each `when` text true, beside the example. */
const company = [
  [["payment", "person_type"], "business"],
  [["payment", "responsible", "name"], "Ana Lima"],
] as const;
const networkCard = {
  network_token_pan: testCard.card_number,
  network_token_expire_date: "12/2060",
  network_token_cryptogram: "AAAA",
};
const situations: Readonly<Record<string, readonly (readonly [Path, unknown])[]>> = {
  card_number: [],
  card_name: [],
  card_due_date: [],
  card_cvv: [],
  "direct payment.payment_type_code": [[["payment", "creditcard"], undefined]],
  "direct payment.responsible": company,
  "direct payment.responsible.name": company,
  "direct payment.creditcard.network_token_expire_date": [[["payment", "creditcard"], networkCard]],
  "verifyCard card.network_token_expire_date": [[["card"], networkCard]],
  "verifyCardAscardverify card.network_token_expire_date": [[["card"], networkCard]],
  "direct payment.cof_info.initiator": [[["payment", "cof_info", "cof_type"], "initial"]],
  "verifyCard cof_info.initiator": [[["cof_info", "cof_type"], "initial"]],
  "verifyCardAscardverify cof_info.initiator": [[["cof_info", "cof_type"], "initial"]],
  "refund amount": [],
  "refund refund_id": [[["operation"], "cancel"]],
  "instructSimulator reason": [],
};

function situationOf(
  row: DocumentedEndpoint,
  { name }: Field,
  at: Path,
): readonly (readonly [Path, unknown])[] | undefined {
  return (
    situations[`${row.id} ${at.join(".")}`] ??
    (name.startsWith("card_") ? situations[name] : undefined)
  );
}

function inSituation(row: DocumentedEndpoint, field: Field, at: Path, request: Request): Request {
  const changes = situationOf(row, field, at) ?? [];
  return changes.reduce((changed, [path, value]) => having(changed, path, value), request);
}

/** A value with this number of characters that is otherwise valid. */
function sample({ name, type }: Field, characters: number, at: Path): string {
  const unique = `${(count += 1)}-`;
  if (name === "card_number") return cardNumber(characters);
  if (name === "email")
    return characters < 12
      ? "a@b.co".slice(0, characters)
      : `${"x".repeat(characters - 12)}@example.com`;
  if (name === "notification_url") return "https://shop.example/".padEnd(characters, "x");
  if (name === "currency_code") return "USDX".slice(0, characters);
  if (name === "country") return "per".slice(0, characters);
  if (type === "digits" || type === "whole") return "5".repeat(characters);
  return ["token", "merchant_payment_code", "merchant_refund_code"].includes(at.at(-1) ?? "")
    ? unique.padEnd(characters, "x")
    : "x".repeat(characters);
}

/** Digits of a brand that has numbers of that length, if there is one, with their check digit. */
function cardNumber(length: number): string {
  const digits = (length === 14 ? "305693" : length >= 19 ? "507860" : "411111").padEnd(
    length - 1,
    "0",
  );
  const sum = Array.from(digits)
    .toReversed()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return digits + String((10 - (sum % 10)) % 10);
}

/** Values of maximum length that are valid, but do not exist. */
const namesNothing: Readonly<Record<string, string>> = {
  "direct payment.creditcard.token": "BP-DR-64",
};
/** Brazil has all brands. */
const inBrazil = (row: DocumentedEndpoint, field: Field, request: Request): Request => {
  if (row.id !== "direct" || field.name !== "card_number") return request;
  const { payment } = directBody(`openapi-br-${(count += 1)}`) as { payment: Request };
  return { ...request, payment };
};

describe("the OpenAPI description", () => {
  test("keeps the rules of OpenAPI 3.1", () => {
    assert.deepEqual(problemsOf(api), []);
    assert.ok(Object.keys(api.paths).length > 35);
  });

  test("may be read by tools of any origin", async () => {
    const response = await fetch(`${server.url}/openapi.json`);
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    assert.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
  });

  test("control: a broken description is detected", () => {
    const { "/ws/query": query, "/ws/cancel": cancel, ...paths } = api.paths;
    assert.ok(query?.post !== undefined && cancel?.post !== undefined);
    const [first = "", ...others] = Object.keys(api.components.schemas);
    const without = Object.fromEntries(
      others.map((name) => [name, api.components.schemas[name] ?? {}]),
    );
    const doubled = {
      ...api,
      paths: { ...paths, "/ws/query": query, "/ws/cancel": { post: query.post } },
    };
    assert.match(problemsOf(doubled).join(" "), /operationId query is given twice/);
    assert.match(
      problemsOf({ ...api, components: { ...api.components, schemas: without } }).join(" "),
      new RegExp(`schemas/${first} is nowhere`),
    );
  });

  test("control: an answer that differs from its description is detected", () => {
    const schema =
      operationAt("/ws/query").responses["200"]?.content["application/json"]?.schema ?? {};
    const refused = {
      status: "ERROR",
      status_code: "BP-QRY-2",
      status_message: "Payment not found",
    };
    assert.deepEqual(mismatches(schema, refused, api), []);
    assert.notDeepEqual(mismatches(schema, { ...refused, status_code: "BP-CAP-2" }, api), []);
    assert.notDeepEqual(mismatches(schema, { ...refused, extra: "1" }, api), []);
    assert.notDeepEqual(mismatches(schema, { status: "ERROR" }, api), []);
  });

  test("the statuses of a too long address and of a public key's limits are described", async () => {
    const long = "x".repeat(20_000);
    const settings = { publicRequestsPerMinute: 1 };
    await server.postJson("/__cofre/settings", { integration_key: integrationKey, settings });
    const card = { public_integration_key: publicIntegrationKey, card: testCard, country: "br" };
    const answers = [];
    for (let request = 0; request < 2; request += 1)
      answers.push(await server.postJson("/ws/token", card));
    await restart();
    const { status } = answers.at(-1) ?? {};
    const { status: tooLong } = await fetch(`${server.url}/ws/refund?description=${long}`);
    assert.deepEqual([status, tooLong], [429, 431]);
    assert.ok("429" in (api.paths["/ws/token"]?.post?.responses ?? {}));
    assert.ok("431" in (api.paths["/ws/refund"]?.get?.responses ?? {}));
    const codes = api.paths["/ws/token"]?.post?.["x-errors"].map(({ code }) => code);
    assert.equal(codes?.includes("COFRE-178"), true);
  });

  test("probes are as described", async () => {
    for (const path of ["/healthz", "/readyz"])
      assert.equal((await read(path, await fetch(server.url + path))).code, "SUCCESS");
  });

  test("what is said not to be here answers so", async () => {
    const absent = Object.entries(api.paths).filter(
      ([, { post }]) => post?.tags.includes("Not implemented") === true,
    );
    for (const [path] of absent) assert.match((await ask(path, {})).code, /^COFRE-(9|23)$/, path);
  });
});

for (const row of documentedEndpoints()) {
  describe(`the description of ${row.path}`, () => {
    before(restart);

    test("has an example that works", async () => {
      assert.deepEqual(await ask(row.path, await prepared(row)), { code: "SUCCESS", status: 200 });
      if (api.paths[row.path]?.get === undefined) return;
      const flat = Object.entries(await prepared(row)).filter(
        (entry): entry is [string, string] => typeof entry[1] === "string",
      );
      const query = new URLSearchParams(flat).toString();
      assert.equal(
        (await read(row.path, await fetch(`${server.url}${row.path}?${query}`))).code,
        "SUCCESS",
      );
    });

    test("is right about the Idempotency-Key", async () => {
      const { code } = await ask(row.path, await prepared(row), {
        "Idempotency-Key": "x".repeat(256),
      });
      assert.equal(code, row.idempotent === true ? "COFRE-46" : "SUCCESS");
    });

    for (const { field, at } of fieldsOf(row.fields)) {
      const { longest, shortest, required, values } = field;
      const name = at.join(".");

      if (longest !== undefined) {
        test(`${name} may have ${longest.characters} characters`, async () => {
          const send = async (characters: number): Promise<string> => {
            const request = inSituation(row, field, at, inBrazil(row, field, await prepared(row)));
            return (await ask(row.path, having(request, at, sample(field, characters, at)))).code;
          };
          assert.equal(
            await send(longest.characters),
            namesNothing[`${row.id} ${name}`] ?? "SUCCESS",
          );
          assert.equal(await send(longest.characters + 1), longest.code ?? "SUCCESS");
        });
      }

      if (shortest !== undefined) {
        test(`${name} must have ${shortest.characters} characters`, async () => {
          const send = async (characters: number): Promise<string> => {
            const request = inBrazil(row, field, await prepared(row));
            return (await ask(row.path, having(request, at, sample(field, characters, at)))).code;
          };
          assert.equal(await send(shortest.characters), "SUCCESS");
          assert.equal(await send(shortest.characters - 1), shortest.code ?? "SUCCESS");
        });
      }

      if (values !== undefined) {
        test(`${name} takes no other words than are named`, async () => {
          const request = inSituation(row, field, at, await prepared(row));
          assert.notEqual((await ask(row.path, having(request, at, "zz"))).code, "SUCCESS");
        });
      }

      if (required !== undefined && required.countries === undefined) {
        test(`${name} cannot be left out`, async () => {
          if (required.when !== undefined)
            assert.ok(
              situationOf(row, field, at) !== undefined,
              "the test does not know how that comes about",
            );
          const request = inSituation(row, field, at, await prepared(row));
          const names = [...at.slice(-1), ...(field.aliases ?? []), ...(required.or ?? [])];
          const without = names.reduce(
            (changed, each) => having(changed, [...at.slice(0, -1), each], undefined),
            request,
          );
          const { code, status } = await ask(row.path, without);
          assert.deepEqual(
            { code, status },
            { code: required.code ?? "SUCCESS", status: required.status ?? 200 },
          );
        });
      }

      if (required?.countries !== undefined) {
        test(`${name} is needed where it is said to be`, async () => {
          for (const country of countryCodes) {
            const document = documents[country];
            const body = directBody(`openapi-${country}-${(count += 1)}`, {
              country,
              ...(document === undefined ? {} : { document }),
            });
            const { code } = await ask(row.path, having(body, at, undefined));
            assert.equal(
              code,
              required.countries?.includes(country) === true ? required.code : "SUCCESS",
              country,
            );
          }
        });
      }
    }
  });
}

/** Valid documents of the other countries whose documents are checked. */
const documents: Readonly<Record<string, string>> = {
  ar: "23-33016244-9",
  co: "1078578409",
  cl: "12.531.909-2",
  uy: "1.234.567-2",
  pe: "12345678",
};

const run = promisify(execFile);
const shell = ["/bin/bash", "/usr/bin/bash"].find((file) => existsSync(file));
const curl = ["/usr/bin/curl", "/bin/curl", "/usr/local/bin/curl"].find((file) => existsSync(file));

describe(
  "the lines for the shell",
  { skip: shell === undefined || curl === undefined ? "there is no bash or no curl" : false },
  () => {
    before(restart);

    for (const row of documentedEndpoints()) {
      test(`the one for ${row.path} works`, async () => {
        count += 1;
        const order = `shell-${count}`;
        const token = `a-token-of-my-own-for-${order}-and-this-test`;
        await make(row.needs, order, token);
        const [{ source } = { source: "" }] = operationAt(row.path)["x-codeSamples"];
        const { stdout } = await run(shell ?? "", ["-c", source], {
          env: {
            ...process.env,
            COFRE: server.url,
            KEY: integrationKey,
            PUBLIC_KEY: publicIntegrationKey,
            ORDER: order,
            TOKEN: token,
          },
        });
        const { status } = JSON.parse(stdout) as { readonly status?: string };
        assert.notEqual(status, "ERROR", stdout);
      });
    }
  },
);
