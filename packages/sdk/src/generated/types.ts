// Made from the server's tables: npm run docs. Do not edit.

/** Countries of payments, ISO 3166-1 alpha-2 in lower case. */
export type Country = "br" | "mx" | "co" | "ar" | "cl" | "pe" | "uy" | "gt" | "py" | "ec" | "bo" | "cr" | "do" | "pa" | "sv";

/** The customer of a payment. Countries require different fields. */
export interface CustomerFields {
  /** `name`. The customer's name. At most 100 characters. */
  readonly name: string;
  /** `email`. The customer's email address. BP-DR-17 when it is invalid. At most 100 characters. */
  readonly email: string;
  /** `phone_number`. Punctuation is removed. At most 15 characters. */
  readonly phoneNumber: string;
  /** `document`. With or without punctuation. Check digits are verified (BP-DR-23). In Chile required only when the payment is processed locally. Required in br, co, ar, uy. */
  readonly document?: string | undefined;
  /** `document_type`. For example `ARG_CUIT`, `ARG_CUIL`, `ARG_CDI`, `ARG_DNI`, `COL_CC`, `COL_CE` or `COL_NIT`. */
  readonly documentType?: string | undefined;
  /** `zipcode`. In Brazil 5 to 9 letters and digits. At most 20 characters. Required in br, mx, co, ar. */
  readonly zipcode?: string | undefined;
  /** `address`. The street. At most 100 characters. Required in br, mx, co, ar. */
  readonly address?: string | undefined;
  /** `street_number`. S/N when the address has no number. At most 30 characters. Required in br, mx, co, ar. */
  readonly streetNumber?: string | undefined;
  /** `street_complement`. Apartment, floor. At most 100 characters. */
  readonly streetComplement?: string | undefined;
  /** `city`. The city. At most 80 characters. Required in br, mx, co, ar. */
  readonly city?: string | undefined;
  /** `state`. In Brazil the state's two-letter code (BP-DR-29). At most 80 characters. Required in br, mx, co, ar. */
  readonly state?: string | undefined;
  /** `birth_date`. dd/mm/yyyy (BP-DR-20). The customer must be at least 16 years old (BP-DR-21). */
  readonly birthDate?: string | undefined;
  /** `person_type`. Default: personal. Any other value: BP-DR-41. */
  readonly personType?: "personal" | "business" | undefined;
  /** `responsible`. The company's legal representative. */
  readonly responsible?: {
    /** `name`. Checked for companies only. At most 100 characters. */
    readonly name?: string | undefined;
  } | undefined;
}

/** Further fields of a payment. */
export interface OrderFields {
  /** `customer_ip`. IPv4 or IPv6. */
  readonly customerIp?: string | undefined;
  /** `order_number`. Returned in answers. At most 40 characters. */
  readonly orderNumber?: string | undefined;
  /** `user_value_1`. Returned in answers. At most 20 characters. */
  readonly userValue1?: string | undefined;
  /** `user_value_2`. Returned in answers. At most 20 characters. */
  readonly userValue2?: string | undefined;
  /** `user_value_3`. Returned in answers. At most 20 characters. */
  readonly userValue3?: string | undefined;
  /** `user_value_4`. Returned in answers. At most 20 characters. */
  readonly userValue4?: string | undefined;
  /** `user_value_5`. Returned in answers. At most 20 characters. */
  readonly userValue5?: string | undefined;
  /** `note`. Returned in answers. At most 200 characters. */
  readonly note?: string | undefined;
  /** `notification_url`. The URL that receives this payment's notifications, instead of the account's URL. An unusable URL is ignored. At most 2000 characters. */
  readonly notificationUrl?: string | undefined;
  /** `device_id`. The ebanx_session_id from /fingerprint. At most 200 characters. */
  readonly deviceId?: string | undefined;
  /** `amount_itens`. The sum with amount_shipping must equal amount_total, otherwise BP-DR-8. */
  readonly amountItens?: string | undefined;
  /** `amount_shipping`. The sum with amount_itens must equal amount_total, otherwise BP-DR-8. */
  readonly amountShipping?: string | undefined;
  /** `create_token`. true: the card is also stored, and the answer has its token. */
  readonly createToken?: boolean | undefined;
  /** `manual_review`. true: the payment waits for manual review. */
  readonly manualReview?: boolean | undefined;
  /** `cof_info`. Stored credentials: initial or subsequent use, and the initiator. */
  readonly cofInfo?: {
    /** `cof_type`. Any other value: COFRE-26. */
    readonly cofType?: "initial" | "stored" | undefined;
    /** `initiator`. Initiated by the customer or by the merchant. Any other value: COFRE-26. */
    readonly initiator?: "CIT" | "MIT" | undefined;
    /** `trans_type`. `SCHEDULED_RECURRING`, `INSTALLMENT`, `CUSTOMER_COF`, `MERCHANT_COF`. Any other value: `CUSTOMER_COF` for CIT, `MERCHANT_COF` for MIT. */
    readonly transType?: string | undefined;
    /** `mandate_id`. The mandate_id from the initial payment's answer. At most 64 characters. */
    readonly mandateId?: string | undefined;
  } | undefined;
}

