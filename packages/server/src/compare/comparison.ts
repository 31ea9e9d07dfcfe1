import { formatTimestamp } from "../kernel/calendar.ts";
import type { Clock } from "../kernel/clock.ts";
import { wirePaths } from "../interface/paths.ts";
import { declineReasons, type DeclineReason } from "../payment/payment.ts";
import { type TestCard, testCards } from "../sandbox/test-cards.ts";
import { verdictDescription } from "../wire/answers/payment-answer.ts";
import { viewOf } from "../http/recording/parameter-view.ts";
import { objectOf } from "../http/recording/recorded-view.ts";
import { decodeRequest, type DecodedRequest } from "../wire/decode/decode.ts";
import { isTreeObject, Lifted, type Tree, type TreeObject } from "../wire/decode/tree.ts";
import type { Collector, CollectedFinding, Example, ReasonNotCompared } from "./collector.ts";
import { type Difference, differencesOf } from "./differences.ts";
import { Identifiers, type Named, namedIn } from "./identifiers.ts";
import type { RequestFacts } from "./parity-rules.ts";
import { type Replacement, withReplaced } from "./replacement.ts";
import {
  type Json,
  jsonOf,
  memberAt,
  type Outcome,
  outcomeOf,
  type RawAnswer,
  type SeenAnswer,
  seenAnswerOf,
} from "./seen-answer.ts";
import { type Hidden, shownAnswer, shownText } from "./shown.ts";

/** A request of a client. The bytes are the caller's, who wipes them. */
export interface ComparedRequest {
  readonly method: string;
  readonly target: string;
  /** Names and values alternate. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** Cofre beside the upstream. */
export interface Twin {
  readonly integrationKey: string;
  readonly publicIntegrationKey: string;
  /** undefined: no complete answer. */
  ask(request: ComparedRequest): Promise<RawAnswer | undefined>;
  /** The issuer declines the next payment; false when that is not possible. */
  declineNext(reason: DeclineReason): Promise<boolean>;
  /** Removes instructions that no payment has used. */
  clear(): Promise<void>;
}

export type UpstreamAnswer = RawAnswer | ReasonNotCompared;

const secretNames = ["integration_key"];
const publicNames = ["public_integration_key", "publicIntegrationKey"];
/** Codes with which a key is refused: the twin refuses it too. */
const keyCodes: ReadonlySet<string> = new Set(["DA-1", "BP-SA-2", "BP-DPAR-4"]);
const idempotencyHeader = "idempotency-key";
const cardNumberNames = ["card_number", "network_token_pan"];
const shownCharacters = 2_048;

/** Compares the answers of an upstream with Cofre's own, one request after the other. */
export class Comparison {
  readonly #twin: Twin;
  readonly #collector: Collector;
  readonly #clock: Clock;
  readonly #identifiers = new Identifiers();

  constructor(parts: {
    readonly twin: Twin;
    readonly collector: Collector;
    readonly clock: Clock;
  }) {
    this.#twin = parts.twin;
    this.#collector = parts.collector;
    this.#clock = parts.clock;
  }

  async compare(request: ComparedRequest, answer: UpstreamAnswer): Promise<void> {
    const endpoint = endpointOf(request.target);
    let decoded: DecodedRequest | undefined;
    try {
      // decodeRequest wipes the copy.
      decoded = decodeRequest(request.target, Buffer.from(request.body));
    } catch {
      // The twin refuses it by itself: only values in it cannot be replaced.
    }
    try {
      const one = new OneRequest(request, endpoint, decoded, this.#identifiers);
      if (typeof answer === "string") this.#lost(one, answer);
      else await this.#answered(one, answer);
    } finally {
      decoded?.wipe();
    }
  }

  /** Whether the upstream has carried the request out is unknown. */
  #lost(one: OneRequest, reason: ReasonNotCompared): void {
    if (reason !== "made_before" && one.endpoint === wirePaths.direct)
      this.#identifiers.seeCodes(one.named);
    this.#identifiers.diverge(one.named);
    this.#collector.notCompared(one.endpoint, reason);
  }

