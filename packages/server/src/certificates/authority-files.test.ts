import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { day, instant } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import {
  isTlsPrepared,
  openLocalTls,
  type ServerCredentials,
  TlsFileError,
  tlsFiles,
} from "./authority-files.ts";

const isPosix = process.platform !== "win32";
const random = new SeededRandom("files");

interface Installation {
  readonly directory: string;
  /** Opens it `days` days after its creation. */
  readonly open: (days?: number) => Promise<ServerCredentials>;
  readonly read: (name: string) => string;
}

function installation(context: TestContext): Installation {
  const folder = mkdtempSync(join(tmpdir(), "cofre-tls-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const directory = join(folder, "data");
  return {
    directory,
    open: (days = 0) =>
      openLocalTls({
        dataDirectory: directory,
        environment: "sandbox",
        clock: { now: () => instant(Date.UTC(2026, 10, 28) + days * day) },
        random,
      }),
    read: (name) => readFileSync(join(directory, "tls", name), "utf8"),
  };
}

describe("the files of the local authority", () => {
  test("are made once, and only their owner reads a key", async (context) => {
    const { directory, open, read } = installation(context);
    assert.equal(isTlsPrepared(directory), false);
    const first = await open();
    assert.equal(isTlsPrepared(directory), true);
    const names = ["authority.key", "server.key", "address.key", "authority.pem", "php/cofre.ini"];
    const before = names.map(read);
    assert.deepEqual(await open(), first);
    assert.deepEqual(names.map(read), before);
    assert.deepEqual(readdirSync(join(directory, "tls")).toSorted(), [
      "address.key",
      "authority.key",
      "authority.pem",
      "java.jks",
      "php",
      "ruby",
      "server.key",
    ]);
    for (const name of names)
      assert.equal(read(name).includes("PRIVATE KEY"), name.endsWith(".key"), name);
    if (isPosix)
      for (const name of ["authority.key", "server.key", "address.key"])
        assert.equal(statSync(join(directory, "tls", name)).mode & 0o777, 0o600);
    if (isPosix) assert.equal(statSync(join(directory, "tls")).mode & 0o777, 0o700);
    const authority = new X509Certificate(read("authority.pem")).publicKey;
    for (const cert of [first.cert, first.byAddress.cert])
      assert.ok(new X509Certificate(cert).verify(authority));
    assert.equal(new X509Certificate(first.byAddress.cert).checkIP("127.0.0.1"), "127.0.0.1");
    assert.equal(new X509Certificate(first.cert).checkIP("127.0.0.1"), undefined);
    assert.ok(read("php/cofre.ini").includes(`"${tlsFiles(directory).authority}"`));
  });

  test("a folder in place of a written file is reported by its name", async (context) => {
    const { directory, open } = installation(context);
    await open();
    for (const path of [
      join(directory, "tls", "authority.pem"),
      join(directory, "tls", "php", "cofre.ini"),
    ]) {
      rmSync(path);
      mkdirSync(path);
      await assert.rejects(open(), {
        name: "TlsFileError",
        message: `${path} is a folder: remove it, and the next start writes the file`,
      });
      rmSync(path, { recursive: true });
    }
    await open();
  });

  test("agree when two make them at once", async (context) => {
    const { directory, open, read } = installation(context);
    const opened = await Promise.all([open(), open()]);
    const authority = new X509Certificate(read("authority.pem")).publicKey;
    for (const { cert } of opened) assert.ok(new X509Certificate(cert).verify(authority));
    assert.ok(read("authority.key").includes(read("authority.pem")));
    assert.ok(opened.some(({ cert }) => read("server.key").includes(cert)));
    assert.deepEqual(readdirSync(join(directory, "tls")).toSorted(), [
      "address.key",
      "authority.key",
      "authority.pem",
      "java.jks",
      "php",
      "ruby",
      "server.key",
    ]);
  });

  test("the server's certificate is renewed a month before its end, under the same authority, and that one after years", async (context) => {
    const { open, read } = installation(context);
    const first = await open();
    const authority = read("authority.pem");
    assert.deepEqual(await open(366), first, "control: not before");
    const second = await open(368);
    assert.notEqual(second.cert, first.cert);
    assert.notEqual(second.key, first.key);
    assert.equal(read("authority.pem"), authority);
    await open(3_300);
    assert.notEqual(read("authority.pem"), authority);
  });

  test("a public part that was lost or spoilt is put back", async (context) => {
    const { directory, open, read } = installation(context);
    await open();
    const authority = read("authority.pem");
    rmSync(tlsFiles(directory).authority);
    writeFileSync(join(tlsFiles(directory).php, "cofre.ini"), "");
    await open();
    assert.equal(read("authority.pem"), authority);
    assert.ok(read("php/cofre.ini").includes("curl.cainfo"));
  });

  const spoilt: readonly (readonly [what: string, spoil: (file: string) => void, says: RegExp])[] =
    [
      [
        "garbage",
        (file) => writeFileSync(file, "sausage"),
        /does not hold a key and its certificate: restore it/,
      ],
      [
        "a key without its certificate",
        (file) => writeFileSync(file, readFileSync(file, "utf8").split("-----BEGIN CERT")[0] ?? ""),
        /does not hold/,
      ],
      [
        "open to others",
        (file) => chmodSync(file, 0o644),
        /is open to others \(mode 0644\): make it 0600 with chmod/,
      ],
    ];
  for (const [what, spoil, says] of spoilt) {
    test(
      `a kept key that is ${what} is refused with what to do, and nothing is quoted`,
      { skip: !isPosix },
      async (context) => {
        const { directory, open } = installation(context);
        await open();
        const file = join(directory, "tls", "server.key");
        spoil(file);
        await assert.rejects(open(), (error: unknown) => {
          assert.ok(error instanceof TlsFileError);
          assert.match(error.message, says);
          assert.ok(error.message.includes(file) && !error.message.includes("sausage"));
          return true;
        });
        // Follow the advice of the message.
        rmSync(file);
        await open();
      },
    );
  }

  test("a certificate beside the key of another is refused", async (context) => {
    const [one, other] = [installation(context), installation(context)];
    await one.open();
    await other.open();
    const [key = ""] = one.read("server.key").split("-----BEGIN CERT");
    const [, certificate = ""] = other.read("server.key").split("-----BEGIN CERT");
    writeFileSync(join(one.directory, "tls", "server.key"), `${key}-----BEGIN CERT${certificate}`, {
      mode: 0o600,
    });
    await assert.rejects(one.open(), TlsFileError);
  });
});
