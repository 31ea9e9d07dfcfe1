import { createRequire } from "node:module";

// Words and syntax that every Node of the last years reads: an old one is told what it lacks instead of dying in an import.
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < 24 || (major === 24 && minor < 16)) {
  throw new Error("cofre needs Node 24.16 or later; this is " + process.version + ".");
}
// Not awaited: what awaits while it is loaded cannot be had by `require`.
export const { startCofre } = createRequire(import.meta.url)("../src/library.ts");
