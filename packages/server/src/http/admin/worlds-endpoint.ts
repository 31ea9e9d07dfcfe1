import { acting, reading, whenGiven, wordIn } from "../../wire/permission.ts";
import type { Clock } from "../../kernel/clock.ts";
import { afterSpan, formatInstant, parseInstant } from "../../kernel/calendar.ts";
import { hexOf, type MerchantId, newMerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Random } from "../../kernel/random.ts";
import type { Account } from "../../merchant/account.ts";
import { validateSettings } from "../../merchant/settings.ts";
import type { AddressCheck } from "../../merchant/receiver-address.ts";
import { newKey } from "../../operations/sandbox-account.ts";
import type { World, WorldPlan } from "../../sandbox/world.ts";
import { WorldRefused, type Worlds } from "../../sandbox/worlds.ts";
import { containsTestNumber } from "../../vault/test-numbers.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import type { Endpoint, OpenRequest, WireRequest } from "../../wire/endpoint.ts";
import { readErrors, wireErrorOf } from "../../wire/answers/errors.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import type { ValuesOf } from "../../wire/errors/refusal.ts";
import { isTreeObject, textOf, type TreeObject } from "../../wire/decode/tree.ts";
import { leadTo, unknownConnector } from "./settings-endpoint.ts";
import { cardInSettings, holdsCard, typedSettings } from "./typed-settings.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

export interface WorldsDeps {
  readonly worlds: Worlds;
  /** The system clock: the default time of a new world. */
  readonly clock: Clock;
  readonly random: Random;
  /** Whether a key belongs to an account that is not a world. */
  readonly isTaken: (key: string) => Promise<boolean>;
  /** Whether a key is the secret key of an account that is not a world. */
  readonly opensAccount: (key: string) => Promise<boolean>;
  /**
   * Names of this server, in lower case, in addition to addresses and names that no other site can
   * have.
   */
  readonly ownNames: ReadonlySet<string>;
  /** Whether an account that is not a world has this id. */
  readonly isAccount: (id: MerchantId) => boolean;
  /** Names of the acquirers that routes may use. */
  readonly connectorNames: readonly string[];
  /** Checks whether notifications of worlds may be sent to an address. */
  readonly checkAddress: AddressCheck;
  /**
   * Whether listing and creating worlds requires a key of the server's own accounts: true if the
   * console has logins.
   */
  readonly isClosed: boolean;
}

/** A world with a seed is repeatable, including the time at which it starts. */
const seededStart = parseInstant("2026-01-01") as Instant;
/** The time of every world is earlier. */
const endOfTime = parseInstant("9900-01-01") as Instant;

export const worldActions = ["reset", "snapshot", "restore", "delete"] as const;

const longestWorldText = { characters: 100, code: "COFRE-73" } as const;

const worldSchema = new NamedSchema(
  "World",
  json.object({
    id: json.text,
    name: json.text,
    seed: json.text,
    integration_key: json.text,
    public_integration_key: json.text,
    clock: json.object({ now: json.instant, running: json.flag }),
    payments: json.integer,
    snapshots: json.list(json.text),
  }),
);

const worldsAnswer = new NamedSchema(
  "WorldsAnswer",
  json.object(
    { status: json.success },
    { world: { anyOf: [worldSchema, { type: "null" }] }, worlds: json.list(worldSchema) },
  ),
);

