import { tellingProblems } from "../client-problem.ts";
import type { ClientCommand } from "../command.ts";
import { keyFile, recordFile, recoveryWords } from "./names.ts";

/** Makes and tries the recovery key, whose private half exists only as shares of people. */
export const recoveryCommand: ClientCommand = {
  summary: "make a recovery key as shares for people, and try the shares",
  details:
    "init makes a recovery key: a public file, and a share of 33 words for each custodian. renew does the same for other custodians. drill proves that shares open what was sealed for the key. open wraps the keys of a data directory by the root key of the settings, after the previous one was lost. Shares are read from standard input, one per line. All but open need no network, no server and no data directory: use a computer that is not connected.",
  words: recoveryWords,
  needsWord: true,
  options: {
    "--shares": { form: "N", doc: "init: number of shares, 2 to 16; 5 by default" },
    "--threshold": {
      form: "N",
      doc: "init, renew: number of shares that open the recovery key, 2 or more; 3 by default, for renew as before",
    },
    "--custodians": {
      form: "NAMES",
      doc: "init, renew: names of those who get the shares, with commas between them",
    },
    "--record": { form: "FILE", doc: `renew: the ${recordFile} of the key to replace` },
    "--out": {
      form: "FOLDER",
      doc: `init, renew: where ${keyFile} and ${recordFile} are written; the present folder by default`,
    },
    "--recovery-key": { form: "FILE", doc: `drill: the ${keyFile} of the recovery key` },
    "--data-dir": {
      form: "D",
      doc: "drill: also open all keys of this data directory, or a copy of it; open: the data directory, instead of COFRE_DATA_DIR",
    },
    "--json": {
      doc: "print a JSON object; init and renew print all shares at once and have no words typed back",
    },
  },
  examples: [
    "cofre recovery init --shares 5 --threshold 3",
    "cofre recovery drill --recovery-key recovery.pub",
    "cofre recovery open --data-dir data",
  ],
  run: (call, host) =>
    tellingProblems(host.fail, async () =>
      (await import("./run-recovery.ts")).runRecovery(call, host),
    ),
};
