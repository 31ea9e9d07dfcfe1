"use strict";
// CommonJS, so that Jest loads it in its default mode, where an ES module is refused. Words and syntax that old versions of Node read as
// well: on one of them the error below says what is missing, instead of a syntax error.
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < 24 || (major === 24 && minor < 16)) {
  throw new Error("cofre needs Node 24.16 or later; this is " + process.version + ".");
}

// Jest executes this file in a context of its own, with a `require` and a `process` of its own. Node's are in Node's context, where the
// library is loaded: it keeps Node's timers when a test replaces those of its context.
const { Script } = require("node:vm");
const host = new Script("process").runInThisContext();
const { startCofre } = host.getBuiltinModule("node:module").createRequire(__filename)(
  "../src/library.ts",
);
exports.startCofre = startCofre;
