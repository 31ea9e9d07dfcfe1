import { isRecord, printable } from "./cofre-client.ts";
import { escaped, htmlPage } from "./html-page.ts";
import { timelineLines } from "./payment.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What an account or a world has at the end of a run, as the server shows it: cards are masked. */
export interface AccountReport {
  /** A world's id and name; undefined for the account of the run. */
  readonly world: string | undefined;
  /** Answers of `/__cofre/timeline`, in the order in which the payments were made. */
  readonly timelines: readonly Fields[];
  readonly isComplete: boolean;
  /** Requests that were answered with an error, oldest first. */
  readonly refusals: readonly Fields[];
}

export interface RunReport {
  /** `php exited with 1`. */
  readonly what: string;
  /** UTC, for people. */
  readonly at: string;
  readonly accounts: readonly AccountReport[];
  readonly proxyLines: readonly string[];
}

export function reportAsText({ what, at, accounts, proxyLines }: RunReport): string {
  const lines = [
    `${printable(what)}, ${at} UTC`,
    ...proxyLines.map((line) => `proxy: ${printable(line)}`),
    ...accounts.flatMap(({ world, timelines, isComplete, refusals }) => [
      "",
      `${world === undefined ? "the account" : `world ${printable(world)}`}: ${countText(timelines, isComplete)}`,
      ...timelines.flatMap((timeline) => [
        "",
        `${printable(timeline["merchant_payment_code"])}  ${amountOf(timeline)}`,
        ...timelineLines(timeline),
      ]),
      ...(refusals.length === 0
        ? []
        : ["", "refused requests", ...refusals.map((request) => `  ${refusalText(request)}`)]),
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

export function reportAsHtml({ what, at, accounts, proxyLines }: RunReport): string {
  const body = [
    `<h1>${escaped(what)}</h1>`,
    `<p class="quiet">Cofre, ${escaped(at)} UTC. Select a payment, then an entry, for its details.</p>`,
    ...(proxyLines.length === 0
      ? []
      : [
          "<h2>Refused by the proxy</h2>",
          `<ul>${proxyLines.map((line) => `<li>${escaped(line)}</li>`).join("")}</ul>`,
        ]),
    ...accounts.flatMap(({ world, timelines, isComplete, refusals }) => [
      `<h2>${world === undefined ? "The account" : `World ${escaped(world)}`}: ${countText(timelines, isComplete)}</h2>`,
      ...timelines.map(paymentAsHtml),
      ...(refusals.length === 0
        ? []
        : [
            "<h3>Refused requests</h3>",
            ...refusals.map((request) =>
              entryAsHtml(request["at"], "request", refusalText(request), request),
            ),
          ]),
    ]),
  ];
  return htmlPage(`${what}: timelines`, style, body);
}

const style = `
.quiet, time, .kind { color: color-mix(in srgb, CanvasText 65%, Canvas); }
.payment { border: 1px solid color-mix(in srgb, CanvasText 18%, Canvas); border-radius: 8px; margin: .5rem 0; }
.payment > summary { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: .5rem .75rem; cursor: pointer; }
.payment > div { padding: 0 .75rem .75rem; }
.state { margin-left: auto; }
.entry > summary { display: flex; gap: 1rem; padding: .2rem 0; cursor: pointer; }
time { overflow-wrap: normal; font-variant-numeric: tabular-nums; white-space: nowrap; }
.kind { flex: 0 0 6rem; }
@media (max-width: 40rem) { .entry > summary { flex-wrap: wrap; gap: 0 .75rem; } .kind { flex: none; } }
`;

function paymentAsHtml(timeline: Fields): string {
  const { hash, merchant_payment_code: code, state, recording, problems } = timeline;
  const problemLines: unknown[] = Array.isArray(problems) ? problems : [];
  const isWhole = isRecord(recording) && recording["complete"] === true;
  return [
    `<details class="payment"><summary><b>${escaped(printable(code))}</b> <span>${escaped(amountOf(timeline))}</span> <span class="state">${escaped(printable(state))}</span></summary><div>`,
    `<p class="quiet">${escaped(printable(hash))}</p>`,
    ...problemLines.map((problem) => `<p><b>${escaped(printable(problem))}</b></p>`),
    ...recordsIn(timeline["entries"]).map(({ at, kind, text, data }) =>
      entryAsHtml(at, printable(kind), printable(text), data),
    ),
    ...(isWhole ? [] : [`<p class="quiet">Older entries were no longer recorded.</p>`]),
    "</div></details>",
  ].join("\n");
}

function entryAsHtml(at: unknown, kind: string, text: string, data: unknown): string {
  return `<details class="entry"><summary><time>${escaped(printable(at))}</time><span class="kind">${escaped(kind)}</span><span>${escaped(text)}</span></summary><pre>${escaped(JSON.stringify(data, undefined, 2))}</pre></details>`;
}

function countText({ length }: readonly Fields[], isComplete: boolean): string {
  const count = length === 1 ? "1 payment" : `${length} payments`;
  return isComplete ? count : `the newest ${count}`;
}

/** `100.00 PEN`. */
function amountOf({ payment }: Fields): string {
  if (!isRecord(payment)) return "";
  return `${printable(payment["amount_ext"])} ${printable(payment["currency_ext"])}`;
}

/** `/ws/direct was answered with BP-DR-49 ... (order-1)`. */
function refusalText(request: Fields): string {
  const { response } = request;
  const message = isRecord(response) ? printable(response["status_message"]) : "";
  const code = printable(request["merchant_payment_code"]);
  return `${printable(request["path"])} was answered with ${printable(request["status_code"])}${message === "" ? "" : ` ${message}`}${code === "" ? "" : ` (${code})`}`;
}

function recordsIn(list: unknown): Fields[] {
  const rows: unknown[] = Array.isArray(list) ? list : [];
  return rows.filter(isRecord);
}
