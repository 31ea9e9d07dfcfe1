import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SystemRandom } from "../../../server/src/kernel/system-random.ts";
import { systemElapsed } from "../../../server/src/kernel/system-elapsed.ts";
import { systemScheduler } from "../../../server/src/kernel/system-scheduler.ts";
import { readRootKey } from "../../../server/src/config/root-key-address.ts";
import { createPkcs11KeyProvider } from "../../../server/src/vault/providers/pkcs11-key-provider.ts";

export const softHsm = [
  "/usr/lib/softhsm/libsofthsm2.so",
  "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
  "/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so",
].find((path) => existsSync(path));
const makeKey = fileURLToPath(
  new URL("../../../../examples/key-services/make-pkcs11-key.ts", import.meta.url),
);
const faultySource = fileURLToPath(new URL("faulty-pkcs11.c", import.meta.url));

const can = (command: string, ...args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: "ignore" }).error === undefined;
export const tokenSkips = {
  softHsm:
    softHsm === undefined || !can("softhsm2-util", "--version") || !can("pkcs11-tool", "--help")
      ? "SoftHSM 2 and OpenSC are not installed: see .ci/run"
      : false,
  compiler: can("gcc", "--version") ? false : "there is no C compiler here",
} as const;

/** The user PIN of every token here. It is looked for in logs and memory, so it is like no other number. */
export const pin = "pin-7f3a91c2";

/** Time limit of a call that hangs. */
const hangMs = 500;

export type Fault =
  | "hang"
  | "slow"
  | "crash"
  | "device_error"
  | "deleted"
  | "not_permitted"
  | "lie"
  | "own_iv"
  | "no_gcm";

/** The library of faulty-pkcs11.c. */
let compiled: Buffer | undefined;

/** A token of SoftHSM in a folder of its own. */
export class Token {
  readonly folder = mkdtempSync(join(tmpdir(), "cofre-token-"));
  readonly pinFile = join(this.folder, "pin");
  readonly module: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly #faultFile = join(this.folder, "faults");
  #hangs = false;
  readonly #opened: ReturnType<typeof createPkcs11KeyProvider>[] = [];

  /** `faulty`: behind faulty-pkcs11.c, with these faults from the start; otherwise SoftHSM itself. */
  constructor(faulty?: readonly Fault[]) {
    assert.ok(softHsm !== undefined, "SoftHSM is installed");
    mkdirSync(join(this.folder, "tokens"));
    const configuration = join(this.folder, "softhsm2.conf");
    writeFileSync(
      configuration,
      `directories.tokendir = ${join(this.folder, "tokens")}\nobjectstore.backend = file\nlog.level = ERROR\n`,
    );
    this.variables = {
      PATH: process.env["PATH"] ?? "",
      SOFTHSM2_CONF: configuration,
      FAULTY_PKCS11_MODULE: softHsm,
      FAULTY_PKCS11_FILE: this.#faultFile,
    };
    this.writePin(pin);
    this.run(
      "softhsm2-util",
      "--init-token",
      "--free",
      "--label",
      "cofre",
      "--so-pin",
      "so-4b1d77e0",
      "--pin",
      pin,
    );
    this.module = faulty === undefined ? softHsm : join(this.folder, "faulty-pkcs11.so");
    if (faulty === undefined) return;
    compiled ??= this.#compile();
    writeFileSync(this.module, compiled);
    this.fault(...faulty);
  }

  #compile(): Buffer {
    this.run("gcc", "-shared", "-fPIC", "-O1", "-o", this.module, faultySource);
    return readFileSync(this.module);
  }

  run(command: string, ...args: readonly string[]): string {
    return execFileSync(command, args, { env: this.variables, encoding: "utf8", stdio: "pipe" });
  }

  /** Makes a key as examples/key-services does; returns the value of COFRE_ROOT_KEY. */
  newKey(object: string, id: string): string {
    const said = this.run(
      process.execPath,
      makeKey,
      softHsm ?? "",
      "cofre",
      this.pinFile,
      object,
      id,
    );
    const [, address = ""] = /^COFRE_ROOT_KEY=(.*)$/m.exec(said) ?? [];
    return address;
  }

  /** OpenSC's program, logged in as the user. */
  tool(...args: readonly string[]): string {
    const login = ["--token-label", "cofre", "--login", "--pin", pin];
    return this.run("pkcs11-tool", "--module", softHsm ?? "", ...login, ...args);
  }

  writePin(text: string): void {
    writeFileSync(this.pinFile, `${text}\n`, { mode: 0o600 });
  }

  fault(...faults: readonly Fault[]): void {
    this.#hangs = faults.includes("hang");
    writeFileSync(this.#faultFile, faults.join(" "));
  }

  /** How many wrong PINs the token has counted since the last login. */
  wrongPins(): number {
    const file = `${this.#faultFile}.pin`;
    return existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
  }

  /**
   * A provider as the server makes it, but one whose pauses are a thousand times shorter, unless
   * `elapsedMs` is given, and whose time limit is short while the module hangs.
   */
  open(address: string, { elapsedMs = () => systemElapsed() * 1_000, timeoutMs = 30_000 } = {}) {
    const reading = readRootKey(address);
    assert.ok("value" in reading && reading.value.kind === "pkcs11", address);
    const provider = createPkcs11KeyProvider({
      key: reading.value,
      module: this.module,
      variables: this.variables,
      scheduler: {
        ...systemScheduler,
        after: (ms, task) => systemScheduler.after(this.#hangs ? hangMs : ms, task),
      },
      timeoutMs,
      elapsedMs,
      random: new SystemRandom(),
      environment: "sandbox",
      read: async () => readFileSync(this.pinFile),
    });
    this.#opened.push(provider);
    return provider;
  }

  end(): void {
    for (const provider of this.#opened) provider.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The processes that this one, or `parent`, has started for PKCS#11 modules. */
export function helperPids(parent = process.pid): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const stat = fileOf(pid, "stat").toString();
      const [, owner] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(owner) === parent && fileOf(pid, "cmdline").includes("pkcs11-helper");
    });
}

/** Those of the texts or keys that are in the memory of a process. */
export function foundInMemory(pid: number, searched: readonly Uint8Array[]): readonly Uint8Array[] {
  const file = openSync(`/proc/${pid}/mem`, "r");
  const found = new Set<Uint8Array>();
  try {
    for (const line of fileOf(pid, "maps").toString().split("\n")) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) continue;
      const content = memoryOf(file, Number(`0x${from}`), Number(`0x${to}`));
      for (const bytes of searched) if (content.includes(bytes)) found.add(bytes);
    }
  } finally {
    closeSync(file);
  }
  return [...found];
}

/** Empty when the kernel does not let it be read. */
function memoryOf(file: number, from: number, to: number): Buffer {
  const content = Buffer.alloc(to - from);
  try {
    return content.subarray(0, readSync(file, content, 0, content.length, from));
  } catch {
    return Buffer.alloc(0);
  }
}

/** A file of a process; empty when the process has ended. */
export function fileOf(pid: number, name: "stat" | "cmdline" | "environ" | "maps"): Buffer {
  try {
    return readFileSync(`/proc/${pid}/${name}`);
  } catch {
    return Buffer.alloc(0);
  }
}
