import { test } from "node:test";
import { faultedRun } from "./faulted-run.ts";

test("1,000 notifications with 30 % faults and kills are all delivered, none early, in order, under one id each", () =>
  faultedRun(1_000, 7));
