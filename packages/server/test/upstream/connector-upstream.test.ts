import { describeConnectorContract } from "../contract/connector.contract.ts";
import { upstreamHarness } from "./harness.ts";

describeConnectorContract("the upstream, a second Cofre", upstreamHarness);
