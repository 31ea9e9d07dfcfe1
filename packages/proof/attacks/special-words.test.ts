import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readCommandLine } from "../../server/src/cli/command-line.ts";
import { commandRows } from "../../server/src/cli/commands.ts";
import { readConfig } from "../../server/src/config/read-config.ts";
import { connectorsOf } from "../../server/src/connectors/connector-set.ts";
import { afterSpan } from "../../server/src/kernel/calendar.ts";
import { instant } from "../../server/src/kernel/instant.ts";
import { validateSettings } from "../../server/src/merchant/settings.ts";
import { readRoutes } from "../../server/src/merchant/routing.ts";
import {
  authorizeRequest,
  cardInHand,
  followUpRequest,
  upstreamAt,
} from "../../server/test/upstream/connector.ts";
import { paymentCodeOf } from "../../server/src/connectors/upstream/references.ts";
import {
  httpAnswer,
  paymentBody,
  startCannedServer,
} from "../../server/test/upstream/canned-server.ts";
import { directBody, integrationKey, startTestServer } from "../../server/test/server.ts";
import "../../server/test/support/session-storage.ts";

/*
 * Row 6 of the attack table, for values: a property name of every plain object, wherever a word is
 * looked up in a table. An acquirer's description "constructor" made a payment unreadable, and its
 * status_code "toString" turned a successful capture into a certain refusal.
 */

const words = [
  "constructor",
  "toString",
  "__proto__",
  "hasOwnProperty",
  "valueOf",
  "isPrototypeOf",
];

interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The paths of all members of a request, at every depth. */
function pathsOf(
  { properties = {} }: Schema,
  before: readonly string[] = [],
): (readonly string[])[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    [...before, name],
    ...pathsOf(schema, [...before, name]),
  ]);
}

type Body = Readonly<Record<string, unknown>>;

function withWord(body: Body, [name = "", ...rest]: readonly string[], word: string): Body {
  const inside =
    rest.length === 0 ? word : withWord(isBody(body[name]) ? body[name] : {}, rest, word);
  return { ...body, [name]: inside };
}

