import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { suggestionFor } from "../kernel/suggestion.ts";
import { configOfThisProcess } from "./environment.ts";
import { readConfig } from "./read-config.ts";
import { settingsAsMarkdown, settingsAsText } from "./reference.ts";
import { type Config, settingRows } from "./settings.ts";

const fingerprint = `sha256:${"0".repeat(64)}`;
const noFile = () => ({ problem: "cannot be read" });
const pkcs11Key = "pkcs11:token=cofre;serial=1;object=cofre-root-1;id=%01";

function read(
  environment: Record<string, string>,
  flags: Record<string, string> = {},
  files: Record<string, string> = {},
) {
  return readConfig({
    environment,
    flags: new Map(Object.entries(flags)),
    readFile: (path) => {
      const value = files[path];
      return value === undefined ? noFile() : { value };
    },
  });
}

function problemsOf(...given: Parameters<typeof read>): readonly string[] {
  const reading = read(...given);
  return "problems" in reading ? reading.problems : [];
}

function configOf(...given: Parameters<typeof read>): Config {
  const reading = read(...given);
  assert.ok("config" in reading, "problems" in reading ? reading.problems.join("\n") : "");
  return reading.config;
}

test("variables of other tools and newer versions are reported, not refused", () => {
  for (const name of [
    "COFRE_SOMETHING_ELSE",
    "COFRE_HOME",
    "COFRE_TEST",
    "COFRE_LOG",
    "COFRE_",
    "COFRE_TOKEN",
    "COFRE_URL",
    "COFRE_VERSION",
  ]) {
    const reading = read({ [name]: "80", COFRE_PORT: "1" });
    assert.ok("config" in reading, name);
    assert.deepEqual(reading.unknown, [name]);
  }
  const control = read({ COFRE_PORT: "1", HOME: "x" });
  assert.ok("config" in control);
  assert.deepEqual(control.unknown, []);
});

