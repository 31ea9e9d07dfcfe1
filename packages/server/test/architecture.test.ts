import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { testNumbers, testRanges } from "../src/vault/test-numbers.ts";
import { Pan } from "../src/vault/pan.ts";
import { scan, usesOf } from "./source-scan.ts";

const here = dirname(fileURLToPath(import.meta.url));
const sourceRoot = join(here, "..", "src");
const repositoryRoot = join(here, "..", "..", "..");

interface SourceFile {
  /** Relative to packages/server/src, or to the repository, with forward slashes. */
  readonly path: string;
  readonly source: string;
}

// --- Arrows between folders (style.md, "Arrows") -----------------------------------------------

const domain = [
  "kernel/",
  "payment/",
  "vault/",
  "ledger/",
  "merchant/",
  "notification/events.ts",
  "notification/endpoint.ts",
];
/** The console's users as other modules see them, and the contract of their store. */
const users = [
  "user/user.ts",
  "user/audit.ts",
  "sign-in/users.ts",
  "user/audit-chain.ts",
  "user/audit-log.ts",
  "user/user-store.ts",
];
/** The parts that show the audit log to console users. */
const auditShown = ["user/audit-log.ts", "user/audit-view.ts", "user/audit-chain.ts"];
const contracts = [
  "authentication/authenticator.ts",
  "stores/store.ts",
  "stores/change.ts",
  "stores/identity.ts",
  "connectors/connector.ts",
];
/**
 * What may be logged, errors too, and the contract of the log's sink. The sink that writes is in
 * logging/log.ts.
 */
const logging = ["logging/log-event.ts", "logging/error-facts.ts"];

