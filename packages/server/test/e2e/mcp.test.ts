import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, test, type TestContext } from "node:test";
import { testNumbers } from "../../src/vault/test-numbers.ts";
import { Command } from "../command.ts";
import { integrationKey, startTestServer, type TestServer } from "../server.ts";

/*
 * A client of the Model Context Protocol, written from its specification, on real pipes.
 */

type Fields = Readonly<Record<string, unknown>>;

class McpClient {
  readonly command: Command;
  readonly #waiting = new Map<unknown, (answer: Fields) => void>();
  /** Everything that the server has written. */
  readonly lines: string[] = [];
  #id = 0;

  constructor(context: TestContext, environment: Readonly<Record<string, string>>) {
    this.command = Command.cofre(context, ["mcp"], environment);
    const { stdout } = this.command.child;
    assert.ok(stdout !== null);
    createInterface(stdout).on("line", (line) => {
      this.lines.push(line);
      const answer = JSON.parse(line) as Fields;
      this.#waiting.get(answer["id"])?.(answer);
    });
  }

  write(text: string): void {
    this.command.child.stdin?.write(`${text}\n`);
  }

  /** The answer with this id. */
  answerTo(id: unknown): Promise<Fields> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  async request(method: string, params?: Fields): Promise<Fields> {
    this.#id += 1;
    const answer = this.answerTo(this.#id);
    this.write(JSON.stringify({ jsonrpc: "2.0", id: this.#id, method, params }));
    return answer;
  }

  async initialize(protocolVersion = "2025-11-25"): Promise<Fields> {
    const { result } = await this.request("initialize", {
      protocolVersion,
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    this.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
    return result as Fields;
  }

  /** The text of a tool's result, and whether it is an error. */
  async call(name: string, input?: Fields): Promise<readonly [text: string, isError: unknown]> {
    const { result, error } = await this.request("tools/call", { name, arguments: input });
    assert.equal(error, undefined);
    const { content, isError } = result as { content: readonly Fields[]; isError: unknown };
    assert.equal(content[0]?.["type"], "text");
    return [String(content[0]?.["text"]), isError];
  }

  /** The result of a tool that succeeds. */
  async result(name: string, input?: Fields): Promise<Fields> {
    const [text, isError] = await this.call(name, input);
    assert.equal(isError, false, text);
    return JSON.parse(text) as Fields;
  }

  async end(): Promise<void> {
    this.command.child.stdin?.end();
    assert.equal(await this.command.code(), 0, this.command.stderr);
  }
}

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

function connected(
  context: TestContext,
  environment: Readonly<Record<string, string>> = {},
): McpClient {
  return new McpClient(context, { COFRE_PORT: String(server.port), ...environment });
}

describe("cofre mcp", () => {
  test("agrees on a version, lists its tools, answers ping and ends with its input", async (context) => {
    const client = connected(context);
    const { protocolVersion, capabilities, serverInfo } = await client.initialize();
    assert.equal(protocolVersion, "2025-11-25");
    assert.deepEqual(capabilities, { tools: {} });
    assert.match(String((serverInfo as Fields)["version"]), /^\d+\.\d+\.\d+$/);
    assert.deepEqual((await client.request("ping"))["result"], {});
    const { tools } = (await client.request("tools/list"))["result"] as {
      readonly tools: readonly Fields[];
    };
    assert.deepEqual(
      tools.map(({ name }) => name),
      [
        "list_worlds",
        "create_world",
        "change_world",
        "get_clock",
        "move_clock",
        "list_faults",
        "add_fault",
        "clear_faults",
        "list_payments",
        "get_payment",
        "get_timeline",
        "make_payment",
        "trigger_event",
        "list_requests",
        "list_test_cards",
      ],
    );
    for (const { name, description, inputSchema } of tools) {
      assert.ok(String(description).endsWith("."), String(name));
      assert.partialDeepStrictEqual(inputSchema, { type: "object", additionalProperties: false });
      assert.doesNotMatch(JSON.stringify(inputSchema), /\$ref/);
    }
    await client.end();
  });

  test("takes older versions, and offers its own for one that it does not know", async (context) => {
    for (const [asked, agreed] of [
      ["2024-11-05", "2024-11-05"],
      ["2025-06-18", "2025-06-18"],
      ["2099-01-01", "2025-11-25"],
    ] as const) {
      const client = connected(context);
      assert.equal((await client.initialize(asked))["protocolVersion"], agreed);
      await client.end();
    }
  });

  test("makes a world, pays in it, causes a dispute, moves the clock, and reads what happened", async (context) => {
    const client = connected(context);
    await client.initialize();
    const { world } = (await client.result("create_world", {
      name: "agent",
      seed: "7",
      settings: { country: "mx" },
    })) as { readonly world: Fields };
    const key = world["integration_key"];
    const { worlds } = await client.result("list_worlds");
    assert.ok((worlds as readonly Fields[]).some(({ name }) => name === "agent"));

    const card = "5555555555554444";
    const pay = { key, code: "order-1", amount: "250.00", card };
    const { payment } = await client.result("make_payment", pay);
    assert.partialDeepStrictEqual(payment, { state: "captured", currency_ext: "MXN" });
    await client.result("trigger_event", { key, payment: "order-1", event: "dispute" });
    await client.result("make_payment", { key, code: "order-2", amount: "90.00", capture: false });
    const moved = await client.result("move_clock", { key, advance: "10d" });
    assert.partialDeepStrictEqual(moved, { clock: { now: "2026-01-11T00:00:00.000Z" } });
    assert.equal(
      (await client.result("get_payment", { key, payment: "order-2" }))["state"],
      "expired",
    );
    const { entries } = await client.result("get_timeline", { key, payment: "order-1" });
    assert.ok(
      (entries as readonly Fields[]).some(({ text }) => /charge|dispute/i.test(String(text))),
    );
    const { payments } = await client.result("list_payments", { key, search: "order-1" });
    assert.equal((payments as readonly Fields[])[0]?.["disputed"], true);
    const { requests } = await client.result("list_requests", { key });
    assert.ok((requests as readonly unknown[]).length >= 2);
    assert.partialDeepStrictEqual(await client.result("get_clock", { key }), {
      clock: { running: false },
    });

    const { fault } = await client.result("add_fault", {
      key,
      kind: "decline",
      reason: "insufficient_funds",
    });
    assert.equal(((await client.result("list_faults", { key }))["faults"] as []).length, 1);
    const declined = await client.result("make_payment", { key, code: "o-3", amount: "90.00" });
    assert.partialDeepStrictEqual(declined, { payment: { state: "declined" } });
    assert.equal((fault as Fields)["kind"], "decline");
    assert.deepEqual(await client.result("clear_faults", { key }), { cleared: 0 });

    await client.result("change_world", { key, action: "snapshot", name: "paid" });
    await client.result("change_world", { key, action: "reset" });
    await client.result("change_world", { key, action: "restore", name: "paid" });
    assert.deepEqual(await client.result("change_world", { key, action: "delete" }), {
      deleted: true,
    });
    // Whole numbers are in no answer, as this client has asked for no list of test cards.
    const written = client.lines.join("\n");
    assert.ok(written.includes("555555xxxxxx4444"));
    assert.deepEqual(
      testNumbers.filter((digits) => written.includes(digits)),
      [],
    );
    assert.doesNotMatch(written, /card_cvv/);
    await client.end();
  });

  test("lists test cards with their results, for the account of its own key", async (context) => {
    const client = connected(context, { COFRE_SANDBOX_INTEGRATION_KEY: integrationKey });
    await client.initialize();
    const { cards } = await client.result("list_test_cards");
    assert.ok(
      (cards as readonly Fields[]).some(
        ({ number, result }) => number === "4111111111111111" && result === "approved",
      ),
    );
    await client.end();
  });

  const mistakes: readonly (readonly [tool: string, input: Fields, said: RegExp])[] = [
    ["get_payment", { key: "none", payment: "x" }, /does not accept this key/],
    [
      "get_payment",
      { payment: "x" },
      /^The key is missing: .* Or give the tool the key of a world/,
    ],
    ["get_payment", { key: "k" }, /^needs the member payment\.$/],
    ["make_payment", { code: "a", amount: 5 }, /^amount must be an amount as a text, such as/],
    [
      "make_payment",
      { code: "a", amount: "5", card: "4111110000000021" },
      /^card must be a published/,
    ],
    [
      "move_clock",
      { key: "k", set: "2026-01-01", advance: "4d" },
      /^Give one of set, advance and run/,
    ],
    ["move_clock", { key: "k", advance: "4 days" }, /^advance must be a span such as 10s/],
    [
      "create_world",
      { settings: { countri: "mx" } },
      /^settings\.countri is not a setting\. Did you mean/,
    ],
    ["add_fault", { kind: "slo" }, /^kind must be one of /],
    [
      "trigger_event",
      { key: "k", payment: "x", event: "dispute", amount: "1" },
      /^amount is not for the event dispute/,
    ],
    ["list_worlds", { all: true }, /^all is not a member\./],
  ];
  test("says what is wrong with a call, for the program to correct it", async (context) => {
    const client = connected(context);
    await client.initialize();
    for (const [tool, input, said] of mistakes) {
      const [text, isError] = await client.call(tool, input);
      assert.equal(isError, true, text);
      assert.match(text, said);
    }
    await client.end();
  });

  test("answers what is not a request with an error of JSON-RPC, and continues", async (context) => {
    const client = connected(context);
    const errors: readonly (readonly [line: string, id: unknown, code: number])[] = [
      ["{", null, -32_700],
      [`"${"x".repeat(1_100_000)}"`, null, -32_700],
      ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 1, -32_600],
      ['{"jsonrpc":"2.0","id":"a","method":"resources/list"}', "a", -32_601],
      ['{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"toString"}}', 2, -32_602],
    ];
    for (const [line, id, code] of errors) {
      const answer = client.answerTo(id);
      client.write(line);
      assert.equal(((await answer)["error"] as Fields)["code"], code, line.slice(0, 60));
    }
    client.write('{"jsonrpc":"2.0","method":"notifications/cancelled"}\n\n');
    assert.deepEqual((await client.request("ping"))["result"], {});
    assert.equal(client.lines.length, errors.length + 1);
    await client.end();
  });

  test("says where no sandbox answers, and refuses another machine at its start", async (context) => {
    const client = connected(context, { COFRE_PORT: "9", COFRE_SANDBOX_INTEGRATION_KEY: "key1" });
    await client.initialize();
    const [text, isError] = await client.call("list_worlds");
    assert.equal(isError, true);
    assert.match(text, /^Nothing answers at http:\/\/127\.0\.0\.1:9\. Is Cofre running\?/);
    await client.end();
    const other = Command.cofre(context, ["mcp", "--url", "http://pay.example.com"]);
    assert.equal(await other.code(), 2);
    assert.match(
      other.stderr,
      /^--url cannot be used: it must be an http:\/\/ address of this machine/,
    );
  });

  test("is refused by a server that is not a sandbox", async (context) => {
    const { createServer } = await import("node:http");
    const plain = createServer((_, response) => void response.writeHead(404).end()).listen(
      0,
      "127.0.0.1",
    );
    await once(plain, "listening");
    context.after(() => plain.close());
    const address = plain.address();
    assert.ok(address !== null && typeof address === "object");
    const client = connected(context, { COFRE_PORT: String(address.port) });
    await client.initialize();
    const [text, isError] = await client.call("list_worlds");
    assert.equal(isError, true);
    assert.match(text, /is not a Cofre sandbox/);
    await client.end();
  });
});
