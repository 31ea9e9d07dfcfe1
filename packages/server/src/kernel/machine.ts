import { assert } from "./assert.ts";

export interface MachineDefinition<State extends string, Fact extends string> {
  readonly states: readonly State[];
  readonly initial: State;
  readonly final: readonly State[];
  /** State, fact, next state. */
  readonly rows: readonly (readonly [State, Fact, State])[];
}

export interface Machine<State extends string, Fact extends string> extends MachineDefinition<
  State,
  Fact
> {
  /** The state after `fact` in `state`; undefined if the table has no such row. */
  next(state: State, fact: Fact): State | undefined;
}

/**
 * Loads a state machine from its table. Refuses a duplicate row, an exit from a final state and an
 * unreachable state.
 */
export function defineMachine<State extends string, Fact extends string>(
  definition: MachineDefinition<State, Fact>,
): Machine<State, Fact> {
  const edges = new Map<State, Map<Fact, State>>();
  for (const [from, fact, to] of definition.rows) {
    const exits = edges.get(from) ?? new Map<Fact, State>();
    edges.set(from, exits);
    assert(!exits.has(fact), "a machine has one row for a state and a fact");
    assert(!definition.final.includes(from), "no row leaves a final state");
    exits.set(fact, to);
  }
  const reached = new Set<State>([definition.initial]);
  for (let grown = true; grown;) {
    const before = reached.size;
    for (const [from, , to] of definition.rows) if (reached.has(from)) reached.add(to);
    grown = reached.size > before;
  }
  assert(
    definition.states.every((state) => reached.has(state)),
    "every state can be reached from the initial one",
  );
  return { ...definition, next: (state, fact) => edges.get(state)?.get(fact) };
}
