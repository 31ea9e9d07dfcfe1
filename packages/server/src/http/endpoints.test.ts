import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { accountSettings } from "../merchant/settings.ts";
import type { TreeObject } from "../wire/decode/tree.ts";
import type { Permission } from "../wire/permission.ts";
import { keyedEndpoints } from "../../test/keyed-endpoints.ts";

const endpoints = new Map(keyedEndpoints().map((endpoint) => [endpoint.path, endpoint]));
const visa = "4111111111111111";
const look = { kind: "view" };
const read = { kind: "read" };

function action(role: "operator" | "admin", name: string, detail?: string): object {
  return { kind: "action", role, action: name, detail };
}

function need(
  path: string,
  params: TreeObject = {},
  method: "GET" | "POST" = "POST",
): Permission | undefined {
  return endpoints.get(path)?.permission({ method, params });
}

/** What each endpoint needs when no parameter changes it. */
const bare = {
  "/ws/query": look,
  "/ws/exchange": read,
  "/ws/exchange/getCurrencyRates": read,
  "/ws/zipcode": read,
  "/ws/documentbalance": read,
  "/ws/merchantIntegrationProperties/get": read,
  "/ws/token": action("operator", "card_stored"),
  "/ws/token/setCVV": action("operator", "security_code_set"),
  "/ws/verifycard": action("operator", "card_verified"),
  "/ws/cardverify": action("operator", "card_verified"),
  "/ws/direct": action("operator", "payment_created"),
  "/ws/request": action("operator", "payment_created"),
  "/ws/capture": action("operator", "capture"),
  "/ws/cancel": action("operator", "cancel"),
  "/ws/refund": action("operator", "refund"),
  "/ws/refundOrCancel": action("operator", "refund_or_cancel"),
  "/ws/everest/resendNotification": action("operator", "notification_resent"),
  "/ws/merchantIntegrationProperties/edit": action("admin", "settings_changed"),
  "/ws/threedsecureserver-generateToken": read,
  "/ws/threedsecureserver-authentications": action("operator", "card_verified"),
  "/ws/threedsecureserver-authentication-results": read,
  "/ws/threedsecureserver-record": read,
  "/__cofre/explain": look,
  "/__cofre/timeline": look,
  "/__cofre/requests": look,
  "/__cofre/payments": look,
  "/__cofre/tokens": look,
  "/__cofre/views": read,
  "/__cofre/figures": read,
  "/__cofre/stats": read,
  "/__cofre/notifications": look,
  "/__cofre/payment": action("operator", "payment_changed"),
  "/__cofre/settings": read,
  "/__cofre/simulator": action("admin", "simulator_instructed"),
  "/__cofre/faults": read,
  "/__cofre/test-cards": read,
  "/__cofre/countries": read,
  "/__cofre/worlds": action("admin", "world_created"),
  "/__cofre/world": read,
  "/__cofre/clock": read,
};

describe("what a console user needs", () => {
  test("is declared by each endpoint", () => {
    assert.deepEqual(
      Object.fromEntries([...endpoints.keys()].map((path) => [path, need(path)])),
      bare,
    );
  });

  test("is more when a parameter is there, whatever it says", () => {
    for (const value of ["", "0", {}, []]) {
      for (const name of ["enable", "disable"]) {
        assert.deepEqual(
          need("/__cofre/notifications", { [name]: value }),
          action("admin", "endpoint_changed"),
        );
      }
      assert.deepEqual(
        need("/__cofre/notifications", { replay: value, disable: value }),
        action("admin", "endpoint_changed"),
      );
      assert.deepEqual(
        need("/__cofre/notifications", { replay: value }),
        action("operator", "notification_resent"),
      );
      assert.deepEqual(
        need("/__cofre/notifications", { secrets: value }),
        action("admin", "secrets_shown"),
      );
      assert.deepEqual(
        need("/__cofre/settings", { settings: value }),
        action("admin", "settings_changed"),
      );
      for (const name of ["add", "clear"])
        assert.deepEqual(
          need("/__cofre/faults", { [name]: value }),
          action("admin", "faults_changed"),
        );
      assert.deepEqual(need("/__cofre/world", { action: value }), action("admin", "world_changed"));
      for (const name of ["set", "advance", "run"]) {
        assert.deepEqual(need("/__cofre/clock", { [name]: value }), action("admin", "clock_moved"));
      }
    }
    assert.deepEqual(need("/__cofre/worlds", { anything: "1" }, "GET"), read);
  });
});

describe("what the audit log records of an action", () => {
  const detail = (path: string, params: TreeObject): string | undefined => {
    const needed = need(path, params);
    return needed?.kind === "action" ? needed.detail : undefined;
  };

  test("is an amount, of too few digits for a card number", () => {
    for (const path of ["/ws/capture", "/ws/refund", "/ws/refundOrCancel"]) {
      for (const amount of ["1", "123456789.99", "0.5"])
        assert.equal(detail(path, { amount }), `amount ${amount}`);
      for (const amount of [
        "",
        "1234567890",
        "1.999",
        "1.",
        ".5",
        "-1",
        "x1",
        "1x",
        "1x50",
        visa,
      ]) {
        assert.equal(detail(path, { amount }), undefined, amount);
      }
    }
  });

  test("is which action, receiver and settings, in words of ours", () => {
    assert.equal(detail("/__cofre/world", { action: "Reset" }), "reset");
    assert.equal(detail("/__cofre/world", { action: visa }), undefined);
    assert.equal(detail("/__cofre/payment", { action: "ACCEPT_review" }), "accept_review");
    assert.equal(detail("/__cofre/payment", { action: "accepted" }), undefined);
    assert.equal(detail("/__cofre/notifications", { enable: "hook-1" }), "enable hook-1");
    assert.equal(detail("/__cofre/notifications", { disable: "hook-1" }), "disable hook-1");
    assert.equal(detail("/__cofre/notifications", { disable: visa }), undefined);
    assert.equal(
      detail("/__cofre/settings", {
        settings: { profile: "X", [visa]: "1", toString: "1", country: "br" },
      }),
      "profile country",
    );
    const all = Object.keys(accountSettings).join(" ");
    assert.ok(all.length > 400);
    assert.equal(
      detail("/__cofre/settings", {
        settings: Object.fromEntries(all.split(" ").map((name) => [name, ""])),
      }),
      all.slice(0, 400),
    );
    for (const settings of [{}, { [visa]: "1" }, "profile", ["profile"]])
      assert.equal(detail("/__cofre/settings", { settings }), undefined);
  });
});

test("the request log has the interface's requests, and those of the sandbox that change something", () => {
  const recorded = [...endpoints.values()].filter((endpoint) => endpoint.recorded !== false);
  assert.deepEqual(
    recorded.map(({ path }) => path).filter((path) => !path.startsWith("/ws/")),
    ["/__cofre/payment", "/__cofre/clock", "/__cofre/simulator", "/__cofre/faults"],
  );
  const interfaceOnes = [...endpoints.keys()].filter((path) => path.startsWith("/ws/"));
  assert.equal(recorded.length, interfaceOnes.length + 4);
});

test("only the list of worlds belongs to the server instead of an account", () => {
  const ofServer = [...endpoints.values()].filter((endpoint) => endpoint.ofServer === true);
  assert.deepEqual(
    ofServer.map(({ path }) => path),
    ["/__cofre/worlds"],
  );
});
