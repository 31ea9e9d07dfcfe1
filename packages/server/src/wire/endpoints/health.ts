import type { WireResponse } from "../answers/answer.ts";
import { json, NamedSchema } from "../schema.ts";

/** What probes report of a server. */
export interface ServerHealth {
  readonly isStopping: boolean;
  readonly state: "ready" | NotReady;
  /** Jobs that fail: requests are served nevertheless. */
  readonly failing: readonly string[];
  /** Checks of production that fail and refuse nothing. */
  readonly alarms: readonly string[];
  /** An order has stopped card operations: all other requests are served. */
  readonly areCardsStopped: boolean;
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
  /** `query`: the part of the address behind the path, with its question mark. */
  readonly answer: (health: () => ServerHealth, query: string) => WireResponse;
}

export const healthSchema = new NamedSchema(
  "Health",
  json.object(
    { status: json.text },
    {
      message: json.text,
      failing: json.list(json.text),
      alarms: json.list(json.text),
      cards: json.exactly("stopped"),
    },
  ),
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
      description:
        "503 while the server starts or stops. While an order has stopped card operations, all other requests are served: `cards` is `stopped`, with 200, and with 503 at `/readyz?for=cards`.",
      statuses: { "200": "OK.", "503": "Not ready." },
    },
    answer: (health, query) => {
      const { isStopping, state, failing, alarms, areCardsStopped } = health();
      if (isStopping)
        return answered(503, { status: "stopping", message: "The server is stopping" });
      if (state !== "ready") return answered(503, { status: state, message: notReady[state] });
      const isRefused = areCardsStopped && new URLSearchParams(query).get("for") === "cards";
      return answered(isRefused ? 503 : 200, {
        status: isRefused ? "cards_stopped" : "ready",
        ...(failing.length === 0 ? {} : { failing }),
        ...(alarms.length === 0 ? {} : { alarms }),
        ...(areCardsStopped ? { cards: "stopped" } : {}),
      });
    },
  },
];

function answered(status: number, body: object): WireResponse {
  return { status, body: JSON.stringify(body) };
}