const worldsDoc: EndpointDoc = {
  id: "worlds",
  tag: "Sandbox",
  summary: "Create a world, or list worlds",
  description:
    "POST creates an isolated account in memory, with its own clock and seed, and requires no key. GET lists all worlds. See docs/test-worlds.md.",
  fields: [
    {
      name: "name",
      type: "text",
      longest: longestWorldText,
      note: "A display name. Default: World and its id.",
    },
    {
      name: "seed",
      type: "text",
      longest: longestWorldText,
      note: "The seed of the random generator. Worlds with the same seed answer the same requests identically, byte for byte. Default: random.",
    },
    {
      name: "clock",
      type: "text",
      note: "The start time in UTC, for example 2026-01-31 12:00:00. Default: now, or 2026-01-01 with a seed. COFRE-73 when it is not a time.",
    },
    {
      name: "running",
      type: "flag",
      note: "true: the clock runs; false: it is paused. Default: false with a seed or a clock, otherwise true. Any other value: COFRE-73.",
    },
    {
      name: "new_integration_key",
      type: "text",
      note: "The world's secret key, up to 100 characters. Default: random.",
    },
    {
      name: "new_public_integration_key",
      type: "text",
      note: "The world's public key, up to 100 characters. Default: random.",
    },
    {
      name: "settings",
      type: "object",
      note: "Settings that differ from their defaults, in the form of /__cofre/settings.",
    },
  ],
  answer: worldsAnswer,
  codes: ["COFRE-31", "COFRE-70", "COFRE-71", "COFRE-72", "COFRE-73"],
  example: { seed: "a seed", clock: "2026-01-31 12:00:00" },
};

const worldDoc: EndpointDoc = {
  id: "world",
  tag: "Sandbox",
  summary: "Get, reset, snapshot, restore or delete a world",
  description:
    "reset returns to the initial state; snapshot saves the current state under a name, restore returns to it; delete removes the world.",
  fields: [
    secretKey,
    {
      name: "action",
      type: "text",
      values: worldActions,
      note: "Without it: returns the world, or null for an account that is not a world. Any other value: COFRE-75.",
    },
    {
      name: "name",
      type: "text",
      note: "The snapshot's name: up to 50 letters, digits and . _ -. Any other value: COFRE-73.",
    },
  ],
  answer: worldsAnswer,
  codes: ["COFRE-73", "COFRE-74", "COFRE-75", "COFRE-76", "COFRE-77"],
  example: exampleKey,
};

const clockAnswer = new NamedSchema(
  "ClockAnswer",
  json.object(
    {
      clock: json.object(
        { now: json.instant, running: json.flag },
        {
          next_due: {
            ...json.instant,
            type: ["string", "null"],
            description: "When work falls due next.",
          },
        },
      ),
      status: json.success,
    },
    {
      processed: json.object({
        payments: { ...json.integer, description: "Changes of payments." },
        deliveries: { ...json.integer, description: "Attempts to deliver notifications." },
        cards: { ...json.integer, description: "Stored cards that were deleted." },
      }),
      complete: {
        ...json.flag,
        description:
          "false: more work fell due than one call performs. Repeat the request with `set` to `target`.",
      },
      target: { ...json.instant, description: "The requested time, when it is not reached." },
    },
  ),
);

const clockDoc: EndpointDoc = {
  id: "clock",
  tag: "Sandbox",
  summary: "Get or move a world's clock",
  description: "Performs all work that falls due on the way, in order, and then answers.",
  fields: [
    secretKey,
    {
      name: "set",
      type: "text",
      note: "The new time in UTC, for example 2026-01-31 12:00:00. COFRE-73 when it is not a time.",
    },
    {
      name: "advance",
      type: "text",
      note: "The time span to advance by: 10s, 30min, 36h, 4d, 14months; or next: until work falls due. COFRE-73 when it is not a span.",
    },
    {
      name: "run",
      type: "flag",
      note: "true: the clock runs; false: it is paused. Any other value: COFRE-73.",
    },
  ],
  answer: clockAnswer,
  codes: ["COFRE-73", "COFRE-74", "COFRE-78", "COFRE-162"],
  example: exampleKey,
};

/**
 * Creates, shows and changes worlds (docs/test-worlds.md), in the sandbox only:
 * - `/__cofre/worlds`: POST creates one, GET lists all. Takes no key, because any client that
 *   reaches a sandbox may create worlds in it. If the console has logins, or the request may come
 *   from a page of another site, it requires a secret key of the server's own accounts.
 * - `/__cofre/world`, with the world's secret key: shows it; `action`: `reset`, `snapshot`, `restore`,
 *   `delete`.
 * - `/__cofre/clock`, with the secret key: shows the account's time; `set`, `advance` and `run`
 *   change that of a world.
 */
