import { writeSync } from "node:fs";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import * as given from "./store-fixtures.ts";

/**
 * Commits charges, two changes each, in 32 lanes, and prints `<number> <version>` after each acknowledgement and `! <number>
 * <code>` after a rejection, until it is killed or a commit is rejected. Arguments: the file and the number to begin with.
 */
const [file = "", first = "0"] = process.argv.slice(2);
const store = await openEmbeddedStore({ file });
let next = Number(first);
let failed = false;

async function lane(): Promise<void> {
  while (!failed) {
    const number = next;
    next += 1;
    const payment = given.newPayment(number);
    try {
      for (const change of [given.paymentChange(payment), given.paidChange(payment)]) {
        const { outcome } = await store.commit(change);
        writeSync(1, outcome === "committed" ? `${number} ${change.payment?.next.version}\n` : `! ${number} ${outcome}\n`);
      }
    } catch (error) {
      failed = true;
      writeSync(1, `! ${number} ${error instanceof Error && "code" in error ? String(error.code) : "no code"}\n`);
    }
  }
}

await Promise.all(Array.from({ length: 32 }, lane));
await store.close();
