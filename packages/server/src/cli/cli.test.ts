import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { baseUrl, firstMinute, firstStartBanner, laterStartLines } from "./banner.ts";
import { readCommandLine } from "./command-line.ts";
import { commandRows } from "./commands.ts";
import { instant } from "../kernel/instant.ts";
import { faultKindNames } from "../http/faults/fault-kinds.ts";
import { declineReasons } from "../payment/payment.ts";
import { commandHelp, helpText } from "./help.ts";

describe("the command line", () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ["strat", /^Unknown command strat\. Did you mean start\?$/],
    ["frobnicate", /^Unknown command frobnicate\.$/],
    ["start now", /^start takes no arguments, but was given: now$/],
    ["--prot 80", /^Unknown option --prot\. Did you mean --port\?$/],
    ["-x", /^Unknown option -x\.$/],
    ["--toString=1", /^Unknown option --toString\.$/],
    ["--port", /^--port needs a value\.$/],
    ["--port=", /^--port needs a value\.$/],
    ["--port --host here", /^--port needs a value\.$/],
    ["--port 1 --port 2", /^--port is given twice\.$/],
    ["listen --host here", /^listen has no option --host\.$/],
    ["--json start", /^start has no option --json\.$/],
    ["listen --json=yes", /^--json takes no value\.$/],
    ["chaos --dorp 10%", /^Unknown option --dorp\. Did you mean --drop\?$/],
    ["chaos on", /^chaos takes only off, but was given: on$/],
    ["chaos off now", /^chaos takes only off, but was given: now$/],
    ["lisetn", /^Unknown command lisetn\. Did you mean listen\?$/],
    [
      "env perl",
      /^env takes only node or ruby or php or python or go or java or curl, but was given: perl$/,
    ],
    ["payment", /^payment needs arguments: \[timeline\] CODE\|HASH\.\.\.$/],
    ["notification send", /^notification takes only list or resend, but was given: send$/],
    ["fault add", /^fault add needs KIND\.$/],
    ["fault add slow now", /^fault add takes one KIND, but was given: slow now$/],
    ["fault clear f1 f2", /^fault clear takes one \[ID\], but was given: f1 f2$/],
    ["fault list all", /^fault takes only add or list or clear, but was given: all$/],
    ["start --tls=yes", /^--tls takes no value\.$/],
    ["help strat", /^help takes only start or .*, but was given: strat$/],
  ];
  for (const [words, problem] of refused) {
    test(`refuses: ${words}`, () => {
      const read = readCommandLine(words.split(" "));
      assert.match("problem" in read ? read.problem : "", problem);
    });
  }

  const taken: readonly (readonly [string[], string, Record<string, string>])[] = [
    [[], "start", {}],
    [["start"], "start", {}],
    [["--port", "0"], "start", { "--port": "0" }],
    [
      ["start", "--port=0", "--host", "::1", "--data-dir", ":memory:"],
      "start",
      { "--port": "0", "--host": "::1", "--data-dir": ":memory:" },
    ],
    [["--port", "0", "config"], "config", { "--port": "0" }],
    [["help"], "help", {}],
    [
      ["listen", "--forward-to", "localhost:3000", "--json"],
      "listen",
      { "--forward-to": "localhost:3000", "--json": "" },
    ],
    [["chaos", "off"], "chaos", {}],
    [["--json", "chaos", "--drop", "10%"], "chaos", { "--json": "", "--drop": "10%" }],
    [["-h"], "help", {}],
    [["start", "--help"], "help", {}],
    [["help", "listen"], "help", {}],
    [["start", "--tls"], "start", { "--tls": "" }],
    [["env", "node", "--json"], "env", { "--json": "" }],
    [["env", "--shell", "fish"], "env", { "--shell": "fish" }],
    [["run", "--port", "0", "--", "npm", "--port", "1"], "run", { "--port": "0" }],
    [["run", "npm", "test", "--", "-x", "--help"], "run", {}],
    [["notification"], "notification", {}],
    [["fault", "add", "slow", "--delay", "10"], "fault", { "--delay": "10" }],
    [["fault", "clear"], "fault", {}],
    [["fault", "clear", "f1"], "fault", {}],
    [["--version"], "version", {}],
  ];
  for (const [args, command, flags] of taken) {
    test(`takes: cofre ${args.join(" ")}`, () => {
      const read = readCommandLine(args);
      assert.ok("flags" in read);
      assert.equal(read.command, command);
      assert.deepEqual(Object.fromEntries(read.flags), flags);
    });
  }
});

test("a wrong command line names the likely command, and the help of that one can be asked for", () => {
  const meant = (words: string) => {
    const read = readCommandLine(words.split(" "));
    return "problem" in read ? read.command : read.word;
  };
  for (const words of [
    "config now",
    "config --prot 1",
    "config --port",
    "config --json",
    "config --help",
    "help config",
  ]) {
    assert.equal(meant(words), "config", words);
  }
  for (const words of ["strat", "--prot 1", "--help"]) assert.equal(meant(words), undefined, words);
});