export function worldsEndpoints(deps: WorldsDeps): readonly Endpoint[] {
  const row = { family: "parameters", cors: false } as const;
  const all = { ...row, path: "/__cofre/worlds", doc: worldsDoc } as const;
  const answerAll = async ({
    method,
    params,
    user,
  }: Pick<WireRequest, "method" | "params" | "user">) =>
    method === "POST"
      ? create(deps, params, user)
      : answer({ worlds: deps.worlds.list().map((world) => shown(world, user)) });
  return [
    deps.isClosed
      ? {
          ...all,
          key: "secret",
          permission: (request) =>
            request.method === "POST"
              ? acting("admin", "world_created")(request)
              : reading(request),
          recorded: false,
          ofServer: true,
          // A world's key opens that world, and shows no others.
          handle: async (request) =>
            request.user !== undefined || deps.isAccount(request.account.id)
              ? answerAll(request)
              : wrongKey,
        }
      : {
          ...all,
          key: "none",
          handle: async (request) =>
            (await mayAsk(deps, request)) ? answerAll(request) : crossSite,
        },
    {
      ...row,
      path: "/__cofre/world",
      doc: worldDoc,
      permission: whenGiven(
        ["action"],
        acting("admin", "world_changed", wordIn("action", worldActions)),
        reading,
      ),
      recorded: false,
      key: "secret",
      handle: ({ params, account, user }) => changeWorld(deps, params, account, user),
    },
    {
      ...row,
      path: "/__cofre/clock",
      doc: clockDoc,
      permission: whenGiven(["set", "advance", "run"], acting("admin", "clock_moved"), reading),
      recorded: "actions",
      key: "secret",
      handle: ({ params, account }) => clock(deps, params, account),
    },
  ];
}

const wrongKey = refusalAnswer("BP-SA-2");

/** The list contains keys, and a page could create worlds up to the limit. */
async function mayAsk(
  { opensAccount, ownNames }: WorldsDeps,
  { headers, params }: OpenRequest,
): Promise<boolean> {
  return (
    !headers.isCrossSite(ownNames) ||
    answered(opensAccount(textOf(params, "integration_key") ?? ""))
  );
}

/** Reports a store that cannot be read as such. */
async function answered<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw wireErrorOf(error, readErrors);
  }
}

const crossSite = refusalAnswer("COFRE-150");

async function create(deps: WorldsDeps, params: TreeObject, user: User): Promise<WireResponse> {
  const read = readPlan(deps, params);
  if ("status" in read) return read;
  const { plan } = read;
  const { integrationKey, publicIntegrationKey } = plan.keys;
  const taken = await answered(
    Promise.all([integrationKey, publicIntegrationKey].map((key) => deps.isTaken(key))),
  );
  if (
    taken.includes(true) ||
    integrationKey === publicIntegrationKey ||
    deps.isAccount(plan.account.id)
  )
    return keyTaken;
  try {
    return answer({ world: shown(await deps.worlds.create(plan), user) });
  } catch (error) {
    if (!(error instanceof WorldRefused)) throw error;
    return refused[error.reason];
  }
}

const keyTaken = refusalAnswer("COFRE-71");

const refused: Readonly<Record<WorldRefused["reason"], WireResponse>> = {
  key_taken: keyTaken,
  full: refusalAnswer("COFRE-72"),
};

