/**
 * Deliveries by the time from which they may be attempted: the cost of reading due deliveries
 * depends only on their number, not on how many wait for later.
 *
 * `due_delivery` has a row for each waiting delivery that is not blocked by an earlier one to the
 * same endpoint about the same payment. `due_queue` has a row for each queue with such a delivery,
 * and `due_merchant` for each merchant with such a queue, both with their earliest due time. A
 * queue may be parked, because its endpoint is disabled: then it is not due before `parked_until`,
 * until the account changes. Triggers keep the three tables in step with `delivery` within its
 * transaction, whatever statement writes it.
 *
 * A queue is the lane of an account's endpoint; for payments' own addresses it is the part of the
 * lane that names the origin (queueOf in notification/endpoint.ts). Addresses of the previous
 * version do not name an origin and are a queue each.
 */
const queueOf = (lane: string): string =>
  `CASE WHEN substr(${lane}, 10, 4) = 'url-' AND substr(${lane}, 30, 1) = '-' THEN substr(${lane}, 1, 29) ELSE ${lane} END`;

const blocks = (row: string): string => `(${row}.state = 'waiting' AND ${row}.in_order = 1)`;

/**
 * Whether an earlier delivery to the same endpoint about the same payment must be delivered first.
 */
const isBlocked = (row: string): string => `EXISTS (
    SELECT 1 FROM delivery AS earlier INDEXED BY delivery_payment WHERE earlier.payment = ${row}.payment AND earlier.number < ${row}.number
      AND earlier.lane = ${row}.lane AND ${blocks("earlier")})`;

/** Later deliveries to the same endpoint about the payment of the written row. */
const laterOnes = `FROM delivery AS later INDEXED BY delivery_payment
    WHERE later.payment = NEW.payment AND later.number > NEW.number AND later.lane = NEW.lane AND later.state = 'waiting'`;

const insertOwn = `INSERT INTO due_delivery (queue, due_at, number, lane)
    SELECT ${queueOf("NEW.lane")}, NEW.due_at, NEW.number, NEW.lane WHERE NEW.state = 'waiting' AND NOT ${isBlocked("NEW")};`;

const deleteLaterOnes = `DELETE FROM due_delivery WHERE (queue, due_at, number, lane) IN (
    SELECT ${queueOf("later.lane")}, later.due_at, later.number, later.lane ${laterOnes});`;

