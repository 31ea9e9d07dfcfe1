import { createHash } from "node:crypto";
import type { Clock } from "../../src/kernel/clock.ts";
import { epoch } from "./sim-time.ts";

/** What happened in a run, in order: hashed as it goes, and kept as lines only for a reader, because runs are long. */
export class Timeline {
  readonly #clock: Clock;
  readonly #hash = createHash("sha256");
  readonly #read: ((line: string) => void) | undefined;

  constructor(clock: Clock, read: ((line: string) => void) | undefined) {
    this.#clock = clock;
    this.#read = read;
  }

  /** One event: milliseconds since the run began, who (`server 2`, `acquirer`, `world`), and what. */
  note(who: string, what: string): void {
    const line = `${String(this.#clock.now() - epoch).padStart(12)} ms  ${who.padEnd(9)}  ${what}`;
    this.#hash.update(`${line}\n`);
    this.#read?.(line);
  }

  /** SHA-256 over every event so far, hex. */
  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}
