// The texts of the card fields in Spanish.

/** @import { Texts } from "./messages-en.js" */

/** @type {Texts} */
export const texts = {
  title: "Datos de la tarjeta",
  number: "Número de la tarjeta",
  expiry: "Vencimiento (MM/AA)",
  code: "Código de seguridad",
  name: "Nombre en la tarjeta",
  number_required: "Ingrese el número de la tarjeta.",
  number_invalid: "Revise el número de la tarjeta.",
  expiry_required: "Ingrese el vencimiento.",
  expiry_invalid: "Revise el vencimiento.",
  code_required: "Ingrese el código de seguridad.",
  code_invalid: "Revise el código de seguridad.",
  name_required: "Ingrese el nombre en la tarjeta.",
  name_invalid: "Un nombre no tiene cifras.",
  brand: "Marca: {brand}",
  no_answer: "El servidor no respondió. Intente de nuevo.",
  busy: "La solicitud anterior aún no tiene respuesta.",
};