describe("refusals", () => {
  const refused: readonly (readonly [Record<string, string>, RegExp])[] = [
    [
      { COFRE_DATABASE_URL: "mysql://cofre:hunter2@localhost/cofre" },
      /^COFRE_DATABASE_URL must be an address such as postgres:/,
    ],
    [
      { COFRE_DATABASE_URL: "postgres://cofre@localhost" },
      /^COFRE_DATABASE_URL must be an address/,
    ],
    [
      {
        COFRE_DATABASE_URL:
          "postgres://cofre@db.example.com/cofre?sslmode=verify-full&sslmode=disable",
      },
      /^COFRE_DATABASE_URL has a parameter twice\.$/,
    ],
    [
      {
        COFRE_DATABASE_URL:
          "postgres://cofre@db.example.com/cofre?sslmode=verify-full&ssl%6dode=disable",
      },
      /^COFRE_DATABASE_URL has a parameter twice\.$/,
    ],
    [
      { COFRE_DATABASE_URL: "postgres://cofre@db.example.com/cofre?sslmode=verify-full&ssl=false" },
      /^COFRE_DATABASE_URL has a parameter other than sslmode, sslrootcert, sslcert, sslkey, host\.$/,
    ],
    [
      { COFRE_DATABASE_URL: "postgres://cofre@localhost/cofre?uselibpqcompat=true" },
      /^COFRE_DATABASE_URL has a parameter other than/,
    ],
    [
      { COFRE_SANDBOX_INTEGRATION_KEY: "k" },
      /^COFRE_SANDBOX_INTEGRATION_KEY has fewer than 4 characters/,
    ],
    [
      { COFRE_HOST: "0.0.0.0", COFRE_SANDBOX_INTEGRATION_KEY: "test_ik_shop" },
      /^COFRE_SANDBOX_INTEGRATION_KEY is too weak for a server/,
    ],
    [
      { COFRE_HOST: "10.0.0.1", COFRE_SANDBOX_INTEGRATION_KEY: "1234567890123456" },
      /^COFRE_SANDBOX_INTEGRATION_KEY is too weak for a server/,
    ],
    [
      { COFRE_DATABASE_URL: "postgres://cofre@db.example.com/cofre" },
      /^COFRE_DATABASE_URL must ask for TLS with \?sslmode=verify-full/,
    ],
    [
      { COFRE_DATABASE_URL: "postgres://cofre@localhost/cofre?host=db.example.com" },
      /^COFRE_DATABASE_URL must ask for TLS/,
    ],
    [
      { COFRE_DATABASE_URL: "postgres://cofre@localhost/cofre", COFRE_DATA_DIR: ":memory:" },
      /^COFRE_DATABASE_URL needs a persistent COFRE_DATA_DIR/,
    ],
    [
      { COFRE_DATABASE_ALLOW_NO_STANDBY: "yes" },
      /^COFRE_DATABASE_ALLOW_NO_STANDBY is "yes", but must be one of true, false\.$/,
    ],
    [{ COFRE_TLS: "1" }, /^COFRE_TLS is "1", but must be one of true, false\.$/],
    [
      { COFRE_TLS: "true", COFRE_DATA_DIR: ":memory:" },
      /^COFRE_TLS needs a persistent COFRE_DATA_DIR/,
    ],
    [{ COFRE_TLS_PORT: "x" }, /^COFRE_TLS_PORT is "x"/],
    ...["files", "transit", "kms:arn:aws:kms:sa-east-1:111122223333:key/1"].map(
      (text) => [{ COFRE_ROOT_KEY: text }, /^COFRE_ROOT_KEY must be file, transit:/] as const,
    ),
    ...[
      "https://bao.example/v1/cofre",
      "https://bao.example/transit/cofre",
      "https://bao.example/v1/transit/",
      "https://bao.example/v1/transit/a%2Fb",
      "https://bao.example/v1/transit/cofre?x=1",
      "https://user@bao.example/v1/transit/cofre",
    ].map(
      (url) =>
        [
          { COFRE_ROOT_KEY: `transit:${url}` },
          /^COFRE_ROOT_KEY must name a key of transit/,
        ] as const,
    ),
    ...["http://bao.example", "http://localhost", "http://192.0.2.1", "ftp://bao.example"].map(
      (origin) =>
        [
          { COFRE_ROOT_KEY: `transit:${origin}/v1/transit/cofre` },
          /^COFRE_ROOT_KEY must be https:\/\/ unless the service is on this machine/,
        ] as const,
    ),
    ...[
      "arn:aws:kms:sa-east-1:111122223333:alias/cofre",
      "arn:aws:kms:sa-east-1:1111:key/1",
      "arn:aws:s3:sa-east-1:111122223333:key/1",
      "alias/cofre",
    ].map(
      (arn) =>
        [
          { COFRE_ROOT_KEY: `aws-kms:${arn}` },
          /^COFRE_ROOT_KEY must have the ARN of a key/,
        ] as const,
    ),
    ...(
      [
        ["", /^COFRE_ROOT_KEY must be like pkcs11:/],
        ["token=cofre", /^COFRE_ROOT_KEY must have the attributes serial, object and id/],
        ["serial=1;object=a", /^COFRE_ROOT_KEY must have the attributes serial, object and id/],
        ["serial=1;object=a;id=%01;id=%02", /^COFRE_ROOT_KEY must have the attribute id once/],
        ["serial=1;object=a;id=%0", /^COFRE_ROOT_KEY must be like pkcs11:/],
        ["serial=1;object=a b;id=%01", /^COFRE_ROOT_KEY must be like pkcs11:/],
        ["serial=1;object=é;id=%01", /^COFRE_ROOT_KEY must be like pkcs11:/],
        ["serial=;object=a;id=%01", /^COFRE_ROOT_KEY must be like pkcs11:/],
        ["serial=1;object=a;id=%01;", /^COFRE_ROOT_KEY must be like pkcs11:/],
        ["serial=1;object=a;id=%01;slot-id=3", /^COFRE_ROOT_KEY must not have the attribute slot/],
        ["serial=1;object=a;id=%01;type=private", /^COFRE_ROOT_KEY must name a secret key/],
        ["serial=1;object=a;id=%01?pin-value=1234", /^COFRE_ROOT_KEY must have no part after \?/],
      ] as const
    ).map(([text, problem]) => [{ COFRE_ROOT_KEY: `pkcs11:${text}` }, problem] as const),
    [
      { COFRE_ROOT_KEY: pkcs11Key, COFRE_ROOT_KEY_SECRET_FILE: "pin" },
      /^COFRE_ROOT_KEY needs COFRE_PKCS11_MODULE/,
    ],
    [
      { COFRE_ROOT_KEY: pkcs11Key, COFRE_PKCS11_MODULE: "/usr/lib/module.so" },
      /^COFRE_ROOT_KEY needs COFRE_ROOT_KEY_SECRET_FILE/,
    ],
    [
      {
        COFRE_ROOT_KEY: pkcs11Key,
        COFRE_ROOT_KEY_SECRET_FILE: "pin",
        COFRE_PKCS11_MODULE: "/usr/lib/module.so",
        COFRE_ROOT_KEY_ENDPOINT: "https://kms.example",
      },
      /^COFRE_ROOT_KEY_ENDPOINT is for aws-kms only/,
    ],
    [{ COFRE_PKCS11_MODULE: "module.so" }, /^COFRE_PKCS11_MODULE .*must be an absolute path/],
    [
      { COFRE_PKCS11_MODULE: "/usr/lib/module.so" },
      /^COFRE_PKCS11_MODULE needs COFRE_ROOT_KEY with pkcs11:/,
    ],
    [
      { COFRE_ROOT_KEY: "transit:https://bao.example/v1/transit/cofre" },
      /^COFRE_ROOT_KEY needs COFRE_ROOT_KEY_SECRET_FILE/,
    ],
    [
      {
        COFRE_ROOT_KEY: "transit:https://bao.example/v1/transit/cofre",
        COFRE_ROOT_KEY_SECRET_FILE: "token",
        COFRE_DATA_DIR: ":memory:",
      },
      /^COFRE_ROOT_KEY needs a persistent COFRE_DATA_DIR/,
    ],
    [
      {
        COFRE_ROOT_KEY: "transit:https://bao.example/v1/transit/cofre",
        COFRE_ROOT_KEY_SECRET_FILE: "token",
        COFRE_ROOT_KEY_ENDPOINT: "https://kms.example",
      },
      /^COFRE_ROOT_KEY_ENDPOINT is for aws-kms only/,
    ],
    [
      {
        COFRE_ROOT_KEY: "aws-kms:arn:aws-iso:kms:us-iso-east-1:111122223333:key/1",
        COFRE_ROOT_KEY_SECRET_FILE: "credentials",
      },
      /^COFRE_ROOT_KEY is in a partition whose address COFRE_ROOT_KEY_ENDPOINT must name/,
    ],
    [
      { COFRE_RECOVERY_KEY: "sha256:5f" },
      /^COFRE_RECOVERY_KEY must be sha256: and 64 hexadecimal digits/,
    ],
    [
      { COFRE_RECOVERY_KEY: fingerprint },
      /^COFRE_RECOVERY_KEY needs COFRE_RECOVERY_PUBLIC_KEY with the name of the file/,
    ],
    [
      { COFRE_RECOVERY_PUBLIC_KEY: "recovery.pub" },
      /^COFRE_RECOVERY_PUBLIC_KEY needs COFRE_RECOVERY_KEY with the fingerprint/,
    ],
    [
      {
        COFRE_RECOVERY_KEY: fingerprint,
        COFRE_RECOVERY_PUBLIC_KEY: "recovery.pub",
        COFRE_DATA_DIR: ":memory:",
      },
      /^COFRE_RECOVERY_KEY needs a persistent COFRE_DATA_DIR/,
    ],
    [
      { COFRE_ROOT_KEY_SECRET_FILE: "token" },
      /^COFRE_ROOT_KEY_SECRET_FILE needs COFRE_ROOT_KEY with the address of a key service\.$/,
    ],
    [{ COFRE_ROOT_KEY_ENDPOINT: "https://kms.example" }, /^COFRE_ROOT_KEY_ENDPOINT needs COFRE_R/],
    [{ COFRE_ROOT_KEY_TIMEOUT_MS: "99" }, /^COFRE_ROOT_KEY_TIMEOUT_MS is "99"/],
    [
      { COFRE_PORT: "65536" },
      /^COFRE_PORT is "65536", but must be a whole number from 0 to 65535\.$/,
    ],
    [{ COFRE_PORT: "-1" }, /^COFRE_PORT is "-1"/],
    [{ COFRE_PORT: "80.5" }, /^COFRE_PORT is/],
    [{ COFRE_PORT: "0x50" }, /^COFRE_PORT is/],
    [{ COFRE_PORT: " 80" }, /^COFRE_PORT is/],
    [{ COFRE_PORT: "1e3" }, /^COFRE_PORT is/],
    [{ COFRE_PROT: "80" }, /^COFRE_PROT is not a setting\. Did you mean COFRE_PORT\?$/],
    [{ COFRE_DATADIR: "80" }, /^COFRE_DATADIR is not a setting\. Did you mean COFRE_DATA_DIR\?$/],
    [
      { COFRE_SHUTDOWN_TIMEOUTMS: "80" },
      /^COFRE_SHUTDOWN_TIMEOUTMS is not a setting\. Did you mean COFRE_SHUTDOWN_TIMEOUT_MS\?$/,
    ],
    [{ COFRE_PORT_FILE: "x" }, /^COFRE_PORT_FILE is not a setting/],
    [
      { COFRE_ENVIRONMENT: "Production" },
      /^COFRE_ENVIRONMENT is "Production", but must be one of sandbox, production\.$/,
    ],
    [
      { COFRE_INSTALLATION_NAME: "Acme" },
      /^COFRE_INSTALLATION_NAME must have 1 to 32 lower-case letters, digits and dashes\.$/,
    ],
    [{ COFRE_INSTALLATION_ID: "acme" }, /^COFRE_INSTALLATION_ID must be the installation id that /],
    [{ COFRE_RECOVERY_DRILL: "2026-02-30" }, /^COFRE_RECOVERY_DRILL must be a date such as /],
    [
      { COFRE_TLS_KEY_FILE: "key.pem" },
      /^COFRE_TLS_CERTIFICATE_FILE and COFRE_TLS_KEY_FILE need each other\.$/,
    ],
    [
      { COFRE_TLS: "true", COFRE_TLS_CERTIFICATE_FILE: "c", COFRE_TLS_KEY_FILE: "k" },
      /^COFRE_TLS and COFRE_TLS_CERTIFICATE_FILE name two certificates/,
    ],
    [
      { COFRE_DATABASE_OWNER_URL: "postgres://cofre@127.0.0.1/cofre" },
      /^COFRE_DATABASE_OWNER_URL needs COFRE_DATABASE_URL\.$/,
    ],
    [{ COFRE_HOST: "http://here" }, /^COFRE_HOST is "http:\/\/here", but must be an IP address/],
    [
      { COFRE_LOG_LEVEL: "loud" },
      /^COFRE_LOG_LEVEL is "loud", but must be one of debug, info, warn, error, silent\.$/,
    ],
    [{ COFRE_LOG_FORMAT: "xml" }, /^COFRE_LOG_FORMAT is "xml"/],
    [{ COFRE_MAX_IN_FLIGHT: "0" }, /^COFRE_MAX_IN_FLIGHT is "0"/],
    [
      { COFRE_SANDBOX_INTEGRATION_KEY: "k".repeat(101) },
      /^COFRE_SANDBOX_INTEGRATION_KEY has 101 characters, but the maximum is 100\.$/,
    ],
    [{ COFRE_SANDBOX_INTEGRATION_KEY: "a\nb" }, /contains a control or invisible character/],
    [{ COFRE_SANDBOX_INTEGRATION_KEY: "a\u200bb" }, /contains a control or invisible character/],
    [{ COFRE_SANDBOX_INTEGRATION_KEY: " k" }, /begins or ends with a blank/],
    [
      { COFRE_UPSTREAM_URL: "http://pay.example.com", COFRE_UPSTREAM_INTEGRATION_KEY: "k" },
      /^COFRE_UPSTREAM_URL must be on this machine/,
    ],
    [
      { COFRE_UPSTREAM_URL: "http://localhost:1", COFRE_UPSTREAM_INTEGRATION_KEY: "k" },
      /^COFRE_UPSTREAM_URL must be on this machine/,
    ],
    [
      { COFRE_UPSTREAM_URL: "https://u:p@pay.example.com", COFRE_UPSTREAM_INTEGRATION_KEY: "k" },
      /^COFRE_UPSTREAM_URL must be an https/,
    ],
    [
      { COFRE_UPSTREAM_URL: "https://pay.example.com/ws", COFRE_UPSTREAM_INTEGRATION_KEY: "k" },
      /^COFRE_UPSTREAM_URL must be an https/,
    ],
    [
      { COFRE_UPSTREAM_URL: "ftp://pay.example.com", COFRE_UPSTREAM_INTEGRATION_KEY: "k" },
      /^COFRE_UPSTREAM_URL must be an https/,
    ],
    [
      { COFRE_UPSTREAM_URL: "https://pay.example.com" },
      /^COFRE_UPSTREAM_URL needs a COFRE_UPSTREAM_INTEGRATION_KEY\.$/,
    ],
    [
      { COFRE_UPSTREAM_INTEGRATION_KEY: "k" },
      /^COFRE_UPSTREAM_INTEGRATION_KEY needs COFRE_UPSTREAM_URL/,
    ],
    [
      {
        COFRE_UPSTREAM_URL: "https://a.example",
        COFRE_UPSTREAM_INTEGRATION_KEY: "k",
        COFRE_ACQUIRER_URL: "http://127.0.0.1:1",
      },
      /name two acquirers: set only one of them\.$/,
    ],
    ...[
      ["{", /is not JSON\.$/],
      ["[]", /must be a JSON list of 1 to 16 objects\.$/],
      ['[{"kind":"simulator"}]', /has a connector \(number 1\) that has no valid name/],
      ['[{"name":"A","kind":"simulator"}]', /that has no valid name: 1 to 32 characters/],
      ['[{"name":"a","kind":"bank"}]', /that has a kind other than/],
      [
        '[{"name":"a","kind":"simulator","url":"http://127.0.0.1:1"}]',
        /that has a url, which the kind simulator does not take\.$/,
      ],
      ['[{"name":"a","kind":"remote_simulator"}]', /that has no url\.$/],
      [
        '[{"name":"a","kind":"remote_simulator","url":"http://10.0.0.1:1"}]',
        /has a url that must be on this machine/,
      ],
      [
        '[{"name":"a","kind":"upstream","url":"https://a.example"}]',
        /that has no integrationKey\.$/,
      ],
      [
        '[{"name":"a","kind":"simulator","integrationKey":"sausage"}]',
        /has an integrationKey or ca, which only the kind upstream takes\.$/,
      ],
      [
        '[{"name":"a","kind":"upstream","url":"https://a.example","integrationKey":"k","ca":"no"}]',
        /has a ca that must contain certificates/,
      ],
      [
        '[{"name":"a","kind":"simulator"},{"name":"a","kind":"simulator"}]',
        /gives two connectors the same name\.$/,
      ],
      [
        '[{"name":"a","kind":"simulator","colour":"sausage"}]',
        /that has a member other than name, kind, url, integrationKey and ca\.$/,
      ],
    ].map(([text, expected]) => [{ COFRE_CONNECTORS: String(text) }, expected as RegExp] as const),
    [
      {
        COFRE_CONNECTORS: '[{"name":"a","kind":"simulator"}]',
        COFRE_ACQUIRER_URL: "http://127.0.0.1:1",
      },
      /^COFRE_CONNECTORS and COFRE_ACQUIRER_URL both name acquirers/,
    ],
    [
      {
        COFRE_UPSTREAM_URL: "https://a.example",
        COFRE_UPSTREAM_INTEGRATION_KEY: "k",
        COFRE_UPSTREAM_CA: "no certificate",
      },
      /^COFRE_UPSTREAM_CA must contain certificates in PEM\.$/,
    ],
    [
      {
        COFRE_UPSTREAM_URL: "https://a.example",
        COFRE_UPSTREAM_INTEGRATION_KEY: "k",
        COFRE_UPSTREAM_CA: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
      },
      /^COFRE_UPSTREAM_CA must contain certificates in PEM\.$/,
    ],
    [
      { COFRE_SANDBOX_INTEGRATION_KEY: "same", COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY: "same" },
      /is the same as/,
    ],
    [
      { COFRE_SANDBOX_INTEGRATION_KEY_FILE: "missing" },
      /^COFRE_SANDBOX_INTEGRATION_KEY_FILE names a file that cannot be read: missing\.$/,
    ],
    [{ COFRE_ACQUIRER_URL: "https://127.0.0.1:1" }, /^COFRE_ACQUIRER_URL must be a plain http:/],
    [{ COFRE_ACQUIRER_URL: "http://192.0.2.1:1" }, /^COFRE_ACQUIRER_URL must be on this machine/],
    [{ COFRE_ACQUIRER_URL: "http://127.0.0.1.example.com:1" }, /must be on this machine/],
    [{ COFRE_ACQUIRER_URL: "http://localhost:1" }, /must be on this machine/],
    [{ COFRE_ACQUIRER_URL: "http://user:pass@127.0.0.1:1" }, /must be a plain http:/],
    [{ COFRE_ACQUIRER_URL: "nonsense" }, /must be a plain http:/],
  ];
  for (const [environment, message] of refused) {
    test(JSON.stringify(environment).slice(0, 80), () => {
      const problems = problemsOf(environment);
      assert.equal(problems.length, 1);
      assert.match(problems[0] ?? "", message);
    });
  }

  test("all problems are reported at once", () => {
    assert.equal(problemsOf({ COFRE_PORT: "x", COFRE_HOSTS: "y", COFRE_LOG_LEVEL: "z" }).length, 3);
  });

  test("no problem quotes a secret", () => {
    const secret = "hush-hush\u0007";
    const given = {
      COFRE_SANDBOX_INTEGRATION_KEY: secret,
      COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY_FILE: "keys",
    };
    const problems = problemsOf(given, {}, { keys: secret });
    assert.equal(problems.length, 2);
    assert.equal(
      problems.some((problem) => problem.includes("hush")),
      false,
    );
  });

  test("a secret is given once: as a variable or as a file", () => {
    const given = {
      COFRE_SANDBOX_INTEGRATION_KEY: "one",
      COFRE_SANDBOX_INTEGRATION_KEY_FILE: "keys",
    };
    assert.match(
      problemsOf(given, {}, { keys: "two" })[0] ?? "",
      /is set together with COFRE_SANDBOX_INTEGRATION_KEY: set only one of them/,
    );
  });

  test("an empty secret file is refused", () => {
    assert.match(
      problemsOf({ COFRE_SANDBOX_INTEGRATION_KEY_FILE: "keys" }, {}, { keys: "\n" })[0] ?? "",
      /names a file that is empty/,
    );
  });

  test("a flag is checked like its variable and named as it was given", () => {
    assert.match(problemsOf({}, { "--port": "many" })[0] ?? "", /^--port is "many", but must be/);
  });
});

