import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, isRecord, objectIn, printable, worldsClientOf } from "./cofre-client.ts";
import { type ClientCommand, type CommandCall, type CommandHost, type ExitCode, exitCodes } from "./command.ts";

type Fields = Readonly<Record<string, unknown>>;

const creating = {
  "--seed": { form: "TEXT", doc: "create: where its chance comes from; one seed and the same requests give the same answers" },
  "--clock": { form: "TIME", doc: "create: when it begins, such as 2026-01-31 or 2026-01-31T12:00:00Z" },
  "--running": { doc: "create: its time goes on by itself, whatever --seed and --clock say" },
  "--settings": { form: "JSON", doc: "create: the account's switches, country and profile among them, as docs/wire/sandbox.md lists them" },
  "--public-key": { form: "KEY", doc: "create: its public integration key; drawn unless given" },
} as const;

/** Makes and moves worlds (docs/twin.md). */
export const worldCommand: ClientCommand = {
  summary: "make an account of its own in memory, with a clock that you move; list, reset, keep, restore and delete such worlds",
  words: ["create", "list", "reset", "snapshot", "restore", "delete"],
  needsWord: true,
  options: {
    "--name": { form: "NAME", doc: "create: for people; snapshot, restore: what it is kept under" },
    ...creating,
    ...clientOptions,
    "--key": { form: "KEY", doc: "the world's secret integration key; create draws one unless it is given" },
  },
  examples: [
    "cofre world create --seed 7 --clock 2026-01-31",
    `cofre world create --settings '{"country":"mx","partialCapture":true}'`,
    "cofre world list",
    "cofre world snapshot --name paid",
    "cofre world restore --name paid",
    "cofre world reset",
  ],

  run: (call, host) =>
    tellingProblems(host.say, () => {
      if (call.word === "create") return create(call, host);
      const misplaced = Object.keys(creating).find((flag) => call.flags.has(flag));
      if (misplaced !== undefined) throw new ClientProblem(`${misplaced} is for \`cofre world create\`.`, { misuse: true });
      return call.word === "list" ? list(call, host) : act(call, host);
    }),
};

async function create(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const { flags } = call;
  const fields = {
    name: flags.get("--name"),
    seed: flags.get("--seed"),
    clock: flags.get("--clock"),
    running: flags.has("--running") ? "true" : undefined,
    settings: settingsIn(flags.get("--settings")),
    new_integration_key: flags.get("--key"),
    new_public_integration_key: flags.get("--public-key"),
  };
  show(call, host, await worldsClientOf(call, host).createWorld(fields));
  return exitCodes.done;
}

function settingsIn(text: string | undefined): Fields | undefined {
  if (text === undefined) return undefined;
  const settings = objectIn(text);
  if (settings !== undefined) return settings;
  throw new ClientProblem(`--settings must be an object in JSON, such as '{"country":"mx"}'.`, { misuse: true });
}

async function list(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const worlds = await worldsClientOf(call, host).worlds();
  for (const world of worlds) {
    if (call.flags.has("--json")) host.print(JSON.stringify(world));
    else
      host.print(
        `${printable(world["id"])}  ${clockLine(world["clock"])}  payments ${Number(world["payments"])}  ${printable(world["integration_key"])}  ${printable(world["name"])}`,
      );
  }
  if (worlds.length === 0) host.say("There are no worlds. `cofre world create` makes one.");
  return exitCodes.done;
}

async function act(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const { word, flags } = call;
  const name = flags.get("--name");
  const isNamed = word === "snapshot" || word === "restore";
  if (isNamed && name === undefined) throw new ClientProblem(`Which one? Say --name NAME.`, { misuse: true });
  if (!isNamed && name !== undefined) throw new ClientProblem(`--name is not for \`cofre world ${printable(word)}\`.`, { misuse: true });
  const client = clientOf(call, host);
  if (word === "delete") {
    await client.deleteWorld();
    host.say("The world is gone.");
    return exitCodes.done;
  }
  show(call, host, await client.world({ do: word, name }));
  return exitCodes.done;
}

function show({ flags }: CommandCall, host: CommandHost, world: Fields): void {
  if (flags.has("--json")) return host.print(JSON.stringify(world));
  const { snapshots } = world;
  const kept: unknown[] = Array.isArray(snapshots) ? snapshots : [];
  host.print(`${printable(world["id"])}  ${printable(world["name"])}`);
  host.print(`  integration key         ${printable(world["integration_key"])}`);
  host.print(`  public integration key  ${printable(world["public_integration_key"])}`);
  host.print(`  seed                    ${printable(world["seed"])}`);
  host.print(`  clock                   ${clockLine(world["clock"])}`);
  host.print(`  payments                ${Number(world["payments"])}`);
  if (kept.length > 0) host.print(`  snapshots               ${kept.map(printable).join(", ")}`);
}

/** A world's time in a line. */
export function clockLine(clock: unknown): string {
  if (!isRecord(clock)) return "";
  return `${printable(clock["now"])} ${clock["running"] === true ? "and goes on" : "and stands"}`;
}
