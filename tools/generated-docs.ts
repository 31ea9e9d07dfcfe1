import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  fixturesAsMarkdown,
  fixtureSchema,
} from "../packages/server/src/cli/fixture/json-schema.ts";
import { commandsAsMarkdown } from "../packages/server/src/cli/help.ts";
import { settingsAsMarkdown } from "../packages/server/src/config/reference.ts";
import { describedCards } from "../packages/server/src/sandbox/test-cards.ts";
import { faultKindsAsMarkdown } from "../packages/server/src/http/faults/fault-kinds.ts";
import { errorsAsMarkdown } from "../packages/server/src/wire/errors/error-reference.ts";
import { wireStatusOfState } from "../packages/server/src/wire/answers/payment-answer.ts";
import {
  accountSettings,
  chaosSettings,
  settingsTableAsMarkdown,
  simulatorSettings,
} from "../packages/server/src/merchant/settings.ts";
import { logEvents } from "../packages/server/src/logging/log-event.ts";
import { alarmChecks } from "../packages/server/src/production/alarm-checks.ts";
import type { Check } from "../packages/server/src/production/check.ts";
import {
  installationChecks,
  rootSetChecks,
} from "../packages/server/src/production/installation-checks.ts";
import { rootKeyChecks } from "../packages/server/src/production/root-key-checks.ts";
import {
  serverSettingChecks,
  settingChecks,
} from "../packages/server/src/production/setting-checks.ts";
import { brandRules } from "../packages/server/src/vault/bin.ts";
import { paymentMachine } from "../packages/server/src/payment/payment-machine.ts";
import { brunoCollection } from "./bruno-collection.ts";
import { sdkTables, sdkTestData, sdkTypes } from "./sdk-tables.ts";

/**
 * The parts of the documentation that are generated from the program's tables. `npm run docs`
 * writes them between their marks; a test compares, so that a table and its page cannot differ.
 */
interface Section {
  readonly file: string;
  readonly name: string;
  readonly make: () => string;
}

export const sections: readonly Section[] = [
  { file: "docs/concepts/payment-states.md", name: "payment states", make: stateDiagram },
  { file: "docs/concepts/payment-states.md", name: "wire statuses", make: statusTable },
  { file: "docs/fixtures.md", name: "members of fixtures", make: fixturesAsMarkdown },
  { file: "docs/operate/commands.md", name: "commands", make: commandsAsMarkdown },
  { file: "docs/operate/configuration.md", name: "settings", make: settingsAsMarkdown },
  { file: "docs/operate/logs.md", name: "log events", make: eventTable },
  {
    file: "docs/operate/production.md",
    name: "production checks",
    make: () =>
      checkTable([
        ...settingChecks,
        ...serverSettingChecks,
        ...rootKeyChecks,
        ...rootSetChecks,
        ...installationChecks,
      ]),
  },
  {
    file: "docs/operate/production.md",
    name: "production alarms",
    make: () => checkTable(alarmChecks),
  },
  { file: "docs/wire/sandbox.md", name: "test cards", make: cardTable },
  { file: "docs/wire/sandbox.md", name: "kinds of faults", make: faultKindsAsMarkdown },
  {
    file: "docs/wire/sandbox.md",
    name: "account settings",
    make: () => settingsTableAsMarkdown(accountSettings),
  },
  {
    file: "docs/wire/sandbox.md",
    name: "simulator settings",
    make: () => settingsTableAsMarkdown(simulatorSettings),
  },
  {
    file: "docs/wire/sandbox.md",
    name: "notification chaos",
    make: () => settingsTableAsMarkdown(chaosSettings),
  },
  { file: "docs/wire/errors.md", name: "error codes", make: () => errorsAsMarkdown("sent") },
  {
    file: "docs/wire/errors.md",
    name: "codes that are never sent",
    make: () => errorsAsMarkdown("never sent"),
  },
];

