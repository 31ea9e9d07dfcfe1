import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readConfig, type SecretOrigins } from "../config/read-config.ts";
import { findingsOf, ProductionRefused, refuseFaults } from "./check.ts";
import { rootSetChecks } from "./installation-checks.ts";
import { accessProblem } from "./secret-file.ts";
import { serverSettingChecks, type SettingFacts, settingChecks } from "./setting-checks.ts";

const fingerprint = `sha256:${"0".repeat(64)}`;
const secrets: Readonly<Record<string, string>> = {
  "/run/database": "postgres://cofre_app:secret@127.0.0.1/cofre",
  "/run/owner": "postgres://cofre_owner:secret@127.0.0.1/cofre",
  "/run/upstream": "live_ik_1",
  "/run/connectors": JSON.stringify([
    { name: "main", kind: "upstream", url: "https://acquirer.example", integrationKey: "k" },
    { name: "test", kind: "simulator" },
  ]),
};

/** Settings with which production starts. */
const sound: Readonly<Record<string, string | undefined>> = {
  COFRE_ENVIRONMENT: "production",
  COFRE_INSTALLATION_ID: `production-${"1".repeat(32)}`,
  COFRE_ROOT_KEYS_FINGERPRINT: "2".repeat(64),
  COFRE_ROOT_KEY: "transit:https://bao.example/v1/transit/cofre",
  COFRE_ROOT_KEY_SECRET_FILE: "/run/token",
  COFRE_RECOVERY_KEY: fingerprint,
  COFRE_RECOVERY_PUBLIC_KEY: "/etc/recovery.pub",
  COFRE_DATABASE_URL_FILE: "/run/database",
  COFRE_UPSTREAM_URL: "https://acquirer.example",
  COFRE_UPSTREAM_INTEGRATION_KEY_FILE: "/run/upstream",
  COFRE_CONSOLE: "login",
};

interface Change {
  readonly settings?: Readonly<Record<string, string | undefined>>;
  readonly facts?: (facts: SettingFacts) => Partial<SettingFacts>;
}

function factsOf({ settings = {}, facts = () => ({}) }: Change = {}): SettingFacts {
  const environment = Object.fromEntries(
    Object.entries({ ...sound, ...settings }).filter(([, value]) => value !== undefined),
  );
  const reading = readConfig({
    environment,
    flags: new Map(),
    readFile: (path) => ({ value: secrets[path] ?? "" }),
  });
  assert.ok("config" in reading, JSON.stringify(reading));
  const { config, secrets: origins } = reading;
  const access = { mode: 0o400, owner: 1_000, group: 1_000 };
  const found: SettingFacts = {
    config,
    secrets: origins,
    files: origins.files.map((file) => ({ ...file, access })),
    user: { id: 1_000, groups: [1_000] },
  };
  return { ...found, ...facts(found) };
}

const checks = [...settingChecks, ...serverSettingChecks];

function faultsIn(facts: SettingFacts): readonly string[] {
  return findingsOf(checks, facts).flatMap(({ name, fault }) =>
    fault === undefined ? [] : [name],
  );
}

const pkcs11 = {
  COFRE_ROOT_KEY: "pkcs11:token=cofre;serial=1;object=root;id=%01",
  COFRE_PKCS11_MODULE: "/usr/lib/hsm.so",
};

/** For each check, settings or files with that fault alone; several for some. */
const faulty: Readonly<Record<string, readonly Change[]>> = {
  root_key_file: [
    { settings: { COFRE_ROOT_KEY: undefined, COFRE_ROOT_KEY_SECRET_FILE: undefined } },
  ],
  recovery: [
    { settings: { COFRE_RECOVERY_KEY: undefined, COFRE_RECOVERY_PUBLIC_KEY: undefined } },
    // The backup of a key service is not one of an HSM.
    {
      settings: {
        COFRE_RECOVERY_KEY: undefined,
        COFRE_RECOVERY_PUBLIC_KEY: undefined,
        COFRE_ROOT_KEY_BACKUP: "2026-11-30",
      },
    },
  ],
  database: [{ settings: { COFRE_DATABASE_URL_FILE: undefined } }],
  synchronous_standby: [{ settings: { COFRE_DATABASE_ALLOW_NO_STANDBY: "true" } }],
  acquirers: [
    {
      settings: {
        COFRE_UPSTREAM_URL: undefined,
        COFRE_UPSTREAM_INTEGRATION_KEY_FILE: undefined,
      },
    },
    {
      settings: {
        COFRE_UPSTREAM_URL: undefined,
        COFRE_UPSTREAM_INTEGRATION_KEY_FILE: undefined,
        COFRE_ACQUIRER_URL: "http://127.0.0.1:8788",
      },
    },
    {
      settings: {
        COFRE_UPSTREAM_URL: undefined,
        COFRE_UPSTREAM_INTEGRATION_KEY_FILE: undefined,
        COFRE_CONNECTORS_FILE: "/run/connectors",
      },
    },
  ],
  plain_http: [{ settings: { COFRE_HOST: "0.0.0.0" } }, { settings: { COFRE_HOST: "10.1.2.3" } }],
  own_authority: [{ settings: { COFRE_TLS: "true" } }],
  secrets_in_variables: [
    {
      settings: {
        COFRE_DATABASE_URL: secrets["/run/database"],
        COFRE_DATABASE_URL_FILE: undefined,
      },
    },
    {
      settings: {
        COFRE_UPSTREAM_INTEGRATION_KEY: "live_ik_1",
        COFRE_UPSTREAM_INTEGRATION_KEY_FILE: undefined,
      },
    },
  ],
  secret_files: [
    {
      facts: ({ files }) => ({
        files: files.map((file) => ({ ...file, access: { mode: 0o444, owner: 0, group: 0 } })),
      }),
    },
    { facts: ({ files }) => ({ files: files.map((file) => ({ ...file, access: undefined })) }) },
  ],
  console_by_key: [{ settings: { COFRE_CONSOLE: undefined } }],
  installation_id: [{ settings: { COFRE_INSTALLATION_ID: undefined } }],
  root_keys_fingerprint: [{ settings: { COFRE_ROOT_KEYS_FINGERPRINT: undefined } }],
  database_owner: [{ settings: { COFRE_DATABASE_OWNER_URL_FILE: "/run/owner" } }],
};

