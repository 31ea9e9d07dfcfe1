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
import { indexesOfDeliveries } from "./018-indexes-of-deliveries.ts";
import { duePayments } from "./019-due-payments.ts";
import { fillDuePayments } from "./020-fill-due-payments.ts";
import { storageOptions } from "./021-storage-options.ts";
import { runsWithDeliveries } from "./022-runs-with-deliveries.ts";
import { indexOfSequence } from "./023-index-of-sequence.ts";
import { deletedRequests } from "./024-deleted-requests.ts";
import { indexOfAnsweredRequests } from "./025-index-of-answered-requests.ts";
import { deletedDeliveries } from "./026-deleted-deliveries.ts";
import { indexOfEndedDeliveries } from "./027-index-of-ended-deliveries.ts";
import { keyRecords } from "./028-key-records.ts";
import { setOfRootKeys } from "./029-set-of-root-keys.ts";
import { keyOrders } from "./030-key-orders.ts";
import { readsOfStart } from "./031-reads-of-start.ts";
import { keyRotation } from "./032-key-rotation.ts";
import { indexesOfKeys } from "./033-indexes-of-keys.ts";
import { ordersOfPages } from "./034-orders-of-pages.ts";
import { rootKeysOfNodes } from "./035-root-keys-of-nodes.ts";

/** In order. A released migration never changes: its checksum is kept in the database. */
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
  indexesOfDeliveries,
  duePayments,
  fillDuePayments,
  storageOptions,
  runsWithDeliveries,
  indexOfSequence,
  deletedRequests,
  indexOfAnsweredRequests,
  deletedDeliveries,
  indexOfEndedDeliveries,
  keyRecords,
  setOfRootKeys,
  keyOrders,
  readsOfStart,
  keyRotation,
  indexesOfKeys,
  ordersOfPages,
  rootKeysOfNodes,
];

/**
 * Checksums of the first texts of migrations that were rewritten before the first release, without
 * the locks that stopped writes. Databases keep these checksums in either case, so versions with
 * either text accept them. 018 makes databases of either text the same.
 */
export const firstChecksums: ReadonlyMap<number, string> = new Map([
  [6, "b51e3f6fa26a19870e485e8d36c5e98a61a3f09da23c619511b57c1ee478ac7e"],
  [9, "3988008a2240a3af0edd9d6dc60ef39a9810416ccc2e39e6bdad993ed5fe2249"],
]);
