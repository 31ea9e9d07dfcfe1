import type { Endpoint } from "../endpoint.ts";
import { refusalAnswer } from "../answers/refusal-answer.ts";

/**
 * Operations of the interface (5, 2.4, 2.7) that this server does not have yet. `true`: browsers of
 * other origins call the path.
 */
const paths: readonly (readonly [path: string, cors: boolean])[] = [
  ["/ws/request", false],
  ["/ws/fxtoken/get", false],
  ["/ws/getBankList", false],
  ["/ws/print", false],
  ["/print", false],
  ["/ws/boleto/printHTML", false],
  ["/ws/duedate", false],
  ["/ws/instalmentsPlan", false],
  ["/ws/cardbin", false],
  ["/ws/threedsecureserver-generateToken", true],
  ["/ws/threedsecureserver-authentications", true],
  ["/ws/threedsecureserver-authentication-results", true],
  ["/ws/threedsecureserver-record", true],
];

/**
 * Known operations that are not implemented yet. An answer that differs from that of a misspelt
 * path saves an integrator an hour. No key is checked: the answer is the same for every client, and
 * some clients send no key here.
 */
export const notAvailableEndpoints: readonly Endpoint[] = paths.map(([path, cors]) => ({
  path,
  doc: "not implemented",
  key: "none",
  family: "parameters",
  cors,
  handle: async () => refusalAnswer("COFRE-23", { name: path.slice(path.lastIndexOf("/") + 1) }),
}));