/** Whole files that are generated. */
export const generatedFiles: readonly { readonly file: string; readonly make: () => string }[] = [
  { file: "docs/cofre.schema.json", make: fixtureSchema },
  { file: "packages/sdk/src/generated/types.ts", make: sdkTypes },
  { file: "packages/sdk/src/generated/tables.ts", make: sdkTables },
  { file: "packages/sdk/src/generated/test-data.ts", make: sdkTestData },
  { file: "packages/fields/src/brand-rows.js", make: brandRows },
];

/** The file's text with the section between its marks generated again. */
export function renewed(text: string, { file, name, make }: Section): string {
  const begin = `<!-- made from the program, npm run docs: ${name} -->`;
  const end = `<!-- end of ${name} -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`${file} has no marks for ${name}`);
  return `${text.slice(0, from + begin.length)}\n\n${make()}\n\n${text.slice(to)}`;
}

function stateDiagram(): string {
  const { initial, final, rows } = paymentMachine;
  const edges = rows.map(([from, fact, to]) => `    ${from} --> ${to}: ${fact}`);
  return [
    "```mermaid",
    "stateDiagram-v2",
    `    [*] --> ${initial}`,
    ...edges,
    ...final.map((state) => `    ${state} --> [*]`),
    "```",
  ].join("\n");
}

function statusTable(): string {
  const rows = paymentMachine.states.map(
    (state) => `| \`${state}\` | \`${wireStatusOfState(state)}\` |`,
  );
  return ["| state | status on the wire |", "|---|---|", ...rows].join("\n");
}

function eventTable(): string {
  const rows = Object.entries(logEvents).map(([name, { level, doc, fields }]) => {
    const names = Object.keys(fields).map((field) => `\`${field}\``);
    return `| \`${name}\` | ${level} | ${names.join(", ")} | ${doc} |`;
  });
  return ["| event | level | fields | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function checkTable(checks: readonly Pick<Check<never>, "name" | "rule" | "remedy">[]): string {
  const rows = checks.map(({ name, rule, remedy }) => `| \`${name}\` | ${rule} | ${remedy} |`);
  return ["| check | required | what to do |", "|---|---|---|", ...rows].join("\n");
}

function cardTable(): string {
  const rows = describedCards.map(
    ({ number, brand, outcome }) => `| \`${number}\` | ${brand} | ${outcome} |`,
  );
  return ["| number | brand | what happens |", "|---|---|---|", ...rows].join("\n");
}

/** The brands of the server's table as a script for the card fields. */
function brandRows(): string {
  const written = (prefixes: readonly (string | readonly [string, string])[]) =>
    prefixes.map((each) => (typeof each === "string" ? each : each.join("-"))).join(",");
  const rows = brandRules.map(({ brand, lengths, include, exclude = [] }) =>
    JSON.stringify([brand, lengths, written(include), written(exclude)]),
  );
  return `// Made from the server's table, npm run docs: brand, lengths, first digits, those that are excluded.
/** @type {readonly (readonly [name: string, lengths: readonly number[], include: string, exclude: string])[]} */
export const brandRows = [
${rows.map((row) => `  ${row},\n`).join("")}];
`;
}

/** Folders that have generated files only. */
export const folders: readonly {
  readonly folder: string;
  readonly make: () => ReadonlyMap<string, string>;
}[] = [{ folder: "examples/bruno", make: brunoCollection }];

export function pathOf(file: string): string {
  return fileURLToPath(new URL(`../${file}`, import.meta.url));
}

if (import.meta.main) {
  for (const section of sections) {
    const path = pathOf(section.file);
    writeFileSync(path, renewed(readFileSync(path, "utf8"), section));
  }
  for (const { folder, make } of folders) {
    rmSync(pathOf(folder), { recursive: true, force: true });
    for (const [file, text] of make()) {
      const path = join(pathOf(folder), file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  }
  for (const { file, make } of generatedFiles) writeFileSync(pathOf(file), make());
}
