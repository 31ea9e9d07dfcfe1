import { writeSync } from "node:fs";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import * as given from "./store-fixtures.ts";

/**
 * Commits charges with refunds, three changes each, in 32 concurrent loops, and prints `<number>
 * <version>` after each acknowledgement and `! <number> <code>` after a rejection, until it is
 * killed or a commit is rejected. Arguments: the file and the first number.
 */
const [file = "", first = "0"] = process.argv.slice(2);
const store = await openEmbeddedStore({ file });
let next = Number(first);
let failed = false;

/** Waits while the pipe is full because its reader is busy. */
function print(line: string): void {
  for (;;) {
    try {
      writeSync(1, line);
      return;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

async function lane(): Promise<void> {
  while (!failed) {
    const number = next;
    next += 1;
    try {
      for (const change of given.lifeOf(number)) {
        const { outcome } = await store.commit(change);
        print(
          outcome === "committed"
            ? `${number} ${change.payment?.next.version}\n`
            : `! ${number} ${outcome}\n`,
        );
      }
    } catch (error) {
      failed = true;
      print(
        `! ${number} ${error instanceof Error && "code" in error ? String(error.code) : "no code"}\n`,
      );
    }
  }
}

await Promise.all(Array.from({ length: 32 }, lane));
await store.close();
