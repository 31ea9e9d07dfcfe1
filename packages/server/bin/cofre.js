#!/usr/bin/env node
// Words and syntax that every Node of the last years reads, so that an old one prints what it lacks
// instead of failing in an import. Node opens its debugger, on a port of this machine that every
// user reaches, when it gets SIGUSR1; a listener stops that. A debugger reads keys.
process.on("SIGUSR1", () => {});

const [major, minor] = process.versions.node.split(".").map(Number);

if (major > 24 || (major === 24 && minor >= 16)) {
  // What was compiled once is kept beside the sources: a start takes a third of the time and 37 MB
  // less, since the type stripper is never loaded. Not in the system's folder for temporary files,
  // where other users could leave code for us to run. A folder that cannot be written (a read-only
  // image) only means no cache. The variable passes the folder on to the writer thread.
  const { enableCompileCache } = await import("node:module");
  const { fileURLToPath } = await import("node:url");
  const { directory } = enableCompileCache(
    fileURLToPath(new URL("../.cache/compiled/", import.meta.url)),
  );
  if (directory !== undefined)
    process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
      new URL("../.cache/compiled/", import.meta.url),
    );
  const { main } = await import("../src/main.ts");
  await main();
} else {
  process.stderr.write(
    "Cofre needs Node 24.16 or later; this is " +
      process.version +
      ".\nInstall a newer Node (https://nodejs.org). In the repository no other is needed: `npm start` and\n`npm run cofre -- ...` use the one that `npm ci` installs.\n",
  );
  process.exitCode = 1;
}
