import { inProcess, inProcessOfItsOwn } from "./connector-harness.ts";
import { describeConnectorContract } from "./connector.contract.ts";

describeConnectorContract("the simulator", () => inProcess());
describeConnectorContract("a simulator that does not dedupe", () => inProcess({ dedupes: false }));
describeConnectorContract("a simulator that answers no inquiries", () =>
  inProcess({ answersInquiries: false }),
);
describeConnectorContract("a simulator that does not recognize repeated captures", () =>
  inProcess({ repeatsFollowUps: false }),
);
describeConnectorContract("a simulator that takes no partial captures", () =>
  inProcess({ partialCapture: false }),
);
describeConnectorContract("a simulator that requests reach at once", () =>
  inProcess({ lateArrivalMs: 0 }),
);
describeConnectorContract("a simulator that can do nothing that it need not", () =>
  inProcess({
    dedupes: false,
    answersInquiries: false,
    repeatsFollowUps: false,
    partialCapture: false,
    lateArrivalMs: 60_000,
  }),
);
describeConnectorContract("the simulator in a process of its own", () =>
  inProcessOfItsOwn(["--late-arrival-ms", "800"]),
);
describeConnectorContract(
  "a simulator in a process of its own that can do nothing that it need not",
  () =>
    inProcessOfItsOwn([
      "--late-arrival-ms",
      "800",
      "--no-dedupe",
      "--no-inquiries",
      "--no-repeats",
      "--no-partial-capture",
    ]),
);
