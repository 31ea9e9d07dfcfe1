import assert from "node:assert/strict";
import { utimesSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { openTemporaryTls } from "../../src/certificates/authority-files.ts";
import { hour, instant } from "../../src/kernel/instant.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import type { LogEvent } from "../../src/logging/log-event.ts";
import { ProductionRefused } from "../../src/production/check.ts";
import { OtherInstallation } from "../../src/production/installation-id.ts";
import { examine } from "../../src/start/examine.ts";
import { systemPorts } from "../../src/start/ports.ts";
import { type Cluster, postgresBinaries } from "../postgres/cluster.ts";
import { query } from "../postgres/databases.ts";
import { directBody, testCard } from "../server.ts";
import { until } from "../until.ts";
import {
  grantRoles,
  initializeAt,
  makePlace,
  pinsOf,
  readSettings,
  startAt,
  startDurableCluster,
} from "./installation.ts";

/* docs/operate/production.md: what a server refuses, and what cofre init makes. */

const skip = postgresBinaries() === undefined ? "PostgreSQL is not installed" : false;

/** Of an installation that does not exist. */
const noPins = pinsOf({
  installationId: `production-${"0".repeat(32)}`,
  rootKeysFingerprint: "0".repeat(64),
});

function refusedBy(...checks: readonly string[]) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof ProductionRefused, String(error));
    assert.deepEqual(error.checks, checks);
    return true;
  };
}

