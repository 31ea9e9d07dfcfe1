import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { readConfig } from "../src/config/read-config.ts";

/**
 * packages/proof/lanes/compose.lane.ts tests that the servers start with these scripts; no test runs Docker
 * itself.
 */

const examples = fileURLToPath(new URL("../../../examples", import.meta.url));

interface Service {
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly restart?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const compose = parse(readFileSync(join(examples, "compose.yaml"), "utf8"), {
  merge: true,
}) as Compose;
const services = Object.entries(compose.services);

describe("examples/compose.yaml", () => {
  test("sets what this version knows, and nothing that it refuses", () => {
    for (const [name, { environment = {} }] of services) {
      const ours = Object.fromEntries(
        Object.entries(environment).filter(([variable]) => variable.startsWith("COFRE_")),
      );
      if (Object.keys(ours).length === 0) continue;
      const reading = readConfig({
        environment: ours,
        flags: new Map(),
        readFile: (path) => ({ value: secretOf(path) }),
      });
      assert.ok("config" in reading, `${name}: ${JSON.stringify(reading)}`);
      assert.deepEqual(reading.unknown, [], name);
    }
    const wrong = readConfig({
      environment: { COFRE_DATABASE_WAVE: "yes" },
      flags: new Map(),
      readFile: () => ({ problem: "no" }),
    });
    assert.ok("problems" in wrong || wrong.unknown.length > 0, "control: another name is noticed");
  });

  test("publishes on loopback alone, and lets each service be asked how it is", () => {
    for (const [name, { ports = [], healthcheck, restart }] of services) {
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, name);
      assert.ok(healthcheck !== undefined || restart === "no", `${name} stays, and says how it is`);
    }
  });

  test("names services, secrets, volumes and files that are there", () => {
    for (const [name, service] of services) {
      for (const other of Object.keys(service.depends_on ?? {}))
        assert.ok(Object.hasOwn(compose.services, other), `${name}: ${other}`);
      for (const secret of service.secrets ?? [])
        assert.ok(Object.hasOwn(compose.secrets, secret), `${name}: ${secret}`);
      const read = Object.values(service.environment ?? {}).filter((value) =>
        value.startsWith("/run/secrets/"),
      );
      for (const path of read)
        assert.ok(
          service.secrets?.includes(path.slice("/run/secrets/".length)) === true,
          `${name}: ${path}`,
        );
      for (const volume of service.volumes ?? []) {
        const [source = ""] = volume.split(":");
        assert.ok(
          source.startsWith(".")
            ? existsSync(join(examples, source))
            : Object.hasOwn(compose.volumes, source),
          `${name}: ${volume}`,
        );
      }
      for (const word of service.entrypoint ?? []) {
        if (word.startsWith("/compose/")) assert.ok(existsSync(join(examples, word)), word);
      }
    }
    const program = compose.services["cofre-1"]?.command?.[1] ?? "";
    assert.ok(existsSync(join(examples, "..", program)), program);
  });

  test("has its secrets made by one script, which leaves what is there, and whose certificate is the primary's", (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-compose-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const secrets = join(folder, "secrets");
    const make = (): void =>
      void execFileSync("sh", [join(examples, "compose", "make-secrets.sh"), secrets]);
    make();
    const content = (): readonly string[] =>
      Object.keys(compose.secrets).map((name) => readFileSync(join(secrets, name), "utf8"));
    const first = content();
    make();
    assert.deepEqual(content(), first);
    assert.equal(statSync(secrets).mode & 0o777, 0o700);
    for (const [name, { file }] of Object.entries(compose.secrets))
      assert.equal(file, `./compose/secrets/${name}`);

    const certificate = new X509Certificate(readFileSync(join(secrets, "server_certificate")));
    const authority = new X509Certificate(readFileSync(join(secrets, "authority")));
    assert.ok(certificate.checkIssued(authority) && certificate.verify(authority.publicKey));
    assert.equal(certificate.checkHost("primary"), "primary");
    assert.equal(certificate.checkHost("another"), undefined, "control");
    const url = new URL(readFileSync(join(secrets, "database_url"), "utf8"));
    assert.deepEqual(
      [url.hostname, url.username, url.searchParams.get("sslmode")],
      ["primary", "cofre", "verify-full"],
    );
    assert.equal(url.password, readFileSync(join(secrets, "database_password"), "utf8"));
  });

  test("has scripts that a shell reads", () => {
    for (const [shell, script] of [
      ["sh", "make-secrets.sh"],
      ["bash", "primary.sh"],
      ["bash", "standby.sh"],
      ["bash", "init.sh"],
    ] as const) {
      execFileSync(shell, ["-n", join(examples, "compose", script)]);
    }
  });
});

describe("examples/compose-one.yaml", () => {
  const text = readFileSync(join(examples, "compose-one.yaml"), "utf8");
  const { version } = JSON.parse(
    readFileSync(join(examples, "../packages/server/package.json"), "utf8"),
  ) as { readonly version: string };
  const one = parse(text) as {
    readonly services: Readonly<Record<string, Service & Readonly<Record<string, unknown>>>>;
  };

  test("has one service, of the image that `npm run image` makes, which is never fetched", () => {
    const { cofre, ...others } = one.services;
    assert.deepEqual(Object.keys(others), []);
    assert.deepEqual([cofre?.image, cofre?.["pull_policy"]], [`cofre:${version}`, "never"]);
    assert.ok(
      text.includes(`.cache/cofre-image-${version}.tar`),
      "the comment has the file's name",
    );
  });

  test("gives the container what it needs and nothing more", () => {
    const { cofre } = one.services;
    assert.deepEqual(cofre?.ports, ["127.0.0.1:8787:8787"]);
    assert.deepEqual(cofre["cap_drop"], ["ALL"]);
    assert.equal(cofre["read_only"], true);
    assert.deepEqual(cofre.volumes, ["data:/data"]);
    assert.deepEqual(cofre.healthcheck?.test, ["CMD", "/usr/local/bin/cofre", "health"]);
  });
});

/** As the script would have made it. */
function secretOf(path: string): string {
  if (path.endsWith("database_url"))
    return "postgres://cofre:x@primary/cofre?sslmode=verify-full&sslrootcert=/run/secrets/authority";
  return path.endsWith("integration_key") ? "test_ik_of_the_example" : assert.fail(path);
}