/** What a module may import, besides its own row's folder. The first row that fits counts. */
const arrows: readonly {
  readonly from: string;
  readonly to: readonly string[];
  readonly own?: boolean;
}[] = [
  { from: "kernel/", to: [] },
  { from: "payment/", to: ["kernel/", "vault/brand.ts"] },
  // Clients of key services.
  { from: "vault/providers/", to: ["kernel/", "vault/", "http-client/"] },
  { from: "vault/", to: ["kernel/"] },
  { from: "ledger/", to: ["kernel/", "payment/"] },
  {
    from: "merchant/",
    to: [
      "kernel/",
      "payment/",
      "vault/brand.ts",
      "notification/endpoint.ts",
      "notification/events.ts",
    ],
  },
  { from: "logging/", to: ["kernel/"] },
  { from: "config/", to: ["kernel/", "payment/connector-name.ts"] },
  // Checks of an installation in production, as data.
  { from: "production/", to: ["kernel/", "config/"] },
  { from: "certificates/", to: ["kernel/"] },
  { from: "http-client/", to: ["kernel/"] },
  // A table of names, for the server of the interface and for its clients.
  { from: "interface/", to: [] },
  { from: "notification/events.ts", to: ["kernel/", "payment/"] },
  { from: "notification/", to: [...domain, ...contracts] },
  { from: "connectors/connector.ts", to: [...domain], own: false },
  // The lists that the contract suites read.
  { from: "stores/index.ts", to: ["stores/", ...domain, ...logging] },
  { from: "connectors/index.ts", to: ["connectors/", ...domain, ...logging] },
  // The set of connectors, and the circuit breaker.
  {
    from: "connectors/connector-set.ts",
    to: ["kernel/", "connectors/connector.ts", "connectors/strict-answers.ts"],
    own: false,
  },
  {
    from: "connectors/*.ts",
    to: [...domain, "connectors/connector.ts", "connectors/response-codes.ts"],
    own: false,
  },
  // Each store and each connector has its own folder: they never import a sibling.
  { from: "stores/*/", to: [...domain, ...users, "stores/*.ts", ...logging] },
  { from: "stores/*.ts", to: [...domain, ...users, "stores/*.ts"], own: false },
  // They may import the stores' errors, the contract of key records, and the vault's sealing of their secrets.
  {
    from: "user/",
    to: [
      "kernel/",
      "vault/sealed-secret.ts",
      "vault/row-mac.ts",
      "vault/records/key-record.ts",
      "stores/store.ts",
      "stores/key-record-store.ts",
    ],
  },
  // Orders about keys: the list that all nodes read, and who may order what.
  {
    from: "key-acts/",
    to: ["kernel/", "vault/", "user/", "stores/store.ts", "stores/key-record-store.ts"],
  },
  {
    from: "sign-in/",
    to: [
      "kernel/",
      "user/",
      "vault/sealed-secret.ts",
      "vault/row-mac.ts",
      "stores/store.ts",
      "payment/service-error.ts",
    ],
  },
  {
    from: "connectors/*/",
    to: [
      ...domain,
      "connectors/connector.ts",
      "connectors/response-codes.ts",
      "http-client/",
      "interface/",
      ...logging,
    ],
  },
  // Decisions of operations and recovery: pure, from outcomes and records to a Change.
  { from: "decisions/", to: [...domain, ...contracts] },
  { from: "operations/", to: [...domain, ...contracts, ...logging, "decisions/"] },
  {
    from: "delivery/",
    to: [...domain, ...contracts, ...logging, "notification/", "certificates/"],
  },
  {
    from: "recovery/",
    to: [
      ...domain,
      ...contracts,
      ...logging,
      "decisions/",
      "operations/",
      "stores/key-record-store.ts",
      "key-acts/rotation-orders.ts",
      "key-acts/rotation-state.ts",
      "user/user-store.ts",
      "notification/backoff.ts",
      "delivery/delivery.ts",
    ],
  },
  // From one store into another, with their common interface of an installation.
  {
    from: "store-migration/",
    to: [...domain, "user/audit-chain.ts", "stores/transfer.ts", "stores/rows.ts"],
  },
  // The parts of a payment service, put together over any ports; and worlds, each of which is such
  // a service.
  {
    from: "payment-service.ts",
    to: [
      ...domain,
      ...contracts,
      ...logging,
      "operations/",
      "notification/",
      "delivery/",
      "recovery/",
    ],
  },
  // 3-D Secure: the contract of its server, and the simulated one.
  { from: "authentication/", to: ["kernel/", "vault/"] },
  // The sandbox's request log imports the types that it records, and none of the modules that call
  // it.
  { from: "sandbox/recording/", to: [...domain, "connectors/connector.ts"] },
  {
    from: "sandbox/",
    to: [
      ...domain,
      ...contracts,
      ...logging,
      "payment-service.ts",
      "authentication/",
      "operations/",
      "delivery/sender.ts",
      "connectors/connector-set.ts",
      "connectors/simulator/",
      "stores/world-store.ts",
    ],
  },
  // The interface: decoding requests, running operations, and rendering answers. It does not use
  // sockets.
  {
    from: "wire/",
    to: [
      ...domain,
      ...contracts,
      ...logging,
      "interface/",
      "authentication/",
      "operations/",
      "user/user.ts",
    ],
  },
  // The OpenAPI document and its page: made from what the endpoints declare.
  { from: "api-docs/", to: ["kernel/", "vault/card-due-date.ts", "wire/"] },
  {
    from: "http/admin/",
    to: [
      ...domain,
      ...contracts,
      ...logging,
      "interface/",
      "authentication/",
      "operations/",
      "notification/",
      "delivery/",
      "sandbox/",
      "wire/",
      "http/faults/",
      "http/recording/",
      "http/routes.ts",
      "key-acts/",
    ],
  },
  {
    from: "http/endpoints.ts",
    to: [
      ...domain,
      ...contracts,
      ...logging,
      "operations/",
      "api-docs/documented.ts",
      "delivery/notification-keys.ts",
      "sandbox/",
      "wire/",
      "http/",
    ],
  },
  {
    from: "http/recording/",
    to: [
      ...domain,
      ...contracts,
      "delivery/dispatcher.ts",
      "interface/",
      "wire/",
      "sandbox/recording/",
    ],
  },
  {
    from: "http/",
    to: [
      ...domain,
      ...contracts,
      ...logging,
      "user/user.ts",
      "user/audit.ts",
      "sign-in/users.ts",
      ...auditShown,
      "interface/",
      "authentication/",
      "operations/",
      "wire/",
    ],
  },
  {
    from: "cli/",
    to: [
      "key-acts/act-table.ts",
      ...domain,
      ...contracts,
      ...logging,
      "user/audit.ts",
      "user/user-store.ts",
      "sign-in/users.ts",
      "production/check.ts",
      ...auditShown,
      "operations/",
      "config/",
      "http-client/",
      "interface/",
      "compare/",
      // Only a table: the help shows it.
      "http/faults/fault-kinds.ts",
      "scan/",
      "store-migration/",
      "stores/transfer.ts",
      "stores/backup.ts",
      "certificates/",
    ],
  },
  { from: "scan/", to: ["kernel/", "vault/"] },
  // Another server's answers beside Cofre's own, as values: sockets and files are the command's.
  {
    from: "compare/",
    to: [
      "kernel/",
      "interface/",
      "payment/",
      "sandbox/test-cards.ts",
      "http/recording/parameter-view.ts",
      "http/recording/recorded-view.ts",
      "wire/",
    ],
  },
  {
    from: "main.ts",
    to: [
      "../package.json",
      "app.ts",
      "start/commands.ts",
      "start/examine.ts",
      "start/initialize.ts",
      "start/recover-keys.ts",
      "start/temporary-cofre.ts",
      "start/ready-file.ts",
      "start/start-problem.ts",
      "cli/",
      "config/",
      "logging/",
      "kernel/",
      "certificates/authority-files.ts",
    ],
  },
  // Imported by users' tests.
  { from: "library-options.ts", to: [] },
  { from: "library-faults.ts", to: ["library-options.ts"] },
  {
    from: "library.ts",
    to: [
      "app.ts",
      "library-faults.ts",
      "library-options.ts",
      "cli/",
      "config/",
      "kernel/",
      "merchant/account.ts",
      "notification/endpoint.ts",
    ],
  },
  // The composition root.
  { from: "app.ts", to: [""] },
  { from: "start/", to: [""] },
];