export const dueQueues = `
CREATE TABLE due_delivery (
  queue TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  number INTEGER NOT NULL,
  lane TEXT NOT NULL,
  PRIMARY KEY (queue, due_at, number, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE due_queue (
  queue TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  first_at INTEGER NOT NULL,
  parked_until INTEGER,
  due_at INTEGER NOT NULL,
  CHECK (due_at = max(first_at, coalesce(parked_until, first_at)))
) STRICT, WITHOUT ROWID;
CREATE INDEX due_queue_due ON due_queue (merchant, due_at, queue);

CREATE TABLE due_merchant (
  merchant TEXT NOT NULL PRIMARY KEY,
  due_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX due_merchant_due ON due_merchant (due_at, merchant);

CREATE TRIGGER delivery_made AFTER INSERT ON delivery WHEN NEW.state = 'waiting' BEGIN
  ${insertOwn}
END;
CREATE TRIGGER delivery_moved AFTER UPDATE ON delivery WHEN OLD.state = 'waiting' OR NEW.state = 'waiting' BEGIN
  DELETE FROM due_delivery WHERE queue = ${queueOf("OLD.lane")} AND due_at = OLD.due_at AND number = OLD.number AND lane = OLD.lane;
  ${insertOwn}
END;
-- A replay may add a delivery before others, or put one back before them.
CREATE TRIGGER delivery_made_before AFTER INSERT ON delivery WHEN ${blocks("NEW")} BEGIN
  ${deleteLaterOnes}
END;
CREATE TRIGGER delivery_blocks AFTER UPDATE ON delivery WHEN ${blocks("NEW")} AND NOT ${blocks("OLD")} BEGIN
  ${deleteLaterOnes}
END;
CREATE TRIGGER delivery_blocks_no_more AFTER UPDATE ON delivery WHEN ${blocks("OLD")} AND NOT ${blocks("NEW")} BEGIN
  INSERT INTO due_delivery (queue, due_at, number, lane)
    SELECT ${queueOf("later.lane")}, later.due_at, later.number, later.lane ${laterOnes} AND NOT ${isBlocked("later")};
END;

CREATE TRIGGER due_delivery_added AFTER INSERT ON due_delivery BEGIN
  INSERT INTO due_queue (queue, merchant, first_at, due_at) VALUES (NEW.queue, substr(NEW.queue, 1, 8), NEW.due_at, NEW.due_at)
    ON CONFLICT (queue) DO UPDATE SET first_at = NEW.due_at, due_at = max(NEW.due_at, coalesce(parked_until, NEW.due_at))
    WHERE NEW.due_at < first_at;
END;
CREATE TRIGGER due_delivery_removed AFTER DELETE ON due_delivery
WHEN OLD.due_at = (SELECT first_at FROM due_queue WHERE queue = OLD.queue) BEGIN
  DELETE FROM due_queue WHERE queue = OLD.queue AND NOT EXISTS (SELECT 1 FROM due_delivery WHERE queue = OLD.queue);
  UPDATE due_queue SET first_at = first.at, due_at = max(first.at, coalesce(parked_until, first.at))
    FROM (SELECT min(due_at) AS at FROM due_delivery WHERE queue = OLD.queue) AS first
    WHERE queue = OLD.queue AND first_at <> first.at;
END;

CREATE TRIGGER due_queue_added AFTER INSERT ON due_queue BEGIN
  INSERT INTO due_merchant (merchant, due_at) VALUES (NEW.merchant, NEW.due_at)
    ON CONFLICT (merchant) DO UPDATE SET due_at = NEW.due_at WHERE NEW.due_at < due_merchant.due_at;
END;
CREATE TRIGGER due_queue_earlier AFTER UPDATE OF due_at ON due_queue WHEN NEW.due_at < OLD.due_at BEGIN
  UPDATE due_merchant SET due_at = NEW.due_at WHERE merchant = NEW.merchant AND NEW.due_at < due_at;
END;
CREATE TRIGGER due_queue_later AFTER UPDATE OF due_at ON due_queue
WHEN NEW.due_at > OLD.due_at AND OLD.due_at = (SELECT due_at FROM due_merchant WHERE merchant = OLD.merchant) BEGIN
  UPDATE due_merchant SET due_at = (SELECT min(due_at) FROM due_queue WHERE merchant = OLD.merchant) WHERE merchant = OLD.merchant;
END;
CREATE TRIGGER due_queue_removed AFTER DELETE ON due_queue
WHEN OLD.due_at = (SELECT due_at FROM due_merchant WHERE merchant = OLD.merchant) BEGIN
  DELETE FROM due_merchant WHERE merchant = OLD.merchant AND NOT EXISTS (SELECT 1 FROM due_queue WHERE merchant = OLD.merchant);
  UPDATE due_merchant SET due_at = (SELECT min(due_at) FROM due_queue WHERE merchant = OLD.merchant) WHERE merchant = OLD.merchant;
END;

CREATE TRIGGER account_changed AFTER UPDATE ON account BEGIN
  UPDATE due_queue SET parked_until = NULL, due_at = first_at WHERE merchant = lower(hex(NEW.id)) AND parked_until IS NOT NULL;
END;

INSERT INTO due_delivery (queue, due_at, number, lane)
  SELECT ${queueOf("delivery.lane")}, due_at, number, lane FROM delivery INDEXED BY delivery_due
  WHERE delivery.state = 'waiting' AND NOT ${isBlocked("delivery")};
`;
