import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Command, SharedCleanup, temporaryFolder } from "../command.ts";
import { integrationKey } from "../server.ts";

/*
 * Clients as they are: their hosts are constants, and nothing of them is changed. A Cofre with TLS,
 * the proxy and each client are processes of their own, put together by what `cofre env` prints and
 * nothing else.
 */

const here = fileURLToPath(new URL(".", import.meta.url));

interface Installation {
  readonly cofre: Command;
  readonly proxy: Command;
  readonly proxyPort: string;
  readonly environment: Readonly<Record<string, string>>;
}

const shared = new SharedCleanup();

async function install(): Promise<Installation> {
  const environment = {
    COFRE_DATA_DIR: join(temporaryFolder(shared), "data"),
    COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
    COFRE_LOG_FORMAT: "json",
  };
  const cofre = Command.cofre(
    shared,
    ["start", "--port", "0", "--tls", "--tls-port", "0"],
    environment,
  );
  await cofre.event("listening");
  const tlsPort = String((await cofre.event("listening_tls"))["port"]);
  const proxy = Command.cofre(
    shared,
    ["proxy", "--proxy-port", "0", "--tls-port", tlsPort],
    environment,
  );
  const [, proxyPort = ""] = await proxy.stderrMatch(/The proxy is http:\/\/127\.0\.0\.1:(\d+);/);
  return { cofre, proxy, proxyPort, environment };
}

let installation: Installation;

before(async () => {
  installation = await install();
});

after(() => shared.endAll());

/** What `cofre env` prints for this client. */
async function variablesFor(context: TestContext, client: string): Promise<Record<string, string>> {
  const { environment, proxyPort } = installation;
  const command = Command.cofre(
    context,
    ["env", client, "--json", "--proxy-port", proxyPort],
    environment,
  );
  assert.equal(await command.code(), 0, command.stderr);
  return JSON.parse(command.stdout) as Record<string, string>;
}

/**
 * What a company's machine may have set before: a proxy that does not listen, and a host that is to
 * be reached without one. That is not a host of the interface, so that a mistake does not lead
 * these tests to a real one.
 */
const setBefore = Object.fromEntries([
  ...["http_proxy", "https_proxy", "HTTPS_PROXY"].map(
    (name) => [name, "http://127.0.0.1:1"] as const,
  ),
  ...["NO_PROXY", "no_proxy"].map((name) => [name, "example.com"] as const),
]);

async function outputOf(
  context: TestContext,
  client: string,
  command: readonly [string, ...string[]],
): Promise<Command> {
  const running = new Command(
    context,
    command,
    { ...setBefore, ...(await variablesFor(context, client)) },
    here,
  );
  await running.code();
  return running;
}

/** Whether this machine has a program that this ends well with. */
function has(...[command, ...args]: readonly [string, ...string[]]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};

/** A token request for a shell: JSON without a single quote. */
const tokenBody = JSON.stringify({
  integration_key: integrationKey,
  country: "pe",
  payment_type_code: "creditcard",
  creditcard: card,
});