/**
 * The vault's internals: imported by the vault itself, and by the composition root, which puts it
 * together. Other modules use its interface and its types.
 */
const vaultInside =
  /^vault\/(?:aes|envelope|keyring|fingerprint|root-key.*|.*-vault|.*key-provider|providers\/.*)\.ts$/;

// --- Globals and modules with one owner ---------------------------------------------------------

/**
 * Globals that reach the outside, and the files that may use them. A global without a row is not
 * checked.
 */
const ownedGlobals: Readonly<Record<string, readonly string[]>> = {
  // Users' tests pass and receive times as Dates; none is made from the current time.
  Date: ["kernel/system-clock.ts", "library.ts"],
  "Math.random": [],
  setTimeout: ["kernel/system-scheduler.ts"],
  setInterval: [],
  setImmediate: ["kernel/end-of-turn.ts"],
  performance: ["kernel/system-elapsed.ts"],
  fetch: [],
  WebSocket: [],
  EventSource: [],
  XMLHttpRequest: [],
  console: [],
  parseFloat: [],
  "Number.parseFloat": [],
  Temporal: [],
  eval: [],
  Function: [],
  crypto: [],
  "process.env": ["config/environment.ts"],
  // The helper process is a program of its own.
  "process.argv": ["main.ts", "vault/providers/pkcs11-helper.ts"],
  "process.exit": ["main.ts"],
  "process.on": ["main.ts"],
  "process.once": ["main.ts"],
  "process.stdout": ["main.ts", "logging/log.ts"],
  "process.stderr": ["main.ts"],
  "process.hrtime": [],
  "process.nextTick": [],
  allocUnsafe: [],
  "Buffer.allocUnsafe": [],
  "Buffer.allocUnsafeSlow": [],
};

/**
 * Node's modules that reach the outside, or have no state at all; a module without a row may not be
 * imported.
 */
const ownedModules: Readonly<Record<string, readonly string[]>> = {
  "node:util": [""],
  "node:path": [""],
  "node:events": [""],
  // Has V8 collect garbage, so that dropped keys are overwritten.
  "node:v8": ["kernel/collect-garbage.ts"],
  "node:vm": ["kernel/collect-garbage.ts"],
  "node:crypto": [""],
  // The log writes its last lines to standard output itself.
  "node:fs": [
    "scan/files.ts",
    "config/environment.ts",
    "vault/root-key-file.ts",
    "stores/embedded/",
    "certificates/authority-files.ts",
    "logging/log.ts",
    // A Cofre for one command: the files of its clients, and the timelines saved at the end.
    "start/temporary-cofre.ts",
    "cli/report-files.ts",
    "cli/recovery/files.ts",
    "start/ready-file.ts",
    "start/credential-file.ts",
    // Reads why the data directory cannot be written.
    "start/start-problem.ts",
    "start/open-recovery-key.ts",
    "start/secret-files.ts",
    "start/production-alarms.ts",
    "start/listen-with-certificate.ts",
    // Two descriptors that it is started with.
    "vault/providers/pkcs11-helper.ts",
  ],
  "node:child_process": ["cli/child-process.ts", "vault/providers/pkcs11-helper-process.ts"],
  // Calls native code: in the helper process only.
  "node:ffi": ["vault/providers/pkcs11-module.ts"],
  // The search for card numbers reads files, and the endpoints of pages read their own.
  "node:fs/promises": ["scan/files.ts", "http/page-files.ts"],
  "node:zlib": ["scan/inflation.ts", "http/page-files.ts", "compare/decoded-body.ts"],
  "node:os": ["stores/embedded/", "start/temporary-cofre.ts", "cli/child-process.ts"],
  "node:sqlite": ["stores/embedded/"],
  "node:worker_threads": ["stores/embedded/"],
  "node:http": [
    "http/server.ts",
    "http/framing.ts",
    "http/request-pipeline.ts",
    "http/request-body.ts",
    "http/response-writer.ts",
    "connectors/simulator/acquirer-server.ts",
    "http-client/exchange.ts",
    "http-client/forwarder.ts",
    // Receivers of notifications and proxies, over loopback only.
    "cli/http.ts",
    "cli/connect-proxy.ts",
    "cli/comparing-proxy.ts",
  ],
  "node:https": ["http-client/exchange.ts", "http-client/forwarder.ts"],
  // The kernel checks with it whether a text is an address.
  "node:net": [
    "http/server.ts",
    "http/admission.ts",
    "http/framing.ts",
    "http/plain-peers.ts",
    "http/tls-listener.ts",
    "cli/connect-proxy.ts",
    "kernel/network-address.ts",
    // Pipes to the helper process.
    "vault/providers/pkcs11-helper-process.ts",
  ],
  "node:tls": ["http/tls-listener.ts"],
  "node:dns/promises": ["delivery/egress.ts"],
};

