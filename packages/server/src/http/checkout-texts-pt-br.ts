/** The part of the hosted page without its script, in Portuguese. */
export const ptBr =
  "Esta página precisa de JavaScript: o número do cartão nunca é enviado como formulário.";