/** Fields that belong to the card of one payment. */
export interface CardOptions {
  /** `soft_descriptor`. The text on the cardholder's statement. At most 64 characters. */
  readonly softDescriptor?: string | undefined;
  /** `threeds_eci`. From your own 3-D Secure server: 00, 01, 02, 05, 06 or 07, otherwise COFRE-27. 01, 02, 05 and 06 require a cryptogram. */
  readonly threedsEci?: string | undefined;
  /** `threeds_cryptogram`. From your own 3-D Secure server: base64 or base64url, at most 64 characters, otherwise COFRE-27. */
  readonly threedsCryptogram?: string | undefined;
  /** `threeds_xid`. From your own 3-D Secure server. At most 28 characters. */
  readonly threedsXid?: string | undefined;
  /** `threeds_version`. From your own 3-D Secure server. At most 10 characters. */
  readonly threedsVersion?: string | undefined;
  /** `threeds_trxid`. From your own 3-D Secure server. At most 40 characters. */
  readonly threedsTrxid?: string | undefined;
}

export interface TokenAnswer {
  readonly status: "SUCCESS";
  readonly paymentTypeCode: string;
  readonly token: string;
  readonly maskedCardNumber: string;
}

export interface SetCvvAnswer {
  readonly status: "SUCCESS";
  readonly token: string;
  readonly maskedCardNumber: string;
}

export interface PaymentAnswer {
  readonly payment: Payment;
  readonly status: "SUCCESS";
}

export interface Payment {
  /** The payment's id in later requests. */
  readonly hash: string;
  readonly country: string;
  readonly merchantPaymentCode: string;
  readonly orderNumber: string | null;
  /** Open (its hosted page takes a card), pending (authorized, or the outcome is unknown), confirmed (captured), cancelled. */
  readonly status: "OP" | "PE" | "CO" | "CA";
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly statusDate: string | null;
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly openDate: string | null;
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly confirmDate: string | null;
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly transferDate: string | null;
  /** In the local currency, tax included. */
  readonly amountBr: string;
  /** In the currency of the request. */
  readonly amountExt: string;
  /** The tax included in amount_br. */
  readonly amountIof: string;
  /** Decimal text. */
  readonly currencyRate: string;
  readonly currencyExt: string;
  /** YYYY-MM-DD. */
  readonly dueDate: string;
  readonly instalments: string;
  /** The card's brand, or debitcard. */
  readonly paymentTypeCode: string;
  readonly details: {
    readonly billingDescriptor: string;
  };
  /** The issuer approved it, and the approval is still valid. */
  readonly preApproved: boolean;
  /** Authorized and not captured; null while the payment is open. */
  readonly captureAvailable: boolean | null;
  readonly transactionStatus?: TransactionStatus;
  readonly pin?: string;
  readonly refunds?: readonly Refund[];
  readonly chargeback?: Chargeback;
  /** The token made by create_token; returned only once. */
  readonly token?: string;
  readonly maskedCardNumber?: string;
  readonly cofInfo?: {
    readonly mandateId: string;
  };
  readonly note?: string;
  readonly userValue1?: string;
  readonly userValue2?: string;
  readonly userValue3?: string;
  readonly userValue4?: string;
  readonly userValue5?: string;
  readonly customer?: {
    readonly document: string | null;
    readonly email: string;
    readonly name: string;
    readonly birthDate: string | null;
  };
}