function isBody(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

test("a special word in any member of any request gets an answer of the interface", async (context) => {
  await using testServer = await startTestServer();
  const document = (await testServer.get("/openapi.json")).body as {
    readonly paths: Readonly<
      Record<string, { readonly post?: { readonly requestBody?: { readonly content: Body } } }>
    >;
  };
  let sent = 0;
  for (const [path, { post }] of Object.entries(document.paths)) {
    const content = post?.requestBody?.content["application/json"] as
      | { readonly schema: Schema; readonly example?: Body }
      | undefined;
    if (content === undefined) continue;
    const example =
      path === "/ws/direct"
        ? directBody("special")
        : { ...content.example, integration_key: integrationKey };
    for (const member of pathsOf(content.schema)) {
      if (member[0]?.endsWith("ntegration_key") === true || member[0] === "publicIntegrationKey")
        continue;
      for (const word of words) {
        const body = JSON.stringify(withWord(example, member, word));
        const response = await fetch(testServer.url + path, {
          method: "POST",
          body,
          headers: { "content-type": "application/json" },
        });
        const text = await response.text();
        sent += 1;
        const where = `${path} ${member.join(".")}=${word}: ${response.status} ${text.slice(0, 200)}`;
        assert.ok(response.status < 500, where);
        assert.doesNotMatch(text, /"COFRE-14"|native code|\[object [A-Z]|function /, where);
      }
    }
  }
  context.diagnostic(`${sent} requests`);
  assert.ok(sent > 1_000);
  assert.deepEqual(
    testServer.events.filter(({ event }) => event === "alarm"),
    [],
  );
});

describe("an upstream that answers with special words", () => {
  const { merchantId } = authorizeRequest("any");
  const approved = { kind: "approved", authorizationCode: "48213" };

  for (const word of words) {
    test(word, async () => {
      await using server = await startCannedServer();
      const upstream = upstreamAt(`http://127.0.0.1:${server.port}`);
      const connector = connectorsOf([upstream]).of("upstream");
      const says = (changes: Body, code = "p-1"): void =>
        server.say(httpAnswer(paymentBody(paymentCodeOf(merchantId, code), changes)));

      says({
        transaction_status: { code: "OK", description: word, authcode: "48213" },
        hash: word,
      });
      assert.partialDeepStrictEqual(
        await connector.authorize(authorizeRequest("p-1"), cardInHand()),
        approved,
      );

      for (const description of [
        word,
        `Sandbox - Test credit card, transaction declined reason ${word}`,
      ]) {
        says({
          status: "CA",
          transaction_status: { code: "NOK", description, iso_code: word, mac_code: word },
        });
        assert.deepEqual(await connector.authorize(authorizeRequest("p-1"), cardInHand()), {
          kind: "declined",
          reason: "not_accepted",
          responseCode: "05",
          adviceCode: undefined,
          refusedBeforeIssuer: false,
        });
      }
      for (const changes of [
        { status: word },
        { currency_ext: word },
        { transaction_status: { code: word, description: word }, status: "PE" },
      ]) {
        says(changes);
        assert.equal(
          (await connector.authorize(authorizeRequest("p-1"), cardInHand())).kind,
          "unknown",
          JSON.stringify(changes),
        );
      }
      for (const code of [word, `BP-DR-${word}`]) {
        server.say(
          httpAnswer(JSON.stringify({ status: "ERROR", status_code: code, status_message: word })),
        );
        assert.equal(
          (await connector.authorize(authorizeRequest("p-1"), cardInHand())).kind,
          "unknown",
        );
        for (const call of ["capture", "void", "refund"] as const) {
          assert.equal(
            (await connector[call](followUpRequest("p-2", "p-1"))).kind,
            "unknown",
            `${call} ${code}`,
          );
        }
      }
      upstream.close();
    });
  }
});

describe("a special word", () => {
  for (const word of words) {
    test(`${word} on the command line is not a word, option or command`, () => {
      // Arguments that are a path, a code or a program accept any word.
      for (const [name, { paths, program }] of commandRows) {
        if (paths === undefined && program === undefined)
          assert.ok("problem" in readCommandLine([name, word]), `${name} ${word}`);
      }
      assert.ok("problem" in readCommandLine([word]));
      assert.ok("problem" in readCommandLine(["start", `--${word}`]));
      assert.ok("problem" in readCommandLine(["help", word]));
    });

    test(`${word} as a variable is unknown`, () => {
      const reading = readConfig({
        environment: { [`COFRE_${word}`]: "1" },
        flags: new Map(),
        readFile: () => ({ problem: "is not read" }),
      });
      assert.ok("config" in reading);
      assert.deepEqual(reading.unknown, [`COFRE_${word}`]);
    });

    test(`${word} names no setting, route or unit of time`, () => {
      assert.ok("problems" in validateSettings(Object.fromEntries([[word, "1"]])));
      assert.ok("problems" in validateSettings({ simulator: Object.fromEntries([[word, 1]]) }));
      assert.equal(
        readRoutes([
          Object.fromEntries([
            ["connectors", ["simulator"]],
            [word, 1],
          ]),
        ]),
        undefined,
      );
      assert.equal(afterSpan(instant(0), `1${word}`), undefined);
    });

    test(`${word} is shown by the console as it is`, async () => {
      const page = new URL("../../console/src/words.js", import.meta.url);
      const shows = (await import(page.href)) as Readonly<
        Record<string, (word: string) => unknown>
      >;
      assert.deepEqual(shows["stateWords"]?.(word), { text: word, colour: "over" });
      assert.deepEqual(shows["deliveryWords"]?.(word), { text: word, colour: "over" });
      assert.deepEqual(shows["faultWords"]?.(word), { name: word, does: "", waits: false });
      for (const name of ["kindWords", "refundWords", "outcomeWords"])
        assert.equal(shows[name]?.(word), word);
    });
  }
});