/** The parts of node:crypto that draw random numbers: all other modules use the Random port. */
const chance =
  /^(?:random|getRandom|generate|webcrypto|subtle|createDiffieHellman|createECDH|default$)/;
const chanceOwners = [
  "kernel/system-random.ts",
  "delivery/notification-keys.ts",
  "certificates/local-authority.ts",
];

/** Modules that may use a known seed: worlds of the sandbox. Tests and the simulation inject it. */
const mayReplay: readonly string[] = ["sandbox/world.ts"];

// --- Concepts that a file does not know ---------------------------------------------------------

/** Words that must not occur in a file, not even in its comments. */
const foreignWords: readonly { readonly in: string; readonly words: RegExp }[] = [
  // The contract of a link to an acquirer has nothing that only the sandbox has.
  { in: "connectors/connector.ts", words: /sandbox|simulat|\bfault|treatment/i },
  { in: "kernel/", words: /payment|refund|acquirer|connector|\bcards?\b/i },
];

// --- Rules, as functions of the files, so that the controls below can apply them to others ------

function fits(path: string, row: string): boolean {
  if (row.includes("*"))
    return new RegExp(`^${row.replaceAll("*", "[^/]+")}${row.endsWith("/") ? "" : "$"}`).test(path);
  return row === "" || row === path || (row.endsWith("/") && path.startsWith(row));
}

/**
 * The folder that a row names for `path`: `stores/embedded/` when the row has a star for the store.
 */
function ownFolder(path: string, row: string): string {
  if (!row.endsWith("/")) return path;
  return `${path
    .split("/")
    .slice(0, row.split("/").length - 1)
    .join("/")}/`;
}

/** Only app.ts and start/ name implementations. */
function isComposition(path: string): boolean {
  return path === "app.ts" || path.startsWith("start/");
}

/** Folders of other packages, which have no import of this one either. */
const pageFiles: Readonly<Record<string, string>> = {
  "http/console-endpoint.ts": "../../../console/src/",
  "http/fields-files.ts": "../../../fields/src/",
};

function brokenArrows(files: readonly SourceFile[]): string[] {
  const broken: string[] = [];
  for (const { path, source } of files) {
    const arrow = arrows.find(({ from }) => fits(path, from));
    if (arrow === undefined) {
      broken.push(`${path}: no row of the arrows says what it may import`);
      continue;
    }
    for (const { specifier, line } of scan(source).imports) {
      if (!specifier.startsWith(".")) continue;
      // The files that an endpoint serves: none of them is run here.
      if (specifier === pageFiles[path]) continue;
      const target = posix.join(posix.dirname(path), specifier);
      const own = arrow.own !== false && fits(target, ownFolder(path, arrow.from));
      const allowed = own || arrow.to.some((row) => fits(target, row));
      const list = /^(?:stores|connectors)\/index\.ts$/.test(target) && !isComposition(path);
      const insideVault =
        vaultInside.test(target) && !path.startsWith("vault/") && !isComposition(path);
      if (!allowed || insideVault || list)
        broken.push(`${path}:${line}: must not import ${target}`);
    }
  }
  return broken;
}

/**
 * Groups of files that import each other, directly or through others. An import of a type counts,
 * because it couples the files too.
 */
function importCycles(files: readonly SourceFile[]): string[] {
  const imports = new Map(
    files.map(({ path, source }) => [
      path,
      scan(source)
        .imports.filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => posix.join(posix.dirname(path), specifier)),
    ]),
  );
  const reachable = (from: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const left = [...(imports.get(from) ?? [])];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      left.push(...(imports.get(next) ?? []));
    }
    return seen;
  };
  return [...imports.keys()].filter((path) => reachable(path).has(path));
}

function foreignWordsIn(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, source }) =>
    foreignWords
      .filter((row) => fits(path, row.in))
      .flatMap(({ words }) => {
        const [word] = words.exec(source) ?? [];
        return word === undefined ? [] : [`${path}: must not mention ${word}`];
      }),
  );
}

