/** The part of the hosted page without its script, in Spanish. */
export const es =
  "Esta página necesita JavaScript: el número de la tarjeta nunca se envía como formulario.";
