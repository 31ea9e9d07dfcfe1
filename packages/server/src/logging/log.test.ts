import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { instant } from "../kernel/instant.ts";
import { Secret } from "../kernel/secret.ts";
import { Pan } from "../vault/pan.ts";
import { createLog, harmless, type LogFormat } from "./log.ts";
import { type LogEvent, type LogEventName, logEvents } from "./log-event.ts";

const testCard = "4111111111111111";

function capture(
  format: LogFormat,
  level: "debug" | "info" | "warn" | "error" | "silent" = "debug",
) {
  const lines: string[] = [];
  let now = Date.UTC(2026, 10, 28, 3, 4, 5, 6);
  const log = createLog({
    level,
    format,
    clock: { now: () => instant(now) },
    destination: { write: (line) => void lines.push(line) },
  });
  return { log, lines, wait: (ms: number) => (now += ms) };
}

/** An event that bypasses the type checker. */
function deceitful(event: LogEventName, fields: Record<string, unknown>): LogEvent {
  return JSON.parse(JSON.stringify({ event, ...fields })) as LogEvent;
}

describe("a JSON log", () => {
  test("has one line for an event, with its level, time and declared fields", () => {
    const { log, lines, wait } = capture("json");
    log.write({ event: "listening", host: "127.0.0.1", port: 8787 });
    wait(995);
    log.write({ event: "stopped" });
    assert.deepEqual(lines, [
      '{"level":"info","time":"2026-11-28T03:04:05.006Z","event":"listening","host":"127.0.0.1","port":8787}\n',
      '{"level":"info","time":"2026-11-28T03:04:06.001Z","event":"stopped"}\n',
    ]);
  });

  test("leaves out what an event's row does not declare, and what has another type than declared", () => {
    const { log, lines } = capture("json");
    log.write(
      deceitful("listening", {
        host: "here",
        port: "8787",
        body: "integration_key=abc",
        toString: "x",
        constructor: "y",
      }),
    );
    assert.deepEqual(fieldsOf(lines[0]), { event: "listening", host: "here" });
  });

  test("leaves out objects, card numbers among them", () => {
    const { log, lines } = capture("json");
    const pan = Pan.from(Buffer.from(testCard));
    const values: unknown[] = [
      pan,
      new Secret(testCard),
      { toJSON: () => testCard },
      [testCard],
      Number(testCard),
      BigInt(testCard),
    ];
    for (const host of values) {
      const event = { event: "listening", host, port: host };
      log.write(event as LogEvent);
    }
    assert.equal(lines.length, values.length);
    for (const line of lines) assert.deepEqual(fieldsOf(line), { event: "listening" });
  });

  test("strikes out a card number in any text or identifier field", () => {
    const { log, lines } = capture("json");
    log.write({
      event: "alarm",
      kind: "broken_invariant",
      what: `about ${testCard}`,
      where: undefined,
      merchantId: testCard,
      paymentId: `x${testCard}`,
    });
    assert.equal(lines.join("").includes(testCard), false);
    assert.deepEqual(fieldsOf(lines[0]), {
      event: "alarm",
      kind: "broken_invariant",
      what: "about [digits]",
      merchantId: "[digits]",
      paymentId: "x[digits]",
    });
  });

  test("control: an identifier stays whole, also when it holds many digits in a row", () => {
    const { log, lines } = capture("json");
    const paymentId = `6929${testCard}${"0".repeat(28)}`;
    log.write({
      event: "alarm",
      kind: "broken_invariant",
      what: "x",
      where: undefined,
      merchantId: "12345678",
      paymentId,
    });
    assert.equal(fieldsOf(lines[0])["paymentId"], paymentId);
    assert.equal(fieldsOf(lines[0])["merchantId"], "12345678");
  });

  test("stays one parseable line of visible characters whatever a text holds", () => {
    const { log, lines } = capture("json");
    const nasty = [
      "a\nb",
      "a\r\nlevel=error",
      '","event":"stopped',
      "\u001b[2J\u001b]0;title\u0007",
      "\u009b31m",
      "\u0085\u2028\u2029",
      "\u202egnp.exe",
      "\u0000",
      "\ud800",
      "\\u000a",
    ];
    for (const what of nasty)
      log.write({
        event: "alarm",
        kind: "broken_invariant",
        what,
        where: undefined,
        merchantId: undefined,
        paymentId: undefined,
      });
    assert.equal(lines.length, nasty.length);
    for (const line of lines) {
      assert.match(line, /^[^\p{Cc}\p{Cs}\p{Cf}\u2028\u2029]*\n$/u);
      assert.equal(fieldsOf(line)["event"], "alarm");
    }
  });

  test("writes what its level asks for and nothing below", () => {
    const { log, lines } = capture("json", "warn");
    log.write({ event: "stopped" });
    assert.equal(lines.length, 0);
    log.write({ event: "overloaded", limit: "in_flight", refused: 3 });
    assert.equal(lines.length, 1);
  });

  test("is silent at level silent", () => {
    const { log, lines } = capture("json", "silent");
    log.write({
      event: "start_failed",
      errorName: "Error",
      errorCode: undefined,
      where: undefined,
    });
    assert.equal(lines.length, 0);
  });
});

