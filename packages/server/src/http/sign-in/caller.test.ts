import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { browserCookieHeader, callerOf, cookieHeader, withoutCookieHeader } from "./caller.ts";

const plain = { remoteAddress: "192.0.2.1" };
const tls = { remoteAddress: "192.0.2.1", encrypted: true };

describe("who sent a request", () => {
  test("is anonymous, from the socket's other end, when the head says nothing", () => {
    assert.deepEqual(callerOf([], plain), {
      address: "192.0.2.1",
      isSecure: false,
      session: undefined,
      deviceCookies: [],
      csrf: undefined,
      account: undefined,
      isBackground: false,
      isSameOrigin: true,
    });
    assert.equal(callerOf([], {}).address, "unknown");
  });

  test("is identified by its headers, whatever the case of their names, and by no value that looks like one", () => {
    const caller = callerOf(
      [
        "X-COFRE-CSRF",
        "csrf",
        "x-cofre-account",
        "0a0b0c0d",
        "X-Cofre-Background",
        "",
        "Cookie",
        "cofre_session=s",
        "X-Other",
        "Cookie",
        "Host",
      ],
      plain,
    );
    assert.deepEqual(
      [caller.csrf, caller.account, caller.isBackground, caller.session, caller.isSameOrigin],
      ["csrf", "0a0b0c0d", true, "s", true],
    );
  });

  test("is where the last address of the proxy's header says, and only of the header that is believed", () => {
    const from = (header: string | undefined, ...values: readonly string[]): string =>
      callerOf(
        values.flatMap((value) => ["X-Forwarded-For", value]),
        plain,
        header,
      ).address;
    assert.equal(from("x-forwarded-for", "198.51.100.7"), "198.51.100.7");
    assert.equal(from("x-forwarded-for", "203.0.113.9, 198.51.100.7"), "198.51.100.7");
    assert.equal(from("x-forwarded-for", "203.0.113.9,2001:db8::7 "), "2001:db8::7");
    assert.equal(from("x-forwarded-for", "203.0.113.9", "198.51.100.7"), "198.51.100.7");
    for (const value of ["", "unknown", "198.51.100.7,", "198.51.100.7:80", "198.51.100.7 x"]) {
      assert.equal(from("x-forwarded-for", value), "192.0.2.1", value);
    }
    assert.equal(from("x-real-ip", "198.51.100.7"), "192.0.2.1");
    assert.equal(from(undefined, "198.51.100.7"), "192.0.2.1");
    assert.equal(
      callerOf(["X-Real-IP", "198.51.100.7", "X-Real-IP"], plain, "x-real-ip").address,
      "198.51.100.7",
    );
  });

  test("came by TLS, or from a page that did", () => {
    assert.equal(callerOf([], tls).isSecure, true);
    assert.equal(callerOf(["Origin", "https://cofre.example"], plain).isSecure, true);
    assert.equal(callerOf(["Origin", "http://https://"], plain).isSecure, false);
    assert.equal(callerOf([], { ...plain, encrypted: false }).isSecure, false);
  });
});

describe("the cookies of a request", () => {
  const sessionIn = (cookie: string, socket = plain): string | undefined =>
    callerOf(["Cookie", cookie], socket).session;

  test("have the session in the one of its name", () => {
    assert.equal(sessionIn("cofre_session=abc"), "abc");
    assert.equal(sessionIn("a=b;  cofre_session=a=b ; c=d"), "a=b");
    for (const cookie of [
      "",
      "cofre_session",
      "cofre_session=",
      "xcofre_session=abc",
      "cofre_sessions=abc",
      "a=cofre_session=abc",
    ]) {
      assert.equal(sessionIn(cookie), undefined, cookie);
    }
  });

  test("are of the name that another host cannot set, where there is one, and of no other with TLS", () => {
    assert.equal(sessionIn("cofre_session=other; __Host-cofre_session=own"), "own");
    assert.equal(sessionIn("cofre_session=other; __Host-cofre_session=own", tls), "own");
    assert.equal(sessionIn("cofre_session=other", tls), undefined);
  });

  test("hold printable ASCII of 500 characters at most", () => {
    const longest = "x".repeat(500);
    assert.equal(sessionIn(`cofre_session=${longest}`), longest);
    for (const value of [`${longest}x`, "a\tb", "a b", "\u00e9", "a\u007f"])
      assert.equal(sessionIn(`cofre_session=${value}`), undefined);
    assert.equal(sessionIn("cofre_session=!~"), "!~");
  });

  test("with two sessions are of another page", () => {
    assert.equal(
      callerOf(["Cookie", "cofre_session=a; cofre_session=b"], plain).isSameOrigin,
      false,
    );
    assert.equal(
      callerOf(["Cookie", "cofre_session=a; __Host-cofre_session=b"], plain).isSameOrigin,
      true,
    );
  });

  test("have four marks at most, from the last one on", () => {
    const marksIn = (cookie: string): readonly string[] =>
      callerOf(["Cookie", cookie], plain).deviceCookies;
    assert.deepEqual(marksIn("cofre_browser=a.1~b.2~c.3~d.4~e.5"), ["a.1", "b.2", "c.3", "d.4"]);
    assert.deepEqual(marksIn("cofre_session=s"), []);
  });
});

