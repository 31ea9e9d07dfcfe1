import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Placing, ReachableNode, WorldPlace, WorldPlaces } from "../world-places.ts";
import type { Value } from "./connection.ts";
import type { StatementName } from "./sql.ts";

/** Runs a statement on the session that nothing else waits for. */
export type Rows = <Row extends object>(name: StatementName, ...values: readonly Value[]) => Promise<readonly Row[]>;

export function worldPlacesOf(rows: Rows): WorldPlaces {
  return {
    async keep(node, url) {
      const [row] = await rows<{ readonly keys: number }>("keepWorlds", node, url);
      assert(row !== undefined, "whoever keeps its place is told what is placed there");
      return row.keys;
    },
    async place(node, world, keys) {
      const [row] = await rows<{ readonly placing: Placing }>("placeWorld", node, world, keys.join(" "));
      assert(row !== undefined, "whoever places a world is told what became of it");
      return row.placing;
    },
    remove: async (node, world) => void (await rows("removeWorld", node, world)),
    leave: async (node) => void (await rows("leaveWorlds", node)),
    worldsOf: async (node) => (await rows<{ readonly world: MerchantId }>("worldsOf", node)).map(({ world }) => world),
    placeOf: async (key) => (await rows<WorldPlace>("placeOf", key))[0],
    placeOfWorld: async (world) => (await rows<WorldPlace>("placeOfWorld", world))[0],
    nodes: () => rows<ReachableNode>("reachableNodes"),
  };
}
