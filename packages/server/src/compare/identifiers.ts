import { BoundedMap } from "../kernel/bounded-map.ts";
import { sha256Hex } from "../kernel/digest.ts";
import { isTreeObject, type Tree, type TreeObject } from "../wire/decode/tree.ts";
import type { Replacement } from "./replacement.ts";
import { isJsonObject, type Json, memberAt } from "./seen-answer.ts";

/** Identifiers that each server generates for itself, by the names that they have in requests. */
const identifierNames = {
  hash: ["hash"],
  token: ["token"],
  refund: ["refund_id"],
  mandate: ["mandate_id"],
  /** Chosen by the client: Cofre's own is another one after a payment was repeated. */
  code: ["merchant_payment_code"],
  idempotency: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type IdentifierKind = keyof typeof identifierNames;
const kinds = Object.keys(identifierNames) as readonly IdentifierKind[];

const foreignKinds: readonly IdentifierKind[] = ["hash", "refund", "token"];

/** Identifiers of each kind that are remembered, the newest. */
const mostIdentifiers = 50_000;

/** Identifiers of a request, by the upstream's values. */
export interface Named {
  readonly kind: IdentifierKind;
  readonly value: string;
}

/** Which identifier of Cofre belongs to which of the upstream. */
export class Identifiers {
  readonly #own: Readonly<Record<IdentifierKind, BoundedMap<string, string>>>;
  /**
   * What has another state at the two servers, or is known to one of them only: later differences
   * are consequences.
   */
  readonly #diverged = new BoundedMap<string, true>(mostIdentifiers);
  readonly #codes = new BoundedMap<string, true>(mostIdentifiers);
  #replaced = 0;

  constructor() {
    this.#own = Object.fromEntries(
      kinds.map((kind) => [kind, new BoundedMap<string, string>(mostIdentifiers)]),
    ) as Record<IdentifierKind, BoundedMap<string, string>>;
  }

  ownOf(kind: IdentifierKind, upstream: string): string | undefined {
    return this.#own[kind].get(upstream);
  }

  learn(kind: IdentifierKind, upstream: string, own: string): void {
    this.#own[kind].set(upstream, own);
  }

  /** A payment code in place of this one that no client chooses. */
  freshCodeFor(code: string): string {
    this.#replaced += 1;
    return sha256Hex(`cofre compare ${this.#replaced}\0${code}`).slice(0, 32);
  }

  diverge(named: readonly Named[]): void {
    for (const { kind, value } of named) this.#diverged.set(`${kind} ${value}`, true);
  }

  converge(named: readonly Named[]): void {
    for (const { kind, value } of named) this.#diverged.delete(`${kind} ${value}`);
  }

  hasDiverged(named: readonly Named[]): boolean {
    return named.some(({ kind, value }) => this.#diverged.has(`${kind} ${value}`));
  }

  /** What was made before the comparison began. */
  isForeign({ kind, value }: Named): boolean {
    if (kind === "code") return !this.#codes.has(value);
    return foreignKinds.includes(kind) && !this.#own[kind].has(value);
  }

  /** The code of a payment that the comparison has seen being made. */
  seeCodes(named: readonly Named[]): void {
    for (const { kind, value } of named) if (kind === "code") this.#codes.set(value, true);
  }

  /** Remembers which identifiers of two answers to the same request are the same. */
  learnFrom(upstream: Json | undefined, cofre: Json | undefined): void {
    if (Array.isArray(upstream) && Array.isArray(cofre)) {
      for (const [index, member] of (upstream as readonly Json[]).entries())
        this.learnFrom(member, (cofre as readonly Json[])[index]);
      return;
    }
    if (!isJsonObject(upstream) || !isJsonObject(cofre)) return;
    const refund = [memberAt(upstream, "refund", "id"), memberAt(cofre, "refund", "id")] as const;
    this.#learnPair("refund", ...refund);
    for (const [name, theirs] of Object.entries(upstream)) {
      const ours = memberAt(cofre, name);
      if (name === "hash") this.#learnPair("hash", theirs, ours);
      else if (name === "token") this.#learnPair("token", theirs, ours);
      else if (name === "mandate_id") this.#learnPair("mandate", theirs, ours);
      else if (name !== "refunds" && name !== "refund") this.learnFrom(theirs, ours);
    }
  }

  #learnPair(kind: IdentifierKind, upstream: Json | undefined, own: Json | undefined): void {
    if (isText(upstream) && isText(own)) this.learn(kind, String(upstream), String(own));
  }

  /** The replacements that make a request to the upstream one to Cofre. */
  replacementsFor(named: readonly Named[]): readonly Replacement[] {
    return named.flatMap(({ kind, value }) => {
      const own = this.ownOf(kind, value);
      const names = identifierNames[kind];
      return own === undefined || own === value || names.length === 0
        ? []
        : [{ names, from: value, to: own }];
    });
  }

  /** A text of Cofre's answer to a request, with the upstream's identifiers. */
  asUpstream(named: readonly Named[]): (text: string) => string {
    const pairs = named.flatMap(({ kind, value }) => {
      const own = this.ownOf(kind, value);
      return own === undefined || own === value ? [] : [[own, value] as const];
    });
    return (text) =>
      pairs.reduce(
        (changed, [own, value]) =>
          changed === own || (own.length >= 8 && changed.includes(own))
            ? changed.replaceAll(own, value)
            : changed,
        text,
      );
  }
}

function isText(value: Json | undefined): value is string | number {
  return typeof value === "number" || (typeof value === "string" && value !== "");
}

/** All identifiers in a request's parameters. */
export function namedIn(params: TreeObject): readonly Named[] {
  const named: Named[] = [];
  const visit = (tree: Tree): void => {
    if (Array.isArray(tree)) {
      for (const member of tree as readonly Tree[]) visit(member);
      return;
    }
    if (!isTreeObject(tree)) return;
    for (const [name, value] of Object.entries(tree)) {
      const kind = kinds.find((each) =>
        (identifierNames[each] as readonly string[]).includes(name),
      );
      if (kind === undefined || typeof value !== "string") visit(value);
      else named.push({ kind, value });
    }
  };
  visit(params);
  return named;
}