test("without any setting there is a whole, frozen configuration of defaults", () => {
  const config = configOf({ PATH: "unrelated" });
  assert.ok(Object.isFrozen(config));
  assert.equal(config.port, 8_787);
  assert.equal(config.host, "127.0.0.1");
  assert.equal(config.dataDirectory, "data");
  assert.equal(config.environment, "sandbox");
  assert.equal(config.sandboxIntegrationKey, undefined);
  assert.equal(config.acquirerUrl, undefined);
});

test("an empty variable counts as unset", () => {
  assert.deepEqual(
    configOf({
      COFRE_PORT: "",
      COFRE_SANDBOX_INTEGRATION_KEY: "",
      COFRE_SANDBOX_INTEGRATION_KEY_FILE: "",
    }),
    configOf({}),
  );
});

test("empty variables are reported", () => {
  const reading = read({
    COFRE_PORT: "",
    COFRE_DATABASE_URL_FILE: "",
    COFRE_HOST: "127.0.0.1",
    COFRE_HOME: "",
  });
  assert.ok("config" in reading);
  assert.deepEqual(reading.empty, ["COFRE_DATABASE_URL_FILE", "COFRE_PORT"]);
});

test("a flag wins over its variable", () => {
  assert.equal(configOf({ COFRE_PORT: "1000" }, { "--port": "0" }).port, 0);
  assert.equal(
    configOf({ COFRE_DATA_DIR: "here" }, { "--data-dir": ":memory:" }).dataDirectory,
    ":memory:",
  );
  // A switch has no value.
  assert.equal(configOf({ COFRE_TLS: "false" }, { "--tls": "" }).tls, "true");
});

