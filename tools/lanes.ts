/**
 * The lanes (packages/proof/lanes), their load on the machine, and which of them may run at
 * the same time. At most two, besides one that sleeps: the check before a merge has two cores, and most lanes wait most of
 * the time.
 */
export interface Lane {
  readonly name: string;
  /**
   * `busy`: uses a core or more. `waiting`: waits for timers, starts and disks most of the time.
   * `timed`: measures times or capacity, so no busy lane may run beside it. `sleeping`: waits for
   * minutes and uses hardly anything of the machine; it runs beside two others, but no timed one.
   */
  readonly load: "busy" | "waiting" | "timed" | "sleeping";
  /** Whether packages/proof/docs/proof.md lists its results; the others check a change before a merge. */
  readonly proves: boolean;
  /** Whether `npm run lane quick` runs it. */
  readonly quick: boolean;
}

const atOnce = 2;

const lane = (
  name: string,
  load: Lane["load"],
  also: "proves" | "quick" | "landing" = "proves",
): Lane => ({
  name,
  load,
  proves: also !== "landing",
  quick: also === "quick",
});

/**
 * In starting order, as far as they may run together: timed lanes while waiting ones can run beside
 * them, then the long ones, and the short ones last, so that no core is idle at the end.
 */
export const lanes: readonly Lane[] = [
  lane("overload", "timed"),
  lane("upstream", "waiting"),
  lane("failover", "timed"),
  lane("disk", "waiting"),
  lane("nodes", "waiting"),
  lane("custody-outage", "sleeping", "landing"),
  lane("simulation", "busy", "quick"),
  lane("postgres", "busy", "landing"),
  lane("kill", "busy"),
  lane("noninterference", "busy", "quick"),
  lane("console", "busy", "landing"),
  lane("leaks", "busy", "quick"),
  lane("upgrade", "busy"),
  lane("power", "waiting"),
  lane("fuzz", "busy"),
  lane("sockets", "waiting"),
  lane("histories", "busy", "quick"),
  lane("browser", "busy", "landing"),
  lane("fields", "busy", "landing"),
  lane("threeds", "busy", "landing"),
  lane("checkout", "busy", "landing"),
  lane("compose", "waiting", "landing"),
  lane("clients", "busy", "landing"),
  lane("image", "busy", "landing"),
  lane("custody", "busy", "landing"),
  lane("recovery", "busy", "landing"),
  lane("rotation", "busy", "landing"),
  lane("tamper", "busy", "landing"),
  lane("production", "waiting", "landing"),
  lane("runners", "waiting", "landing"),
  lane("docs", "busy", "landing"),
  lane("docker", "busy", "landing"),
  lane("notifications", "busy", "landing"),
];

/**
 * The waiting lane that starts now beside the running ones; undefined: none until one of these
 * ends.
 */
export function nextOf(waiting: readonly Lane[], running: readonly Lane[]): Lane | undefined {
  const isSleeping = ({ load }: Lane): boolean => load === "sleeping";
  const isFull = running.filter((one) => !isSleeping(one)).length >= atOnce;
  return waiting.find(
    (one) =>
      (isSleeping(one) ? !running.some(isSleeping) : !isFull) &&
      running.every((other) => mayRunBeside(one, other)),
  );
}

function mayRunBeside(one: Lane, other: Lane): boolean {
  if (one.load === "timed") return other.load === "waiting";
  return other.load !== "timed" || one.load === "waiting";
}

/** Runs each lane once, in the order of `nextOf`, and resolves when all have ended. */
export async function runLanes(
  chosen: readonly Lane[],
  run: (lane: Lane) => Promise<void>,
): Promise<void> {
  const waiting = [...chosen];
  const running = new Map<Lane, Promise<void>>();
  for (;;) {
    for (
      let next = nextOf(waiting, [...running.keys()]);
      next !== undefined;
      next = nextOf(waiting, [...running.keys()])
    ) {
      const started = next;
      waiting.splice(waiting.indexOf(started), 1);
      running.set(
        started,
        run(started).finally(() => running.delete(started)),
      );
    }
    if (running.size === 0) return;
    await Promise.race(running.values());
  }
}
