import { writeSync } from "node:fs";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { getHeapSnapshot } from "node:v8";
import { Card, Cofre } from "../src/index.ts";

/**
 * Charges a card, and searches the strings on the heap of this process for its number. The number
 * is never text here: it comes as bytes. Prints the outcome, and whether the number was found; with
 * `keep` it is kept as text, as a control.
 */
const [url = "", integrationKey = "", keep] = process.argv.slice(2);
const number = Uint8Array.from({ length: 16 }, (_, index) => 0x31 + (index === 0 ? 3 : 0));
const kept = keep === "keep" ? new TextDecoder().decode(number) : "";

const client = new Cofre({ url, integrationKey });
const card = new Card({ number, holderName: "Ana Lima", expires: "12/2060" });
const customer = {
  name: "Rosa Quispe",
  email: "rosa.quispe@example.com",
  phoneNumber: "51987654321",
};
const order = { code: "heap", amount: "10.00", currency: "PEN", country: "pe", customer } as const;
const { outcome } = await client.charge({ ...order, card });
const refused = await client.charge({ ...order, code: "", card }).catch(String);
globalThis.gc?.();
const snapshot = await text(getHeapSnapshot());
const digits =
  inspect(number)
    .match(/\d\d/g)
    ?.map((each) => String(Number(each) - 48)) ?? [];
const isFound = snapshot.includes(digits.slice(-16).join(""));
writeSync(
  1,
  JSON.stringify({ outcome, refused, isFound, size: snapshot.length, kept: kept.length }),
);
