import type { Clock } from "../kernel/clock.ts";
import { type Instant, minute } from "../kernel/instant.ts";
import type { Log } from "../logging/log-event.ts";
import { maskedText } from "../wire/decode/card-like.ts";
import { isTreeObject, textOf, type TreeObject } from "../wire/decode/tree.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";
import { noContent } from "./static-responses.ts";

export const reportsPath = "/fields/reports";

/** Reports that are logged in a minute. Any program can send them, so they are few. */
const mostPerMinute = 10;

const longestOrigin = 120;

/** The words of the Content Security Policy that a report may name. */
const directives: ReadonlySet<string> = new Set([
  "base-uri",
  "connect-src",
  "font-src",
  "form-action",
  "frame-src",
  "img-src",
  "media-src",
  "object-src",
  "require-trusted-types-for",
  "script-src",
  "script-src-attr",
  "script-src-elem",
  "style-src",
  "style-src-attr",
  "style-src-elem",
  "trusted-types",
  "worker-src",
]);
const blockedWords: ReadonlySet<string> = new Set([
  "inline",
  "eval",
  "wasm-eval",
  "data",
  "blob",
  "trusted-types-policy",
  "trusted-types-sink",
]);

/**
 * Browsers report here what the policy of a page for customers refused: a script that is not Cofre's, a
 * request to another server, text that was to become HTML (PCI DSS 11.6.1). Each report is a log
 * event; of its texts only known words and origins are kept.
 */
export function fieldsReportsEndpoint({ clock, log }: { clock: Clock; log: Log }): OpenEndpoint {
  let since: Instant | undefined;
  let count = 0;
  return {
    path: reportsPath,
    doc: "page",
    key: "none",
    family: "json",
    cors: false,
    async handle({ params }) {
      const now = clock.now();
      // Negative if the clock was set back.
      const sinceMs = since === undefined ? minute : now - since;
      if (sinceMs < 0 || sinceMs >= minute) {
        since = now;
        count = 0;
      }
      const report = params["csp-report"];
      if (count < mostPerMinute && isTreeObject(report)) {
        count += 1;
        log.write({ event: "fields_changed", ...factsOf(report) });
      }
      return noContent;
    },
  };
}

function factsOf(report: TreeObject): { readonly directive: string; readonly blocked: string } {
  const directive = textOf(report, "effective-directive") ?? "";
  return {
    directive: directives.has(directive) ? directive : "other",
    blocked: blockedOf(textOf(report, "blocked-uri") ?? ""),
  };
}

/** A known word, or the origin of an address. */
function blockedOf(text: string): string {
  if (blockedWords.has(text)) return text;
  const origin = URL.parse(text)?.origin ?? "null";
  return /^https?:\/\/[\w.:[\]-]{1,100}$/.test(origin)
    ? maskedText(origin, longestOrigin)
    : "other";
}
