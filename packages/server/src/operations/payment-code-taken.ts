import { ServiceError } from "../payment/service-error.ts";
import type { Payment } from "../payment/payment.ts";

/**
 * A payment with this code exists; the wire's answer has its creation time and status (BP-DR-0).
 */
export class PaymentCodeTaken extends ServiceError {
  readonly existing: Payment;

  constructor(existing: Payment) {
    super("payment_code_taken");
    this.existing = existing;
  }
}