/** Paths of the interface that are written in more than one file. */
function repeatedPaths(files: readonly SourceFile[]): string[] {
  const writers = new Map<string, string[]>();
  for (const { path, source } of files) {
    const paths = new Set(source.match(/(?<=")\/ws\/[\w/-]+(?=")/g));
    for (const each of paths) writers.set(each, [...(writers.get(each) ?? []), path]);
  }
  return [...writers]
    .filter(([, paths]) => paths.length > 1)
    .map(([each, paths]) => `${each}: ${paths.join(", ")}`);
}

function importersOf(module: string, files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path, source }) =>
      scan(source).imports.some(
        ({ specifier }) => posix.join(posix.dirname(path), specifier) === module,
      ),
    )
    .map(({ path }) => path);
}

function brokenOwnership(files: readonly SourceFile[]): string[] {
  const broken: string[] = [];
  const packageOwners = new Map<string, Set<string>>();
  for (const { path, source } of files) {
    const { code, imports } = scan(source);
    for (const [name, owners] of Object.entries(ownedGlobals)) {
      if (owners.some((owner) => fits(path, owner))) continue;
      for (const line of usesOf(code, name)) broken.push(`${path}:${line}: must not use ${name}`);
    }
    for (const { specifier, names, line } of imports) {
      if (specifier.startsWith(".")) continue;
      if (!specifier.startsWith("node:")) {
        packageOwners.set(specifier, (packageOwners.get(specifier) ?? new Set<string>()).add(path));
        continue;
      }
      const owners = ownedModules[specifier];
      if (owners === undefined || !owners.some((owner) => fits(path, owner)))
        broken.push(`${path}:${line}: must not import ${specifier}`);
      if (specifier !== "node:crypto" || chanceOwners.includes(path)) continue;
      if (names.length === 0)
        broken.push(
          `${path}:${line}: imports from node:crypto by name only, so that drawn chance is seen`,
        );
      for (const name of names)
        if (chance.test(name)) broken.push(`${path}:${line}: must not use ${name} of node:crypto`);
    }
  }
  for (const [specifier, owners] of packageOwners) {
    if (owners.size > 1)
      broken.push(`${specifier}: reached through more than one file: ${[...owners].join(", ")}`);
  }
  return broken;
}

// --- The SDK: it runs in any JavaScript runtime, and depends on no package ----------------------

/** Globals that reach the outside or belong to one runtime, and the files that may use them. */
const sdkGlobals: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [...Object.keys(ownedGlobals), "process", "Buffer", "require"]
      .filter((name) => !/^(?:process|Buffer)\./.test(name))
      .map((name) => [name, []]),
  ),
  // A header's date is read, and the time of a message is shown as a Date.
  Date: ["runtime.ts", "exchange.ts", "notifications.ts"],
  "Math.random": ["runtime.ts"],
  setTimeout: ["runtime.ts"],
  fetch: ["runtime.ts"],
  crypto: ["runtime.ts", "notifications.ts"],
};

/** Packages that a file may import besides the files of the SDK. */
const sdkImports: Readonly<Record<string, readonly string[]>> = {
  // Its entry for tests starts a server.
  "testing.ts": ["@cofre/server"],
};

function brokenInSdk(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, source }) => {
    const { code, imports } = scan(source);
    const used = Object.entries(sdkGlobals).flatMap(([name, owners]) =>
      owners.includes(path)
        ? []
        : usesOf(code, name).map((line) => `${path}:${line}: must not use ${name}`),
    );
    const imported = imports
      .filter(({ specifier }) => sdkImports[path]?.includes(specifier) !== true)
      .filter(({ specifier }) => !/^\.\/(?:generated\/)?[\w-]+\.ts$/.test(specifier))
      .map(({ specifier, line }) => `${path}:${line}: must not import ${specifier}`);
    return [...used, ...imported];
  });
}

// --- The tests ----------------------------------------------------------------------------------

const production = sourceFiles(sourceRoot).filter(({ path }) => !path.endsWith(".test.ts"));

describe("architecture of the SDK", () => {
  const files = sourceFiles(join(repositoryRoot, "packages/sdk/src"));

  test("network, time and chance are reached through one file, and no package is imported", () => {
    assert.ok(files.length > 8);
    assert.deepEqual(brokenInSdk(files), []);
  });

  test("control: what is planted is found", () => {
    for (const source of [
      "const at = Date.now();",
      "const answer = await fetch(address);",
      "const bytes = Buffer.from(text);",
      "const home = process.env.HOME;",
      'import { inspect } from "node:util";',
      'import { brands } from "../../server/src/vault/brand.ts";',
      'import { startCofre } from "@cofre/server";',
    ])
      assert.equal(brokenInSdk([{ path: "cofre.ts", source }]).length, 1, source);
  });
});