test("keys are any text of up to 100 characters, from variables or files, without the file's last line break", () => {
  const config = configOf(
    {
      COFRE_SANDBOX_INTEGRATION_KEY: `é"'$ &=%${"k".repeat(92)}`,
      COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY_FILE: "keys",
    },
    {},
    { keys: "public\r\n" },
  );
  assert.equal(config.sandboxIntegrationKey?.reveal().length, 100);
  assert.equal(config.sandboxPublicIntegrationKey?.reveal(), "public");
});

// Host names are case-insensitive. "LOCALHOST" with a short key was refused as a host that other
// machines can reach.
for (const host of ["localhost", "LOCALHOST", "127.0.0.1", "::1"]) {
  test(`a short key of the sandbox is accepted where only this machine reaches the server: ${host}`, () => {
    const { host: read } = configOf({
      COFRE_HOST: host,
      COFRE_SANDBOX_INTEGRATION_KEY: "test_ik_shop",
    });
    assert.equal(read, host);
  });
}

test("a loopback acquirer is taken, over IPv4 and IPv6", () => {
  assert.equal(configOf({ COFRE_ACQUIRER_URL: "http://127.0.0.1:8788" }).acquirerUrl?.port, "8788");
  assert.equal(
    configOf({ COFRE_ACQUIRER_URL: "http://[::1]:8788" }).acquirerUrl?.hostname,
    "[::1]",
  );
});

