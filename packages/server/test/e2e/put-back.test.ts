import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { backUp, beginIncarnation, restore } from "../../src/start/commands.ts";
import { readConfig } from "../../src/config/read-config.ts";
import type { Config } from "../../src/config/settings.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import { Keyring } from "../../src/vault/keyring.ts";
import { openKeyFiles } from "../../src/vault/root-key-file.ts";
import { startAcquirer } from "../acquirer/start-acquirer.ts";
import { CofreProcess } from "../support/cofre-process.ts";
import { WireClient } from "../support/wire-client.ts";
import { query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { directBody, integrationKey, testCard } from "../server.ts";
import { until } from "../until.ts";
import { earlierFolder } from "./earlier-installation.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
after(() => databases?.drop());

describe("an older copy that is put back", () => {
  // A capture got the reference of a void that was missing in the copy, and was reported as
  // captured; new notifications had ids that receivers had seen.
  test("gives no reference and no message id again that was given before, and says so", async (context) => {
    const place = await Place.create(context);
    const server = await place.start();
    const held = await server.authorized("held");
    await server.reported("/ws/capture", { hash: await server.authorized("first") });
    await place.received(1);
    await backUp(place.config, join(place.folder, "copy"));
    await server.reported("/ws/cancel", { hash: held });
    await place.received(2);
    const before = new Set(place.messageIds);
    await server.end();

    await restore(place.config, join(place.folder, "copy"), true);
    const again = await place.start();
    const captured = await again.reported("/ws/capture", { hash: held });
    assert.notEqual(
      (captured["payment"] as Record<string, unknown> | undefined)?.["status"],
      "CO",
      "it was voided at the acquirer",
    );
    const other = await again.authorized("other");
    await again.reported("/ws/capture", { hash: other });
    await place.received(before.size + 1);

    const news = place.messageIds.filter((id) => !before.has(id));
    assert.ok(news.length >= 1, "what is new comes under ids of its own");
    assert.deepEqual(again.alarms, ["backup_copy"]);
    const attempts = again.attemptsOf(held);
    assert.ok(
      attempts > 1_000_000,
      `attempts are numbered above those that may have been made: ${attempts}`,
    );
  });

  const ways: readonly (readonly [
    what: string,
    reason: string,
    putBack: (place: Place) => Promise<void>,
  ])[] = [
    [
      "the file of a stopped server, in its old place",
      "older_than_noted",
      async (place) => cpSync(place.kept("cofre.db"), place.at("cofre.db")),
    ],
    [
      "the whole directory",
      "copied_file",
      async (place) => {
        rmSync(place.data, { recursive: true });
        cpSync(join(place.folder, "kept"), place.data, { recursive: true });
      },
    ],
    [
      "a file beside keys alone",
      "no_note",
      async (place) => {
        cpSync(place.kept("cofre.db"), place.at("cofre.db"));
        rmSync(place.at("incarnation.json"));
      },
    ],
    [
      "a file that no start can tell",
      "backup_copy",
      async (place) => void (await beginIncarnation(place.config)),
    ],
  ];
  for (const [what, reason, putBack] of ways) {
    test(`is noticed: ${what}`, async (context) => {
      const place = await Place.create(context);
      const first = await place.start();
      const held = await first.authorized("held");
      await first.end();
      cpSync(place.data, join(place.folder, "kept"), { recursive: true });
      const second = await place.start();
      assert.deepEqual(second.alarms, [], "control: a restart alone is none");
      await second.authorized("later");
      await second.end();

      await putBack(place);
      const third = await place.start();
      assert.deepEqual(third.alarms, [reason]);
      await third.reported("/ws/capture", { hash: held });
      assert.ok(third.attemptsOf(held) > 1_000_000);
      await third.end();
      assert.deepEqual((await place.start()).alarms, [], "it is told once");
    });
  }

  test("control: a server that was killed has put nothing back", async (context) => {
    const place = await Place.create(context);
    for (let time = 0; time < 3; time += 1) {
      const server = await place.start();
      assert.deepEqual(server.alarms, []);
      const held = await server.authorized(`held-${time}`);
      await server.reported("/ws/capture", { hash: held });
      assert.equal(server.attemptsOf(held), 2);
      await server.end("SIGKILL");
    }
  });
});

describe("a database beside other keys", () => {
  test("is refused", async (context) => {
    const [one, other] = [await Place.create(context), await Place.create(context)];
    for (const place of [one, other]) {
      const server = await place.start();
      await server.reported("/ws/token", {
        payment_type_code: "visa",
        country: "br",
        creditcard: testCard,
      });
      await server.end();
    }
    cpSync(one.at("cofre.db"), other.at("cofre.db"));
    const refused = other.spawn();
    assert.equal(await refused.listening(), undefined);
    assert.match(
      readFileSync(refused.stderrFile, "utf8"),
      /keys in the database are wrapped by the root key [0-9a-f]{16}, this one is [0-9a-f]{16}/,
    );
    cpSync(other.at("cofre.db"), one.at("cofre.db"));
    await (await one.start()).end();
  });

  for (const [what, forget] of [
    ["one that says whose it is", false],
    ["one that does not, by its cards", true],
  ] as const) {
    test(`is refused where keys are files: ${what}`, async (context) => {
      const place = await Place.create(context);
      cpSync(earlierFolder(context), place.data, { recursive: true });
      await (await place.start()).end();
      if (forget) {
        const database = new DatabaseSync(place.at("cofre.db"));
        database.exec("DELETE FROM identity");
        database.close();
      }
      cpSync(place.data, join(place.folder, "kept"), { recursive: true });
      for (const name of readdirSync(place.data)) if (isKeyFile(name)) rmSync(place.at(name));
      await makeKeyFiles(place.data);
      const refused = place.spawn();
      assert.equal(await refused.listening(), undefined);
      assert.match(
        readFileSync(refused.stderrFile, "utf8"),
        /belongs to other keys than those in its directory/,
      );
      for (const name of readdirSync(place.data)) if (isKeyFile(name)) rmSync(place.at(name));
      for (const name of readdirSync(join(place.folder, "kept")))
        if (isKeyFile(name)) cpSync(place.kept(name), place.at(name));
      await (await place.start()).end();
    });
  }

  test(
    "is refused on PostgreSQL",
    { skip: databases === undefined ? "COFRE_TEST_POSTGRES_URL names no server" : false },
    async (context) => {
      assert.ok(databases !== undefined);
      const url = await databases.create();
      const [one, other] = [await Place.create(context, url), await Place.create(context, url)];
      const server = await one.start();
      await server.reported("/ws/token", {
        payment_type_code: "visa",
        country: "br",
        creditcard: testCard,
      });
      await server.end();
      const elsewhere = await Place.create(context);
      await (await elsewhere.start()).end();
      for (const name of readdirSync(elsewhere.data).filter(isKeyFile))
        cpSync(elsewhere.at(name), other.at(name));
      const refused = other.spawn();
      assert.equal(await refused.listening(), undefined);
      assert.match(
        readFileSync(refused.stderrFile, "utf8"),
        /keys in the database are wrapped by the root key [0-9a-f]{16}, this one is [0-9a-f]{16}/,
      );
      await (await one.start()).end();
    },
  );
});

describe(
  "a PostgreSQL database that is put back",
  { skip: databases === undefined ? "COFRE_TEST_POSTGRES_URL names no server" : false },
  () => {
    test("is noticed at the start, and while a node runs", async (context) => {
      assert.ok(databases !== undefined);
      const url = await databases.create();
      const place = await Place.create(context, url);
      const first = await place.start();
      const held = await first.authorized("held");
      await first.end();
      const copy = await databases.create(`TEMPLATE ${new URL(url).pathname.slice(1)}`);
      const second = await place.start();
      assert.deepEqual(second.alarms, [], "control: a restart alone is none");
      await second.authorized("later");
      await second.end();

      place.databaseUrl = copy;
      const third = await place.start();
      assert.deepEqual(third.alarms, ["older_than_noted"]);
      await third.reported("/ws/capture", { hash: held });
      const [row] = await query<{ readonly attempts: number }>(
        copy,
        `SELECT attempts FROM payment WHERE id = decode('${held}', 'hex')`,
      );
      assert.ok((row?.attempts ?? 0) > 1_000_000);

      // A failover that lost commits, or a restore under a running node.
      await query(copy, "DELETE FROM identity");
      await until("the second alarm is raised", async () => {
        await third.authorized(`more-${third.alarms.length}-${performance.now()}`);
        return third.alarms.length >= 2;
      });
      assert.deepEqual(third.alarms.slice(1), ["older_than_noted"]);
      const { epoch = 0 } =
        (await query<{ readonly epoch: number }>(copy, "SELECT epoch FROM identity"))[0] ?? {};

      const begun = await beginIncarnation(place.config);
      assert.ok(begun !== undefined && begun > epoch);
      await until("attempts are numbered from the new incarnation", async () => {
        const next = await third.authorized(`after-${performance.now()}`);
        await third.reported("/ws/capture", { hash: next });
        const [after] = await query<{ readonly attempts: number }>(
          copy,
          `SELECT attempts FROM payment WHERE id = decode('${next}', 'hex')`,
        );
        return (after?.attempts ?? 0) > begun;
      });
      await third.end();
    });
  },
);

function isKeyFile(name: string): boolean {
  return /^root\.key$|^keys\.|\.sealed$/.test(name);
}

/** The key files of another installation. */
async function makeKeyFiles(directory: string): Promise<void> {
  const shared = { environment: "sandbox", random: new SystemRandom(), create: true };
  const files = await openKeyFiles({ directory, ...shared });
  await Keyring.open({ ...files, ...shared, clock: systemClock });
}

/** A separate installation, and an acquirer and a receiver whose records survive the restore. */
class Place {
  readonly folder = mkdtempSync(join(tmpdir(), "cofre-put-back-"));
  readonly data = join(this.folder, "data");
  readonly messageIds: string[] = [];
  databaseUrl: string | undefined;
  #environment: Readonly<Record<string, string>> = {};
  readonly #context: TestContext;
  readonly #client = new WireClient(4);
  #started = 0;

  private constructor(context: TestContext, databaseUrl: string | undefined) {
    this.#context = context;
    this.databaseUrl = databaseUrl;
  }

  static async create(context: TestContext, databaseUrl?: string): Promise<Place> {
    const place = new Place(context, databaseUrl);
    const acquirer = await startAcquirer();
    const receiver = createServer((request, response) => {
      request.resume();
      place.messageIds.push(String(request.headers["webhook-id"]));
      response.writeHead(200).end();
    });
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    place.#environment = {
      COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
      COFRE_ACQUIRER_URL: acquirer.address,
    };
    place.receiver = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/notify`;
    context.after(async () => {
      place.#client.close();
      receiver.closeAllConnections();
      receiver.close();
      await acquirer.stop();
      rmSync(place.folder, { recursive: true, force: true });
    });
    return place;
  }

  receiver = "";

  get config(): Config {
    const reading = readConfig({
      environment: { ...this.#settings, COFRE_DATA_DIR: this.data },
      flags: new Map(),
      readFile: () => ({ problem: "is not read in tests" }),
    });
    assert.ok("config" in reading);
    return reading.config;
  }

  get #settings(): Readonly<Record<string, string>> {
    const { databaseUrl } = this;
    return databaseUrl === undefined
      ? this.#environment
      : {
          ...this.#environment,
          COFRE_DATABASE_URL: databaseUrl,
          COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
        };
  }

  at(name: string): string {
    return join(this.data, name);
  }

  kept(name: string): string {
    return join(this.folder, "kept", name);
  }

  spawn(): CofreProcess {
    const name = `cofre-${(this.#started += 1)}`;
    const cofre = CofreProcess.spawn({
      root,
      dataDirectory: this.data,
      logDirectory: this.folder,
      name,
      environment: this.#settings,
    });
    this.#context.after(() => cofre.end("SIGKILL"));
    return cofre;
  }

  async start(): Promise<Server> {
    const cofre = this.spawn();
    const port = await cofre.listening();
    assert.ok(port !== undefined, readFileSync(cofre.stderrFile, "utf8"));
    return new Server(this, cofre, port, this.#client);
  }

  async received(count: number): Promise<void> {
    await until(`the receiver has ${count} messages`, () => this.messageIds.length >= count);
  }
}

class Server {
  readonly #place: Place;
  readonly #cofre: CofreProcess;
  readonly #port: number;
  readonly #client: WireClient;

  constructor(place: Place, cofre: CofreProcess, port: number, client: WireClient) {
    this.#place = place;
    this.#cofre = cofre;
    this.#port = port;
    this.#client = client;
  }

  async reported(
    path: string,
    body: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.#client.ask(this.#port, path, {
      integration_key: integrationKey,
      ...body,
    });
    assert.ok(answer !== undefined);
    return answer;
  }

  /** The hash of a payment that waits for its capture. */
  async authorized(code: string): Promise<string> {
    const fields = {
      creditcard: { ...testCard, auto_capture: false },
      notification_url: this.#place.receiver,
    };
    const { payment } = await this.reported("/ws/direct", directBody(code, fields));
    return String((payment as Record<string, unknown>)["hash"]);
  }

  /** Why the database was considered a restored copy. */
  get alarms(): readonly string[] {
    const alarms = this.#cofre.events("alarm").filter(({ kind }) => kind === "database_put_back");
    return alarms.map(({ what }) => String(what).split(",")[0] ?? "");
  }

  attemptsOf(hash: string): number {
    const database = new DatabaseSync(this.#place.at("cofre.db"), { readOnly: true });
    try {
      return Number(
        database.prepare("SELECT attempts FROM payment WHERE id = unhex(?)").get(hash)?.[
          "attempts"
        ],
      );
    } finally {
      database.close();
    }
  }

  async end(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.#cofre.end(signal);
  }
}