describe("an installation in production", { skip }, () => {
  let cluster: Cluster;
  before(async () => void (cluster = await startDurableCluster()));
  after(async () => await cluster[Symbol.asyncDispose]());

  test("stores a card and pays, and has nothing of a sandbox", async () => {
    await using place = await makePlace(cluster);
    const { environment } = place;
    // Before the tables exist there are no roles to grant.
    await assert.rejects(startAt({ ...environment, ...noPins }), {
      name: "PostgresOpenError",
    });
    const made = await initializeAt(place);
    assert.match(made.installationId, /^production-[0-9a-f]{32}$/);
    assert.deepEqual(
      made.admins.map(({ name }) => name),
      ["ana", "bruno"],
    );
    const key = made.keys?.integrationKey ?? "";
    assert.match(key, /^live_ik_[0-9a-f]{32}$/);
    const id = pinsOf(made);
    await assert.rejects(startAt({ ...environment, ...id }), { code: "login_roles" });
    await grantRoles(place);

    await using server = await startAt({ ...environment, ...id });
    const { body } = await server.call("/ws/token", {
      integration_key: key,
      payment_type_code: "creditcard",
      country: "br",
      creditcard: testCard,
    });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    const paid = await server.call("/ws/direct", {
      ...directBody("first", { creditcard: { token: body["token"], card_cvv: "123" } }),
      integration_key: key,
    });
    assert.equal(paid.body["status"], "SUCCESS", JSON.stringify(paid.body));

    const pathsOf = (document: unknown) =>
      Object.keys((document as { readonly paths: object }).paths);
    const here = pathsOf((await server.call("/openapi.json")).body);
    const there = pathsOf((await place.acquirer.get("/openapi.json")).body);
    const sandboxOnly = there.filter((path) => !here.includes(path));
    assert.deepEqual(sandboxOnly.toSorted(), [
      "/__cofre/clock",
      "/__cofre/countries",
      "/__cofre/faults",
      "/__cofre/requests",
      "/__cofre/simulator",
      "/__cofre/test-cards",
      "/__cofre/timeline",
      "/__cofre/world",
      "/__cofre/worlds",
    ]);
    const withKey = `?integration_key=${key}`;
    const answerOf = async (path: string) => {
      const response = await fetch(server.url + path + withKey);
      return [response.status, await response.text()];
    };
    const unknown = await answerOf("/__cofre/of-no-version");
    assert.equal(unknown[0], 404);
    for (const path of sandboxOnly) assert.deepEqual(await answerOf(path), unknown, path);
    // The settings of a sandbox are none here.
    const settingsOf = async (fields: object) =>
      (await server.call("/__cofre/settings", { integration_key: key, ...fields })).body;
    const { settings, described } = (await settingsOf({ describe: true })) as {
      readonly settings: object;
      readonly described: readonly { readonly name: string }[];
    };
    for (const name of ["simulator", "notificationChaos"]) {
      assert.ok(!Object.hasOwn(settings, name) && !described.some((each) => each.name === name));
      const change = await settingsOf({ settings: { [name]: { seed: "s" } } });
      assert.equal(change["status_code"], "COFRE-31");
      assert.match(String(change["status_message"]), new RegExp(`${name} is not a setting\\.`));
    }
    assert.equal((await settingsOf({ settings: { strictForms: true } }))["status"], "SUCCESS");
    const shown = (
      await query<{ readonly keys: string }>(place.database, "SELECT keys FROM identity")
    )[0];
    assert.equal(shown?.keys, made.installationId);
  });

  test("is made once: what exists is kept, and links and keys are not shown twice", async () => {
    await using place = await makePlace(cluster);
    // Killed before the account is committed: the keys that were shown open nothing.
    await assert.rejects(
      initializeAt(place, { shown: () => Promise.reject(new Error("killed")) }),
      /killed/,
    );
    const { environment } = place;
    await grantRoles(place);
    const pinned = { ...environment, ...noPins };
    await assert.rejects(startAt(pinned), refusedBy("initialized", "other_installation"));
    const first = await initializeAt(place);
    const again = await initializeAt(place);
    assert.equal(again.installationId, first.installationId);
    assert.deepEqual(
      [first.keys === undefined, again.keys === undefined],
      [false, true],
      "the run that makes the account shows its keys",
    );
    const linksOf = (admins: typeof first.admins) =>
      admins.map(({ invitation }) => invitation.reveal());
    assert.equal(new Set([...linksOf(first.admins), ...linksOf(again.admins)]).size, 4);
    await using server = await startAt({ ...environment, ...pinsOf(first) });
    assert.equal((await server.call("/readyz")).status, 200);
  });

  test("does not start on another database, nor in another mode", async () => {
    await using place = await makePlace(cluster);
    await using other = await makePlace(cluster);
    const made = await initializeAt(place);
    const { installationId } = await initializeAt(other);
    await grantRoles(place);
    const own = { ...place.environment, ...pinsOf(made) };
    await assert.rejects(
      startAt({ ...own, COFRE_INSTALLATION_ID: installationId }),
      refusedBy("other_installation"),
    );
    await assert.rejects(
      initializeAt(place, { more: { COFRE_INSTALLATION_ID: installationId } }),
      OtherInstallation,
    );
    const sandbox = {
      ...place.environment,
      COFRE_ENVIRONMENT: "sandbox",
      COFRE_DATABASE_URL_FILE: place.owner["COFRE_DATABASE_OWNER_URL_FILE"] ?? "",
    };
    await assert.rejects(startAt(sandbox), /belongs to an installation in production/);
    // Control: with its own settings it starts.
    await using server = await startAt(own);
    assert.equal((await server.call("/readyz")).status, 200);
  });

  test("does not use the database of a sandbox", async () => {
    await using place = await makePlace(cluster);
    const sandbox = {
      ...place.environment,
      COFRE_ENVIRONMENT: "sandbox",
      COFRE_DATABASE_URL_FILE: place.owner["COFRE_DATABASE_OWNER_URL_FILE"] ?? "",
    };
    await (await startAt(sandbox))[Symbol.asyncDispose]();
    await assert.rejects(initializeAt(place), /belongs to a sandbox/);
    await grantRoles(place);
    await assert.rejects(
      startAt({ ...place.environment, ...noPins }),
      refusedBy("other_installation"),
    );
  });

  test("does not start with a login that may change the tables", async () => {
    await using place = await makePlace(cluster);
    const made = await initializeAt(place);
    await grantRoles(place);
    const own = { ...place.environment, ...pinsOf(made) };
    const asOwner = {
      ...own,
      COFRE_DATABASE_URL_FILE: place.owner["COFRE_DATABASE_OWNER_URL_FILE"] ?? "",
    };
    await assert.rejects(startAt(asOwner), (error) => {
      assert.match(String(error), /is a superuser, may create roles/);
      return refusedBy("database_login")(error);
    });
    const login = new URL(place.database);
    await query(place.database, `GRANT CREATE ON SCHEMA public TO app_${login.pathname.slice(1)}`);
    await assert.rejects(startAt(own), /may create tables in the schema/);
    await query(
      place.database,
      `REVOKE CREATE ON SCHEMA public FROM app_${login.pathname.slice(1)}`,
    );
    await using server = await startAt(own);
    assert.equal((await server.call("/readyz")).status, 200);
  });

  test("checks its settings at each start", async () => {
    await using place = await makePlace(cluster);
    await assert.rejects(
      startAt({ ...place.environment, COFRE_CONSOLE: "key" }),
      refusedBy("console_by_key", "installation_id", "root_keys_fingerprint"),
    );
  });

  test("shows by cofre doctor what a start would refuse", async () => {
    await using place = await makePlace(cluster);
    const failing = async (environment: Readonly<Record<string, string>>) => {
      const { config, secrets } = readSettings(environment);
      return (await examine(config, secrets)).flatMap(({ name, effect, fault }) =>
        fault === undefined ? [] : [`${effect} ${name}`],
      );
    };
    const aged = ["alarm admins", "alarm backup", "alarm recovery_drill"];
    assert.deepEqual(await failing({ ...place.environment, ...noPins }), [
      "refuses database_opens",
    ]);
    const made = await initializeAt(place);
    await grantRoles(place);
    const own = { ...place.environment, ...pinsOf(made) };
    assert.deepEqual(await failing(own), aged);
    place.secret("token", "s.other");
    assert.deepEqual(await failing(own), ["refuses root_key_usable", ...aged]);
    place.secret("token", "s.root");
    assert.deepEqual(await failing({ ...own, COFRE_CONSOLE: "key" }), [
      "refuses console_by_key",
      ...aged.slice(1),
    ]);
    // A running server is not disturbed.
    await using server = await startAt(own);
    assert.deepEqual(await failing(own), aged);
    assert.equal((await server.call("/readyz")).status, 200);
  });

  test("starts whatever has passed with time, and raises alarms", async () => {
    await using place = await makePlace(cluster);
    const made = await initializeAt(place);
    await grantRoles(place);
    const { credentials } = await openTemporaryTls(place.folder, {
      ...systemPorts,
      // The certificate has ended.
      clock: { now: () => instant(Date.UTC(2020, 0, 1)) },
    });
    const stamp = place.secret("stamp", "");
    utimesSync(stamp, 0, 0);
    const own = {
      ...place.environment,
      ...pinsOf(made),
      COFRE_TLS_CERTIFICATE_FILE: place.secret("certificate", credentials.cert),
      COFRE_TLS_KEY_FILE: place.secret("key", credentials.key),
      COFRE_TLS_PORT: "0",
      COFRE_BACKUP_STAMP: stamp,
      COFRE_RECOVERY_DRILL: "2020-01-01",
    };
    const names = ["certificate_ends", "admins", "backup", "recovery_drill"];
    const hourly: (() => void)[] = [];
    const scheduler = {
      ...systemScheduler,
      after: (ms: number, task: () => void) => {
        if (ms !== hour) return systemScheduler.after(ms, task);
        hourly.push(task);
        return () => undefined;
      },
    };
    await using server = await startAt(own, { scheduler });
    const logged = (event: LogEvent["event"]) =>
      server.events.flatMap((each) =>
        each.event === event && "check" in each ? [each.check] : [],
      );
    assert.deepEqual(logged("production_alarm"), names);
    const ready = await server.call("/readyz");
    assert.deepEqual([ready.status, ready.body["alarms"]], [200, names]);

    // An hour later the backup works again; nothing is logged twice.
    utimesSync(stamp, Date.now() / 1_000, Date.now() / 1_000);
    for (const task of hourly.splice(0)) task();
    await until("the backup's alarm ends", () => logged("production_alarm_ended").length > 0);
    assert.deepEqual(logged("production_alarm_ended"), ["backup"]);
    assert.deepEqual(logged("production_alarm"), names);
    const later = await server.call("/readyz");
    assert.deepEqual(later.body["alarms"], ["certificate_ends", "admins", "recovery_drill"]);
  });
});
