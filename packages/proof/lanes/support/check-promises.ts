import type { AcquirerBooks } from "../../../server/src/connectors/simulator/messages-and-books.ts";
import { decode, readBooks } from "../../../server/src/connectors/simulator/wire.ts";
import { type Promises, reportedPaymentOf } from "./kill-promises.ts";
import type { WireClient } from "../../../server/test/support/wire-client.ts";

const atOnce = 24;

/**
 * Queries a server for everything that its answers promised to clients, and pays with every token
 * that it issued; returns each broken promise as a sentence.
 */
export async function brokenPromises(
  promises: Promises,
  name: string,
  ask: (path: string, fields: object) => ReturnType<WireClient["ask"]>,
): Promise<string[]> {
  const broken: string[] = [];
  await inParallel(promises.codes, async (code) => {
    const now = reportedPaymentOf(await ask("/ws/query", { merchant_payment_code: code }));
    broken.push(...promises.broken(code, now));
  });
  await inParallel(promises.undone, async (code) => {
    const now = reportedPaymentOf(await ask("/ws/query", { merchant_payment_code: code }));
    if (now !== undefined)
      broken.push(`nothing was done, it was said, and there is a payment: ${code}`);
  });
  await inParallel([...promises.tokens], async ([token, masked], index) => {
    const payment = {
      amount_total: "1.00",
      currency_code: "PEN",
      merchant_payment_code: `${name}-token-${index}`,
      name: "Ana Lima",
      email: "ana.lima@example.com",
      country: "pe",
      phone_number: "51987654321",
      payment_type_code: "creditcard",
      creditcard: { token },
    };
    const status = reportedPaymentOf(
      await ask("/ws/direct", { operation: "request", payment }),
    )?.status;
    if (status !== "CO" && status !== "CA")
      broken.push(`a token that was given out cannot be used: ${masked}`);
  });
  return broken;
}

/** The books of a simulated acquirer that runs in its own process. */
export async function booksOf(client: WireClient, acquirerAddress: string): Promise<AcquirerBooks> {
  const received = await client.send({
    port: Number(new URL(acquirerAddress).port),
    method: "GET",
    path: "/books",
  });
  return readBooks(decode(received?.body ?? ""));
}

/** Runs a few at a time. */
async function inParallel<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const [index, item] of queue) await work(item, index);
    }),
  );
}
