import type { Endpoint } from "../endpoint.ts";
import { refusalAnswer } from "../answers/refusal-answer.ts";

/**
 * Operations of the interface (5, 2.4, 2.7) that this server does not have yet. `true`: browsers of
 * other origins call it.
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
 * Known operations that come later. Telling them from a misspelt path saves an integrator an hour.
 * They look at no key: the answer is the same for everyone, and some clients send none here.
 */
export const notAvailableEndpoints: readonly Endpoint[] = paths.map(([path, cors]) => ({
  path,
  key: "none",
  family: "parameters",
  cors,
  handle: async () => refusalAnswer("COFRE-23", { name: path.slice(path.lastIndexOf("/") + 1) }),
}));
