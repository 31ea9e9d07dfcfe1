import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { connectorsOf } from "./connector-set.ts";
import { createSimulator } from "./simulator/simulator-connector.ts";

test("what goes to the only acquirer is found there when the list has another one first, and waits when the list has it no more", () => {
  const time = new StillTime();
  const named = (name: string) => ({ ...createSimulator({ clock: time, scheduler: time }), name });
  const [old, other] = [named("upstream"), named("other")];

  const [written] = connectorsOf([old]).standard;

  assert.equal(connectorsOf([other, old]).of(written).name, "upstream");
  assert.equal(connectorsOf([other]).of(written).capabilities.repeatsFollowUps, false);
  // A payment of an earlier version has no connector name.
  assert.equal(connectorsOf([other, old]).of(undefined).name, "other");
});
