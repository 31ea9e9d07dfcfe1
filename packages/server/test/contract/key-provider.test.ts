import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { readCredentialFile } from "../../src/start/credential-file.ts";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import { createMemoryKeyProvider } from "../../src/vault/memory-key-provider.ts";
import { openKeyFiles } from "../../src/vault/root-key-file.ts";
import { arnOf, fakeKms } from "../key-services/fake-kms.ts";
import { fakeTransit } from "../key-services/fake-transit.ts";
import { awsCredentials, kmsProvider, transitProvider } from "../key-services/open.ts";
import { describeKeyProvider, type RootKey } from "./key-provider.contract.ts";

const random = new SystemRandom();

function directoryFor(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "cofre-root-"));
  context.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

describeKeyProvider("memory", async (): Promise<RootKey> => {
  const root = random.bytes(32);
  return {
    open: async () => createMemoryKeyProvider(random, Uint8Array.from(root)),
    openOther: async () => createMemoryKeyProvider(random),
    facts: { kind: "memory", protection: "software", isExtractable: true },
    faults: [],
  };
});

describeKeyProvider("a file", async (context) => {
  const directory = directoryFor(context);
  const open = (name: string) => async () =>
    (
      await openKeyFiles({
        directory: join(directory, name),
        environment: "sandbox",
        create: true,
        random,
      })
    ).provider;
  const facts = { kind: "file", protection: "software", isExtractable: true } as const;
  return { open: open("one"), openOther: open("other"), facts, faults: [] };
});

describeKeyProvider("a transit service", async (context) => {
  const { service, tokens, keys, state } = await fakeTransit();
  context.after(() => service.close());
  const file = join(directoryFor(context), "token");
  const write = (token: string): void => writeFileSync(file, `${token}\n`, { mode: 0o600 });
  write("s.root");
  const open = (key: string) => async () =>
    transitProvider({
      url: service.url,
      key,
      read: () => readCredentialFile(file, "COFRE_ROOT_KEY_SECRET_FILE"),
      isSilent: () => service.mode === "silent",
    });
  const answering = (name: string, status: number, body: unknown) => ({
    name,
    failure: "unavailable" as const,
    begin: () => void (state.answer = { status, body }),
    end: () => void (state.answer = undefined),
  });
  return {
    open: open("cofre"),
    openOther: open("other"),
    facts: { kind: "transit", protection: "software", isExtractable: false, seal: "shamir" },
    faults: [
      {
        name: "the service is sealed",
        failure: "unavailable",
        begin: () => void (state.isSealed = true),
        end: () => void (state.isSealed = false),
      },
      {
        name: "the service does not answer",
        failure: "unavailable",
        begin: () => void (service.mode = "silent"),
        end: () => void (service.mode = "answers"),
      },
      {
        name: "the service closes its connections",
        failure: "unavailable",
        begin: () => void (service.mode = "refuses"),
        end: () => void (service.mode = "answers"),
      },
      answering("too many requests", 429, { errors: ["request path rate limited"] }),
      answering("an internal error", 500, { errors: ["internal error"] }),
      answering("a proxy's page", 200, "<html>"),
      answering("no route", 404, { errors: [] }),
      answering("another refusal", 400, { errors: ["something new"] }),
      {
        name: "the token was revoked, and another is put into the file",
        failure: "unauthorized",
        begin: () => tokens.clear(),
        end: () => {
          const next = "s.next";
          tokens.set(next, { ttl: 60, creationTtl: 60, renewable: true });
          write(next);
        },
      },
      {
        name: "the file with the token is gone",
        failure: "unauthorized",
        begin: () => renameSync(file, `${file}.gone`),
        end: () => renameSync(`${file}.gone`, file),
      },
      {
        name: "the key was deleted",
        failure: "denied",
        // To make the key would need another permission.
        wrapping: "unauthorized",
        ...exchanged(keys, "cofre", undefined),
      },
      {
        name: "the version of the key may not be used any more",
        failure: "denied",
        wrapping: "ok",
        ...exchanged(keys, "cofre", [undefined, Buffer.alloc(32, 7)]),
      },
    ],
  };
});

describeKeyProvider("AWS KMS", async (context) => {
  const { service, keys, state } = await fakeKms();
  context.after(() => service.close());
  const file = join(directoryFor(context), "credentials");
  const write = (id: string): void => writeFileSync(file, awsCredentials(id), { mode: 0o600 });
  const known = "AKIAIOSFODNN7EXAMPLE";
  write(known);
  const open = (id: string) => async () =>
    kmsProvider({
      url: service.url,
      arn: arnOf(id),
      read: () => readCredentialFile(file, "COFRE_ROOT_KEY_SECRET_FILE"),
      isSilent: () => service.mode === "silent",
    });
  const one = keys.get(arnOf("1"));
  const refusing = (
    name: string,
    failure: "unavailable" | "unauthorized" | "denied",
    status = 400,
  ) => ({
    name: `${name} with status ${status}`,
    failure,
    begin: () => void (state.answer = { status, body: { __type: name } }),
    end: () => void (state.answer = undefined),
  });
  const inState = (name: string, failure: "unavailable" | "denied") => ({
    name: `the key is in the state ${name}`,
    failure,
    begin: () => void (one !== undefined && (one.state = name)),
    end: () => void (one !== undefined && (one.state = "Enabled")),
  });
  return {
    open: open("1"),
    openOther: open("2"),
    facts: { kind: "aws-kms", protection: "hardware", isExtractable: false, origin: "AWS_KMS" },
    faults: [
      inState("Disabled", "denied"),
      inState("PendingDeletion", "denied"),
      inState("Unavailable", "unavailable"),
      inState("PendingImport", "unavailable"),
      refusing("KMSInvalidStateException", "unavailable"),
      refusing("ThrottlingException", "unavailable"),
      refusing("com.amazonaws.kms#LimitExceededException", "unavailable"),
      refusing("KeyUnavailableException", "unavailable", 500),
      refusing("DependencyTimeoutException", "unavailable", 500),
      refusing("NotFoundException", "unavailable"),
      refusing("constructor", "unavailable"),
      refusing("AccessDeniedException", "unauthorized"),
      refusing("ExpiredTokenException", "unauthorized"),
      refusing("InvalidSignatureException", "unauthorized"),
      refusing("Unknown", "unauthorized", 403),
      refusing("DisabledException", "denied"),
      {
        name: "the service does not answer",
        failure: "unavailable",
        begin: () => void (service.mode = "silent"),
        end: () => void (service.mode = "answers"),
      },
      {
        name: "the credentials were revoked, and others are put into the file",
        failure: "unauthorized",
        begin: () => state.accessKeyIds.clear(),
        end: () => {
          state.accessKeyIds.add("AKIAI44QH8DHBEXAMPLE").add(known);
          write("AKIAI44QH8DHBEXAMPLE");
        },
      },
      {
        name: "answers name another key",
        failure: "wrong",
        begin: () => void (state.usedKey = arnOf("2")),
        end: () => void (state.usedKey = undefined),
      },
    ],
  };
});

function exchanged<Value>(map: Map<string, Value>, name: string, other: Value | undefined) {
  let kept: Value | undefined;
  return {
    begin: () => {
      kept = map.get(name);
      if (other === undefined) map.delete(name);
      else map.set(name, other);
    },
    end: () => void (kept !== undefined && map.set(name, kept)),
  };
}
