// The texts of the card fields in English.

export const texts = {
  title: "Card details",
  number: "Card number",
  expiry: "Expiry date (MM/YY)",
  code: "Security code",
  name: "Name on the card",
  number_required: "Enter the card number.",
  number_invalid: "Check the card number.",
  expiry_required: "Enter the expiry date.",
  expiry_invalid: "Check the expiry date.",
  code_required: "Enter the security code.",
  code_invalid: "Check the security code.",
  name_required: "Enter the name on the card.",
  name_invalid: "A name has no digits.",
  brand: "Brand: {brand}",
  no_answer: "The server did not answer. Try again.",
  busy: "The previous request is not answered yet.",
};

/** @typedef {typeof texts} Texts */
