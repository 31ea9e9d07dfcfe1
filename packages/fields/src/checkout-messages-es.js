// The texts of the hosted page in Spanish.

/** @import { CheckoutTexts } from "./checkout-messages-en.js" */

/** @type {CheckoutTexts} */
export const texts = {
  title: "Pago",
  to: "Pago a {shop}",
  tax: "incluye {tax} de impuesto",
  requested: "{amount} en la tienda",
  kind: "Tarjeta",
  credit: "Crédito",
  debit: "Débito",
  instalments: "Cuotas",
  instalment: "{count} cuotas de {amount}",
  document: "Documento de identidad",
  phone_number: "Número de teléfono",
  zipcode: "Código postal",
  address: "Calle",
  street_number: "Número de la casa",
  city: "Ciudad",
  state: "Estado o provincia",
  responsible: "Representante legal de la empresa",
  field_required: "Complete este campo.",
  field_invalid: "Revise este campo.",
  pay: "Pagar {amount}",
  paying: "Su pago se está realizando. Permanezca en esta página.",
  waiting:
    "Aún no se conoce el resultado de su pago. No pague de nuevo: esta página lo muestra en cuanto se conozca.",
  paid: "Usted pagó.",
  declined: "El pago fue rechazado.",
  declined_try: "La tarjeta fue rechazada. Intente con otra tarjeta.",
  refused: "Esta tarjeta no puede usarse aquí. Intente con otra tarjeta.",
  later: "Demasiados intentos. Intente más tarde.",
  closed: "Esta página ya no recibe pagos.",
  back: "Volver a {shop}",
  other_tab: "Este pago cambió en otra ventana.",
  no_answer: "El servidor no respondió. Esta página averigua qué ocurrió.",
  test_cards: "Tarjetas de prueba de este sandbox",
  no_money: "Esto es un sandbox: no se mueve dinero.",
};