describe("clients that are not changed in any way, through `cofre proxy`", () => {
  test("the npm package ebanx stores a card, charges it and asks for the payment", async (context) => {
    const script = `
      const ebanx = require("ebanx")();
      ebanx.configure({ integrationKey: ${JSON.stringify(integrationKey)}, testMode: true });
      const call = (name, parameters) => new Promise((resolve, reject) =>
        ebanx[name](parameters, (error, body) => (error ? reject(error) : resolve(JSON.parse(body)))));
      (async () => {
        const { token, masked_card_number } = await call("token", { payment_type_code: "visa", creditcard: ${JSON.stringify(card)} });
        const charged = await call("direct", { mode: "full", operation: "request", payment: {
          merchant_payment_code: "unmodified-1", amount_total: "100.00", currency_code: "PEN", name: "Ana Lima", email: "ana.lima@example.com",
          country: "pe", phone_number: "51987654321", payment_type_code: "creditcard", creditcard: { token } } });
        const asked = await call("query", { hash: charged.payment.hash });
        console.log(JSON.stringify([ebanx.settings.getEndPoint(), masked_card_number, charged.payment.status, asked.payment.status]));
      })();`;
    const { stdout, stderr } = await outputOf(context, "node", [process.execPath, "-e", script]);
    assert.equal(
      stdout.trim(),
      JSON.stringify(["https://sandbox.ebanx.com/", "411111xxxxxx1111", "CO", "CO"]),
      stderr,
    );
  });

  test("Node's own fetch reaches each host of the interface", async (context) => {
    const script = `
      const hosts = ["api.ebanxpay.com", "sandbox.ebanxpay.com", "api.ebanx.com", "sandbox.ebanx.com", "customer.ebanx.com", "api.ebanx.com.br", "staging.ebanx.com.br"];
      for (const host of hosts) console.log(await (await fetch("https://" + host + "/healthz")).text());`;
    const { stdout, stderr } = await outputOf(context, "node", [
      process.execPath,
      "--input-type=module",
      "-e",
      script,
    ]);
    assert.equal(stdout, '{"status":"ok"}\n'.repeat(7), stderr);
  });

  const elsewhere: readonly (readonly [
    client: string,
    skip: boolean,
    stores: [string, ...string[]],
    goesElsewhere: [string, ...string[]],
  ])[] = [
    [
      "node",
      false,
      [
        process.execPath,
        "--input-type=module",
        "-e",
        fetchOf("https://sandbox.ebanx.com/ws/token", `{ method: "POST", body: '${tokenBody}' }`),
      ],
      [process.execPath, "--input-type=module", "-e", fetchOf("https://example.com/", "{}")],
    ],
    [
      "curl",
      !has("curl", "--version"),
      [
        "curl",
        "-sS",
        "https://sandbox.ebanx.com/ws/token",
        "--data-urlencode",
        `request_body=${tokenBody}`,
      ],
      ["curl", "-sS", "https://example.com/"],
    ],
    [
      "ruby",
      !has("ruby", "-ropenssl", "-rnet/http", "-e", ""),
      // What the gem is built upon.
      [
        "ruby",
        "-rnet/http",
        "-e",
        `puts Net::HTTP.post_form(URI("https://sandbox.ebanx.com/ws/token"), request_body: '${tokenBody}').body`,
      ],
      ["ruby", "-rnet/http", "-e", `puts Net::HTTP.get(URI("https://example.com/"))`],
    ],
    [
      "php",
      !has("php", "-r", 'exit(function_exists("curl_init") ? 0 : 1);'),
      // What the PHP libraries are built upon.
      [
        "php",
        "-r",
        phpRequest("https://sandbox.ebanx.com/ws/token", `["request_body" => '${tokenBody}']`),
      ],
      ["php", "-r", phpRequest("https://example.com/", "[]")],
    ],
    [
      "python",
      !has("python3", "-c", "import ssl, urllib.request"),
      [
        "python3",
        "-c",
        pythonRequest(
          "https://sandbox.ebanx.com/ws/token",
          `urllib.parse.urlencode({"request_body": '${tokenBody}'}).encode()`,
        ),
      ],
      ["python3", "-c", pythonRequest("https://example.com/", "None")],
    ],
    [
      "go",
      !has("go", "version"),
      ["go", "run", join(here, "store-card.go"), "https://sandbox.ebanx.com/ws/token", tokenBody],
      ["go", "run", join(here, "store-card.go"), "https://example.com/", tokenBody],
    ],
  ];
  for (const [client, isMissing, stores, goesElsewhere] of elsewhere) {
    const skip = isMissing ? `there is no ${client} on this machine` : false;

    test(`${client} stores a card`, { skip }, async (context) => {
      const { stdout, stderr } = await outputOf(context, client, stores);
      assert.match(stdout, /"masked_card_number":"411111xxxxxx1111"/, stderr);
    });

    test(`${client} gets nowhere else`, { skip }, async (context) => {
      const { child, stdout, stderr } = await outputOf(context, client, goesElsewhere);
      assert.ok(
        child.exitCode !== 0 && /403|Not a host of this interface/.test(stdout + stderr),
        stdout + stderr,
      );
      await installation.proxy.stderrMatch(
        /^refused: example\.com:443, which is not a host of this interface$/m,
      );
    });

    test(
      `control: ${client} does not believe that server without the variables`,
      { skip },
      async (context) => {
        const only = Object.fromEntries(
          Object.entries(await variablesFor(context, client)).filter(
            ([name]) => !trusting.has(name),
          ),
        );
        const untrusting = new Command(context, stores, only, here);
        await untrusting.code();
        assert.ok(
          untrusting.child.exitCode !== 0 &&
            /certificate/i.test(untrusting.stdout + untrusting.stderr),
          untrusting.stderr,
        );
      },
    );
  }
});

