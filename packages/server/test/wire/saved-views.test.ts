import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  type TestServer,
} from "../server.ts";

let server: TestServer;
before(async () => (server = await startTestServer()));
after(() => server[Symbol.asyncDispose]());

type Body = Readonly<Record<string, unknown>>;

async function post(path: string, fields: Body, key = integrationKey): Promise<Body> {
  const { body } = await server.postJson(path, { integration_key: key, ...fields });
  return body;
}

/** The views after the request, which is accepted. */
async function views(fields: Body = {}, key = integrationKey): Promise<unknown> {
  const { status, views: listed, ...more } = await post("/__cofre/views", fields, key);
  assert.equal(status, "SUCCESS", JSON.stringify(more));
  return listed;
}

const hostile = `<img src=x onerror=alert(1)> "'\\ \u{202e} 😀`;

describe("/__cofre/views", () => {
  test("saves, replaces, renames and deletes views of the account", async () => {
    assert.deepEqual(await views(), []);
    const declined = { name: "Declined", search: "country:mx", state: "declined,expired" };
    assert.deepEqual(await views({ save: " Declined ", ...declined, name: undefined }), [declined]);
    const all = { from: "2026-01-01", to: "2026-01-31", brand: "american-express" };
    const wide = { period: "30d", columns: "state,amount,code", ...all };
    assert.deepEqual(await views({ save: hostile, ...wide }), [
      { name: hostile, ...wide },
      declined,
    ]);
    assert.deepEqual(await views({ save: hostile }), [{ name: hostile }, declined]);
    assert.deepEqual(await views({ rename: hostile, name: "Everything" }), [
      declined,
      { name: "Everything" },
    ]);
    assert.deepEqual(await views({ delete: "Declined" }), [{ name: "Everything" }]);
    assert.deepEqual(await views({ delete: "Everything" }), []);
  });

  test("never keeps a card number", async () => {
    const search = "visa 4111 1111 1111 1111 amount:100000000.00..411111111.00";
    assert.deepEqual(await views({ save: "One card", search }), [
      { name: "One card", search: "visa 4111 11xx xxxx 1111 amount:100000000.00..411111111.00" },
    ]);
    for (const fields of [
      { save: "4111-1111-1111-1111" },
      { rename: "One card", name: "%34111111111111111" },
      { save: "State", state: "4111111111111111" },
      { save: "Columns", columns: "4111111111111111" },
    ])
      assert.match(String((await post("/__cofre/views", fields))["status_code"]), /^COFRE-17[04]$/);
    assert.deepEqual(await views({ delete: "One card" }), []);
  });

  test("keeps each of a few views that are saved at the same moment", async () => {
    const names = Array.from({ length: 4 }, (_, index) => `view ${index}`);
    await Promise.all(names.map((save) => views({ save })));
    const saved = (await views()) as readonly { readonly name: string }[];
    assert.deepEqual(saved.map(({ name }) => name).toSorted(), names.toSorted());
    await Promise.all(names.map((name) => views({ delete: name })));
  });

  test("asks for the secret key, and shows no view to another account", async () => {
    await views({ save: "Own" });
    const world = await post("/__cofre/worlds", { name: "other" });
    const { integration_key: key } = world["world"] as { readonly integration_key: string };
    assert.deepEqual(await views({}, key), []);
    assert.equal((await post("/__cofre/views", {}, publicIntegrationKey))["status"], "ERROR");
    await views({ delete: "Own" });
  });

  test("ends with a world's reset, and comes back with its snapshot", async () => {
    const world = await post("/__cofre/worlds", { name: "views" });
    const { integration_key: key } = world["world"] as { readonly integration_key: string };
    await views({ save: "Kept" }, key);
    const act = async (fields: Body): Promise<void> =>
      assert.equal((await post("/__cofre/world", fields, key))["status"], "SUCCESS");
    await act({ action: "snapshot", name: "one" });
    await act({ action: "reset" });
    assert.deepEqual(await views({}, key), []);
    await act({ action: "restore", name: "one" });
    assert.deepEqual(await views({}, key), [{ name: "Kept" }]);
  });

  test("are a setting too, which other settings leave as it is", async () => {
    await views({ save: "Kept", search: "1234" });
    const change = async (settings: Body): Promise<unknown> =>
      ((await post("/__cofre/settings", { settings }))["settings"] as Body)["savedViews"];
    assert.deepEqual(await change({ strictForms: true }), [{ name: "Kept", search: "1234" }]);
    assert.deepEqual(await change({ savedViews: [{ name: "Given", search: "5678" }] }), [
      { name: "Given", search: "5678" },
    ]);
    assert.deepEqual(await views({ delete: "Given" }), []);
  });
});