function readPlan(
  { clock, random, connectorNames, checkAddress }: WorldsDeps,
  params: TreeObject,
): { readonly plan: WorldPlan } | WireResponse {
  const unknown = Object.keys(params).find(
    (name) => !creating.includes(name) && !keys.includes(name),
  );
  if (unknown !== undefined) return refusalAnswer("COFRE-70", { list: creating.join(", ") });
  for (const name of creating) {
    if (name !== "settings" && params[name] !== undefined && !isText(params[name]))
      return invalid(name, textForm);
  }
  const seed = textOf(params, "seed");
  const time = readTime(clock, params, seed);
  if (!("now" in time)) return time;
  const integrationKey = textOf(params, "new_integration_key") ?? newKey("test_ik_", random);
  const publicIntegrationKey =
    textOf(params, "new_public_integration_key") ?? newKey("test_pk_", random);
  for (const [name, key] of [
    ["new_integration_key", integrationKey],
    ["new_public_integration_key", publicIntegrationKey],
  ] as const) {
    if (!/^[\x21-\x7e]+$/.test(key))
      return invalid(name, "of 1 to 100 printable characters without blanks");
  }
  const requested = params["settings"] ?? {};
  if (!isTreeObject(requested))
    return invalid("settings", "an object, in a form such as settings[partialCapture]=true");
  if (holdsCard(requested)) return refusalAnswer("COFRE-31", { problems: cardInSettings });
  const plain = validateSettings({});
  if ("problems" in plain) throw new Error("settings have defaults");
  const checked = validateSettings(
    typedSettings(requested, plain.settings),
    plain.settings,
    checkAddress,
  );
  if ("problems" in checked)
    return refusalAnswer("COFRE-31", { problems: checked.problems.join(" ") });
  if (!leadTo(checked.settings, connectorNames)) return unknownConnector(connectorNames);
  const id = newMerchantId(random);
  const name = textOf(params, "name") ?? `World ${id}`;
  const account: Account = { id, version: 1, name, settings: checked.settings };
  return {
    plan: {
      name,
      seed: seed ?? hexOf(random.bytes(8)),
      time,
      account,
      keys: { integrationKey, publicIntegrationKey },
    },
  };
}

/** The time of a new world. With a seed it starts at a fixed time and is paused by default. */
function readTime(
  clock: Clock,
  params: TreeObject,
  seed: string | undefined,
): WorldPlan["time"] | WireResponse {
  const at = textOf(params, "clock");
  const now =
    at === undefined
      ? seed === undefined
        ? clock.now()
        : seededStart
      : worldTime(parseInstant(at));
  if (now === undefined) return invalid("clock", timeForm);
  const running = booleanOf(
    textOf(params, "running") ?? (seed === undefined && at === undefined ? "true" : "false"),
  );
  return running === undefined ? invalid("running", "true or false") : { now, running };
}

const creating = [
  "name",
  "seed",
  "clock",
  "running",
  "new_integration_key",
  "new_public_integration_key",
  "settings",
];

/** Clients send them with every request. They are not parameters of the new world. */
const keys = ["integration_key", "public_integration_key"];

/**
 * No valid text here is longer. A name is shown in lists, so it must not be a published test card
 * number.
 */
function isText(value: unknown): boolean {
  return (
    typeof value === "string" &&
    value.length >= 1 &&
    value.length <= 100 &&
    !containsTestNumber(value)
  );
}

function booleanOf(text: string): boolean | undefined {
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : undefined;
}

const textForm = "a text of 1 to 100 characters, and no card number";
const timeForm = "a time in UTC of the years 1970 to 9899, such as 2026-01-31 12:00:00";
const spanForm =
  "a span such as 10s, 30min, 36h, 4d or 14months that ends by the year 9899, or next";

function invalid(name: string, form: ValuesOf<"COFRE-73">["form"]): WireResponse {
  return refusalAnswer("COFRE-73", { name, form });
}

const noWorld = refusalAnswer("COFRE-74");

