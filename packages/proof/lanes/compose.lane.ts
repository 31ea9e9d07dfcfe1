import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "../../server/test/free-port.ts";
import { postgresBinaries } from "../../server/test/postgres/cluster.ts";
import { directBody } from "../../server/test/server.ts";
import { serverRoot } from "../../server/test/support/planted-copy.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { WireClient } from "../../server/test/support/wire-client.ts";

/**
 * Runs the servers of examples/compose.yaml with its own scripts, on Debian's binaries. A short
 * script replaces the image's entrypoint.
 */

const examples = fileURLToPath(new URL("../../../examples/compose", import.meta.url));
const binaries = postgresBinaries();
const skip =
  binaries === undefined
    ? "PostgreSQL is not installed"
    : process.getuid?.() === 0
      ? false
      : "the servers' user is another one";

/**
 * Like the image's entrypoint: an empty folder gets a database, and the scripts that run once run
 * on a first server without outside connections.
 */
const entrypoint = `#!/bin/bash
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -D "$PGDATA" -U postgres -A trust -E UTF8 --no-locale --no-sync
  pg_ctl -D "$PGDATA" -w -o "-c listen_addresses='' -c unix_socket_directories=$OWN \${*:2}" start
  PGHOST=$OWN bash "$INIT"
  pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@" -c listen_addresses=127.0.0.1 -c port="$PORT" -c unix_socket_directories="$OWN" -D "$PGDATA"
`;

test(
  "a primary, a synchronous standby and two Cofre come up by the scripts of examples/compose.yaml",
  { skip, timeout: 300_000 },
  async () => {
    assert.ok(binaries !== undefined);
    const folder = mkdtempSync(join(tmpdir(), "cofre-compose-"));
    chmodSync(folder, 0o755);
    const [user = 0, group = 0] = ["-u", "-g"].map((flag) =>
      Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" })),
    );
    const [programs, scripts, secrets] = ["programs", "scripts", "secrets"].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    cpSync(examples, scripts, { recursive: true });
    mkdirSync(programs);
    writeFileSync(join(programs, "docker-entrypoint.sh"), entrypoint, { mode: 0o755 });
    execFileSync("sh", [join(scripts, "make-secrets.sh"), secrets]);
    // In a container the folder is a mount whose files are readable for the users that may read
    // them.
    chmodSync(secrets, 0o755);
    const ports = { primary: await freePort(), standby: await freePort() };
    const servers: ChildProcess[] = [];
    const run = (name: "primary" | "standby"): ChildProcess => {
      const own = join(folder, name);
      mkdirSync(own);
      chownSync(own, user, group);
      const environment = {
        PATH: `${programs}:${binaries}:/usr/bin:/bin`,
        PGDATA: join(own, "data"),
        OWN: own,
        SECRETS: secrets,
        INIT: join(scripts, "init.sh"),
        PORT: String(ports[name]),
        PRIMARY: "127.0.0.1",
        PRIMARY_PORT: String(ports.primary),
      };
      const server = spawn("bash", [join(scripts, `${name}.sh`)], {
        env: environment,
        uid: user,
        gid: group,
        cwd: own,
        stdio: ["ignore", "ignore", "pipe"],
      });
      server.stderr?.setEncoding("utf8").on("data", (text: string) => said.push(text));
      servers.push(server);
      return server;
    };
    const said: string[] = [];
    const ask = (name: "primary" | "standby", sql: string): string => {
      try {
        const args = [
          "-u",
          "postgres",
          "--",
          join(binaries, "psql"),
          "-h",
          join(folder, name),
          "-p",
          String(ports[name]),
          "-U",
          "postgres",
          "-tAc",
          sql,
        ];
        return execFileSync("runuser", args, {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "ignore"],
          cwd: folder,
        }).trim();
      } catch {
        return "no answer";
      }
    };
    const until = async (
      name: "primary" | "standby",
      sql: string,
      answer: string,
    ): Promise<void> => {
      for (let tries = 0; tries < 600; tries += 1) {
        if (ask(name, sql) === answer) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      assert.fail(`${name}: ${sql}\n${said.join("")}`);
    };
    const client = new WireClient(1);
    const nodes: CofreProcess[] = [];
    try {
      run("primary");
      await until(
        "primary",
        "SELECT rolname FROM pg_roles WHERE rolname = 'standby' AND EXISTS (SELECT 1 FROM pg_settings WHERE name = 'ssl' AND setting = 'on')",
        "standby",
      );
      run("standby");
      await until(
        "standby",
        "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'",
        "1",
      );
      await until(
        "primary",
        "SELECT application_name || ' ' || sync_state FROM pg_stat_replication",
        "standby sync",
      );

      const url = readFileSync(join(secrets, "database_url"), "utf8")
        .replace("@primary/", `@127.0.0.1:${ports.primary}/`)
        .replace("/run/secrets", secrets);
      const key = readFileSync(join(secrets, "integration_key"), "utf8");
      for (const name of ["cofre-1", "cofre-2"]) {
        const cofre = CofreProcess.spawn({
          root: serverRoot,
          dataDirectory: join(folder, "keys"),
          logDirectory: folder,
          name,
          environment: { COFRE_DATABASE_URL: url, COFRE_SANDBOX_INTEGRATION_KEY: key },
        });
        nodes.push(cofre);
        const port = await cofre.listening();
        assert.ok(port !== undefined, readFileSync(cofre.stderrFile, "utf8"));
        const charged = await client.ask(port, "/ws/direct", {
          ...directBody(name),
          integration_key: key,
        });
        assert.equal(charged?.["status"], "SUCCESS", JSON.stringify(charged));
      }
      assert.equal(ask("standby", "SELECT count(*) FROM pg_database WHERE datname = 'cofre'"), "1");
      const tls = ask(
        "primary",
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename IN ('cofre', 'standby')",
      );
      assert.equal(tls, "t", "everybody came by TLS");
      const plain = new URL(url);
      plain.search = "";
      assert.throws(
        () =>
          execFileSync(join(binaries, "psql"), [plain.href, "-tAc", "SELECT 1"], {
            stdio: "ignore",
            env: { PGSSLMODE: "disable" },
          }),
        "and nobody without",
      );
    } finally {
      client.close();
      for (const cofre of nodes) await cofre.end("SIGTERM");
      for (const server of servers.toReversed()) {
        if (server.exitCode !== null || server.signalCode !== null) continue;
        server.kill("SIGQUIT");
        await once(server, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