  async #answered(one: OneRequest, answer: RawAnswer): Promise<void> {
    const upstream = seenAnswerOf(answer);
    if (upstream.status >= 500 && upstream.body.kind !== "json")
      return this.#lost(one, "upstream_failed");
    // Nothing was done, and the client will send the request again.
    if (upstream.status === 429) {
      this.#collector.notCompared(one.endpoint, "upstream_failed");
      return;
    }
    const theirs = outcomeOf(upstream);
    const isKeyRefused =
      [401, 403, 409].includes(upstream.status) ||
      (theirs.kind === "refused" && keyCodes.has(theirs.code));
    const keys = isKeyRefused ? [] : this.#keysFor(one);
    if (theirs.kind === "decided") await this.#adoptToken(one, upstream);
    const first = await this.#ask(one, keys);
    if (typeof first === "string") return this.#lost(one, first);
    const ours = outcomeOf(first);
    const isSame = isSameOutcome(theirs, ours);
    // Both have the payment now, whatever an earlier answer left open.
    if (isSame && one.endpoint === wirePaths.direct && ours.kind === "decided")
      this.#identifiers.converge(one.named);
    const isConsequence = this.#identifiers.hasDiverged(one.named);
    if (!isSame && upstream.status >= 500) {
      this.#forget(one);
      return this.#lost(one, "upstream_failed");
    }
    const isDirect = one.endpoint === wirePaths.direct;
    if (!isSame && (isDirect || !isConsequence) && this.#wasMadeBefore(one, theirs)) {
      this.#forget(one);
      return this.#lost(one, "made_before");
    }
    if (isDirect) this.#identifiers.seeCodes(one.named);
    const findings: CollectedFinding[] = [];
    const find = (cofre: SeenAnswer, differences: readonly Difference[]): void => {
      const hasOtherRate = differences.some(
        ({ path, aspect }) => aspect === "value" && path.endsWith("currency_rate"),
      );
      const common = {
        endpoint: one.endpoint,
        upstream: theirs,
        cofre: outcomeOf(cofre),
        request: one.facts,
        hasOtherRate,
        isConsequence,
        example: () => this.#example(one, upstream, cofre),
      };
      findings.push(...differences.map((difference) => ({ ...common, difference })));
    };
    const compareWith = (cofre: SeenAnswer): void => {
      find(cofre, differencesOf(upstream, cofre, this.#identifiers.asUpstream(one.named)));
      this.#identifiers.learnFrom(jsonOf(upstream), jsonOf(cofre));
    };
    if (isSame) compareWith(first);
    else {
      find(first, [outcomeDifference(theirs, ours)]);
      const steered = isConsequence
        ? "diverged"
        : await this.#steered(one, keys, upstream, theirs, ours);
      if (steered === "diverged") this.#identifiers.diverge(one.namedWith(upstream));
      else if (steered !== "even") compareWith(steered);
    }
    const { hidden } = one;
    this.#collector.compared(one.endpoint, findings, (text) => shownText(text, hidden));
  }

  /** Whether the request names something that only the upstream can know. */
  #wasMadeBefore(one: OneRequest, upstream: Outcome): boolean {
    const foreign = one.named.filter((named) => this.#identifiers.isForeign(named));
    if (one.endpoint !== wirePaths.direct) return foreign.length > 0;
    // The code of a new payment is unknown, unless the upstream says that it exists.
    const isRepeated = upstream.kind === "refused" && upstream.code === "BP-DR-0";
    return foreign.some(({ kind }) => kind !== "code" || isRepeated);
  }

  /** The twin's payment, which the upstream does not have, gets out of the way of its code. */
  #forget(one: OneRequest): void {
    if (one.endpoint !== wirePaths.direct) return;
    for (const code of one.textsOf(["merchant_payment_code"]))
      this.#identifiers.learn("code", code, this.#identifiers.freshCodeFor(code));
  }