describe("architecture", () => {
  test("the scan sees the source", () => {
    assert.ok(production.length > 30);
    assert.ok(
      production.some(
        ({ path, source }) => path === "stores/store.ts" && scan(source).imports.length > 3,
      ),
    );
  });

  test("dependencies between folders point one way", () => {
    assert.deepEqual(brokenArrows(production), []);
  });

  test("no file imports itself through others, types included", () => {
    assert.deepEqual(importCycles(production), []);
    const planted = [
      { path: "kernel/money.ts", source: 'import type { Rate } from "./rate.ts";' },
      { path: "kernel/rate.ts", source: 'import { Money } from "./money.ts";' },
    ];
    assert.deepEqual(importCycles(planted), ["kernel/money.ts", "kernel/rate.ts"]);
  });

  test("time, chance, timers, environment, files, sockets and packages are reached through the one file that owns each", () => {
    assert.deepEqual(brokenOwnership(production), []);
  });

  test("no file mentions a concept that it does not know", () => {
    assert.deepEqual(foreignWordsIn(production), []);
    const planted = [
      { path: "connectors/connector.ts", source: "readonly simulator: SimulatorSettings;" },
      { path: "connectors/circuit-breaker.ts", source: "// A fault of the simulator." },
      { path: "kernel/ids.ts", source: 'export type PaymentId = Branded<"PaymentId">;' },
    ];
    assert.deepEqual(foreignWordsIn(planted), [
      "connectors/connector.ts: must not mention simulat",
      "kernel/ids.ts: must not mention Payment",
    ]);
  });

  test("a path of the interface is written in one file", () => {
    assert.deepEqual(repeatedPaths(production), []);
    const planted = [
      { path: "wire/endpoints/capture.ts", source: 'path: "/ws/capture",' },
      { path: "cli/banner.ts", source: 'post("/ws/capture");' },
      { path: "cli/fault.ts", source: "// Only requests of `/ws/cancel`." },
    ];
    assert.deepEqual(repeatedPaths(planted), [
      "/ws/capture: wire/endpoints/capture.ts, cli/banner.ts",
    ]);
  });

  test("repeatable chance is reached only by what belongs to a sandbox", () => {
    assert.deepEqual(
      importersOf("kernel/seeded-random.ts", production).filter(
        (path) => !mayReplay.some((row) => fits(path, row)),
      ),
      [],
    );
    const planted = [
      {
        path: "vault/token.ts",
        source: 'import { SeededRandom } from "../kernel/seeded-random.ts";',
      },
    ];
    assert.deepEqual(importersOf("kernel/seeded-random.ts", planted), ["vault/token.ts"]);
  });

  describe("controls: what is planted is found", () => {
    const plantedArrows: readonly SourceFile[] = [
      { path: "kernel/money.ts", source: 'import type { Payment } from "../payment/payment.ts";' },
      { path: "payment/pricing.ts", source: 'import { Pan } from "../vault/pan.ts";' },
      {
        path: "operations/capture.ts",
        source: 'import { EmbeddedStore } from "../stores/embedded/embedded-store.ts";',
      },
      { path: "operations/direct.ts", source: 'export { routes } from "../http/routes.ts";' },
      { path: "operations/token.ts", source: 'import { open } from "../vault/envelope.ts";' },
      {
        path: "stores/memory/memory-store.ts",
        source: 'const other = await import("../embedded/embedded-store.ts");',
      },
      {
        path: "stores/embedded/writer.ts",
        source: 'new Worker(new URL("../../operations/capture.ts", import.meta.url));',
      },
      {
        path: "connectors/simulator/simulator.ts",
        source: 'import "../../operations/operation.ts";',
      },
      { path: "http/server.ts", source: 'import {\n  startCofre,\n} from "../app.ts";' },
      { path: "elsewhere/thing.ts", source: "export const one = 1;" },
    ];
    for (const planted of plantedArrows) {
      test(`the arrow of ${planted.path}`, () => {
        assert.equal(brokenArrows([planted]).length, 1);
      });
    }

    test("an arrow that is allowed is not reported", () => {
      const allowed: readonly SourceFile[] = [
        {
          path: "operations/capture.ts",
          source:
            'import type { Store } from "../stores/store.ts";\nimport { change } from "./runner.ts";',
        },
        {
          path: "stores/memory/memory-store.ts",
          source: 'import { x } from "./faults.ts"; import type { S } from "../store.ts";',
        },
        {
          path: "app.ts",
          source: 'import { EmbeddedStore } from "./stores/embedded/embedded-store.ts";',
        },
        {
          path: "kernel/money.ts",
          source:
            '// import "../payment/payment.ts"\nconst text = `import "../payment/payment.ts"`;',
        },
      ];
      assert.deepEqual(brokenArrows(allowed), []);
    });

    const plantedUses = [
      "const at = Date.now();",
      "const at = new Date();",
      "const made: Date = given;",
      "const chance = Math.random();",
      "const chance = Math\n  .random();",
      "setTimeout(() => undefined, 5);",
      "globalThis.setInterval(task, 5);",
      "setImmediate(task);",
      "const answer = await fetch(address);",
      "const home = process.env.HOME;",
      'const home = process.env["HOME"];',
      'console.log("here");',
      "const amount = parseFloat(text);",
      "const amount = Number.parseFloat(text);",
      "const now = performance.now();",
      "const text = `${Date.now()}`;",
      "const half = total / 2; const at = Date.now(); const other = 4 / 2;",
      "const quotes = /[\"'`]/.test(text); const at = Date.now();",
      "const buffer = Buffer.allocUnsafe(16);",
      'import { readFileSync } from "node:fs";',
      'import { createServer } from "node:http";',
      'import { DatabaseSync } from "node:sqlite";',
      'import { connect } from "node:net";',
      'import { spawn } from "node:child_process";',
      'import { scheduler } from "node:timers/promises";',
      'const { readFile } = await import("node:fs/promises");',
      'const { readFile } = process.getBuiltinModule("node:fs/promises");',
      'import { createHash, randomBytes } from "node:crypto";',
      'import { randomUUID as fresh } from "node:crypto";',
      'import { webcrypto } from "node:crypto";',
      "const bytes = crypto.getRandomValues(into);",
    ];
    for (const source of plantedUses) {
      test(`the use in: ${source.replaceAll("\n", " ")}`, () => {
        assert.equal(brokenOwnership([{ path: "operations/planted.ts", source }]).length, 1);
      });
    }

    test("a whole-module import of node:crypto hides what is drawn", () => {
      assert.equal(
        brokenOwnership([{ path: "vault/token.ts", source: 'import * as all from "node:crypto";' }])
          .length,
        1,
      );
    });

    test("a package that two files import is reported", () => {
      const source = 'import { pino } from "pino";';
      assert.equal(brokenOwnership([{ path: "logging/log.ts", source }]).length, 0);
      const both = [
        { path: "logging/log.ts", source },
        { path: "http/server.ts", source },
      ];
      assert.equal(brokenOwnership(both).length, 1);
    });

    test("a word in a comment, a string, a property or a longer name is not a use", () => {
      const source = [
        "// Date.now() and Math.random() are elsewhere",
        "/* setTimeout(task) */",
        'const text = "process.env and console.log";',
        "const template = `Date ${text} parseFloat(`;",
        "connector.fetch(request);",
        "const statusDate = payment.Date;",
        "interface Row { performance: number; Date: string; fetch?: string }",
        "const pattern = /Date|console/;",
        "const myDate = dateOf(fetchedAt);",
      ].join("\n");
      assert.deepEqual(brokenOwnership([{ path: "operations/planted.ts", source }]), []);
    });

    test("the owner itself may", () => {
      assert.deepEqual(
        brokenOwnership([{ path: "kernel/system-clock.ts", source: "const at = Date.now();" }]),
        [],
      );
    });
  });
});

