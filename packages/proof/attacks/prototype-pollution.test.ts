import assert from "node:assert/strict";
import { test } from "node:test";
import { directBody, integrationKey, startTestServer } from "../../server/test/server.ts";

/*
 * Row 6 of the attack table: names that are special to JavaScript, at each depth of a request, in
 * each encoding. The server runs in this process, so the test can check its intrinsics after each
 * request.
 */

const names = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "toJSON",
  "then",
  "length",
  "__defineGetter__",
];
const watched = [Object, Array, Function, String, Number, Boolean, Map, Promise, Error, Buffer].map(
  (type) => type.prototype as object,
);

function shape(): string {
  return watched.map((prototype) => Reflect.ownKeys(prototype).map(String).join()).join("\n");
}

test("special names change no prototype and get no answer but those of the interface", async (context) => {
  await using server = await startTestServer();
  const before = shape();
  const evil = '{"polluted":"yes","status":"CO","toString":"x"}';
  let sent = 0;
  const look = async (path: string, body: string): Promise<void> => {
    const response = await fetch(server.url + path, { method: "POST", body });
    const text = await response.text();
    assert.equal(response.status, 200, body);
    assert.match(text, /"status":"(?:SUCCESS|ERROR)"/);
    assert.doesNotMatch(text, /COFRE-12|polluted/);
    assert.equal(shape(), before);
    assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
    sent += 1;
  };
  for (const path of [
    "/ws/direct",
    "/ws/token",
    "/ws/capture",
    "/ws/query",
    "/__cofre/settings",
    "/__cofre/simulator",
  ]) {
    for (const name of names) {
      const key = `"integration_key":"${integrationKey}"`;
      const bodies = [
        `{${key},"${name}":${evil}}`,
        `{${key},"payment":{"${name}":${evil}},"settings":{"${name}":${evil}},"creditcard":{"${name}":${evil}}}`,
        `{${key},"payment":{"creditcard":{"${name}":${evil}},"items":[{"${name}":${evil}}]},"settings":{"simulator":{"${name}":"1"}}}`,
        `{${key},"constructor":{"prototype":${evil}},"${name}":{"${name}":{"${name}":${evil}}}}`,
        `{${key},"\\u005f\\u005fproto\\u005f\\u005f":${evil}}`,
        `integration_key=${integrationKey}&${name}[polluted]=yes&payment[${name}][polluted]=yes&settings[${name}][polluted]=yes`,
        `integration_key=${integrationKey}&${name}=yes&${name}[${name}]=yes&[${name}]=yes&constructor[prototype][polluted]=yes`,
      ];
      for (const body of bodies) await look(path, body);
    }
  }
  for (const name of names)
    await look(
      `/ws/capture?integration_key=${integrationKey}&${name}[polluted]=yes&hash=${name}`,
      "",
    );
  context.diagnostic(`${sent} requests`);
  // The control: valid requests still work.
  assert.equal(
    (await server.postJson("/ws/direct", directBody("afterwards"))).body["status"],
    "SUCCESS",
  );
});

test("control: a prototype that was changed is seen", () => {
  const before = shape();
  Reflect.set(Object.prototype, "polluted", "yes");
  const after = shape();
  Reflect.deleteProperty(Object.prototype, "polluted");
  assert.notEqual(after, before);
});
