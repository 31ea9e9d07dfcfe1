#!/usr/bin/env node
// Words and syntax that every Node of the last years reads: an old one is told what it lacks instead of dying in an import.
const [major, minor] = process.versions.node.split(".").map(Number);

if (major > 24 || (major === 24 && minor >= 16)) {
  const { main } = await import("../src/main.ts");
  await main();
} else {
  process.stderr.write(
    "Cofre needs Node 24.16 or later; this is " +
      process.version +
      ".\nIn the repository, `npm start` and `npm run cofre -- ...` bring the right one with them.\n",
  );
  process.exitCode = 1;
}