test("a root key is in a file, or in a key service whose address is shown", () => {
  const read = (text: string, more: Readonly<Record<string, string>> = {}) =>
    configOf({ COFRE_ROOT_KEY: text, COFRE_ROOT_KEY_SECRET_FILE: "token", ...more });
  assert.deepEqual(configOf({}).rootKey, { kind: "file" });

  const transit = "transit:https://bao.example:8200/v1/team/eu/transit/cofre-1";
  assert.deepEqual(read(transit).rootKey, {
    kind: "transit",
    url: new URL("https://bao.example:8200"),
    mount: "team/eu/transit",
    key: "cofre-1",
  });
  assert.ok("rootKey" in read("transit:http://127.0.0.1:8200/v1/transit/cofre"));

  const arn = "arn:aws:kms:sa-east-1:111122223333:key/mrk-0";
  const region = "sa-east-1";
  const url = new URL("https://kms.sa-east-1.amazonaws.com");
  assert.deepEqual(read(`aws-kms:${arn}`).rootKey, { kind: "aws-kms", arn, region, url });
  const china = read("aws-kms:arn:aws-cn:kms:cn-north-1:111122223333:key/1").rootKey;
  assert.equal("url" in china && china.url?.host, "kms.cn-north-1.amazonaws.com.cn");
  const isolated = read("aws-kms:arn:aws-iso:kms:us-iso-east-1:111122223333:key/1", {
    COFRE_ROOT_KEY_ENDPOINT: "https://kms.example",
  });
  assert.equal(isolated.rootKeyEndpoint?.host, "kms.example");

  for (const text of [transit, `aws-kms:${arn}`])
    assert.ok(settingsAsText(read(text)).includes(`COFRE_ROOT_KEY = ${text}\n`), text);
  assert.ok(settingsAsText(configOf({})).includes("COFRE_ROOT_KEY = file\n"));
});