test("a text log shows time, level, event and fields, and quotes values that are not plain words", () => {
  const { log, lines } = capture("text");
  log.write({
    event: "alarm",
    kind: "broken_invariant",
    what: 'a "property"\n\u001b[2J',
    where: undefined,
    merchantId: undefined,
    paymentId: undefined,
  });
  log.write({ event: "listening", host: "127.0.0.1", port: 8787 });
  assert.deepEqual(lines, [
    '03:04:05.006 error alarm kind=broken_invariant what="a \\"property\\"\\n\\u001b[2J"\n',
    "03:04:05.006 info  listening host=127.0.0.1 port=8787\n",
  ]);
});

describe("the scrub of digits", () => {
  const struck = [
    testCard,
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "4111.1111/1111_1111",
    "4111 - 1111 - 1111 - 1111".replaceAll(" - ", "--"),
    "378282246310005",
    "30569309025904",
    "5078601870000127985",
    "card4111111111111111end",
    `000${testCard}000`,
    "4111111111111112",
  ];
  for (const text of struck) {
    test(`strikes out ${text}`, () => {
      assert.doesNotMatch(harmless(`before ${text} after`), /\d{5}|\d{4}\D{1,2}\d{4}/);
    });
  }

  const kept = [
    "/ws/direct",
    "BP-DR-101",
    "127.0.0.1:65535",
    "v26.10.0",
    "payment 123456789012",
    "2026-11-28",
    "",
  ];
  for (const text of kept) {
    test(`leaves alone ${text}`, () => {
      assert.equal(harmless(text), text);
    });
  }

  test("cuts what is far longer than anything we say", () => {
    assert.equal(harmless("x".repeat(100_000)).length, 301);
  });
});

test("every event says what it is for and declares fields under names that JSON lines need not quote", () => {
  for (const [name, row] of Object.entries(logEvents)) {
    assert.match(row.doc, /^[A-Z].*\.$/, name);
    for (const field of Object.keys(row.fields)) {
      assert.match(field, /^[a-z][A-Za-z]*$/);
      assert.ok(!["level", "time", "event"].includes(field));
    }
  }
});

function fieldsOf(line: string | undefined): Record<string, unknown> {
  const { level, time, ...fields } = JSON.parse(line ?? "") as Record<string, unknown>;
  assert.equal(typeof level, "string");
  assert.equal(typeof time, "string");
  return fields;
}

function programOf(statements: string): string {
  return `
    import { standardOutput } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const output = standardOutput();
    ${statements}`;
}

/**
 * Runs these statements with `output` as standard output, in a separate process with a time limit
 * for one that never ends.
 */
function ended(
  statements: string,
  stdout: number | "pipe",
): { readonly status: number | null; readonly text: string } {
  const program = programOf(statements);
  const { status, stdout: text } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", program],
    {
      stdio: ["ignore", stdout, "inherit"],
      timeout: 60_000,
    },
  );
  return { status, text: text?.toString() ?? "" };
}

/** The flush of the last lines would retry indefinitely. */
const full: readonly (readonly [string, string])[] = [
  [
    "has been full",
    'output.write("a line\\n".repeat(1000)); output.flush(); setTimeout(() => (output.flushSync(), process.exit(7)), 300);',
  ],
  // Nothing has failed yet when the last lines are written.
  [
    "is full at the end only",
    'output.write("a line\\n"); setImmediate(() => (output.flushSync(), process.exit(7)));',
  ],
  [
    "is full at an exit that flushes nothing",
    'output.write("a line\\n"); setImmediate(() => process.exit(7));',
  ],
];
for (const [name, statements] of full) {
  test(
    `a process whose standard output ${name} ends when it wants to`,
    { skip: !existsSync("/dev/full") },
    () => {
      const device = openSync("/dev/full", "w");
      const { status } = ended(statements, device);
      closeSync(device);
      assert.equal(status, 7);
    },
  );
}

// The test holds both ends of a named pipe open and reads nothing. Such a pipe blocks, like those
// of a shell.
test(
  "a process whose standard output is a pipe that nothing reads ends when it wants to",
  { skip: process.platform === "win32" },
  (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-log-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const name = join(folder, "pipe");
    assert.equal(spawnSync("mkfifo", [name]).status, 0);
    const pipe = openSync(name, "r+");
    const { status } = ended(
      'output.write("a line\\n".repeat(100_000)); output.flush(); setTimeout(() => (output.flushSync(), process.exit(7)), 300);',
      pipe,
    );
    closeSync(pipe);
    assert.equal(status, 7);
  },
);

test(
  "what waits for a reader who is behind when the process ends is written whole, in its order",
  { skip: process.platform === "win32" },
  () => {
    const program = programOf(`for (let line = 0; line < 40_000; line += 1) {
    output.write(line + "\\n");
    if (line % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  // The last write has come back from its thread by then: the pipe is full.
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve, 20));
  output.flushSync();
  process.exit(7);`);
    const command = '"$0" "$@" | { sleep 1; cat; }';
    const { stdout } = spawnSync(
      "/bin/sh",
      ["-c", command, process.execPath, "--input-type=module", "--eval", program],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const lines = stdout.toString().trimEnd().split("\n");
    const wrong = lines.findIndex((line, index) => line !== String(index));
    assert.deepEqual([lines.length, wrong], [40_000, -1]);
  },
);

test("control: what waits is written to the end when the process exits, in its order", () => {
  const statements = `for (let line = 0; line < 500; line += 1) output.write(line + "\\n");
    output.flushSync();
    output.write("last\\n");
    process.exit(7);`;
  const { status, text } = ended(statements, "pipe");
  assert.equal(status, 7);
  assert.deepEqual(text.trimEnd().split("\n"), [
    ...Array.from({ length: 500 }, (_, line) => String(line)),
    "last",
  ]);
});
