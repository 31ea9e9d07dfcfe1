import { tables } from "./001-tables.ts";
import { writer } from "./002-writer.ts";
import { runs } from "./003-runs.ts";
import { roles } from "./004-roles.ts";
import { leases } from "./005-leases.ts";
import { reports } from "./006-reports.ts";
import { worldPlaces } from "./007-world-places.ts";
import { people } from "./008-people.ts";
import { messages } from "./009-messages.ts";
import { macs } from "./010-macs.ts";
import { identity } from "./011-identity.ts";
import { dueQueues } from "./012-due-queues.ts";
import { fillDueQueues } from "./013-fill-due-queues.ts";
import { peopleMacs } from "./014-people-macs.ts";
import { parkedQueues } from "./015-parked-queues.ts";
import { nodeClocks } from "./016-node-clocks.ts";
import { indexesOfReads } from "./017-indexes-of-reads.ts";

/** In order. One that was released never changes: its checksum is kept in the database. */
export const migrations: readonly string[] = [
  tables,
  writer,
  runs,
  roles,
  leases,
  reports,
  worldPlaces,
  people,
  messages,
  macs,
  identity,
  dueQueues,
  fillDueQueues,
  peopleMacs,
  parkedQueues,
  nodeClocks,
  indexesOfReads,
];
