import { test } from "node:test";
import { faultedRun } from "../../server/test/delivery/faulted-run.ts";

test("10,000 notifications with 30 % faults and kills are all delivered, none early, in order, under one id each", () =>
  faultedRun(10_000, 20_261_128));
