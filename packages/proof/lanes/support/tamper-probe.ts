import assert from "node:assert/strict";
import { join } from "node:path";
import type { startCofre } from "../../../server/src/app.ts";
import { defaultAccountSettings } from "../../../server/src/merchant/settings.ts";
import type { MerchantId } from "../../../server/src/kernel/ids.ts";
import { instant } from "../../../server/src/kernel/instant.ts";
import { systemClock } from "../../../server/src/kernel/system-clock.ts";
import { digestOfKey, withKeyMac } from "../../../server/src/operations/account-directory.ts";
import { accountChange } from "../../../server/src/operations/sandbox-account.ts";
import { openEmbeddedStore } from "../../../server/src/stores/embedded/embedded-store.ts";
import { openStoreOn } from "../../../server/test/postgres/databases.ts";
import { rowMacsOf } from "../../../server/test/row-macs.ts";
import {
  ask,
  ConsoleUsers,
  type Reply,
  type Signed,
} from "../../../server/test/server-with-users.ts";
import {
  type Answer,
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../../server/test/server.ts";
import type { Place } from "./tamper-database.ts";

const merchants = [
  { secret: integrationKey, public: publicIntegrationKey },
  { secret: "test_ik_second", public: "test_pk_second" },
] as const;
/** By merchant: cards whose charges have four different results, so that a card opened for another shows. */
const numbers = [
  ["4111111111111111", "4716909774636285"],
  ["5555555555554444", "5102026827345142"],
] as const;

/** What clients and users of an installation know. */
export interface Known {
  /** By merchant. */
  readonly tokens: readonly (readonly string[])[];
  readonly users: readonly Signed[];
}

/** What they see afterwards: by what they did, the result, or `refused`. */
export type Seen = ReadonlyMap<string, string>;

export const refused = "refused";

export interface Probed {
  /** Why the server did not start; undefined if it did. */
  readonly notStarted: string | undefined;
  readonly seen: Seen;
  /** Kinds of alarms that it wrote. */
  readonly alarms: readonly string[];
  /** Everything that it wrote. */
  readonly written: string;
}

type Start = typeof startCofre;

function start(place: Place, seed: string, program: Start | undefined): Promise<TestServer> {
  const { environment, databaseUrl } = place;
  return startTestServer({
    environment: { ...environment, COFRE_CONSOLE: "login" },
    seed,
    // A database server has a clock of its own, to which leases compare this one.
    ...(databaseUrl === undefined ? {} : { ports: { clock: systemClock } }),
    ...(program === undefined ? {} : { start: program }),
  });
}

/** Makes an installation with two merchants, their cards, and three users who are signed in. */
export async function furnish(place: Place, seed: string): Promise<Known> {
  await (await start(place, `${seed} first`, undefined))[Symbol.asyncDispose]();
  await addMerchant(place);
  const server = await start(place, `${seed} second`, undefined);
  try {
    const console = new ConsoleUsers(
      server,
      place.databaseUrl === undefined ? server.clock : systemClock,
    );
    const admin = await console.firstAdmin();
    const users = [
      admin,
      await console.invited(admin, "vera", "viewer"),
      await console.invited(admin, "otto", "operator"),
    ];
    const tokens: string[][] = [];
    for (const [index, { secret }] of merchants.entries()) {
      const own: string[] = [];
      for (const number of numbers[index] ?? [])
        own.push(String((await store(server, secret, number)).body["token"]));
      tokens.push(own);
    }
    return { tokens, users };
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

/** No endpoint makes accounts. */
async function addMerchant({ directory, databaseUrl }: Place): Promise<void> {
  const opened =
    databaseUrl === undefined
      ? await openEmbeddedStore({ file: join(directory, "cofre.db") })
      : await openStoreOn(databaseUrl);
  const macs = await rowMacsOf(directory, databaseUrl);
  const id = "fffffff1" as MerchantId;
  const settings = defaultAccountSettings();
  const keys = merchants[1];
  const granted = [
    withKeyMac(macs, id, { digest: digestOfKey(keys.secret), grants: "secret" }),
    withKeyMac(macs, id, { digest: digestOfKey(keys.public), grants: "public" }),
  ];
  const change = accountChange(
    { id, version: 1, name: "Second", settings },
    undefined,
    instant(Date.now()),
    granted,
  );
  const { outcome } = await opened.commit(change);
  await opened.close();
  assert.equal(outcome, "committed");
}

interface ProbeOptions {
  /** Another program's composition root: that of a copy with a planted mistake. */
  readonly program?: Start | undefined;
  /** Whether users sign in with their passwords too, which takes most of a second. */
  readonly signsIn?: boolean;
}

let probes = 0;

/** Starts a server on the place, and does what its clients and users do. */
export async function probe(
  place: Place,
  known: Known,
  { program, signsIn = false }: ProbeOptions = {},
): Promise<Probed> {
  let server: TestServer;
  try {
    // Another seed each time, so that no random value of an earlier process is drawn again.
    server = await start(place, `probe ${(probes += 1)}`, program);
  } catch (error) {
    const notStarted = error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
    return { notStarted, seen: new Map(), alarms: [], written: notStarted };
  }
  try {
    const seen = await actions(server, known, signsIn && place.databaseUrl === undefined);
    const alarms = server.events.flatMap((event) =>
      event.event === "row_refused" || event.event === "alarm" ? [event.kind] : [],
    );
    return { notStarted: undefined, seen, alarms, written: JSON.stringify(server.events) };
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

async function actions(
  server: TestServer,
  { tokens, users }: Known,
  signsIn: boolean,
): Promise<Seen> {
  const seen = new Map<string, string>();
  for (const { name, cookie, csrf } of users) {
    const headers = { Cookie: cookie, "X-Cofre-CSRF": csrf };
    seen.set(`the session of ${name}`, roleIn(await ask(server, "/__cofre/session", {}, headers)));
    const { body } = await ask(server, "/__cofre/users", {}, headers);
    seen.set(`the list of users, for ${name}`, body["status"] === "SUCCESS" ? "shown" : refused);
  }
  for (const index of merchants.keys()) {
    for (const [card, token] of (tokens[index] ?? []).entries())
      for (const [other, keys] of merchants.entries())
        for (const [grants, key] of Object.entries(keys))
          seen.set(
            `a charge of card ${card + 1} of merchant ${index + 1} by the ${grants} key of ${other + 1}`,
            chargedIn(await server.postJson("/ws/direct", charge(key, token, `${index}-${card}`))),
          );
    for (const [grants, key] of Object.entries(merchants[index] ?? {})) {
      const { body } = await store(server, key, numbers[0][0]);
      const result = body["status"] === "SUCCESS" ? "stored" : refused;
      seen.set(`a new card by the ${grants} key of merchant ${index + 1}`, result);
    }
  }
  if (!signsIn) return seen;
  server.clock.advance(600_000);
  const console = new ConsoleUsers(server);
  for (const user of users) {
    const role = await console.signIn(user).then(
      async (signed) => roleIn(await signed.call("/__cofre/session", {})),
      () => refused,
    );
    seen.set(`${user.name} signs in`, role);
  }
  return seen;
}

function store(server: TestServer, key: string, number: string) {
  return server.postJson("/ws/token", {
    integration_key: key,
    country: "br",
    payment_type_code: "creditcard",
    creditcard: { ...testCard, card_number: number },
  });
}

function charge(key: string, token: string, code: string) {
  const creditcard = { token, card_cvv: "123" };
  return { ...directBody(`probe-${probes}-${code}`, { creditcard }), integration_key: key };
}

function chargedIn({ body }: Answer): string {
  if (body["status"] !== "SUCCESS") return refused;
  const {
    status,
    payment_type_code: brand,
    transaction_status: result,
  } = body["payment"] as {
    readonly status: string;
    readonly payment_type_code: string;
    readonly transaction_status: { readonly description: string };
  };
  return `${status} ${brand} ${result.description}`;
}

function roleIn({ body }: Reply): string {
  const { role, name } = (body["user"] ?? {}) as Readonly<Record<string, string>>;
  return role === undefined ? refused : `${name} ${role}`;
}
