/** One check of an installation in production: data for the start, `cofre doctor` and the docs. */
export interface Check<Facts> {
  /** Stable: in the log, in `cofre doctor --json` and in docs/operate/production.md. */
  readonly name: string;
  /** What production requires, as a whole sentence. */
  readonly rule: string;
  /** What is wrong, as a whole sentence without a secret; undefined when nothing is. */
  readonly fault: (facts: Facts) => string | undefined;
  /** What the operator does about it, as a whole sentence. */
  readonly remedy: string;
}

/** The result of a check. */
export interface Finding {
  readonly name: string;
  readonly rule: string;
  readonly fault: string | undefined;
  readonly remedy: string;
}

export function findingsOf<Facts>(
  checks: readonly Check<Facts>[],
  facts: Facts,
): readonly Finding[] {
  return checks.map(({ name, rule, fault, remedy }) => ({
    name,
    rule,
    fault: fault(facts),
    remedy,
  }));
}

/** Structural faults: the installation does not start. */
export class ProductionRefused extends Error {
  override readonly name = "ProductionRefused";
  /** Names of the checks. */
  readonly checks: readonly string[];

  constructor(faults: readonly Finding[]) {
    const lines = faults.map(({ name, fault, remedy }) => `${name}: ${fault ?? ""} ${remedy}`);
    super(["production requires more:", ...lines].join("\n  "));
    this.checks = faults.map(({ name }) => name);
  }
}

/** Throws ProductionRefused when a check fails; its message has every fault with its remedy. */
export function refuseFaults(findings: readonly Finding[]): void {
  const faults = findings.filter(({ fault }) => fault !== undefined);
  if (faults.length > 0) throw new ProductionRefused(faults);
}
