import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, test } from "node:test";
import { actionNames } from "../../src/http/admin/payment-endpoint.ts";
import { unknownConnector } from "../../src/http/admin/settings-endpoint.ts";
import { cardInSettings } from "../../src/http/admin/typed-settings.ts";
import { worldActions } from "../../src/http/admin/worlds-endpoint.ts";
import { bookProblems } from "../../src/ledger/explain.ts";
import { entryKinds, ledgerAccounts } from "../../src/ledger/journal.ts";
import { refusalTexts } from "../../src/delivery/address-guard.ts";
import { describedSettings, validateSettings } from "../../src/merchant/settings.ts";
import { keyActActions, keyActions, userActions } from "../../src/user/audit.ts";
import { errorTable, type ErrorRow } from "../../src/wire/errors/error-table.ts";
import { endpointActions } from "../../src/wire/permission.ts";
import { findHardCodedTexts } from "../hard-coded-texts.ts";
import { directBody, integrationKey, startTestServer, testCard } from "../server.ts";
import "../support/session-storage.ts";

interface Entry {
  readonly kind: string;
  readonly text: string;
}

const folder = fileURLToPath(new URL("../../../console/src/", import.meta.url));
const textOf = (name: string): string => readFileSync(folder + name, "utf8");
const scripts = readdirSync(folder).filter(
  (name) => name.endsWith(".js") && !name.startsWith("messages-"),
);

interface Price {
  readonly text: string;
}

type Message = string | { readonly one: string; readonly other: string };
type Messages = Readonly<Record<string, Message>>;
async function messagesIn(file: string): Promise<Messages> {
  const { messages } = (await import(pathToFileURL(folder + file).href)) as {
    readonly messages: Messages;
  };
  return messages;
}
const english = await messagesIn("messages-en.js");
const translations = {
  "pt-BR": await messagesIn("messages-pt-br.js"),
  es: await messagesIn("messages-es.js"),
} as const;

const formsOf = (message: Message): readonly string[] =>
  typeof message === "string" ? [message] : [message.one, message.other];
const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).toSorted();

/** Texts that a language writes as English does: names, terms, and words that are the same. */
const sameAsEnglish: Readonly<Record<keyof typeof translations, ReadonlySet<string>>> = {
  "pt-BR": new Set([
    "entry.chargeback",
    "group.sandbox",
    "head.email",
    "head.hash",
    "side.console",
    "side.sandbox",
    "view.tokens",
    "view.webhooks",
    "worlds.snapshot",
  ]),
  es: new Set(["group.sandbox", "head.hash", "side.sandbox", "view.tokens", "view.webhooks"]),
};

/** Literals of the scripts that are not translated. */
const untranslated: Readonly<Record<string, string>> = {
  Cofre: "the name of the product",
  English: "a language's own name",
  "Português (Brasil)": "a language's own name",
  Español: "a language's own name",
  Esc: "a key",
  Enter: "a key",
  "Content-Type": "a header",
  "Ana Lima": "the name on a test card",
  "[not kept]": "what the server records in place of a value",
  "Idempotency-Key": "a header",
  "Header X-Cofre-Account": "the beginning of a server's message",
  " must be ": "a part of a server's message",
  "(?<=[.?]) (?=\\S+(?:: the address| is not a setting| must be )|One of the names )":
    "parts of a server's message",
  "^notificationEndpoints must be a list of at most (\\d+) ": "a part of a server's message",
  "new browser": "the server's words in the audit log",
  'main input[type="search"]': "a selector",
  "main tbody tr": "a selector",
  "status:declined amount:>500 country:mx": "what a search expects",
  "cofre listen": "a command",
  curl: "a program",
  JSON: "a format",
  POST: "a method",
  "webhook-id": "a header",
  "whsec_••••••••••••": "a hidden secret",
  "/#invite=": "a part of a link",
  Manaus: "a city",
  Cancún: "a city",
  Tijuana: "a city",
  captured: "a class",
  refunded: "a class",
};

const zoneIdentifier = /^America(?:\/[A-Z]\w+){1,2}$/;

const storageUrl = JSON.stringify(import.meta.resolve("../support/session-storage.ts"));
const urlOf = (name: string) => JSON.stringify(pathToFileURL(folder + name).href);

/**
 * The result of a program that uses the page's scripts, in a process whose browser prefers these
 * languages.
 */