describe("a request of this server's own page", () => {
  const isOwn = (...head: readonly string[]): boolean => callerOf(head, plain).isSameOrigin;

  test("is what the browser says is of the same origin", () => {
    assert.equal(isOwn("Sec-Fetch-Site", "same-origin"), true);
    for (const site of ["none", "same-site", "cross-site", ""])
      assert.equal(isOwn("Sec-Fetch-Site", site), false, site);
    assert.equal(isOwn("Host", "cofre:8787", "Origin", "http://cofre:8787"), true);
    assert.equal(isOwn("Host", "cofre:8787", "Origin", "https://cofre:8787"), true);
    for (const origin of [
      "null",
      "",
      "http://cofre",
      "http://cofre:8787.example",
      "xhttp://cofre:8787",
    ]) {
      assert.equal(isOwn("Host", "cofre:8787", "Origin", origin), false, origin);
    }
    assert.equal(
      isOwn("Host", "cofre:8787", "Origin", "http://cofre:8787", "Sec-Fetch-Site", "cross-site"),
      false,
    );
  });

  test("reports each checked header once", () => {
    for (const name of [
      "Cookie",
      "Host",
      "Origin",
      "Sec-Fetch-Site",
      "X-Cofre-Account",
      "X-Cofre-Background",
      "X-Cofre-Csrf",
    ]) {
      const value = name === "Sec-Fetch-Site" ? "same-origin" : "";
      const head = name === "Origin" ? ["Host", "a", name, "http://a"] : [name, value];
      assert.equal(isOwn(...head), true, name);
      assert.equal(isOwn(...head, ...head.slice(-2)), false, name);
    }
    assert.equal(isOwn("Accept", "a", "Accept", "b"), true);
  });
});

describe("the cookies that are set", () => {
  test("are read by no script, sent with no other site's request, and by TLS alone where there is TLS", () => {
    assert.deepEqual(cookieHeader({ isSecure: false }, "s"), [
      "Set-Cookie",
      "cofre_session=s; Path=/; HttpOnly; SameSite=Strict",
    ]);
    assert.deepEqual(cookieHeader({ isSecure: true }, "s"), [
      "Set-Cookie",
      "__Host-cofre_session=s; Path=/; HttpOnly; SameSite=Strict; Secure",
    ]);
    assert.deepEqual(withoutCookieHeader({ isSecure: false }), [
      "Set-Cookie",
      "cofre_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
    ]);
  });

  test("have the newest mark first, one of each person, four in all, for 90 days", () => {
    const deviceCookies = ["b.1", "a.1", "c.1", "d.1", "e.1"];
    assert.deepEqual(browserCookieHeader({ isSecure: false, deviceCookies }, "a.2"), [
      "Set-Cookie",
      "cofre_browser=a.2~b.1~c.1~d.1; Path=/; HttpOnly; SameSite=Strict; Max-Age=7776000",
    ]);
    assert.deepEqual(browserCookieHeader({ isSecure: true, deviceCookies: ["aa.1"] }, "a.1"), [
      "Set-Cookie",
      "__Host-cofre_browser=a.1~aa.1; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=7776000",
    ]);
  });
});