describe("production", () => {
  test("control: accepts sound settings, with a key service or an HSM", () => {
    assert.deepEqual(faultsIn(factsOf()), []);
    const settings = {
      ...pkcs11,
      COFRE_RECOVERY_KEY: undefined,
      COFRE_RECOVERY_PUBLIC_KEY: undefined,
      COFRE_ROOT_KEY_BACKUP: "2026-11-30",
    };
    assert.deepEqual(faultsIn(factsOf({ settings })), []);
  });

  test("control: accepts a second root key as the other way to open the keys", () => {
    const settings = {
      COFRE_RECOVERY_KEY: undefined,
      COFRE_RECOVERY_PUBLIC_KEY: undefined,
      COFRE_ROOT_KEY_NEXT: "transit:https://other.example/v1/transit/cofre",
      COFRE_ROOT_KEY_NEXT_SECRET_FILE: "/run/other-token",
    };
    const facts = factsOf({ settings });
    assert.deepEqual(faultsIn(facts), []);
    // Until it wraps the keys it is none.
    for (const [roots, faults] of [
      [1, ["second_root_key"]],
      [2, []],
    ] as const)
      assert.deepEqual(
        findingsOf(rootSetChecks, { ...facts, roots }).flatMap(({ name, fault }) =>
          fault === undefined ? [] : [name],
        ),
        faults,
      );
    assert.deepEqual(
      findingsOf(rootSetChecks, { ...factsOf(), roots: 1 }).map(({ fault }) => fault),
      [undefined],
    );
  });

  test("control: accepts all addresses with a certificate or behind a named proxy", () => {
    const tls = {
      COFRE_TLS_CERTIFICATE_FILE: "/etc/cofre.pem",
      COFRE_TLS_KEY_FILE: "/run/cofre.key",
    };
    for (const more of [tls, { COFRE_BEHIND_PROXY: "10.1.2.3/32" }])
      assert.deepEqual(
        faultsIn(factsOf({ settings: { COFRE_HOST: "0.0.0.0", ...more } })),
        [],
        JSON.stringify(more),
      );
  });

  for (const { name, remedy, rule } of checks)
    test(`refuses what fails the check ${name}, and nothing else, with a remedy`, () => {
      const changes = faulty[name] ?? [];
      assert.ok(changes.length > 0, "every check has a test");
      for (const change of changes) {
        const facts = factsOf(change);
        assert.deepEqual(faultsIn(facts), [name], JSON.stringify(change.settings));
        assert.throws(
          () => refuseFaults(findingsOf(checks, facts)),
          (error) =>
            error instanceof ProductionRefused &&
            error.message.includes(remedy) &&
            !/secret@|live_ik_1/.test(error.message),
        );
      }
      for (const text of [remedy, rule]) assert.match(text, /^[A-Z].*\.$/);
    });

  test("names every variable with a secret, and none whose content is public", () => {
    const origins = (more: Readonly<Record<string, string>>): SecretOrigins =>
      factsOf({ settings: { ...more } }).secrets;
    assert.deepEqual(origins({ COFRE_SANDBOX_INTEGRATION_KEY: "live_ik_0000" }).variables, [
      "COFRE_SANDBOX_INTEGRATION_KEY",
    ]);
    assert.deepEqual(origins({ COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY: "live_pk_0" }).variables, []);
    assert.deepEqual(
      origins({}).files.map(({ variable }) => variable),
      [
        "COFRE_ROOT_KEY_SECRET_FILE",
        "COFRE_DATABASE_URL_FILE",
        "COFRE_UPSTREAM_INTEGRATION_KEY_FILE",
      ],
    );
  });
});

test("a secret file is private to its process, root and the group of a mount", () => {
  const user = { id: 1_000, groups: [1_000, 2_000] };
  const rows = [
    [0o600, 1_000, 1_000, undefined],
    [0o400, 0, 0, undefined],
    [0o440, 0, 2_000, undefined],
    [0o640, 1_000, 2_000, undefined],
    [0o440, 0, 3_000, /group \(3000\)/],
    [0o460, 0, 2_000, /written by a group/],
    [0o444, 1_000, 1_000, /all users/],
    [0o402, 1_000, 1_000, /all users/],
    [0o600, 1_001, 1_000, /another user \(1001\)/],
  ] as const;
  for (const [mode, owner, group, problem] of rows) {
    const found = accessProblem({ mode, owner, group }, user);
    const what = `${mode.toString(8)} ${owner} ${group}`;
    if (problem === undefined) assert.equal(found, undefined, what);
    else assert.match(found ?? "", problem, what);
  }
});
