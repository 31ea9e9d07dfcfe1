import { capture } from "../../../operations/capture.ts";
import type { Endpoint } from "../endpoint.ts";
import { paymentAnswer } from "../payment-answer.ts";
import { readCapture } from "../payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** /ws/capture: takes what an authorization holds (interface 5.1). */
export function captureEndpoint({ runner }: EndpointDeps): Endpoint {
  return {
    path: "/ws/capture",
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering("capture", async () => paymentAnswer(await runner.run(capture, account, readCapture(params)), account)),
  };
}