test("a root key in a token is named by its attributes, percent-encoded and in any order", () => {
  const read = (text: string) =>
    configOf({
      COFRE_ROOT_KEY: text,
      COFRE_ROOT_KEY_SECRET_FILE: "pin",
      COFRE_PKCS11_MODULE: "/usr/lib/softhsm/libsofthsm2.so",
    });
  assert.deepEqual(read("pkcs11:object=cofre-root-1;id=%01;serial=1c584ccf9968aed1").rootKey, {
    kind: "pkcs11",
    token: undefined,
    manufacturer: undefined,
    model: undefined,
    serial: "1c584ccf9968aed1",
    object: "cofre-root-1",
    id: "01",
  });
  // As OpenSC and GnuTLS print it; an id may be text, or other bytes.
  const all =
    "pkcs11:model=SoftHSM%20v2;manufacturer=SoftHSM%20project;serial=1;token=ra%C3%ADz;object=a;id=%ffA;type=secret-key";
  const { rootKey } = read(all);
  assert.deepEqual(rootKey, {
    kind: "pkcs11",
    token: "raíz",
    manufacturer: "SoftHSM project",
    model: "SoftHSM v2",
    serial: "1",
    object: "a",
    id: "ff41",
  });
  const shown =
    "pkcs11:token=ra%C3%ADz;manufacturer=SoftHSM%20project;model=SoftHSM%20v2;serial=1;object=a;id=%ff%41";
  assert.ok(settingsAsText(read(all)).includes(`COFRE_ROOT_KEY = ${shown}\n`));
  assert.deepEqual(read(shown).rootKey, rootKey);
});