// --- The whole repository -----------------------------------------------------------------------

/**
 * First six digits of published test numbers: made-up numbers with these digits count as test
 * numbers too.
 */
const testBins = new Set<string>([
  ...testNumbers.map((digits) => digits.slice(0, 6)),
  ...testRanges,
]);

const cardLike = /(?<![\w.])\d(?:[ -]?\d){13,18}(?![\w]|\.\d)/g;

/**
 * Card numbers in `text` outside all test ranges: with a scheme's length and first digits, and a
 * correct check digit.
 */
function cardNumbersIn(text: string): string[] {
  // The last digits of `%22` are not part of the number that follows.
  const decoded = text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex) => (hex === "20" ? " " : "|"));
  return [...decoded.matchAll(cardLike)]
    .map(([match]) => match.replaceAll(/[ -]/g, ""))
    .filter(
      (digits) => hasSchemeShape(digits) && isPan(digits) && !testBins.has(digits.slice(0, 6)),
    )
    .map((digits) => `${digits.slice(0, 6)}…${digits.slice(-4)}`);
}

function hasSchemeShape(digits: string): boolean {
  if (digits.length === 14) return /^3[0689]/.test(digits);
  if (digits.length === 15) return /^3[47]/.test(digits);
  if (digits.length === 16) return /^(?:2[2-7]|35|[456])/.test(digits);
  return /^[456]/.test(digits);
}

function isPan(digits: string): boolean {
  return Pan.from(Buffer.from(digits)) !== undefined;
}

/**
 * Directories of a developer's or a CI machine. A placeholder (`~`, a mkdtemp result) does not
 * match.
 */
const machinePath = new RegExp(
  String.raw`(?<![A-Za-z0-9_.~:/-])/(?:${["tmp", "work", "root", "home", "Users"].join("|")})/[A-Za-z0-9_.-]+`,
  "g",
);

