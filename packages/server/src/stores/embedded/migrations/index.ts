import { tables } from "./001-tables.ts";
import { rerouted } from "./002-rerouted.ts";
import { people } from "./003-people.ts";
import { messages } from "./004-messages.ts";
import { secureDelete } from "./005-secure-delete.ts";
import { macs } from "./006-macs.ts";
import { identity } from "./007-identity.ts";
import { dueQueues } from "./008-due-queues.ts";
import { peopleMacs } from "./009-people-macs.ts";
import { answeredRequests } from "./010-answered-requests.ts";
import { deliveriesByNumber } from "./011-deliveries-by-number.ts";
import { endedDeliveries } from "./012-ended-deliveries.ts";
import { keyRecords } from "./013-key-records.ts";
import { setOfRootKeys } from "./014-set-of-root-keys.ts";
import { keyOrders } from "./015-key-orders.ts";
import { keyRotation } from "./016-key-rotation.ts";

/**
 * Forward only, in order: the first creates version 1 of an empty file. A released migration is
 * never changed.
 */
export const migrations: readonly string[] = [
  tables,
  rerouted,
  people,
  messages,
  secureDelete,
  macs,
  identity,
  dueQueues,
  peopleMacs,
  answeredRequests,
  deliveriesByNumber,
  endedDeliveries,
  keyRecords,
  setOfRootKeys,
  keyOrders,
  keyRotation,
];
