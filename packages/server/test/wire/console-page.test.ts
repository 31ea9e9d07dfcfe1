import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { after, before, describe, test } from "node:test";
import { consoleEndpoints, libraries } from "../../src/http/console-endpoint.ts";
import { readOnce } from "../../src/http/page-files.ts";
import { paymentStates } from "../../src/payment/payment-machine.ts";
import { periodNames } from "../../src/http/admin/figures-endpoint.ts";
import { timelineKinds } from "../../src/http/admin/timeline-entries.ts";
import { behaviourNames } from "../../src/authentication/test-cards.ts";
import { faultKindNames, faultKinds } from "../../src/http/faults/fault-kinds.ts";
import { declineReasons } from "../../src/payment/payment.ts";
import { brands } from "../../src/vault/brand.ts";
import { withoutComments } from "../../src/http/page-script.ts";
import { startTestServer, type TestServer } from "../server.ts";
import { until } from "../until.ts";
import { scan, textsOf } from "../source-scan.ts";
import "../support/session-storage.ts";

/** What a browser makes of it is in packages/proof/lanes/console.lane.ts. */
const folder = fileURLToPath(new URL("../../../console/src/", import.meta.url));
const textOf = (name: string): string => readFileSync(folder + name, "utf8");
// The page's language is English in every environment.
Object.defineProperty(navigator, "languages", { value: ["en-US"] });
/** The page's own module; its types are in comments. */
const list = (await import(pathToFileURL(`${folder}list.js`).href)) as {
  readonly withoutNumber: (text: string) => string;
  readonly filterOf: (query: URLSearchParams) => Readonly<Record<string, string>>;
};
interface Named {
  readonly key: string;
}
interface Look {
  readonly items: readonly Named[];
  readonly first: string | null;
  readonly following: string | null;
  readonly joins: boolean;
}
type PageOf = (
  before: string | undefined,
) => Promise<{ readonly items: readonly Named[]; readonly next: string | null }>;
const { newest, gone } = (await import(pathToFileURL(`${folder}newest.js`).href)) as {
  readonly newest: (page: PageOf, known: string, maxCalls: number) => Promise<Look>;
  readonly gone: (keys: readonly string[], look: Look) => readonly string[];
};
const { timesOf } = (await import(pathToFileURL(`${folder}latency.js`).href)) as {
  readonly timesOf: (
    requests: readonly { readonly path: string; readonly duration_ms?: number }[],
  ) => readonly unknown[];
};
const libraryText = (name: string): string =>
  readFileSync(fileURLToPath(import.meta.resolve(name)), "utf8");
const { csvOf } = (await import(pathToFileURL(`${folder}csv.js`).href)) as {
  readonly csvOf: (rows: readonly (readonly string[])[]) => string;
};
const { amountText } = (await import(pathToFileURL(`${folder}format.js`).href)) as {
  readonly amountText: (amount: string, currency: string) => string;
};
const { checkMost, exactAmount, withPoint } = (await import(
  pathToFileURL(`${folder}money.js`).href
)) as {
  readonly exactAmount: (typed: string, currency: string) => string;
  readonly checkMost: (typed: string, most: string, currency: string) => void;
  readonly withPoint: (typed: string, currency: string) => string;
};
interface Entry {
  readonly kind: string;
}
const { messagesOf, stepsOf, sinceText } = (await import(
  pathToFileURL(`${folder}story.js`).href
)) as {
  readonly messagesOf: (entries: readonly object[]) => readonly {
    readonly at: string;
    readonly colour: string;
    readonly from: number;
    readonly to: number;
    readonly text: string;
    readonly isLost: boolean;
  }[];
  readonly stepsOf: (entries: readonly object[]) => readonly {
    readonly entry: Entry;
    readonly attempts: readonly Entry[];
  }[];
  readonly sinceText: (ms: number) => string;
};
const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
const languages = scripts.filter((name) => name.startsWith("messages-"));
const modules = scripts.filter((name) => !languages.includes(name));
let server: TestServer;

before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

describe("HEAD, as monitors and load balancers ask", () => {
  test("is answered with the head of GET, for every page and file", async () => {
    for (const { path } of [
      ...consoleEndpoints("sandbox", "key"),
      { path: "/docs" },
      { path: "/openapi.json" },
      { path: "/__cofre/certificate.pem" },
    ]) {
      const [head, get] = [
        await fetch(server.url + path, { method: "HEAD" }),
        await fetch(server.url + path),
      ];
      const lengths = [
        head.headers.get("content-length"),
        String(Buffer.byteLength(await get.text())),
      ];
      assert.deepEqual([head.status, await head.text(), lengths[0]], [200, "", lengths[1]], path);
    }
  });
});