  /** A card that the upstream stored before the comparison began: the twin stores a test card. */
  async #adoptToken(one: OneRequest, upstream: SeenAnswer): Promise<void> {
    if (one.hasNumber || one.endpoint === wirePaths.token) return;
    const foreign = one.named.find(
      (named) => named.kind === "token" && this.#identifiers.isForeign(named),
    );
    const card = approvedCardOf(memberAt(jsonOf(upstream), "payment", "payment_type_code"));
    if (foreign === undefined || card === undefined) return;
    const body = JSON.stringify({
      integration_key: this.#twin.integrationKey,
      payment_type_code: "creditcard",
      country: one.facts.country === "" ? "br" : one.facts.country,
      creditcard: {
        card_number: card.digits,
        card_name: "Ana Lima",
        card_due_date: "12/2060",
        card_cvv: card.brand === "amex" ? "1234" : "123",
      },
    });
    const answer = await this.#twin.ask({
      method: "POST",
      target: wirePaths.token,
      headers: ["Content-Type", "application/json"],
      body: Buffer.from(body),
    });
    const own = answer === undefined ? undefined : jsonOf(seenAnswerOf(answer));
    const token = memberAt(own, "token");
    if (typeof token === "string") this.#identifiers.learn("token", foreign.value, token);
  }

  #keysFor(one: OneRequest): readonly Replacement[] {
    const { integrationKey, publicIntegrationKey } = this.#twin;
    return [
      ...one.textsOf(secretNames).map((from) => ({ names: secretNames, from, to: integrationKey })),
      ...one
        .textsOf(publicNames)
        .map((from) => ({ names: publicNames, from, to: publicIntegrationKey })),
    ];
  }

  /** Sends the request to the twin, with the twin's identifiers. */
  async #ask(
    one: OneRequest,
    keys: readonly Replacement[],
    further: readonly Replacement[] = [],
    idempotencyKey?: string,
  ): Promise<SeenAnswer | ReasonNotCompared> {
    const all = [...keys, ...this.#identifiers.replacementsFor(one.named), ...further];
    const { request } = one;
    const target = withReplaced(Buffer.from(request.target, "latin1"), all);
    const body = withReplaced(request.body, all);
    try {
      if (keys.some((key) => !target.made.has(key) && !body.made.has(key)))
        return "key_not_replaced";
      const answer = await this.#twin.ask({
        method: request.method,
        target: target.bytes.toString("latin1"),
        headers: this.#headersFor(request.headers, idempotencyKey),
        body: body.bytes,
      });
      return answer === undefined ? "twin_failed" : seenAnswerOf(answer);
    } finally {
      target.bytes.fill(0);
      body.bytes.fill(0);
    }
  }

  #headersFor(headers: readonly string[], idempotencyKey: string | undefined): readonly string[] {
    return headers.map((value, index) => {
      const isKey = index % 2 === 1 && headers[index - 1]?.toLowerCase() === idempotencyHeader;
      if (!isKey) return value;
      return idempotencyKey ?? this.#identifiers.ownOf("idempotency", value) ?? value;
    });
  }

  /**
   * Brings the twin to the upstream's outcome, so that later requests can be compared, and resolves
   * with its new answer. `even`: neither has changed anything. `diverged`: later differences are
   * consequences.
   */
  async #steered(
    one: OneRequest,
    keys: readonly Replacement[],
    upstream: SeenAnswer,
    theirs: Outcome,
    ours: Outcome,
  ): Promise<SeenAnswer | "even" | "diverged"> {
    if (theirs.kind === "refused" && ours.kind === "refused") return "even";
    const [code] = one.textsOf(["merchant_payment_code"]);
    if (one.endpoint !== wirePaths.direct || code === undefined) return "diverged";
    if (theirs.kind === "refused") {
      this.#forget(one);
      return "even";
    }
    const fresh = this.#identifiers.freshCodeFor(code);
    if (theirs.kind !== "decided") return "diverged";
    if (theirs.isDeclined && !(await this.#twin.declineNext(reasonOf(theirs.description))))
      return "diverged";
    const card = theirs.isDeclined && ours.kind === "decided" ? [] : one.approvedCard(upstream);
    const idempotencyKey = one.headerOf(idempotencyHeader);
    const own = idempotencyKey === undefined ? undefined : fresh;
    this.#identifiers.learn("code", code, fresh);
    const again = await this.#ask(one, keys, card, own);
    await this.#twin.clear();
    if (typeof again === "string" || !isSameOutcome(theirs, outcomeOf(again))) return "diverged";
    if (idempotencyKey !== undefined) this.#identifiers.learn("idempotency", idempotencyKey, fresh);
    return again;
  }

  #example(one: OneRequest, upstream: SeenAnswer, cofre: SeenAnswer): Example {
    const { parameters, leftOut } = viewOf(one.params, shownCharacters);
    const { hidden } = one;
    const type = one.headerOf("content-type");
    return {
      at: formatTimestamp(this.#clock.now()),
      request: {
        method: one.request.method,
        path: one.endpoint,
        content_type: type === undefined ? null : shownText(type, hidden),
        parameters: objectOf(parameters),
        parameters_omitted: leftOut,
      },
      upstream: shownAnswer(upstream, hidden),
      cofre: shownAnswer(cofre, hidden),
    };
  }
}

/** A request with what the comparison reads of it. */
class OneRequest {
  readonly request: ComparedRequest;
  readonly endpoint: string;
  readonly params: TreeObject;
  readonly named: readonly Named[];
  readonly hidden: Hidden;
  readonly facts: RequestFacts;
  readonly #lifted: readonly Lifted[];

  constructor(
    request: ComparedRequest,
    endpoint: string,
    decoded: DecodedRequest | undefined,
    identifiers: Identifiers,
  ) {
    this.request = request;
    this.endpoint = endpoint;
    this.params = decoded?.params ?? {};
    this.named = namedIn(this.params);
    this.#lifted = decoded?.lifted ?? [];
    const tokens = this.named.filter(({ kind }) => kind === "token").map(({ value }) => value);
    this.hidden = {
      lifted: this.#lifted,
      texts: [
        ...this.textsOf([...secretNames, ...publicNames]),
        ...tokens,
        ...tokens.flatMap((token) => identifiers.ownOf("token", token) ?? []),
      ].filter((text) => text.length >= 8),
    };
    this.facts = factsOf(this.params);
  }

  /** The identifiers of the request, and of the payment and token in the upstream's answer. */
  namedWith(upstream: SeenAnswer): readonly Named[] {
    const json = jsonOf(upstream);
    const further = [
      ["hash", memberAt(json, "payment", "hash")],
      ["code", memberAt(json, "payment", "merchant_payment_code")],
      ["token", memberAt(json, "token") ?? memberAt(json, "payment", "token")],
      ["refund", memberAt(json, "refund", "id")],
    ] as const;
    return [
      ...this.named,
      ...further.flatMap(([kind, value]) =>
        typeof value === "string" ? [{ kind, value } as const] : [],
      ),
    ];
  }

  /** Whether it has a card's own number. */
  get hasNumber(): boolean {
    for (const [name, value] of membersOf(this.params))
      if (cardNumberNames.includes(name) && value instanceof Lifted) return true;
    return false;
  }

  /** Different values of these parameters, wherever they are. */
  textsOf(names: readonly string[]): readonly string[] {
    const found = new Set<string>();
    for (const [name, value] of membersOf(this.params))
      if (names.includes(name) && typeof value === "string") found.add(value);
    return [...found];
  }

  headerOf(name: string): string | undefined {
    const { headers } = this.request;
    const index = headers.findIndex(
      (text, place) => place % 2 === 0 && text.toLowerCase() === name,
    );
    return index < 0 ? undefined : headers[index + 1];
  }

  /** Replaces the card number with one that the twin approves, of the upstream's brand. */
  approvedCard(upstream: SeenAnswer): readonly Replacement[] {
    const brand = memberAt(jsonOf(upstream), "payment", "payment_type_code");
    const card = approvedCardOf(brand);
    return Array.from(membersOf(this.params)).flatMap(([name, value]) =>
      cardNumberNames.includes(name) && value instanceof Lifted && card !== undefined
        ? [{ names: [name], from: value.bytes, to: card.digits }]
        : [],
    );
  }
}

/** A test card of this brand, or of another one, that is approved. */
function approvedCardOf(brand: Json | undefined): TestCard | undefined {
  const approved = testCards.filter(
    ({ result, threeDSecure }) => result === "approved" && threeDSecure === undefined,
  );
  return (
    approved.find((card) => card.brand === brand) ?? approved.find((card) => card.brand === "visa")
  );
}

function* membersOf(tree: Tree): Generator<readonly [name: string, value: Tree]> {
  if (Array.isArray(tree)) {
    for (const member of tree as readonly Tree[]) yield* membersOf(member);
  } else if (isTreeObject(tree)) {
    for (const [name, value] of Object.entries(tree)) {
      yield [name, value];
      yield* membersOf(value);
    }
  }
}

function factsOf(params: TreeObject): RequestFacts {
  const values = new Map<string, Tree>(membersOf(params));
  const text = (name: string): string => {
    const value = values.get(name);
    return typeof value === "string" ? value.toLowerCase() : "";
  };
  const number = values.get("card_number") ?? values.get("network_token_pan");
  return {
    country: text("country"),
    paymentType: text("payment_type_code"),
    isTestCard: number instanceof Lifted ? isTestCard(number.bytes) : undefined,
    hasNetworkToken: values.has("network_token_pan"),
    hasCryptogram: values.has("network_token_cryptogram"),
  };
}

function isTestCard(bytes: Uint8Array): boolean {
  return testCards.some(
    ({ digits }) =>
      digits.length === bytes.length &&
      bytes.every((byte, index) => byte === digits.charCodeAt(index)),
  );
}

/** `/ws/direct` for `/WS/Direct/?x=1`. */
function endpointOf(target: string): string {
  const [path = ""] = target.split("?", 1);
  const plain = path.toLowerCase().replaceAll(/\/+/g, "/").replace(/\/$/, "");
  // An unknown path may contain anything.
  return /^\/[a-z/_-]{1,80}$/.test(plain) ? plain : "others";
}

function isSameOutcome(upstream: Outcome, cofre: Outcome): boolean {
  if (upstream.kind === "refused") return cofre.kind === "refused" && cofre.code === upstream.code;
  if (upstream.kind === "decided")
    return cofre.kind === "decided" && cofre.verdict === upstream.verdict;
  return cofre.kind !== "refused" || !upstream.isSuccess;
}

function outcomeDifference(upstream: Outcome, cofre: Outcome): Difference {
  const areRefused = upstream.kind === "refused" && cofre.kind === "refused";
  return {
    aspect: areRefused ? "code" : "outcome",
    path: areRefused ? "status_code" : "",
    upstream: outcomeText(upstream),
    cofre: outcomeText(cofre),
    isByValue: true,
  };
}

function outcomeText(outcome: Outcome): string {
  if (outcome.kind === "refused") return outcome.code;
  if (outcome.kind === "decided") return `${outcome.verdict} ${outcome.description}`;
  return outcome.isSuccess ? "success" : "no success";
}

const reasons: ReadonlyMap<string, DeclineReason> = new Map(
  declineReasons.map((reason) => [verdictDescription(reason), reason]),
);

function reasonOf(description: string): DeclineReason {
  return reasons.get(description) ?? "not_accepted";
}
