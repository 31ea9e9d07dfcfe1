import type { WireResponse } from "../answers/answer.ts";
import { json, NamedSchema } from "../schema.ts";

/** What probes report of a server. */
export interface ServerHealth {
  readonly isStopping: boolean;
  readonly state: "ready" | NotReady;
  /** Jobs that fail: requests are served nevertheless. */
  readonly failing: readonly string[];
}

const notReady = {
  starting: "The server is starting",
  clock_off: "This machine's clock is off: the log says more",
  not_writing: "Nothing can be written: the log says more",
} as const;
type NotReady = keyof typeof notReady;

/** A call of load balancers and supervisors: answered by any method, without a key, and not logged. */
export interface HealthProbe {
  readonly path: string;
  readonly doc: {
    /** The operation's id in the OpenAPI document. */
    readonly id: string;
    readonly summary: string;
    readonly description: string;
    /** What each HTTP status means. */
    readonly statuses: Readonly<Record<string, string>>;
  };
  readonly answer: (health: () => ServerHealth) => WireResponse;
}

export const healthSchema = new NamedSchema(
  "Health",
  json.object({ status: json.text }, { message: json.text, failing: json.list(json.text) }),
);

/** /healthz: the process answers at all. /readyz: it may receive requests. */
export const healthProbes: readonly HealthProbe[] = [
  {
    path: "/healthz",
    doc: {
      id: "healthz",
      summary: "Check that the process is alive",
      description: "200 while it runs.",
      statuses: { "200": "OK." },
    },
    answer: () => answered(200, { status: "ok" }),
  },
  {
    path: "/readyz",
    doc: {
      id: "readyz",
      summary: "Check that the server accepts requests",
      description: "503 while the server starts or stops.",
      statuses: { "200": "OK.", "503": "Not ready." },
    },
    answer: (health) => {
      const { isStopping, state, failing } = health();
      if (isStopping)
        return answered(503, { status: "stopping", message: "The server is stopping" });
      if (state !== "ready") return answered(503, { status: state, message: notReady[state] });
      return answered(
        200,
        failing.length === 0 ? { status: "ready" } : { status: "ready", failing },
      );
    },
  },
];

function answered(status: number, body: object): WireResponse {
  return { status, body: JSON.stringify(body) };
}
