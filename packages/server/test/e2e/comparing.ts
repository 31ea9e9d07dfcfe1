import { openComparingProxy } from "../../src/cli/comparing-proxy.ts";
import type { TemporaryCofre } from "../../src/cli/command.ts";
import type { ComparisonResult } from "../../src/compare/collector.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";

export interface Comparing extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Posted>;
  /** Ends the comparison. */
  readonly finish: () => Promise<ComparisonResult>;
  /** `/ws/direct value payment.status [rule]`, with `(consequence)`, of every kind. */
  readonly kinds: () => Promise<readonly string[]>;
}

export interface Posted {
  readonly status: number;
  readonly text: string;
  readonly body: Record<string, unknown> & { readonly payment?: Record<string, unknown> };
}

/**
 * A comparison of this upstream with a Cofre, which several may share if their payments have
 * different codes.
 */
export async function startComparing(
  upstream: URL | string,
  cofre: TemporaryCofre,
  idleMs = 20_000,
): Promise<Comparing> {
  const proxy = await openComparingProxy({
    upstream: new URL(upstream),
    port: 0,
    cofre,
    scheduler: systemScheduler,
    clock: systemClock,
    idleMs,
  });
  let result: Promise<ComparisonResult> | undefined;
  const finish = (): Promise<ComparisonResult> => (result ??= proxy.close(2_000));
  const url = `http://127.0.0.1:${proxy.port}`;
  return {
    url,
    port: proxy.port,
    post: async (path, body, headers = {}) => {
      const response = await fetch(url + path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers,
      });
      const text = await response.text();
      let parsed: Posted["body"] = {};
      try {
        parsed = JSON.parse(text) as Posted["body"];
      } catch {
        // Not every upstream answers JSON.
      }
      return { status: response.status, text, body: parsed };
    },
    finish,
    kinds: async () =>
      (await finish()).kinds.map(({ endpoint, aspect, path, rule, isConsequence }) =>
        [
          endpoint,
          aspect,
          path,
          ...(rule === null ? [] : [`[${rule}]`]),
          ...(isConsequence ? ["(consequence)"] : []),
        ]
          .filter((part) => part !== "")
          .join(" "),
      ),
    [Symbol.asyncDispose]: async () => void (await finish()),
  };
}