/** What a script does, by line: its code without comments, and the texts of its literals. */
function codeOf(script: string): readonly string[] {
  const lines = scan(script)
    .code.split("\n")
    // A comment within a line is a space.
    .map((line) => line.trimEnd().replaceAll(/ +/g, " "));
  return [...lines, ...textsOf(script).map(({ line, text }) => `${line}: ${text}`)];
}

const importForm = /^import [^;]*;\n/gm;
/** In a library, where they are not on lines of their own. */
const linkForm = /import\{[^}]*\}from"[^"]*";|export default |export\{[^}]*\}(?:from"[^"]*")?;?/g;

/** Source text without line breaks, so that the formatter's layout makes no difference. */
function inOneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/([[(]) /g, "$1")
    .replaceAll(/,? (?=[\])])/g, "");
}

describe("the console", () => {
  test("is served by key in the sandbox alone, and not where it is off", () => {
    assert.ok(consoleEndpoints("sandbox", "key").length > 0);
    assert.ok(consoleEndpoints("sandbox", "login").length > 0);
    assert.deepEqual(consoleEndpoints("production", "key"), []);
    assert.deepEqual(consoleEndpoints("sandbox", "off"), []);
  });

  test("says in its page whether the server is a sandbox", async () => {
    for (const environment of ["sandbox", "production"]) {
      const page = consoleEndpoints(environment, "login").find(({ path }) => path === "/");
      const answer = await page?.handle({} as never);
      const text = answer !== undefined && "body" in answer ? answer.body : "";
      assert.ok(text.includes(`<meta name="cofre-environment" content="${environment}" />`));
      assert.ok(text.includes('<meta name="cofre-console" content="login" />'), "control");
    }
  });

  test("allows its own scripts, style and calls, no text that becomes a script, and no page around it", async () => {
    const response = await fetch(`${server.url}/`);
    const policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(response.headers.get("content-security-policy"), policy);
    assert.equal(
      (await fetch(`${server.url}/console/main.js`)).headers.get("content-security-policy"),
      policy,
    );
    assert.equal(response.headers.get("cross-origin-opener-policy"), "same-origin");
    assert.equal(response.headers.get("cross-origin-resource-policy"), "same-origin");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("access-control-allow-origin"), null);
    assert.doesNotMatch(
      await response.text(),
      /\son[a-z]+=|\sstyle=|<script(?! type="module" src="\/console\/main\.js"><\/script>)|javascript:|https?:/i,
    );
  });

  test("has content that a browser paints before it has the script, and that the script keeps", async () => {
    const page = await (await fetch(`${server.url}/`)).text();
    const brand = '<a href="#/payments">Cofre</a>';
    const [, side = ""] = /<header id="side">(.*?)<\/header>/s.exec(page) ?? [];
    assert.equal(
      side.replaceAll(/\s*\n\s*/g, ""),
      `<div class="rail"><p class="brand">${brand}</p></div>`,
    );
    assert.ok(
      textOf("side-bar.js")
        .replaceAll(/\s*\n\s*/g, "")
        .includes(`<div class="rail"><p class="brand">${brand}`),
    );
    const style = page.indexOf('rel="stylesheet"');
    assert.ok(style > 0 && style < page.indexOf('id="side"'), "it is painted in its style");
    assert.match(page, /<script type="module"/, "which does not delay the parser");
  });

  test("serves one script with the code of all of its scripts and libraries", async () => {
    const served = await (await fetch(`${server.url}/console/main.js`)).text();
    const lines = new Set(served.split("\n"));
    for (const name of modules) {
      const code = withoutComments(textOf(name));
      assert.deepEqual(codeOf(code), codeOf(textOf(name)), name);
      const linked = code.replaceAll(importForm, "").replaceAll(/^export /gm, "");
      const missing = linked.split("\n").filter((line) => !lines.has(line));
      assert.deepEqual(missing, [], name);
    }
    assert.ok(lines.size > 4_000, "control");
    for (const { name } of libraries)
      for (const code of libraryText(name).split(linkForm)) assert.ok(served.includes(code), name);
  });

  test("serves each of its parts, those of one language less than 120 kB compressed", async () => {
    for (const name of ["main.js", ...languages, "style.css"]) {
      const response = await fetch(`${server.url}/console/${name}`);
      const text = await response.text();
      if (name === "style.css") assert.equal(text, textOf(name), `${name} is served as it is`);
      if (languages.includes(name))
        assert.deepEqual(codeOf(text), codeOf(textOf(name)), `the code of ${name} is served`);
      assert.equal(
        response.headers.get("content-type"),
        name.endsWith(".js") ? "text/javascript; charset=utf-8" : "text/css; charset=utf-8",
      );
      assert.equal(response.headers.get("access-control-allow-origin"), null);
    }
    assert.equal(languages.length, 3);
    /** Bytes on their way to a browser, from the second request on. */
    const sizeOf = async (path: string): Promise<number> => {
      let size = 0;
      await until(`${path} is compressed`, async () => {
        const answer = await fetch(server.url + path, { headers: { "Accept-Encoding": "br" } });
        const text = await answer.text();
        if (answer.headers.get("content-encoding") !== "br") return false;
        size = Number(answer.headers.get("content-length"));
        const refusing = { "Accept-Encoding": "gzip, br;q=0" };
        const plain = await fetch(server.url + path, { headers: refusing });
        assert.equal(plain.headers.get("content-encoding"), null);
        assert.equal(await plain.text(), text);
        return true;
      });
      return size;
    };
    // A browser loads the texts of one language.
    const texts = await Promise.all(languages.map((name) => sizeOf(`/console/${name}`)));
    const bytes = (await sizeOf("/console/main.js")) + Math.max(...texts);
    assert.ok(bytes < 120 * 1024, `${bytes} bytes`);
    for (const name of [
      "tsconfig.json",
      "..%2fconsole-endpoint.ts",
      "../console-endpoint.ts",
      "index.html",
      "list.js",
    ]) {
      assert.equal((await fetch(`${server.url}/console/${name}`)).status, 404, name);
    }
  });

  test("reads a file once, and again after a failure", async () => {
    let reads = 0;
    const file = readOnce(async () => {
      reads += 1;
      if (reads === 1) throw new Error("EMFILE");
      return reads;
    });
    await assert.rejects(file(), /EMFILE/);
    for (const _ of [1, 2]) assert.equal(await file(), 2);
  });

  test("has no way to make a script, HTML or an address of others out of text", () => {
    for (const name of scripts) {
      assert.doesNotMatch(
        // The namespace of SVG, which is never requested.
        textOf(name).replace('"http://www.w3.org/2000/svg"', ""),
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?:\/\/\w|localStorage|cookie/i,
        name,
      );
    }
  });

  test("has a word for every state, brand, kind of entry and behaviour of 3-D Secure that there is", () => {
    const words = inOneLine(textOf("words.js"));
    for (const state of paymentStates) assert.ok(words.includes(` ${state}: [`), state);
    for (const kind of timelineKinds)
      assert.ok(words.includes(` ${kind}: t("kind.${kind}")`), kind);
    for (const behaviour of behaviourNames)
      assert.ok(words.includes(` ${behaviour}: t("secure.${behaviour}")`), behaviour);
    for (const brand of brands) assert.ok(words.includes(`"${brand}"`), brand);
  });

  test("has words for every fault, takes a time where the fault does, and knows every reason and every span of a chart", () => {
    const words = inOneLine(textOf("words.js"));
    for (const kind of faultKindNames)
      assert.ok(
        words.includes(
          ` ${kind}: [t("fault.${kind}"), t("fault.${kind}.does"), ${faultKinds[kind].waits}]`,
        ),
        kind,
      );
    for (const reason of declineReasons)
      assert.ok(words.includes(` ${reason}: t("reason.${reason}")`), reason);
    for (const per of periodNames) assert.ok(textOf("figures.js").includes(`per: "${per}"`), per);
  });

  test("puts no whole card number in an address, however it is written", () => {
    const mask = "411111xxxxxx1111";
    for (const written of [
      "4111111111111111",
      "4111 1111 1111 1111",
      "4111-1111-1111-1111",
      "4111.1111.1111.1111",
      "4111\u20131111\u20131111\u20131111",
      "4111\u00a01111\u00a01111\u00a01111",
      "4111 \u2013 1111 / 1111\t1111",
    ]) {
      assert.equal(list.withoutNumber(written), mask, written);
      assert.equal(list.withoutNumber(`card: ${written}, Ana`), `card: ${mask}, Ana`, written);
    }
    assert.equal(list.withoutNumber("41111111111111111227"), "411111xxxxxxxxxx1227");
    assert.equal(list.withoutNumber("4111111111111111 12/27"), "411111xxxxxxxxxx1227");
    assert.equal(
      list.withoutNumber("411111111111 and 4716909774636285"),
      "411111xx1111 and 471690xxxxxx6285",
    );
    assert.equal(
      list.withoutNumber("\u0664".repeat(16)),
      `${"\u0664".repeat(6)}xxxxxx${"\u0664".repeat(4)}`,
    );
    for (const other of [
      "",
      mask,
      "amount:100000..200000",
      "ana amount:100000.00..200000,50 visa",
      "411111******1111",
      "1111",
      "João Cão",
      "order-2026-11-28",
      "01938c2f4a7b".repeat(4),
      "1".repeat(48),
    ])
      assert.equal(list.withoutNumber(other), other);
  });

  test("takes no whole card number from a link", () => {
    const query = new URLSearchParams({
      search: "4111.1111.1111.1111",
      state: "captured",
      brand: "",
      more: "1",
    });
    assert.deepEqual(list.filterOf(query), { search: "411111xxxxxx1111", state: "captured" });
  });

  describe("the story of a payment", () => {
    const entry = (at: number, kind: string, data: Readonly<Record<string, unknown>>) => ({
      at: new Date(Date.UTC(2026, 0, 1) + at).toISOString(),
      kind,
      text: "",
      data,
    });
    const request = (at: number, path: string, parameters = {}) =>
      entry(at, "request", { path, parameters, http_status: 200, duration_ms: 2 });
    const call = (at: number, kind: string, outcome: object, amount?: string) =>
      entry(at, "call", { kind, outcome, ...(amount === undefined ? {} : { amount }) });
    const words = (entries: readonly object[]) =>
      messagesOf(entries).map(
        ({ from, to, text, isLost }) => `${from}>${to} ${text}${isLost ? " (lost)" : ""}`,
      );

    test("shows the answer to a request behind the calls that it waited for, and what was lost", () => {
      assert.deepEqual(
        words([
          request(0, "/ws/direct", { payment: { amount_total: "120.00" } }),
          entry(0, "fact", { fact: "authorization_sent" }),
          call(1, "authorize", { kind: "unknown", cause: "timeout" }, "120.00"),
          call(5_000, "inquire", { kind: "found", authorization: "approved" }),
          request(9_000, "/ws/refund", { amount: "30.00" }),
          call(60_000, "refund", { kind: "approved" }, "30.00"),
        ]),
        [
          "0>1 direct 120.00",
          "1>2 authorize 120.00",
          "2>1 no answer (lost)",
          "1>0 HTTP 200",
          "1>2 inquire",
          "2>1 found approved",
          "0>1 refund 30.00",
          "1>0 HTTP 200",
          "1>2 refund 30.00",
          "2>1 approved",
        ],
      );
    });

    test("shows answers when they arrived, refusals with their code, and the currency's decimals", () => {
      const parameters = { payment: { amount_total: "397781.00", currency_code: "CLP" } };
      const messages = messagesOf([
        entry(0, "request", {
          path: "/ws/direct",
          parameters,
          http_status: 200,
          status_code: "BP-DR-6",
          duration_ms: 0.4,
        }),
        entry(14_000, "request", {
          path: "/ws/direct",
          parameters,
          http_status: 200,
          status_code: null,
          duration_ms: 30_008,
        }),
        entry(14_001, "call", {
          kind: "authorize",
          amount: "397781.00",
          currency: "CLP",
          outcome: { kind: "unknown", cause: "timeout" },
          duration_ms: 30_000,
        }),
      ]);
      const begun = Date.parse(messages[0]?.at ?? "");
      assert.deepEqual(
        messages.map(({ at, text, colour }) => [Date.parse(at) - begun, text, colour]),
        [
          [0, "direct 397,781", "over"],
          [0, "HTTP 200, BP-DR-6", "bad"],
          [14_000, "direct 397,781", "over"],
          [14_001, "authorize 397,781", "over"],
          [44_001, "no answer", "bad"],
          [44_008, "HTTP 200", "good"],
        ],
      );
    });

    test("shows one message per receiver, and its attempts in one step", () => {
      const deliveries = [
        { endpoint: "shop", state: "delivered", attempts: 1 },
        { endpoint: "erp", state: "waiting", attempts: 2 },
        { endpoint: "old", state: "waiting", attempts: 0 },
      ];
      const notification = entry(10, "notification", {
        number: 4,
        notification_type: "update",
        deliveries,
      });
      const attempt = (at: number, endpoint: string) =>
        entry(at, "attempt", { number: 4, endpoint });
      assert.deepEqual(words([request(0, "/ws/direct"), notification]), [
        "0>1 direct",
        "1>0 HTTP 200",
        "1>3 update",
        "1>3 update: 2 failed (lost)",
        "1>3 update: queued (lost)",
      ]);
      const steps = stepsOf([
        notification,
        attempt(11, "shop"),
        attempt(12, "erp"),
        attempt(20, "erp"),
        entry(30, "attempt", { number: 3, endpoint: "shop" }),
      ]);
      assert.deepEqual(
        steps.map(({ entry: { kind }, attempts }) => [kind, attempts.length]),
        [
          ["notification", 3],
          ["attempt", 0],
        ],
        "an attempt without its notification is a step of its own",
      );
    });

    test("says how long after the beginning something happened, in one unit", () => {
      for (const [ms, expected] of [
        [0, "+0 ms"],
        [999, "+999 ms"],
        [5_000, "+5 s"],
        [300_000, "+5 min"],
        [86_400_000, "+24 h"],
        [259_200_000, "+3 d"],
      ] as const)
        assert.equal(sinceText(ms), expected);
    });
  });

  test("exports cells that no spreadsheet takes for a formula", () => {
    assert.equal(
      csvOf([
        ["Code", 'says "yes", twice'],
        ["=1+1", "@SUM(A1)"],
        ["-5", "a=b"],
      ]),
      '"Code","says ""yes"", twice"\r\n"\'=1+1","\'@SUM(A1)"\r\n"\'-5","a=b"\r\n',
    );
    for (const [text, cell] of [
      ["\t=1+1", "\t'=1+1"],
      ["\tLima", "'\tLima"],
      ["\uff1d1+1", "'\uff1d1+1"],
      // Where a spreadsheet expects semicolons, a quote within a line does not begin a cell.
      ["Ana;=1+1", "Ana;'=1+1"],
      ['Ana;"=1+1&"', 'Ana;\'""=1+1&""'],
      ["Ana\n=1+1", "Ana\n'=1+1"],
      ["Ana, +1", "Ana,' +1"],
      ["Lima, Ana; a=b", "Lima, Ana; a=b"],
    ] as const)
      assert.equal(csvOf([[text]]), `"${cell}"\r\n`);
  });

  test("writes amounts with the decimals of their currency, without rounding", () => {
    for (const [amount, currency, expected] of [
      ["1402000.00", "CLP", "1,402,000"],
      ["72500.50", "CLP", "72,500.50"],
      ["100.00", "USD", "100.00"],
      ["100", "USD", "100.00"],
      ["9007199254740993.01", "BRL", "9,007,199,254,740,993.01"],
      ["-30.50", "BRL", "-30.50"],
      ["100.00", "nonsense", "100.00"],
      ["a lot", "USD", "a lot"],
    ] as const)
      assert.equal(amountText(amount, currency), expected, `${amount} ${currency}`);
  });

  test("takes amounts with a decimal comma or point, and leaves ambiguous ones to the server", () => {
    for (const [typed, expected] of [
      ["100.00", "100.00"],
      ["100,00", "100.00"],
      [" 7,5 ", "7.5"],
      ["1.234,50", "1234.50"],
      ["1,234.50", "1234.50"],
      ["1.234.567,89", "1234567.89"],
      ["1,234", "1,234"],
      ["1.23,45", "1.23,45"],
      ["1,234,567", "1234567"],
      ["1.234.567", "1234567"],
      ["1.234,567", "1.234,567"],
      ["a lot", "a lot"],
    ] as const)
      assert.equal(withPoint(typed, "BRL"), expected, typed);
    for (const [typed, expected] of [
      ["50.000", "50000"],
      ["1,234", "1234"],
      ["1.234.567", "1234567"],
      ["50000", "50000"],
      ["50.00", "50.00"],
    ] as const)
      assert.equal(withPoint(typed, "CLP"), expected, typed);
  });

  test("refuses an amount that can mean a thousand or one", () => {
    for (const [typed, large, small] of [
      ["1.000", "1000", "1.00"],
      ["1,000", "1000", "1.00"],
      [" 12.345 ", "12345", "12.34"],
      ["397.781", "397781", "397.78"],
    ] as const)
      assert.throws(() => exactAmount(typed, "USD"), {
        message: `Write ${large} or ${small}: a point or comma before three digits can mean both.`,
      });
    for (const [typed, expected] of [
      ["1000", "1000"],
      ["1,00", "1.00"],
      ["1.000,00", "1000.00"],
      ["1,000.00", "1000.00"],
    ] as const)
      assert.equal(exactAmount(typed, "USD"), expected);
    assert.equal(exactAmount("50.000", "CLP"), "50000", "it has no decimals");
  });

  test("refuses an amount that is more than can be captured or refunded", () => {
    for (const typed of ["100.01", "101", "1000", "99999999999999999999"])
      assert.throws(() => checkMost(typed, "100.00", "USD"), {
        message: "The amount can be at most 100.00 USD.",
      });
    for (const typed of ["100", "100.00", "99.9", "0", "a lot", "", "1.234"])
      checkMost(typed, "100.00", "USD");
    assert.throws(() => checkMost("50001", "50000.00", "CLP"), /50,000 CLP/);
  });

  test("shows for each path how long half, most and all of its requests took", () => {
    const took = (path: string, ...times: readonly (number | undefined)[]) =>
      times.map((time) => ({ path, ...(time === undefined ? {} : { duration_ms: time }) }));
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    assert.deepEqual(
      timesOf([
        ...took("/ws/query", 7),
        ...took("/ws/direct", ...hundred, undefined),
        ...took("/ws/capture", undefined),
      ]),
      [
        { path: "/ws/direct", number: 100, median: 50, slow: 95, slowest: 100 },
        { path: "/ws/query", number: 1, median: 7, slow: 7, slowest: 7 },
      ],
    );
    assert.deepEqual(timesOf([]), []);
  });

  describe("a fresh look", () => {
    /** Rows with the keys "99" to "00", ten scanned per call; those that end in 5 match. */
    const page: PageOf = async (before = "x") => {
      const seen = Array.from({ length: 100 }, (_, index) => String(99 - index).padStart(2, "0"))
        .filter((key) => key < before)
        .slice(0, 10);
      return {
        items: seen.filter((key) => key.endsWith("5")).map((key) => ({ key })),
        next: seen.at(-1) === "00" ? null : (seen.at(-1) ?? null),
      };
    };
    const keys = ({ items }: Look) => items.map(({ key }) => key);

    test("removes what it went through and does not hold, and nothing older", async () => {
      const look = await newest(page, "97", 5);
      assert.deepEqual(
        { ...look, items: keys(look) },
        { items: ["95"], first: "90", following: "90", joins: true },
      );
      assert.deepEqual(gone(["97", "95", "90", "89", "05"], look), ["97", "90"]);
      const empty = { items: [], first: "90", following: "90", joins: true };
      assert.deepEqual(
        gone(["95", "85", "05"], empty),
        ["95"],
        "older matches stay when a look finds none",
      );
      assert.deepEqual(
        gone(["95", "05"], { ...empty, first: null, following: null }),
        ["95", "05"],
        "it went through all",
      );
    });

    test("continues until it reaches a known entry", async () => {
      const look = await newest(page, "75", 5);
      assert.deepEqual(
        { ...look, items: keys(look) },
        { items: ["95", "85", "75"], first: "90", following: "70", joins: true },
      );
      assert.deepEqual(gone(["75", "65"], look), []);
      const all = await newest(page, "", 20);
      assert.deepEqual([keys(all).length, all.following, all.joins], [10, null, true]);
    });

    test("gives up what is older than a gap", async () => {
      for (const [calls, following] of [
        [1, "90"],
        [3, "70"],
      ] as const) {
        const look = await newest(page, "55", calls);
        assert.deepEqual([look.following, look.joins], [following, false]);
        assert.deepEqual(gone(["95", "55", "45"], look), ["55", "45"]);
      }
    });
  });
});