function inLanguage(
  preferred: readonly string[],
  program: string,
  { chosen, input = "" }: { readonly chosen?: string; readonly input?: string } = {},
): unknown {
  const choice =
    chosen === undefined ? "" : `sessionStorage.setItem("cofre.language", "${chosen}");`;
  const whole = `
    import ${storageUrl};
    Object.defineProperty(navigator, "languages", { value: ${JSON.stringify(preferred)} });
    ${choice}
    const { language, locale, parts, t } = await import(${urlOf("language.js")});
    const format = await import(${urlOf("format.js")});
    console.log(JSON.stringify(${program}));`;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", whole],
    { encoding: "utf8", input, env: { ...process.env, TZ: "America/Sao_Paulo" } },
  );
  assert.equal(status, 0, stderr);
  // Some spaces of dates and numbers are not breaking.
  return JSON.parse(stdout.replaceAll(/[\u00a0\u202f]/g, " "));
}

const now = 'Date.parse("2026-11-30T12:00:00Z")';
const formats = `{
  language,
  locale,
  amounts: [format.amountText("1402000.50", "BRL"), format.amountText("1402000.00", "CLP")],
  typed: format.typedAmount("1234.50"),
  share: format.shareText(0.667),
  moments: [
    format.momentText("2026-02-01 15:30:00", ${now}),
    format.dayText("2025-02-01 15:30:00", ${now}),
  ],
  exact: format.exactText("2026-02-01 15:30:05"),
  utc: format.utcText("2026-02-01T15:30:00.000Z"),
  counts: [1, 2, 12345].map((count) => t("payments", { count })),
  parts: parts("list.none_new", { link: { to: "#/new" } }).filter((part) => typeof part === "object"),
  state: t("state.captured"),
}`;

/** Whole numbers of a sentence as the server writes them. */
const ungrouped = (text: string): string => text.replaceAll(/(\d),(?=\d{3})/g, "$1");