describe("Java, which reads neither a proxy from the environment nor PEM", () => {
  const skip = has("java", "-version") ? false : "there is no Java on this machine";
  /** As a person types it: the output of `cofre env java` is evaluated by a shell. */
  const java = async (context: TestContext, url: string): Promise<Command> => {
    const { environment, proxyPort } = installation;
    const printed = Command.cofre(context, ["env", "java", "--proxy-port", proxyPort], environment);
    assert.equal(await printed.code(), 0, printed.stderr);
    const script = `${printed.stdout}\nexec java ${join(here, "StoreCard.java")} "$@"`;
    const running = new Command(
      context,
      ["sh", "-c", script, "sh", url, tokenBody],
      setBefore,
      here,
    );
    await running.code();
    return running;
  };

  test("stores a card", { skip }, async (context) => {
    const { stdout, stderr } = await java(context, "https://sandbox.ebanx.com/ws/token");
    assert.match(stdout, /"masked_card_number":"411111xxxxxx1111"/, stderr);
  });

  test("gets nowhere else", { skip }, async (context) => {
    const { child, stdout, stderr } = await java(context, "https://example.com/");
    assert.ok(child.exitCode !== 0 && /403/.test(stdout + stderr), stdout + stderr);
  });
});

/** Of the variables, those that say whom to trust. */
const trusting: ReadonlySet<string> = new Set([
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "PHP_INI_SCAN_DIR",
  "CURL_CA_BUNDLE",
  "REQUESTS_CA_BUNDLE",
]);

function fetchOf(url: string, options: string): string {
  return `console.log(await (await fetch("${url}", ${options})).text());`;
}

function pythonRequest(url: string, body: string): string {
  return `import urllib.parse, urllib.request; print(urllib.request.urlopen("${url}", ${body}).read().decode())`;
}

function phpRequest(url: string, fields: string): string {
  return `$c = curl_init("${url}"); curl_setopt_array($c, [CURLOPT_RETURNTRANSFER => true, CURLOPT_POSTFIELDS => http_build_query(${fields})]);
    $answer = curl_exec($c); if ($answer === false) { fwrite(STDERR, curl_error($c)); exit(1); } echo $answer;`;
}

/** Sends these bytes to the proxy and resolves with all that comes back. */
async function exchangeWith(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("latin1").on("data", (piece: string) => (answer += piece));
  socket.end(bytes);
  await once(socket, "close");
  return answer;
}

