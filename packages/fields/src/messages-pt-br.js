// The texts of the card fields in Brazilian Portuguese.

/** @import { Texts } from "./messages-en.js" */

/** @type {Texts} */
export const texts = {
  title: "Dados do cartão",
  number: "Número do cartão",
  expiry: "Validade (MM/AA)",
  code: "Código de segurança",
  name: "Nome no cartão",
  number_required: "Informe o número do cartão.",
  number_invalid: "Confira o número do cartão.",
  expiry_required: "Informe a validade.",
  expiry_invalid: "Confira a validade.",
  code_required: "Informe o código de segurança.",
  code_invalid: "Confira o código de segurança.",
  name_required: "Informe o nome no cartão.",
  name_invalid: "Um nome não tem dígitos.",
  brand: "Bandeira: {brand}",
  no_answer: "O servidor não respondeu. Tente de novo.",
  busy: "A requisição anterior ainda não teve resposta.",
};
