import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { programEntries, rootEntries, userId, withFolders } from "./image-root.ts";
import { layOut } from "./package.ts";
import { tar, type TarEntry } from "./tar.ts";

/**
 * Builds the container image without a container engine: `npm run image` writes
 * .cache/cofre-image-VERSION.tar, an OCI layout that `docker load`, `podman load` and skopeo read.
 * Equal sources on a machine with the same libraries give an equal file. Needs Debian's ldd and
 * dpkg; the image is for the processor of this machine.
 */
const repository = fileURLToPath(new URL("..", import.meta.url));

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

const types = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

const nanosecondsPerSecond = 1_000_000_000;

/** A content of the layout, named by its digest. */
interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly bytes: Buffer;
}

interface Layer extends Blob {
  /** Digest of the archive before compression. */
  readonly diffId: string;
}

export interface BuiltImage {
  /** Path of the archive. */
  readonly file: string;
  /** Of the manifest: `sha256:` and 64 hex digits. */
  readonly digest: string;
  /** Of all layers as they are transferred, in bytes. */
  readonly compressedBytes: number;
}

/**
 * Writes the archive into the folder `destination`. `layout`: an empty folder. `time`: of every
 * file and of the image, in seconds since 1970.
 */
export async function makeImage(
  layout: string,
  destination: string,
  time: number,
): Promise<BuiltImage> {
  await layOut(layout);
  const { version } = JSON.parse(readFileSync(join(layout, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const architecture = architectures[process.arch];
  if (process.platform !== "linux" || architecture === undefined)
    throw new Error("the image is made on Linux, on x64 or arm64");
  const node = join(repository, `node_modules/node-linux-${process.arch}/bin/node`);
  const layers = await Promise.all([
    layerOf(rootEntries(node), time),
    layerOf(programEntries(layout), time),
  ]);
  const created = new Date(time * 1_000).toISOString();
  const labels = labelsOf(version, created);
  const config = jsonBlob(types.config, {
    created,
    architecture,
    os: "linux",
    config: { ...runConfig, Labels: labels },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: ["Node and its libraries", `Cofre ${version}`].map((comment) => ({
      created,
      comment,
    })),
  });
  const manifest = jsonBlob(types.manifest, {
    schemaVersion: 2,
    mediaType: types.manifest,
    config: descriptorOf(config),
    layers: layers.map(descriptorOf),
    annotations: labels,
  });
  const index = {
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [
      {
        ...descriptorOf(manifest),
        platform: { architecture, os: "linux" },
        annotations: { "org.opencontainers.image.ref.name": `cofre:${version}` },
      },
    ],
  };
  // For engines that do not read the OCI layout.
  const olderIndex = [
    {
      Config: pathOf(config),
      RepoTags: [`cofre:${version}`],
      Layers: layers.map(pathOf),
    },
  ];
  const blobs = [...layers, config, manifest];
  const archive = tar(
    withFolders([
      fileOf("oci-layout", { imageLayoutVersion: "1.0.0" }),
      fileOf("index.json", index),
      fileOf("manifest.json", olderIndex),
      ...blobs.map((blob) => ({ path: pathOf(blob), mode: 0o644, content: blob.bytes })),
    ]),
    time,
  );
  mkdirSync(destination, { recursive: true });
  const file = join(destination, `cofre-image-${version}.tar`);
  writeFileSync(file, archive);
  return {
    file,
    digest: manifest.digest,
    compressedBytes: layers.reduce((sum, { size }) => sum + size, 0),
  };
}

/** What a container starts. Its root file system may be read-only; data is in the volume. */
const runConfig = {
  User: `${userId}:${userId}`,
  Env: ["PATH=/usr/local/bin", "COFRE_HOST=0.0.0.0", "COFRE_DATA_DIR=/data"],
  Entrypoint: ["/usr/local/bin/cofre"],
  Cmd: ["start"],
  WorkingDir: "/data",
  Volumes: { "/data": {} },
  ExposedPorts: { "8787/tcp": {} },
  StopSignal: "SIGTERM",
  Healthcheck: {
    Test: ["CMD", "/usr/local/bin/cofre", "health"],
    Interval: 5 * nanosecondsPerSecond,
    Timeout: 5 * nanosecondsPerSecond,
    StartPeriod: 10 * nanosecondsPerSecond,
    Retries: 3,
  },
};

function labelsOf(version: string, created: string): Readonly<Record<string, string>> {
  const label = (name: string, value: string) => [`org.opencontainers.image.${name}`, value];
  return Object.fromEntries([
    label("title", "cofre"),
    label("description", "Self-hosted card vault and card payment service"),
    label("version", version),
    label("created", created),
    label("licenses", "Apache-2.0"),
  ]) as Readonly<Record<string, string>>;
}

const compressed = promisify(gzip);

async function layerOf(entries: readonly TarEntry[], time: number): Promise<Layer> {
  const archive = tar(withFolders(entries), time);
  return { ...blobOf(types.layer, await compressed(archive)), diffId: digestOf(archive) };
}

function jsonBlob(mediaType: string, value: object): Blob {
  return blobOf(mediaType, Buffer.from(JSON.stringify(value)));
}

function blobOf(mediaType: string, bytes: Buffer): Blob {
  return { mediaType, digest: digestOf(bytes), size: bytes.length, bytes };
}

function descriptorOf({ mediaType, digest, size }: Blob) {
  return { mediaType, digest, size };
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function pathOf({ digest }: Blob): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function fileOf(path: string, value: object): TarEntry {
  return { path, mode: 0o644, content: Buffer.from(JSON.stringify(value)) };
}

if (import.meta.main) {
  const layout = mkdtempSync(join(tmpdir(), "cofre-image-"));
  try {
    const time = Number(process.env["SOURCE_DATE_EPOCH"] ?? 0);
    const { file, digest, compressedBytes } = await makeImage(
      layout,
      join(repository, ".cache"),
      time,
    );
    const megabytes = (compressedBytes / 1_000_000).toFixed(1);
    process.stdout.write(`${relative(process.cwd(), file)}\n${digest}, ${megabytes} MB\n`);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}
