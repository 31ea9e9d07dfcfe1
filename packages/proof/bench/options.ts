import { parseArgs } from "node:util";

export interface Options {
  readonly quick: boolean;
  readonly million: boolean;
  readonly growth: boolean;
  /** Charges while 10,000 authorizations expire at one moment. */
  readonly expiry: boolean;
  /** Queries beside four endless lists. */
  readonly lists: boolean;
  /**
   * Charges and notifications beside this number of waiting deliveries of another merchant, against
   * none.
   */
  readonly waiting: number | undefined;
  /** Number of payments that `growth` stores. */
  readonly payments: number | undefined;
  readonly gate: boolean;
  /**
   * Both arms are the floor: the ratio must be 1, and its spread is the noise of harness and
   * machine.
   */
  readonly control: boolean;
  /**
   * Another checkout of the product, used in place of the floor: the ratio shows the effect of a
   * change.
   */
  readonly against: string | undefined;
  /** The product and its reference keep everything in memory. */
  readonly memory: boolean;
  /** The product's store. */
  readonly store: "embedded" | "postgres";
  /**
   * The comparator on PostgreSQL takes the floor's place (naive-server.ts): charges by token only.
   */
  readonly naive: boolean;
  /** This number of nodes on one database, against one node. */
  readonly nodes: number | undefined;
  /**
   * The single node has as many requests outstanding as each of the several nodes, not as all
   * together.
   */
  readonly perNode: boolean;
  /** Extra ms for each sync of the product's server, against the same product without it. */
  readonly fsyncDelayMs: number | undefined;
  /** Measured directly after the start on an empty database. */
  readonly cold: boolean;
  readonly json: string | undefined;
  /** Folder for CPU profiles of the product's threads; undefined: none are taken. */
  readonly profile: string | undefined;
  /** Names of cases; empty for all. */
  readonly cases: readonly string[];
  /** Numbers of outstanding requests; empty for the default ones. */
  readonly outstanding: readonly number[];
  readonly help: boolean;
}

export const usage = `npm run bench -- [options]

  --quick             about a minute: 64 outstanding only, fewer and shorter windows
  --case NAME         only this case (repeatable): token, direct-token, direct-pan, capture, authorize-capture, refund,
                      verify, query, query-recent, open-loop, store (charges per fsync, bytes per payment), notifications (what they and a
                      receiver add to a charge; with --store postgres, too)
  --outstanding N     only at N requests outstanding (repeatable)
  --million           store one million tokens, then weigh them
  --growth            store level: CPU per charge at 200,000 and at two million payments; with --store postgres, too
  --expiry            charges at 1,000 a second while 10,000 authorizations expire at one moment
  --lists             queries alone and beside four endless lists; with --store postgres, too
  --waiting N         charges and notifications of one merchant beside N waiting deliveries of another one, against none;
                      with --store postgres, too
  --payments N        with --growth: up to N payments instead of two million
  --gate              exit 1 when a ratio is under its alarm in two of three repeats
  --control           the floor against itself: what the harness and the machine add
  --against DIR       the product of another checkout in the floor's place: what a change does
  --memory            the product on a store in memory, where nothing is synced (and with --against, the other one too)
  --store postgres    the product on a PostgreSQL of the bench's own (Debian's binaries), whose CPU counts with it
  --naive             with it: an ordinary pool and a transaction for each change in the floor's place
  --nodes N           with it: N nodes on one database, against one node
  --per-node          with --nodes: the one node has as many outstanding as each of the N (--outstanding is of all of them)
  --fsync-delay MS    with it: on a server whose every sync takes so much longer, against one without (needs gcc)
  --cold              with it: within ten seconds of an empty database, nothing thrown away
  --profile DIR       write CPU profiles of the product's threads there (costs some speed)
  --json FILE         write all numbers there
`;

export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: "boolean", default: false },
      million: { type: "boolean", default: false },
      growth: { type: "boolean", default: false },
      expiry: { type: "boolean", default: false },
      lists: { type: "boolean", default: false },
      gate: { type: "boolean", default: false },
      control: { type: "boolean", default: false },
      json: { type: "string" },
      profile: { type: "string" },
      against: { type: "string" },
      case: { type: "string", multiple: true, default: [] },
      outstanding: { type: "string", multiple: true, default: [] },
      memory: { type: "boolean", default: false },
      store: { type: "string", default: "embedded" },
      naive: { type: "boolean", default: false },
      nodes: { type: "string" },
      "per-node": { type: "boolean", default: false },
      payments: { type: "string" },
      waiting: { type: "string" },
      "fsync-delay": { type: "string" },
      cold: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.store !== "embedded" && values.store !== "postgres")
    throw new Error("--store is embedded or postgres");
  if (values.memory && values.store === "postgres")
    throw new Error("--memory goes with the embedded store");
  if (values.naive && values.store !== "postgres")
    throw new Error("--naive goes with --store postgres");
  const nodes = wholeNumber("nodes", values.nodes);
  const fsyncDelayMs = wholeNumber("fsync-delay", values["fsync-delay"]);
  if (
    (nodes !== undefined || fsyncDelayMs !== undefined || values.cold) &&
    values.store !== "postgres"
  ) {
    throw new Error("--nodes, --fsync-delay and --cold go with --store postgres");
  }
  if (
    [values.naive, nodes, fsyncDelayMs, values.against].filter(
      (given) => given !== undefined && given !== false,
    ).length > 1
  ) {
    throw new Error(
      "--naive, --nodes, --fsync-delay and --against each say what the product is compared with",
    );
  }
  if (values["per-node"] && nodes === undefined) throw new Error("--per-node goes with --nodes");
  return {
    ...values,
    nodes,
    perNode: values["per-node"],
    fsyncDelayMs,
    payments: wholeNumber("payments", values.payments),
    waiting: wholeNumber("waiting", values.waiting),
    store: values.store,
    cases: values.naive ? ["direct-token"] : values.case,
    json: values.json,
    profile: values.profile,
    against: values.against,
    outstanding: values.outstanding.map(Number),
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${name} is a whole number above 0`);
  return number;
}