const proof = "packages/proof/";
const isCode = /\.(?:ts|js|cjs|mjs)$/;

/** The slow suites may import the server and its test support, never the other way round. */
function importsOfProof(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, source }) =>
    scan(source).imports.flatMap(({ specifier, line }) => {
      const target = posix.join(posix.dirname(path), specifier);
      return specifier.startsWith(".") && target.startsWith(proof)
        ? [`${path}:${line}: must not import ${target}`]
        : [];
    }),
  );
}

const notOurs = new Set(["node_modules", ".git", ".cache", "coverage", "data"]);
const binary = /\.(?:png|ico|woff2?|gz|zip|db|sqlite)$/;

describe("repository", () => {
  const files = repositoryFiles();

  test("the walk sees the repository", () => {
    for (const name of ["package.json", "LICENSE", "packages/server/src/stores/store.ts"])
      assert.ok(files.includes(name), name);
  });

  test("no file holds a card number other than a test card's", () => {
    const found = files.flatMap((name) =>
      cardNumbersIn(textOf(name)).map((card) => `${name}: ${card}`),
    );
    assert.deepEqual(found, []);
  });

  test("control: a card number is found, plain or grouped, and a test card is not", () => {
    // Assembled here, so that the file itself contains none.
    const planted = ["45567", "37586", "899", "855"].join("");
    assert.ok(isPan(planted));
    assert.equal(cardNumbersIn(`card ${planted},`).length, 1);
    assert.equal(cardNumbersIn(`card "${planted.replace(/(\d{4})(?=\d)/g, "$1 ")}"`).length, 1);
    assert.equal(cardNumbersIn(`card ${planted.replace(/(\d{4})(?=\d)/g, "$1-")}`).length, 1);
    assert.equal(cardNumbersIn(`%22${planted}%22`).length, 1);
    assert.equal(cardNumbersIn(`%22${planted.replace(/(\d{4})(?=\d)/g, "$1%20")}%22`).length, 1);
    assert.equal(cardNumbersIn("card 4111111111111111 and 4111 1111 1111 1111").length, 0);
  });

  test("no file names a directory of a private machine", () => {
    const found = files.flatMap((name) =>
      [...textOf(name).matchAll(machinePath)].map(([path]) => `${name}: ${path}`),
    );
    assert.deepEqual(found, []);
  });

  test("control: a directory of a private machine is found", () => {
    assert.equal(
      [...["see ", "home", "someone/cofre for it"].join("/").matchAll(machinePath)].length,
      1,
    );
    assert.equal(
      [..."see https://example.com/home/page and ./tmp/x".matchAll(machinePath)].length,
      0,
    );
  });

  test("lock files name no registry and every locked package has no install script", () => {
    const locks = files.filter((name) => name.endsWith("package-lock.json"));
    assert.ok(locks.includes("package-lock.json"));
    for (const name of locks) {
      const lock = textOf(name);
      assert.ok(!lock.includes('"resolved": "http'), name);
      assert.ok(!lock.includes('"hasInstallScript": true'), name);
    }
  });

  test("no file of the program, the server's tests or the examples imports from packages/proof", () => {
    const outside = files.filter(
      (name) =>
        /^(?:packages|examples)\//.test(name) && isCode.test(name) && !name.startsWith(proof),
    );
    assert.ok(outside.some((name) => name.startsWith("packages/server/test/")));
    assert.deepEqual(importsOfProof(outside.map((path) => ({ path, source: textOf(path) }))), []);
  });

  test("control: an import from packages/proof is found", () => {
    const planted = [
      {
        path: "packages/server/test/server.ts",
        source: 'import { Shop } from "../../proof/simulation/shop.ts";',
      },
      {
        path: "packages/server/src/app.ts",
        source: 'const made = await import("../../proof/bench/product.ts");',
      },
      {
        path: "packages/server/test/command.ts",
        source: 'import { WireClient } from "./support/wire-client.ts";',
      },
    ];
    assert.deepEqual(importsOfProof(planted), [
      "packages/server/test/server.ts:1: must not import packages/proof/simulation/shop.ts",
      "packages/server/src/app.ts:1: must not import packages/proof/bench/product.ts",
    ]);
  });
});

function sourceFiles(root: string): SourceFile[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({
      path: relative(root, path).split(sep).join("/"),
      source: readFileSync(path, "utf8"),
    }));
}

function repositoryFiles(directory = repositoryRoot): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    if (notOurs.has(entry.name)) return [];
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return repositoryFiles(path);
    return entry.isFile() && !binary.test(entry.name)
      ? [relative(repositoryRoot, path).split(sep).join("/")]
      : [];
  });
}

function textOf(name: string): string {
  return readFileSync(join(repositoryRoot, name), "utf8");
}