describe("cofre proxy", () => {
  test("refuses other hosts than those of the interface on port 443, with a line for the user and one for the client", async () => {
    const { proxy, proxyPort } = installation;
    for (const target of [
      "example.com:443",
      "api.ebanx.com:80",
      "api.ebanx.com",
      "127.0.0.1:443",
      "api.ebanx.com.example.com:443",
      "ebanx.com:443",
    ]) {
      const answer = await exchangeWith(
        Number(proxyPort),
        `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`,
      );
      assert.match(
        answer,
        /^HTTP\/1\.1 403 .*\r\n[^]*\r\n\r\nThis proxy forwards only to api\.ebanxpay\.com:443, .*\.\n$/,
        target,
      );
      await proxy.stderrMatch(
        new RegExp(
          `^refused: ${target.replaceAll(".", "\\.")}, which is not a host of this interface$`,
          "m",
        ),
      );
    }
  });

  test("refuses other methods than CONNECT, and prints no path or query", async () => {
    const { proxy, proxyPort } = installation;
    const answer = await exchangeWith(
      Number(proxyPort),
      "GET http://api.ebanx.com/ws/query?integration_key=hush HTTP/1.1\r\nHost: api.ebanx.com\r\n\r\n",
    );
    assert.match(answer, /^HTTP\/1\.1 405 [^]*it knows CONNECT and nothing else\.\n$/);
    await proxy.stderrMatch(/^refused: GET api\.ebanx\.com$/m);
    assert.ok(!proxy.stderr.includes("hush"));
  });

  test("takes a host's name in any case, and with the root's dot", async () => {
    const socket = connect(Number(installation.proxyPort), "127.0.0.1");
    socket.write("CONNECT Sandbox.EBANX.com.:443 HTTP/1.1\r\nHost: Sandbox.EBANX.com.:443\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(answer.toString("latin1"), /^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test("says so when nothing answers behind it, and when its port is taken", async (context) => {
    const { proxyPort, environment } = installation;
    const alone = Command.cofre(
      context,
      ["proxy", "--proxy-port", "0", "--tls-port", "1"],
      environment,
    );
    const [, port = ""] = await alone.stderrMatch(/The proxy is http:\/\/127\.0\.0\.1:(\d+);/);
    await alone.stderrMatch(/^Nothing listens at 127\.0\.0\.1:1 yet: run `cofre start --tls`/m);
    const answer = await exchangeWith(
      Number(port),
      "CONNECT api.ebanx.com:443 HTTP/1.1\r\nHost: api.ebanx.com:443\r\n\r\n",
    );
    assert.match(
      answer,
      /^HTTP\/1\.1 502 [^]*Nothing answers at 127\.0\.0\.1:1: cofre start --tls starts what should\.\n$/,
    );
    await alone.stderrMatch(/^nothing answers at 127\.0\.0\.1:1/m);

    const second = Command.cofre(context, ["proxy", "--proxy-port", proxyPort], environment);
    assert.equal(await second.code(), 1);
    assert.match(second.stderr, /^Port \d+ of 127\.0\.0\.1 is in use, .* --proxy-port N\.$/m);
  });

  test("ends with 0 at Ctrl-C, also under a tunnel that is open", async (context) => {
    const { environment, cofre } = installation;
    const tlsPort = String((await cofre.event("listening_tls"))["port"]);
    const proxy = Command.cofre(
      context,
      ["proxy", "--proxy-port", "0", "--tls-port", tlsPort],
      environment,
    );
    const [, port = ""] = await proxy.stderrMatch(/The proxy is http:\/\/127\.0\.0\.1:(\d+);/);
    const socket = connect(Number(port), "127.0.0.1");
    socket
      .on("error", () => undefined)
      .write("CONNECT api.ebanx.com:443 HTTP/1.1\r\nHost: api.ebanx.com:443\r\n\r\n");
    await once(socket, "data");
    proxy.child.kill("SIGINT");
    assert.equal(await proxy.code(), 0);
    socket.destroy();
  });
});

describe("cofre env", () => {
  test(
    "prints what a shell takes, whatever the data directory is called",
    { skip: process.platform === "win32" },
    async (context) => {
      const folder = join(temporaryFolder(context), "it's here $HOME");
      const started = Command.cofre(context, [
        "start",
        "--port",
        "0",
        "--tls",
        "--tls-port",
        "0",
        "--data-dir",
        folder,
      ]);
      await started.stderrMatch(/eval "\$\(cofre env CLIENT\)"/);
      const printed = Command.cofre(context, ["env", "curl", "--data-dir", folder]);
      assert.equal(await printed.code(), 0);
      const shell = new Command(
        context,
        ["sh", "-c", `${printed.stdout}\nprintf "%s %s" "$NO_PROXY$no_proxy." "$CURL_CA_BUNDLE"`],
        setBefore,
      );
      await shell.code();
      assert.equal(shell.stdout, `. ${join(folder, "tls", "authority.pem")}`);
    },
  );

  test("prints the variables of all clients together, for the shell that is named", async (context) => {
    const { environment, proxyPort } = installation;
    const env = (...args: readonly string[]): Command =>
      Command.cofre(context, ["env", ...args], { ...environment, COFRE_PROXY_PORT: proxyPort });
    const lines: Readonly<Record<string, RegExp>> = {
      posix: /^export HTTPS_PROXY=http:\/\/127\.0\.0\.1:\d+$/m,
      fish: /^set -gx HTTPS_PROXY 'http:\/\/127\.0\.0\.1:\d+'$/m,
      powershell: /^\$env:HTTPS_PROXY = 'http:\/\/127\.0\.0\.1:\d+'$/m,
      dotenv: /^HTTPS_PROXY='http:\/\/127\.0\.0\.1:\d+'$/m,
    };
    for (const [shell, line] of Object.entries(lines)) {
      const printed = env("--shell", shell);
      assert.equal(await printed.code(), 0, printed.stderr);
      assert.match(printed.stdout, line);
      for (const name of ["JAVA_TOOL_OPTIONS", "PHP_INI_SCAN_DIR", "RUBYOPT", "COFRE_URL"])
        assert.ok(printed.stdout.includes(name), `${shell} ${name}`);
      assert.ok(printed.stdout.includes(integrationKey));
    }
    const plain = env("--no-proxy", "--json");
    assert.equal(await plain.code(), 0, plain.stderr);
    assert.deepEqual(Object.keys(JSON.parse(plain.stdout) as object), [
      "COFRE_URL",
      "COFRE_INTEGRATION_KEY",
    ]);
    for (const wrong of [
      ["--shell", "tcsh"],
      ["node", "--no-proxy"],
    ])
      assert.equal(await env(...wrong).code(), 2);
  });

  test("says what to do where there is no authority yet", async (context) => {
    const command = Command.cofre(context, ["env", "node"], {
      COFRE_DATA_DIR: join(temporaryFolder(context), "none"),
    });
    assert.equal(await command.code(), 1);
    assert.match(
      command.stderr,
      /^There is no certificate authority in .*: `cofre start --tls` creates it\. /,
    );
    assert.equal(command.stdout, "");
  });
});