describe("the languages of the console", () => {
  for (const [language, messages] of Object.entries(translations))
    test(`${language} has every text of English, with the same values`, () => {
      assert.ok(Object.keys(english).length > 400);
      assert.deepEqual(Object.keys(messages), Object.keys(english));
      for (const [key, message] of Object.entries(english)) {
        const translated = messages[key] ?? "";
        const expected = namesIn(formsOf(message).at(-1) ?? "");
        assert.equal(typeof translated, typeof message, key);
        for (const form of [...formsOf(message), ...formsOf(translated)]) {
          assert.deepEqual(namesIn(form), expected, key);
          assert.notEqual(form.trim(), "", key);
        }
      }
    });

  test("a text is the same as in English only where the language has the same word", () => {
    for (const language of ["pt-BR", "es"] as const) {
      const same = Object.entries(english).flatMap(([key, message]) =>
        JSON.stringify(translations[language][key]) === JSON.stringify(message) &&
        /\p{L}{3}/u.test(
          formsOf(message)
            .join(" ")
            .replaceAll(/\{\w+\}/g, ""),
        )
          ? [key]
          : [],
      );
      assert.deepEqual(same.toSorted(), [...sameAsEnglish[language]].toSorted(), language);
    }
  });

  test("every text is used, and no other is asked for", () => {
    const used = new Set(
      scripts.flatMap((name) =>
        [...textOf(name).matchAll(/"([a-z_\d]+(?:\.\w+)*)"/g)].map(([, key = ""]) => key),
      ),
    );
    assert.deepEqual(
      Object.keys(english).filter((key) => !used.has(key)),
      [],
    );
  });

  test("every setting has a name in the language, and each list has its form", async () => {
    const { settingGroups, listForms } = (await import(
      pathToFileURL(`${folder}setting-words.js`).href
    )) as {
      readonly settingGroups: readonly {
        readonly settings: Readonly<Record<string, string>>;
      }[];
      readonly listForms: Readonly<Record<string, string>>;
    };
    const described = describedSettings().flatMap(({ settings, ...each }) =>
      settings === undefined
        ? [each]
        : settings.map((inner) => ({ ...inner, name: `${each.name}.${inner.name}` })),
    );
    assert.deepEqual(
      settingGroups.flatMap(({ settings }) => Object.keys(settings)).toSorted(),
      described.map(({ name }) => name).toSorted(),
    );
    assert.deepEqual(
      Object.keys(listForms).toSorted(),
      described
        .flatMap(({ name, ...each }) => (Array.isArray(each.default) ? [name] : []))
        .toSorted(),
    );
  });

  test("no script shows a text that is not in the messages", () => {
    const found = scripts.flatMap((name) =>
      findHardCodedTexts(textOf(name))
        .filter(({ text }) => !Object.hasOwn(untranslated, text) && !zoneIdentifier.test(text))
        .map(({ line, text }) => `${name}:${line}: ${text}`),
    );
    assert.deepEqual(found, [], "look it up with t(), or list it as untranslated");
    const all = new Set(
      scripts.flatMap((name) => findHardCodedTexts(textOf(name)).map(({ text }) => text)),
    );
    assert.deepEqual(
      Object.keys(untranslated).filter((text) => !all.has(text)),
      [],
      "each exception is needed",
    );
  });

  test("control: a planted text is found in templates, children, labels and messages", () => {
    const planted = [
      ["const a = html`<p>planted</p>`;", "planted"],
      ["const a = html`<p>${t(key)} <b>planted</b></p>`;", "planted"],
      ['const a = html`<input aria-label="planted" name="other" />`;', "planted"],
      ['const a = html`<p title=${isOpen ? "planted" : t(key)}></p>`;', "planted"],
      ["const a = html`<p>${isOpen && html`<b>planted</b>`}</p>`;", "planted"],
      ['const a = html`<p>${isOpen ? "planted" : ""}</p>`;', "planted"],
      ['const a = h("p", { class: "soft" }, isOpen ? "planted" : t(key));', "planted"],
      ['const a = h("p", { class: "soft" }, `${count} planted`);', " planted"],
      ['const a = h("button", { "aria-label": "planted" }, t(key));', "planted"],
      ['say("planted");', "planted"],
      ['throw new Error("planted");', "planted"],
      ['const heads = ["Planted"];', "Planted"],
      ['const words = open ? "planted text" : "";', "planted text"],
    ] as const;
    for (const [source, text] of planted)
      assert.deepEqual(
        findHardCodedTexts(source).map((each) => each.text),
        [text],
        source,
      );
    for (const source of [
      'const a = html`<p class="soft other" name="planted">${t("key.of")} · <b>+</b></p>`;',
      'const a = html`<p class=${isBad ? "count bad" : "count"}></p>`;',
      'const a = h("p", { class: "mark good", name: "planted" }, t("key"), " ", foreign(name));',
      'if (state === "disabled") call("/path", { action: "planted" });',
      "// A planted text in a comment.",
    ])
      assert.deepEqual(findHardCodedTexts(source), [], source);
  });

  test("the language is the first of the browser's that the page has, or English", () => {
    assert.deepEqual(inLanguage(["fr-FR", "en-US"], formats), {
      language: "en",
      locale: "en-US",
      amounts: ["1,402,000.50", "1,402,000"],
      typed: "1234.50",
      share: "66.7%",
      moments: ["Feb 1, 12:30 PM", "Feb 1, 2025"],
      exact: "Feb 1, 2026, 12:30:05 PM",
      utc: "2026-02-01 15:30:00 UTC",
      counts: ["1 payment", "2 payments", "12,345 payments"],
      parts: [{ to: "#/new" }],
      state: "Captured",
    });
  });

  test("Brazilian Portuguese has decimal commas, and its own dates and plurals", () => {
    assert.deepEqual(inLanguage(["pt-BR", "en-US"], formats), {
      language: "pt-BR",
      locale: "pt-BR",
      amounts: ["1.402.000,50", "1.402.000"],
      typed: "1234,50",
      share: "66,7%",
      moments: ["1 de fev., 12:30", "1 de fev. de 2025"],
      exact: "1 de fev. de 2026, 12:30:05",
      utc: "2026-02-01 15:30:00 UTC",
      counts: ["1 pagamento", "2 pagamentos", "12.345 pagamentos"],
      parts: [{ to: "#/new" }],
      state: "Capturado",
    });
  });

  test("Spanish has the decimal point of Mexico, and the comma of Spain", () => {
    const mexican = inLanguage(["es-MX"], formats) as Readonly<Record<string, unknown>>;
    assert.deepEqual(
      [mexican["language"], mexican["locale"], mexican["amounts"], mexican["counts"]],
      ["es", "es-MX", ["1,402,000.50", "1,402,000"], ["1 pago", "2 pagos", "12,345 pagos"]],
    );
    const { locale, amounts } = inLanguage(["en-US"], formats, { chosen: "es" }) as Readonly<
      Record<string, unknown>
    >;
    assert.deepEqual(
      [locale, amounts],
      ["es", ["1.402.000,50", "1.402.000"]],
      "chosen in the side bar, in a browser without Spanish",
    );
  });

  test("a language that does not exist is not chosen", () => {
    const { language } = inLanguage(["es"], formats, { chosen: "constructor" }) as Readonly<
      Record<string, unknown>
    >;
    assert.equal(language, "es");
  });

  test("every audit action, ledger entry and ledger account of the server has its words", () => {
    const words = textOf("words.js");
    const auditActions = [...userActions, ...keyActions, ...keyActActions, ...endpointActions];
    for (const [table, names] of [
      ["audited", auditActions],
      ["entry", entryKinds],
      ["account", ledgerAccounts],
    ] as const)
      for (const name of names)
        assert.ok(words.includes(`\n  ${name}: t("${table}.${name}"),`), `${table}.${name}`);
    assert.deepEqual(
      [...words.matchAll(/: t\("(audited|entry|account)\.(\w+)"\)/g)]
        .filter(([, , name = ""]) =>
          [...auditActions, ...entryKinds, ...ledgerAccounts].every((each) => each !== name),
        )
        .map(([text]) => text),
      [],
      "no words for what the server does not have",
    );
  });

  test("the server's sentences about a payment's books are in the page's language", () => {
    const rules = Object.keys(bookProblems);
    const sentences = Object.values(bookProblems).map((text) => text.replace("{currency}", "BRL"));
    const program = `await (async () => {
      const { problemWords } = await import(${urlOf("sentences.js")});
      return ${JSON.stringify([...rules, "constructor"])}.map(
        (rule) => problemWords({ rule, currency: "BRL" }) ?? null);
    })()`;
    assert.deepEqual(inLanguage(["en"], program), [...sentences, null]);
    for (const language of ["pt-BR", "es"]) {
      const words = inLanguage([language], program) as readonly (string | null)[];
      assert.equal(new Set(words).size, rules.length + 1, "each has its own sentence");
      for (const [place, text] of sentences.entries())
        assert.equal(words[place]?.includes("BRL"), text.includes("BRL"), text);
    }
  });

  test("the fixed words in an audit entry's details are in the page's language", () => {
    const program = `(await import(${urlOf("words.js")})).detailWords`;
    const words = (details: readonly string[]) =>
      inLanguage(["pt-BR"], `${JSON.stringify(details)}.map(${program})`);
    assert.deepEqual(
      words([
        "account 0a1b2c3d, status 200, BP-REF-5",
        "role viewer",
        "viewer to admin",
        "new browser",
        "rate_limited, 3 more since the entry before",
        "account 0a1b2c3d, amount 30.50",
        "account 0a1b2c3d, partialCapture descriptor",
        "disable shop",
      ]),
      [
        "conta 0a1b2c3d, HTTP 200, BP-REF-5",
        "perfil leitor",
        "leitor → administrador",
        "navegador novo",
        "tentativas demais, mais 3 desde o registro anterior",
        "conta 0a1b2c3d, valor 30.50",
        "conta 0a1b2c3d, partialCapture descriptor",
        "Desativar shop",
      ],
    );
    // Actions on payments and worlds.
    const fixed = [...actionNames, ...worldActions];
    const translated = words(fixed) as readonly string[];
    for (const [place, action] of fixed.entries()) assert.notEqual(translated[place], action);
  });

  test("the page finds the field of each refusal whose message begins with it", async () => {
    const { refusedField } = (await import(pathToFileURL(`${folder}refusals.js`).href)) as {
      readonly refusedField: (code: string, message: string) => string | undefined;
    };
    let found = 0;
    for (const [code, { message, field }] of Object.entries<ErrorRow>(errorTable)) {
      const expected = field?.split(".").at(-1);
      const known = refusedField(code, message);
      if (expected === undefined || !message.startsWith("Parameter ")) continue;
      // The form of a row with a placeholder is tried below.
      if (expected.startsWith("{")) continue;
      assert.equal(known, expected, code);
      found += 1;
    }
    assert.ok(found > 10, `${found} refusals`);
    for (const code of ["BP-CAP-6", "BP-CAP-11", "BP-REF-3", "BP-REF-4", "BP-REF-5"] as const)
      assert.equal(refusedField(code, errorTable[code].message), "amount", code);
    assert.equal(refusedField("COFRE-73", "Parameter clock must be a time"), "clock");
    assert.equal(refusedField("COFRE-14", errorTable["COFRE-14"].message), undefined, "control");
  });

  describe("a refusal by the server", () => {
    const rows: Readonly<Record<string, ErrorRow>> = errorTable;
    const translated = new Map(
      [...textOf("refusals.js").matchAll(/"([A-Z]+(?:-[A-Z]+)*-\d+)": t\("([\w.]+)"\)/g)].map(
        ([, code = "", key = ""]) => [code, key] as const,
      ),
    );

    test("has the server's own message in English", () => {
      assert.ok(translated.size > 40);
      for (const [code, key] of translated) {
        assert.equal(english[key], rows[code]?.message, code);
        assert.doesNotMatch(rows[code]?.message ?? "{", /\{/, "its message has no values");
      }
    });

    test("of an action on a payment, or of signing in, is translated", () => {
      /** Requests that the console does not send. */
      const others = new Set([
        "BP-CAP-1",
        "BP-CAN-1",
        "BP-REF-1",
        "BP-REF-2",
        "BP-REF-6",
        "BP-REF-8",
      ]);
      const missing = Object.entries(rows)
        .filter(([code]) => /^(?:BP-(?:CAP|CAN|REF)|COFRE-11)-?\d+$/.test(code))
        .filter(([, { message, tested }]) => tested !== "never sent" && !message.includes("{"))
        .map(([code]) => code)
        .filter((code) => !translated.has(code) && !others.has(code));
      assert.deepEqual(missing, []);
    });

    /** Every message of a row: each choice, and a value of its own for every other placeholder. */
    function messagesOf({ message, choices = {} }: ErrorRow): readonly string[] {
      const [, name] = /\{(\w+)\}/.exec(message) ?? [];
      if (name === undefined) return [message];
      const values = Object.entries(choices).find(([each]) => each === name)?.[1] ?? [`<${name}>`];
      return values.flatMap((value) =>
        messagesOf({ message: message.replace(`{${name}}`, String(value)), choices } as ErrorRow),
      );
    }
    const wordsOf = (language: string, input: readonly (readonly [string, string])[]) =>
      inLanguage(
        [language],
        `await (async () => {
          const { readFileSync } = await import("node:fs");
          const { refusalWords } = await import(${urlOf("refusals.js")});
          return JSON.parse(readFileSync(0, "utf8")).map((each) => refusalWords(...each));
        })()`,
        { input: JSON.stringify(input) },
      ) as readonly { readonly text: string; readonly lang: string }[];

    for (const language of ["pt-BR", "es"] as const)
      test(`is translated to ${language}, with each value of its message`, () => {
        const sent = Object.entries(rows)
          // Its message is made of sentences about settings, which are tested below.
          .filter(([code, { tested }]) => tested !== "never sent" && code !== "COFRE-31")
          .flatMap(([code, row]) => messagesOf(row).map((message) => [code, message] as const));
        assert.ok(sent.length > 250);
        for (const [place, { text, lang }] of wordsOf(language, sent).entries()) {
          const [code = "", message = ""] = sent[place] ?? [];
          assert.equal(lang, language, `${code}: ${message}`);
          assert.notEqual(text, message);
          const valuesIn = (words: string) => (words.match(/<\w+>/g) ?? []).toSorted();
          assert.deepEqual(valuesIn(text), valuesIn(message), `${code}: ${text}`);
        }
      });

    test("of an address is translated", () => {
      const addresses = Object.values(refusalTexts).flatMap((reason) => {
        const result = validateSettings(
          { notificationUrl: "https://shop.example/hook" },
          undefined,
          () => reason,
        );
        assert.ok("problems" in result);
        return result.problems;
      });
      const messages = [...addresses, `${addresses[0]} ${addresses[1]}`];
      for (const language of ["pt-BR", "es"])
        for (const { text, lang } of wordsOf(
          language,
          messages.map((message) => ["COFRE-31", message] as const),
        )) {
          assert.equal(lang, language, text);
          assert.doesNotMatch(text, /\b(?:the|must|is)\b/);
        }
    });

    /** Every sentence about a setting whose value or name is refused; addresses have their own. */
    const settingProblems = describedSettings().flatMap(({ name, settings = [] }) => {
      const refused = [
        { [name]: null },
        ...settings.map((inside) => ({ [name]: { [inside.name]: null } })),
        ...(settings.length === 0 ? [] : [{ [name]: { "a name": 1 } }]),
      ].map((changes) => validateSettings(changes));
      return refused.flatMap((result) => ("problems" in result ? result.problems : []));
    });
    for (const changes of [
      { partialCaptur: true, simulator: { qqqq: 1 } },
      { "a name": 1, partialCapture: 1, simulator: { seed: 1 } },
    ]) {
      const result = validateSettings(changes);
      assert.ok("problems" in result && result.problems.length > 1);
      settingProblems.push(...result.problems, result.problems.join(" "));
    }
    const { status_message: unknownConnectors } = JSON.parse(
      unknownConnector(["simulator", "other"]).body,
    ) as { readonly status_message: string };
    settingProblems.push(unknownConnectors);

    for (const language of ["pt-BR", "es"])
      test(`of a setting's name or value is translated to ${language}, whatever is allowed`, () => {
        const known = describedSettings().flatMap(({ settings = [], ...each }) => [
          each,
          ...settings,
        ]);
        assert.ok(settingProblems.length > known.length);
        const all = wordsOf(
          language,
          settingProblems.map((message) => ["COFRE-31", message] as const),
        );
        for (const [place, { text, lang }] of all.entries()) {
          assert.equal(lang, language, text);
          assert.notEqual(text, settingProblems[place]);
          assert.doesNotMatch(text, /\b(?:the|must|is|of|names|whole|characters)\b/);
        }
      });

    test("has the same forms in each language, with the same values", async () => {
      const [portuguese, spanish] = await Promise.all(
        ["messages-pt-br.js", "messages-es.js"].map(async (file) => {
          const { refusals } = (await import(pathToFileURL(folder + file).href)) as {
            readonly refusals: Readonly<Record<string, string>>;
          };
          return refusals;
        }),
      );
      assert.ok(portuguese !== undefined && spanish !== undefined);
      assert.deepEqual(Object.keys(portuguese), Object.keys(spanish));
      for (const [message, text] of [...Object.entries(portuguese), ...Object.entries(spanish)])
        assert.deepEqual(namesIn(text), namesIn(message), message);
      const ofServer = [
        ...Object.values(rows).flatMap(messagesOf),
        ...Object.values(refusalTexts).map((reason) => `notificationUrl: the address ${reason}.`),
        "url: the address has *** for its password, which must be given.",
        ...settingProblems,
        cardInSettings,
      ];
      const unused = Object.keys(spanish).filter((message) => {
        const parts = message.split(/\{\w+\}/);
        const form = parts.map((part) => part.replaceAll(/[^\w ]/g, "\\$&")).join(".+");
        return !ofServer.some((sent) => new RegExp(`^${form}$`).test(sent));
      });
      assert.deepEqual(unused, [], "the server sends no such message");
    });

    test("without a translation keeps its English text, and is marked as English", () => {
      const program = `await (async () => {
        const { Refusal } = await import(${urlOf("api.js")});
        return [new Refusal("BP-CAP-2", "Payment not found"), new Refusal("COFRE-31", "a is unknown"),
          new Refusal("constructor", "odd")].map(({ message, code, lang }) => [message, code, lang]);
      })()`;
      assert.deepEqual(inLanguage(["pt-BR"], program), [
        ["Pagamento não encontrado (BP-CAP-2)", "BP-CAP-2", "pt-BR"],
        ["a is unknown (COFRE-31)", "COFRE-31", "en"],
        ["odd (constructor)", "constructor", "en"],
      ]);
    });
  });

  describe("a payment's timeline", () => {
    const factsOfServer = new Map(
      [
        ...(
          readFileSync(
            fileURLToPath(new URL("../../src/http/admin/timeline-text.ts", import.meta.url)),
            "utf8",
          )
            .split("const facts = {")[1]
            ?.split("} as const")[0] ?? ""
        ).matchAll(/\n  (\w+):\s+"([^"]+)",/g),
      ].map(([, fact = "", text = ""]) => [fact, text] as const),
    );

    test("has the server's sentence for each fact", () => {
      assert.ok(factsOfServer.size > 30);
      for (const [fact, text] of factsOfServer) {
        assert.equal(english[`fact.${fact}`], text, fact);
        assert.ok(textOf("sentences.js").includes(` ${fact}: t("fact.${fact}")`), fact);
      }
    });

    test("reads in English as the server writes it, and has no English sentence in other languages", async () => {
      await using server = await startTestServer();
      const entries: Entry[] = [];
      for (const card of ["4111111111111111", "4716909774636285"])
        for (const capture of [true, false]) {
          const code = `told-${card.slice(-4)}-${capture}`;
          const creditcard = { ...testCard, card_number: card, auto_capture: capture };
          const { body } = await server.postJson("/ws/direct", directBody(code, { creditcard }));
          const { hash } = body["payment"] as { readonly hash: string };
          const about = { integration_key: integrationKey, hash };
          await server.postJson("/ws/capture", about);
          await server.postJson("/ws/refund", {
            ...about,
            operation: "request",
            amount: "30.50",
            description: "returned",
          });
          server.clock.advance(3_600_000);
          await server.postJson("/ws/query", about);
          const answer = await server.postJson("/__cofre/timeline", about);
          entries.push(...(answer.body["entries"] as Entry[]));
        }
      assert.deepEqual([...new Set(entries.map(({ kind }) => kind))].toSorted(), [
        "call",
        "fact",
        "notification",
        "request",
      ]);
      const program = `await (async () => {
        const { readFileSync } = await import("node:fs");
        const { sentenceOf } = await import(${urlOf("sentences.js")});
        return JSON.parse(readFileSync(0, "utf8")).map(sentenceOf);
      })()`;
      const input = JSON.stringify(entries);
      const own = inLanguage(["en-US"], program, { input }) as string[];
      assert.deepEqual(
        own.map(ungrouped),
        entries.map(({ text }) => text),
      );
      for (const language of ["pt-BR", "es"]) {
        const sentences = inLanguage([language], program, { input }) as string[];
        sentences.forEach((sentence, place) => {
          assert.notEqual(sentence, entries[place]?.text);
          assert.doesNotMatch(sentence, /\{|undefined| the | was /);
        });
      }
    });

    test("explains prices in English as the server writes it, and has no English sentence in other languages", async () => {
      await using server = await startTestServer();
      const prices: Price[] = [];
      for (const [number, [taxPaidBy, changes]] of (
        [
          ["customer", {}],
          ["merchant", {}],
          ["customer", { currency_code: "BRL" }],
          ["customer", { country: "mx" }],
        ] as const
      ).entries()) {
        await server.postJson("/__cofre/settings", {
          integration_key: integrationKey,
          settings: { taxPaidBy },
        });
        const { body } = await server.postJson(
          "/ws/direct",
          directBody(`priced-${number}`, changes),
        );
        const { hash } = body["payment"] as { readonly hash: string };
        const about = { integration_key: integrationKey, hash };
        await server.postJson("/__cofre/payment", { ...about, action: "chargeback" });
        const answer = await server.postJson("/__cofre/timeline", about);
        prices.push(...(answer.body["price"] as Price[]));
      }
      for (const part of [
        /rate of .*with a tax/,
        /bears the tax/,
        /not converted/,
        /no tax/,
        /went back/,
      ])
        assert.ok(
          prices.some(({ text }) => part.test(text)),
          String(part),
        );
      const program = `await (async () => {
        const { readFileSync } = await import("node:fs");
        const { priceSentence } = await import(${urlOf("sentences.js")});
        return JSON.parse(readFileSync(0, "utf8")).map(priceSentence);
      })()`;
      const input = JSON.stringify(prices);
      assert.deepEqual(
        (inLanguage(["en-US"], program, { input }) as string[]).map(ungrouped),
        prices.map(({ text }) => text),
      );
      for (const language of ["pt-BR", "es"])
        (inLanguage([language], program, { input }) as string[]).forEach((sentence, place) => {
          assert.notEqual(sentence, prices[place]?.text);
          assert.doesNotMatch(sentence, /\{|undefined| the | tax /);
        });
    });
  });
});