async function changeWorld(
  { worlds }: WorldsDeps,
  params: TreeObject,
  { id }: Account,
  user: User,
): Promise<WireResponse> {
  const world = worlds.of(id);
  const requested = params["action"];
  if (requested === undefined)
    return answer({ world: world === undefined ? null : shown(world, user) });
  if (world === undefined) return noWorld;
  const action = worldActions.find((name) => name === requested);
  if (action === undefined) return refusalAnswer("COFRE-75", { list: worldActions.join(", ") });
  const name = textOf(params, "name") ?? "";
  if (
    (action === "snapshot" || action === "restore") &&
    (!/^[\w.-]{1,50}$/.test(name) || containsTestNumber(name))
  ) {
    return invalid(
      "name",
      "of 1 to 50 letters, digits, dots, dashes and underscores, and no card number",
    );
  }
  if (action === "delete") {
    await worlds.delete(world);
    return answer({});
  }
  if (action === "reset") await worlds.reset(world);
  else if (action === "snapshot") {
    if (!world.snapshot(name)) return refusalAnswer("COFRE-76");
  } else if (!(await worlds.restore(world, name))) return refusalAnswer("COFRE-77");
  return answer({ world: shown(world, user) });
}

async function clock(deps: WorldsDeps, params: TreeObject, { id }: Account): Promise<WireResponse> {
  const { worlds } = deps;
  const world = worlds.of(id);
  const moves = ["set", "advance", "run"].filter((name) => params[name] !== undefined);
  if (world === undefined)
    return moves.length === 0
      ? answer({ clock: { now: formatInstant(deps.clock.now()), running: true } })
      : noWorld;
  if (moves.length > 1) return refusalAnswer("COFRE-78");
  const [move] = moves;
  if (move === undefined) return answer({ clock: clockOf(world) });
  if (move === "run") {
    const run = booleanOf(textOf(params, "run") ?? "");
    if (run === undefined) return invalid("run", "true or false");
    world.run(run);
    worlds.watch();
    return answer({ clock: clockOf(world) });
  }
  // Computed when the move's turn comes: another request may be moving the clock.
  const moved = await world.move((now, nextDue) => targetOf(params, now, nextDue));
  if (moved === undefined) return invalid(move, move === "set" ? timeForm : spanForm);
  const { result: done, left, isCancelled } = moved;
  if (isCancelled) return refusalAnswer("COFRE-162");
  const rest =
    left === undefined ? { complete: true } : { complete: false, target: formatInstant(left) };
  return answer({ clock: clockOf(world), processed: done, ...rest });
}

/**
 * The time to which the clock is to be moved; undefined if the request has no valid value, or one
 * outside the range of a world's time.
 */
function targetOf(
  params: TreeObject,
  now: Instant,
  nextDue: Instant | undefined,
): Instant | undefined {
  const [set, advance] = [textOf(params, "set"), textOf(params, "advance")];
  if (set !== undefined) return worldTime(parseInstant(set));
  if (advance === "next") return nextDue === undefined ? now : worldTime(nextDue);
  return advance === undefined ? undefined : worldTime(afterSpan(now, advance));
}

/**
 * Hashes and signatures cannot contain a time before 1970, and work that is due after the last time
 * must still be in a four-digit year.
 */
function worldTime(at: Instant | undefined): Instant | undefined {
  return at !== undefined && at >= 0 && at < endOfTime ? at : undefined;
}

function clockOf(world: World): object {
  const { now, running } = world.time;
  const next = world.nextDue;
  return {
    now: formatInstant(now),
    running,
    next_due: next === undefined ? null : formatInstant(next),
  };
}

type User = WireRequest["user"];

/** A user is shown no key: a key permits everything in that world, whatever the user's role. */
function shown(world: World, user: User): object {
  const { id, payments, snapshots } = world;
  const { name, seed, keys } = world.plan;
  const { now, running } = world.time;
  return {
    id,
    name,
    seed,
    ...(user === undefined
      ? { integration_key: keys.integrationKey, public_integration_key: keys.publicIntegrationKey }
      : {}),
    clock: { now: formatInstant(now), running },
    payments,
    snapshots,
  };
}

function answer(body: object): WireResponse {
  return { status: 200, body: JSON.stringify({ ...body, status: "SUCCESS" }) };
}
