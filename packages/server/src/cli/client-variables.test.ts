import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { everyClientsVariables } from "./client-variables.ts";

const files = {
  authority: "/t/authority.pem",
  php: "/t/php",
  javaTrustStore: "/t/java.jks",
  ruby: "/t/ruby",
};

function variables(environment: Readonly<Record<string, string>>) {
  return everyClientsVariables("http://127.0.0.1:1", files, environment);
}

describe("the variables for all clients", () => {
  const direct: readonly (readonly [before: string, after: string])[] = [
    ["", "localhost,127.0.0.1"],
    ["elasticsearch, db:9200 ,localhost", "localhost,127.0.0.1,elasticsearch,db:9200"],
    ["*", "localhost,127.0.0.1"],
    [".com", "localhost,127.0.0.1"],
    ["EBANX.com,.ebanx.com,*.ebanx.com,sandbox.ebanx.com:443", "localhost,127.0.0.1"],
    ["notebanx.com,x.ebanx.com", "localhost,127.0.0.1,notebanx.com,x.ebanx.com"],
  ];
  for (const [before, after] of direct) {
    test(`NO_PROXY=${before} becomes ${after}: no host of the interface bypasses the proxy`, () => {
      for (const name of ["NO_PROXY", "no_proxy"]) {
        const { NO_PROXY: upper, no_proxy: lower } = variables({ [name]: before });
        assert.deepEqual([upper, lower], [after, after]);
      }
    });
  }

  test("options and folders that were set before are kept", () => {
    const set = variables({
      RUBYOPT: "-w",
      RUBYLIB: "/mine",
      JAVA_TOOL_OPTIONS: "-Xmx1g",
      PHP_INI_SCAN_DIR: "/etc/php",
    });
    assert.equal(set["RUBYOPT"], "-w -rcofre_proxy");
    assert.equal(set["RUBYLIB"], "/t/ruby:/mine");
    assert.match(set["JAVA_TOOL_OPTIONS"] ?? "", /^-Xmx1g -Dhttps\.proxyHost=127\.0\.0\.1 /);
    assert.equal(set["PHP_INI_SCAN_DIR"], "/etc/php:/t/php");
  });

  test("a path with a space is quoted for Java", () => {
    const { JAVA_TOOL_OPTIONS: options = "" } = everyClientsVariables(
      "http://127.0.0.1:1",
      { ...files, javaTrustStore: "/a b/java.jks" },
      {},
    );
    assert.ok(options.includes('-Djavax.net.ssl.trustStore="/a b/java.jks" '), options);
  });
});