test("the help of a command has its options, and examples that the command line takes", () => {
  for (const [name, { options, examples = [] }] of commandRows) {
    const text = commandHelp(name);
    assert.ok(text.startsWith(`cofre ${name}`));
    for (const flag of Object.keys(options)) assert.ok(text.includes(`\n  ${flag} `), flag);
    assert.ok(examples.length > 0, name);
    for (const example of examples) {
      for (const [, words = ""] of example.matchAll(/\bcofre ([^)&|]*)/g)) {
        if (example.startsWith("pg_dump") && words === "") continue;
        const read = readCommandLine(words.trim().split(" "));
        assert.ok(!("problem" in read), `${example}: ${"problem" in read ? read.problem : ""}`);
      }
    }
  }
});

test("the help of fault says which kinds and reasons there are, and what a client sees of each", () => {
  const text = commandHelp("fault");
  for (const kind of faultKindNames) assert.match(text, new RegExp(`\\n  ${kind} +\\S.{8}`));
  for (const reason of declineReasons) assert.ok(text.includes(reason), reason);
});

test("words of which one may follow a command are shown as a choice", () => {
  assert.match(commandHelp("audit"), /^cofre audit \[list\|verify\|head\|due\] \[options\]\n/);
  assert.match(commandHelp("world"), /^cofre world create\|list\|/);
});

test("the help names every command, and says where options and settings are", () => {
  const text = helpText("1.2.3");
  assert.match(text, /^Cofre 1\.2\.3/);
  for (const [name] of commandRows) assert.ok(text.includes(`\n  ${name} `), name);
  assert.match(text, /`cofre help COMMAND`[^]*`cofre config`/);
  // About as long as the overview of git; a terminal has 80 columns, and no line wraps there.
  assert.ok(text.split("\n").length <= 52, text);
  for (const line of text.split("\n")) assert.ok(line.length <= 80, line);
});

test("an option has a value in all commands that know it, or in none", () => {
  const forms = new Map<string, boolean>();
  for (const [flag, { form }] of commandRows.flatMap(([, { options }]) =>
    Object.entries(options),
  )) {
    assert.equal(forms.get(flag) ?? form !== undefined, form !== undefined, flag);
    forms.set(flag, form !== undefined);
  }
});

test("a client reaches a wildcard address over loopback and an IPv6 address in brackets", () => {
  assert.equal(baseUrl("0.0.0.0", 8_787), "http://127.0.0.1:8787");
  assert.equal(baseUrl("::1", 8_787), "http://[::1]:8787");
  assert.equal(baseUrl("pay.example.com", 80), "http://pay.example.com:80");
});

test("a later start says where the console is and what opens it, and shows no key", () => {
  const address = { host: "0.0.0.0", port: 1 };
  assert.match(
    laterStartLines(address, "key"),
    /^Cofre is listening at http:\/\/127\.0\.0\.1:1, with the console: .*secret key[^]*COFRE_SANDBOX_INTEGRATION_KEY=KEY/,
  );
  assert.match(laterStartLines(address, "login"), /users sign in there\.\n$/);
});

const now = instant(Date.UTC(2040, 5, 15));

test("the first lines show a card that is good for years to come, whenever it is", () => {
  const lines = firstStartBanner({
    host: "127.0.0.1",
    port: 1,
    isConsoleByKey: true,
    now,
    integrationKey: "k",
    publicIntegrationKey: "p",
  });
  assert.match(lines, /"card_due_date":"12\/2049"/);
});

test("the first lines show made keys and never those that the operator chose", () => {
  const keys = { integrationKey: "made-secret", publicIntegrationKey: "made-public" };
  const made = firstStartBanner({ host: "127.0.0.1", port: 1, isConsoleByKey: true, now, ...keys });
  assert.ok(
    made.includes("made-secret") &&
      made.includes("made-public") &&
      made.includes("http://127.0.0.1:1"),
  );
  assert.ok(
    made.includes("http://127.0.0.1:1/#key=made-secret\n"),
    "the link that opens the console",
  );
  const signedIn = firstStartBanner({
    host: "127.0.0.1",
    port: 1,
    isConsoleByKey: false,
    now,
    ...keys,
  });
  assert.ok(
    signedIn.includes("made-secret") && !signedIn.includes("#key"),
    "where people sign in no key opens the console",
  );
  const none = { integrationKey: undefined, publicIntegrationKey: undefined };
  const chosen = firstStartBanner({
    host: "127.0.0.1",
    port: 1,
    isConsoleByKey: true,
    now,
    ...none,
  });
  assert.ok(
    chosen.includes("It has the keys that you chose") &&
      chosen.includes("$COFRE_SANDBOX_INTEGRATION_KEY"),
  );
  assert.ok(!chosen.includes("shown only now") && !chosen.includes("after the #"), chosen);
  assert.ok(chosen.includes("http://127.0.0.1:1/\n") && !chosen.includes("#key"));
});

test("each of the three commands is one line", () => {
  const commands = firstMinute("http://127.0.0.1:1", "key", "12/2035");
  assert.equal(commands.length, 3);
  for (const command of commands) assert.equal(command.includes("\n"), false);
});