test("printing or serialising a configuration shows no secret", () => {
  const config = configOf({ COFRE_SANDBOX_INTEGRATION_KEY: "hush-hush" });
  for (const text of [settingsAsText(config), JSON.stringify(config)])
    assert.equal(text.includes("hush"), false);
  assert.match(settingsAsText(config), /COFRE_SANDBOX_INTEGRATION_KEY_FILE = \(set, not shown\)/);
});

test("the references have a row for every setting", () => {
  for (const [, { variable, doc }] of settingRows) {
    assert.ok(settingsAsText().includes(variable));
    assert.ok(settingsAsMarkdown().includes(`| \`${variable}\``));
    assert.match(doc, /\.$/);
  }
});

test("on a terminal a setting shows its page, and the file that a secret may come from", () => {
  assert.doesNotMatch(settingsAsText(), /\]\(/);
  assert.match(settingsAsText(), /See clients \(docs\/clients\.md\)\./);
  assert.match(settingsAsText(), /^COFRE_DATABASE_URL, COFRE_DATABASE_URL_FILE = /m);
  for (const [page] of settingsAsText().matchAll(/docs\/[\w/-]+\.md/g)) {
    assert.ok(existsSync(new URL(`../../../../${page}`, import.meta.url)), page);
  }
});

test("the process' own environment is read, and the files that it names", (context) => {
  const directory = mkdtempSync(join(tmpdir(), "cofre-config-"));
  const before = { ...process.env };
  context.after(() => {
    process.env = before;
    rmSync(directory, { recursive: true });
  });
  const file = join(directory, "key");
  writeFileSync(file, "from a file\n");
  for (const name of Object.keys(process.env))
    if (name.startsWith("COFRE_")) delete process.env[name];
  process.env["COFRE_SANDBOX_INTEGRATION_KEY_FILE"] = file;
  const reading = configOfThisProcess(new Map());
  assert.ok("config" in reading);
  assert.equal(reading.config.sandboxIntegrationKey?.reveal(), "from a file");

  writeFileSync(file, "x".repeat(65_537));
  const tooLong = configOfThisProcess(new Map());
  assert.ok("problems" in tooLong);
  assert.match(tooLong.problems[0] ?? "", /names a file that has more than 65536 bytes/);

  process.env["COFRE_SANDBOX_INTEGRATION_KEY_FILE"] = directory;
  assert.ok("problems" in configOfThisProcess(new Map()));
});

