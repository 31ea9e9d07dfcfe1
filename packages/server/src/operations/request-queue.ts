import type { MutexLimit } from "../kernel/keyed-mutex.ts";
import { ServiceError } from "../payment/service-error.ts";

/** The queue of requests for one payment: a further request is refused. */
export const requestQueue: MutexLimit = {
  maximumWaiting: 32,
  refusal: () => new ServiceError("payment_in_flight"),
};
