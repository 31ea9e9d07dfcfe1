import type { Customer } from "../../src/payment/payment.ts";

/**
 * A customer that passes every rule for Brazil; the document number is one that public clients test
 * with (interface 9).
 */
export const testCustomer: Customer = {
  name: "Ana Lima",
  email: "ana.lima@example.com",
  document: "85351346893",
  birthDate: "1979-04-30",
  personType: "personal",
  phone: "8522847035",
  zipcode: "61919230",
  address: "Rua E",
  streetNumber: "1040",
  streetComplement: undefined,
  city: "Maracanaú",
  state: "CE",
  ip: undefined,
  responsible: undefined,
};