export interface TransactionStatus {
  readonly acquirer: string;
  /** PENDING: the outcome is not known yet. */
  readonly code: "OK" | "NOK" | "RETRY" | "PENDING";
  readonly description: string;
  readonly authcode?: string;
  readonly isoCode?: string;
  readonly macCode?: string;
}

export interface Refund {
  readonly id: string;
  readonly merchantRefundCode: string | null;
  /** Requested, pending, confirmed, cancelled. */
  readonly status: "RE" | "PE" | "CO" | "CA";
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly requestDate: string | null;
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly pendingDate: string | null;
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly confirmDate: string | null;
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly cancelDate: string | null;
  /** Decimal text. */
  readonly amountExt: string;
  readonly description: string;
}

export interface Chargeback {
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly createDate: string | null;
  /** YYYY-MM-DD hh:mm:ss in UTC. */
  readonly chargebackDate: string | null;
  readonly description: string;
  readonly chargebackCredit: boolean;
}

export interface VerifyAnswer {
  readonly status: "SUCCESS";
  readonly paymentTypeCode: string;
  readonly cardVerification: {
    readonly transactionStatus: {
      readonly code: "OK" | "NOK" | "RETRY";
      readonly description: string;
    };
    readonly transactionType: "ZERO DOLLAR" | "GHOST AUTHORIZATION";
    readonly mandateId?: string;
  };
}

export interface CancelAnswer {
  readonly payment: Payment;
  readonly operation: "cancel";
  readonly status: "SUCCESS";
}

export interface RefundAnswer {
  readonly payment: Payment;
  readonly refund: Refund;
  readonly operation: "refund";
  readonly status: "SUCCESS";
}

export interface RefundOrCancelAnswer {
  readonly payment: Payment;
  readonly operation: "refund" | "cancel";
  readonly status: "SUCCESS";
  readonly refund?: Refund;
}

export interface ExchangeAnswer {
  readonly currencyRate: CurrencyRate;
  readonly status: "SUCCESS";
}

export interface CurrencyRate {
  readonly code: string;
  readonly baseCode: string;
  readonly name: string;
  /** Decimal text. */
  readonly rate: string;
}

export interface PropertiesAnswer {
  readonly status: "SUCCESS";
  readonly success: true;
  readonly resource: "merchantIntegrationProperties";
  readonly operation: "get" | "edit";
  readonly body: {
    readonly image: string | null;
    readonly urlResponse: string | null;
    readonly receiptEmail: string | null;
    readonly urlStatusChangeNotification: string | null;
  };
}

/** The answer of each operation. */
export interface Answers {
  readonly token: TokenAnswer;
  readonly setCvv: SetCvvAnswer;
  readonly direct: PaymentAnswer;
  readonly verifyCard: VerifyAnswer;
  readonly capture: PaymentAnswer;
  readonly cancel: CancelAnswer;
  readonly refund: RefundAnswer;
  readonly refundOrCancel: RefundOrCancelAnswer;
  readonly query: PaymentAnswer;
  readonly exchange: ExchangeAnswer;
  readonly resendNotification: PaymentAnswer;
  readonly getProperties: PropertiesAnswer;
}
