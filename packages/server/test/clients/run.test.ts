import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { after, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { cleanEnvironment, Command, SharedCleanup, temporaryFolder } from "../command.ts";
import { SmallDisk, whyNoSmallDisk } from "../support/small-disk.ts";
import { until } from "../until.ts";

/* `cofre run` with suites of clients whose hosts are constants. */

const program = fileURLToPath(new URL("../../bin/cofre.js", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const suites = join(here, "suites");
const isWindows = process.platform === "win32";
const noShell = isWindows ? "there is no POSIX shell" : false;

/** Puts the Node that runs this test before any other on this machine. */
const path = { PATH: [dirname(process.execPath), cleanEnvironment["PATH"] ?? ""].join(delimiter) };

interface Place {
  readonly folder: string;
  readonly run: (
    args: readonly string[],
    environment?: Readonly<Record<string, string>>,
  ) => Command;
}

/** As bin/cofre.js sets it. That of the test runner would be a setting of the user. */
const compileCache = join(import.meta.dirname, "../../.cache/compiled/");

/** A folder in which `cofre run` is called. */
function place(context: TestContext): Place {
  const folder = temporaryFolder(context);
  return {
    folder,
    run: (args, environment = {}) =>
      new Command(
        context,
        [process.execPath, program, "run", ...args],
        { NODE_COMPILE_CACHE: compileCache, ...path, ...environment },
        folder,
      ),
  };
}

function shell(script: string): readonly string[] {
  return ["--", "sh", "-c", script];
}

function has(...[command, ...args]: readonly [string, ...string[]]): boolean {
  return (
    spawnSync(command, args, { stdio: "ignore", env: { ...process.env, ...path } }).status === 0
  );
}

/** A charge by the command line, for a shell. */
const charge = `curl -sS https://sandbox.ebanx.com/ws/direct -d '{"integration_key":"'$COFRE_INTEGRATION_KEY'","payment":{"merchant_payment_code":"order-1","amount_total":"100.00","currency_code":"PEN","country":"pe","name":"Ana Lima","email":"ana.lima@example.com","phone_number":"51987654321","creditcard":{"card_number":"4111111111111111","card_name":"Ana Lima","card_due_date":"12/2060","card_cvv":"123"}}}'`;
const noCurl = noShell !== false ? noShell : has("curl", "--version") ? false : "there is no curl";

/** JavaScript is checked by the rules of this repository, which a shop's suite does not follow. */
const nodeSuite = `
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const ebanx = createRequire(${JSON.stringify(here)})("ebanx")();
const { COFRE_INTEGRATION_KEY: integrationKey, ORDER: order, EXPECTED: expected } = process.env;
ebanx.configure({ integrationKey, testMode: true });

const creditcard = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};
const payment = {
  merchant_payment_code: order,
  amount_total: "100.00",
  currency_code: "PEN",
  country: "pe",
  name: "Ana Lima",
  email: "ana.lima@example.com",
  phone_number: "51987654321",
  payment_type_code: "creditcard",
  creditcard,
};

test("a customer pays, with the npm package ebanx", async () => {
  const body = await new Promise((resolve, reject) => {
    const request = { mode: "full", operation: "request", payment };
    ebanx.direct(request, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
  assert.equal(JSON.parse(body).payment.status, expected);
});

test("the payment is there, with fetch", async () => {
  const answer = await fetch("https://api.ebanxpay.com/ws/query", {
    method: "POST",
    body: JSON.stringify({ integration_key: integrationKey, merchant_payment_code: order }),
  });
  assert.equal((await answer.json()).payment.status, expected);
});
`;

const shared = new SharedCleanup();
after(() => shared.endAll());
const nodeFile = join(temporaryFolder(shared), "suite.mjs");
writeFileSync(nodeFile, nodeSuite);

describe("cofre run with the suites of each language", () => {
  const languages: readonly (readonly [name: string, has: boolean, command: readonly string[]])[] =
    [
      ["node", true, ["node", "--test", nodeFile]],
      ["python", has("python3", "-c", "import ssl"), ["python3", join(suites, "python_suite.py")]],
      ["ruby", has("ruby", "-ropenssl", "-rminitest", "-e", ""), ["ruby", join(suites, "ruby.rb")]],
      [
        "php",
        has("php", "-r", 'exit(function_exists("curl_init") ? 0 : 1);'),
        ["php", join(suites, "php.php")],
      ],
      ["go", has("go", "version"), ["go", "test", "-count=1", join(suites, "go_test.go")]],
      ["java", has("java", "-version"), ["java", join(suites, "Shop.java")]],
    ];
  for (const [name, isInstalled, command] of languages) {
    const skip = isInstalled ? false : `there is no ${name} on this machine`;

    test(`${name}: a suite that passes leaves nothing behind`, { skip }, async (context) => {
      const { folder, run } = place(context);
      const passing = run(["--", ...command], { ORDER: `${name}-1`, EXPECTED: "CO" });
      assert.equal(await passing.code(), 0, passing.stdout + passing.stderr);
      assert.deepEqual(readdirSync(folder), []);
    });

    // The rest is the same for all: two are enough.
    if (name !== "node" && name !== "php") continue;
    test(`${name}: a suite that fails leaves the timelines`, { skip }, async (context) => {
      const { folder, run } = place(context);
      const failing = run(["--", ...command], { ORDER: `${name}-2`, EXPECTED: "CA" });
      assert.equal(await failing.code(), 1, failing.stdout + failing.stderr);
      assert.match(
        failing.stderr,
        /^cofre run: \S+ exited with 1\.\nThe timeline of 1 payment was saved: cofre-run\/timelines\.txt, cofre-run\/timelines\.html, cofre-run\/cofre\.log$/m,
      );
      const saved = ["timelines.txt", "timelines.html", "cofre.log"].map((file) =>
        readFileSync(join(folder, "cofre-run", file), "utf8"),
      );
      const [text = "", html = "", log = ""] = saved;
      assert.match(text, new RegExp(`^${name}-2  100\\.00 PEN$`, "m"));
      assert.match(text, /The acquirer approved, and the amount was captured immediately/);
      assert.ok(html.includes(`<b>${name}-2</b>`) && html.includes("411111xxxxxx1111"));
      assert.match(log, /request method=POST path=\/ws\/direct status=200/);
      for (const each of saved) assert.ok(!each.includes("4111111111111111"));
    });
  }
});

describe("cofre run: the exit code", { skip: noShell }, () => {
  const codes: readonly (readonly [args: readonly string[], code: number, said: RegExp])[] = [
    [shell("exit 0"), 0, /^$/],
    [shell("exit 7"), 7, /^cofre run: sh exited with 7\.\nNo request reached Cofre\. /],
    [shell("kill -TERM $$"), 143, /^cofre run: sh was ended by SIGTERM\.$/m],
    [["--", "no-such-command"], 127, /^There is no command no-such-command, .* PATH\.\n$/],
    [["--", "npm test"], 127, /^There is no command "npm test"\. .*sh -c '\.\.\.'\n$/],
    [["--", "./plain"], 126, /^\.\/plain cannot be executed by this user\. .*chmod \+x/],
    [["sh", "-c", "exit 5"], 5, /exited with 5/],
    [["--port", "70000", "--", "true"], 2, /^--port must be a whole number/],
    [[], 2, /^run needs a command to run: -- COMMAND \[ARG\.\.\.\]$/m],
    [["--prot", "1", "--", "true"], 2, /^Unknown option --prot\. Did you mean --port\?$/m],
  ];
  for (const [args, code, said] of codes) {
    test(`${code}: cofre run ${args.join(" ")}`, async (context) => {
      const { folder, run } = place(context);
      writeFileSync(join(folder, "plain"), "");
      const command = run(args);
      assert.equal(await command.code(), code, command.stderr);
      assert.match(command.stderr, said);
      assert.ok(!existsSync(join(folder, "cofre-run")));
    });
  }

  test("a port that is in use, and a folder for temporary files that does not exist, are reported with a remedy", async (context) => {
    const other = createServer().listen(0, "127.0.0.1");
    context.after(() => other.close());
    await once(other, "listening");
    const address = other.address();
    assert.ok(typeof address === "object" && address !== null);
    const { run } = place(context);
    const onPort = run(["--port", String(address.port), "--", "true"]);
    assert.equal(await onPort.code(), 1);
    assert.match(onPort.stderr, /^Port \d+ of 127\.0\.0\.1 is in use\. Choose another with --port/);
    const elsewhere = run(["--", "true"], { TMPDIR: "/nowhere/at/all" });
    assert.equal(await elsewhere.code(), 1);
    assert.match(
      elsewhere.stderr,
      /^\/nowhere\/at\/all\S* cannot be written .* set TMPDIR to one\.$/m,
    );
  });
});

describe("cofre run: the command's input, output and environment", { skip: noShell }, () => {
  test("are its own: Cofre prints nothing when it succeeds", async (context) => {
    const command = place(context).run(shell("cat; echo problem >&2"));
    command.child.stdin?.end("text\n");
    assert.equal(await command.code(), 0);
    assert.deepEqual([command.stdout, command.stderr], ["text\n", "problem\n"]);
  });

  test("has the address and keys, with --no-proxy nothing else", async (context) => {
    const { run } = place(context);
    const print =
      "env | sort | grep -iE '^(cofre_|.*_proxy=|.*_CERT|RUBY|JAVA_TOOL|NODE_COMPILE|PHP_)'";
    const names = async (args: readonly string[]): Promise<readonly string[]> => {
      const command = run([...args, ...shell(print)], { COFRE_SANDBOX_INTEGRATION_KEY: "my-key" });
      assert.equal(await command.code(), 0, command.stderr);
      assert.match(command.stdout, /^COFRE_INTEGRATION_KEY=my-key$/m);
      assert.match(command.stdout, /^COFRE_URL=http:\/\/127\.0\.0\.1:\d+$/m);
      return command.stdout.split("\n").map((line) => line.replace(/=.*/, ""));
    };
    const plain = await names(["--no-proxy"]);
    assert.ok(plain.includes("COFRE_PUBLIC_INTEGRATION_KEY"));
    for (const name of ["HTTPS_PROXY", "RUBYOPT", "JAVA_TOOL_OPTIONS", "NODE_COMPILE_CACHE"])
      assert.ok(!plain.includes(name), name);
    const all = await names([]);
    for (const name of ["HTTPS_PROXY", "no_proxy", "SSL_CERT_FILE", "RUBYOPT", "JAVA_TOOL_OPTIONS"])
      assert.ok(all.includes(name), name);
  });

  test(
    "make commands of Cofre use this Cofre, and other hosts are refused",
    { skip: noCurl },
    async (context) => {
      const cofre = `"${process.execPath}" "${program}"`;
      const command = place(context).run(
        shell(
          `${charge} && ${cofre} payment order-1; curl -sS https://example.com/; ${cofre} world create >world && exit 4`,
        ),
      );
      assert.equal(await command.code(), 4, command.stderr);
      assert.match(command.stdout, /[0-9a-f]{48} {2}captured$/m);
      assert.match(
        command.stderr,
        /^The proxy refused: example\.com:443, which is not a host of this interface\.$/m,
      );
    },
  );

  test(
    "payments of worlds are saved with those of the account",
    { skip: noCurl },
    async (context) => {
      const { folder, run } = place(context);
      const cofre = `"${process.execPath}" "${program}"`;
      const command = run([
        "--save-to",
        "deep/er",
        ...shell(
          `${cofre} world create --name w1 --key world-key >/dev/null; COFRE_INTEGRATION_KEY=world-key; ${charge}; exit 1`,
        ),
      ]);
      assert.equal(await command.code(), 1);
      const text = readFileSync(join(folder, "deep/er/timelines.txt"), "utf8");
      assert.match(text, /^the account: 0 payments\n\nworld \S+ w1: 1 payment$/m);
      assert.match(text, /^order-1 {2}100\.00 PEN$/m);
      assert.ok(!existsSync(join(folder, "deep/er/.gitignore")), "only the default folder has one");
    },
  );
});

describe("cofre run: stopping", { skip: noShell }, () => {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    test(`${signal} reaches the command, whose exit code counts`, async (context) => {
      const name = signal.slice(3);
      const command = place(context).run(
        shell(`trap 'echo got ${name}; exit 9' ${name}; echo ready; while :; do sleep 0.05; done`),
      );
      await command.lines(1);
      command.child.kill(signal);
      assert.equal(await command.code(), 9);
      assert.equal(command.stdout, `ready\ngot ${name}\n`);
    });
  }

  test("the third signal ends a command that ignores them", async (context) => {
    const command = place(context).run(
      shell("trap 'echo no' TERM; echo ready; while :; do sleep 0.05; done"),
    );
    await command.lines(1);
    command.child.kill("SIGTERM");
    await command.lines(2);
    command.child.kill("SIGTERM");
    await command.lines(3);
    command.child.kill("SIGTERM");
    assert.equal(await command.code(), 137);
    assert.match(command.stderr, /^cofre run: sh was ended by SIGKILL\.$/m);
  });

  test(
    "Ctrl-C on a terminal reaches the command once",
    { skip: has("python3", "-c", "import pty") ? false : "there is no Python with pty" },
    async (context) => {
      const { folder } = place(context);
      const script = "trap 'echo got' INT; echo ready; sleep 0.3; sleep 0.3; exit 6";
      const terminal = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
sent = False
while True:
    try:
        piece = os.read(fd, 1000)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if not sent and b"ready" in seen:
        os.write(fd, b"\\x03")
        sent = True
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
      const command = new Command(
        context,
        ["python3", "-c", terminal, process.execPath, program, "run", ...shell(script)],
        path,
        folder,
      );
      assert.equal(await command.code(), 6, command.stdout + command.stderr);
      assert.equal(command.stdout.match(/got/g)?.length, 1, command.stdout);
    },
  );

  test("children that the command leaves behind are not waited for, and their Cofre has ended", async (context) => {
    const { folder, run } = place(context);
    const command = run(shell("echo $COFRE_URL >url; (sleep 300 >/dev/null 2>&1 &); exit 3"));
    assert.equal(await command.code(), 3);
    await assert.rejects(fetch(readFileSync(join(folder, "url"), "utf8").trim()));
  });

  test(
    "after kill -9 the command's requests fail, and reach no other server",
    { skip: noCurl },
    async (context) => {
      const { folder, run } = place(context);
      const command = run(
        shell(`echo ready; until [ -e killed ]; do sleep 0.05; done; ${charge}; echo $? >code`),
        // A killed process leaves its folder for temporary files behind.
        { TMPDIR: folder },
      );
      await command.lines(1);
      command.child.kill("SIGKILL");
      await once(command.child, "exit");
      writeFileSync(join(folder, "killed"), "");
      await until(
        "the request ended",
        () => existsSync(join(folder, "code")) && statSync(join(folder, "code")).size > 0,
      );
      // 5: the proxy cannot be resolved, 7: nothing listens.
      assert.match(readFileSync(join(folder, "code"), "utf8"), /^[57]\n$/);
    },
  );

  test("the folder for temporary files has no private key, and is removed", async (context) => {
    const { folder, run } = place(context);
    mkdirSync(join(folder, "tmp"));
    const command = run(shell("ls tmp/cofre-run-*"), { TMPDIR: join(folder, "tmp") });
    assert.equal(await command.code(), 0, command.stderr);
    assert.match(command.stdout, /^authority\.pem$/m);
    assert.match(command.stdout, /^java\.jks$/m);
    assert.doesNotMatch(command.stdout, /\.key$/m, "private keys are in memory only");
    assert.deepEqual(readdirSync(join(folder, "tmp")), []);
  });
});

describe("cofre run: what cannot be saved", { skip: noCurl }, () => {
  const refusal =
    /^The timelines could not be saved in \S+: (.*)\. --save-to names another folder\.$/m;

  test("a file in place of the folder is reported, and the exit code is the command's", async (context) => {
    const { folder, run } = place(context);
    writeFileSync(join(folder, "taken"), "kept");
    const command = run(["--save-to", "taken", ...shell(`${charge}; exit 8`)]);
    assert.equal(await command.code(), 8);
    assert.equal(refusal.exec(command.stderr)?.[1], "there is a file of this name");
    assert.equal(readFileSync(join(folder, "taken"), "utf8"), "kept");
  });

  test(
    "a full disk is reported, and no part of a file is left",
    { skip: whyNoSmallDisk() ?? false },
    async (context) => {
      using disk = new SmallDisk(1);
      disk.fill();
      const { run } = place(context);
      const target = join(disk.directory, "saved");
      const command = run(["--save-to", target, ...shell(`${charge}; exit 8`)]);
      assert.equal(await command.code(), 8);
      assert.equal(refusal.exec(command.stderr)?.[1], "the disk is full", command.stderr);
      if (existsSync(target)) assert.deepEqual(readdirSync(target), []);
    },
  );
});