test("the nearest candidate is found, and a far one is not offered", () => {
  assert.equal(suggestionFor("COFRE_DATADIR", ["COFRE_PORT", "COFRE_DATA_DIR"]), "COFRE_DATA_DIR");
  assert.equal(suggestionFor("strat", ["start", "config"]), "start");
  assert.equal(suggestionFor("xyz", ["start", "config"]), undefined);
});

test("networks for notifications are private ones at most, with commas between them; own names are names of hosts", () => {
  const networks = (text: string): unknown =>
    valueOf({ COFRE_NOTIFICATION_NETWORKS: text }, "notificationNetworks");
  assert.deepEqual(networks("172.16.0.0/12, 10.0.0.0/8,fc00::/7"), [
    "172.16.0.0/12",
    "10.0.0.0/8",
    "fc00::/7",
  ]);
  for (const wrong of [
    "0.0.0.0/0",
    "10.0.0.0",
    "10.0.0.0/7",
    "::/0",
    "10.0.0.0/33",
    "10.0.0/8",
    "app",
    ",",
    "10.0.0.0/8;10.0.0.0/8",
    "fe80::1%x/64",
  ])
    assert.equal(networks(wrong), undefined, wrong);
  const names = (text: string): unknown => valueOf({ COFRE_OWN_NAMES: text }, "ownNames");
  assert.deepEqual(names("Cofre, cofre.example.com"), ["cofre", "cofre.example.com"]);
  for (const wrong of ["http://cofre", "cofre:8787", "a b", "*.example.com", ".", "-x", ","])
    assert.equal(names(wrong), undefined, wrong);
});

function valueOf(environment: Record<string, string>, name: keyof Config): unknown {
  const reading = read(environment);
  return "config" in reading ? reading.config[name] : undefined;
}
