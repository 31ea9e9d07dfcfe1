import type { Endpoint } from "../endpoint.ts";
import { refusalAnswer } from "../answers/refusal-answer.ts";

/** Operations of the interface (5, 2.4) that this server does not have yet. */
const paths: readonly string[] = [
  "/ws/fxtoken/get",
  "/ws/getBankList",
  "/ws/print",
  "/print",
  "/ws/boleto/printHTML",
  "/ws/duedate",
  "/ws/instalmentsPlan",
  "/ws/cardbin",
];

/**
 * Known operations that are not implemented yet. An answer that differs from that of a misspelt
 * path saves an integrator an hour. No key is checked: the answer is the same for every client, and
 * some clients send no key here.
 */
export const notAvailableEndpoints: readonly Endpoint[] = paths.map((path) => ({
  path,
  doc: "not implemented",
  key: "none",
  family: "parameters",
  cors: false,
  handle: async () => refusalAnswer("COFRE-23", { name: path.slice(path.lastIndexOf("/") + 1) }),
}));
