// The texts of the hosted page in English.

export const texts = {
  title: "Payment",
  to: "Payment to {shop}",
  tax: "including {tax} of tax",
  requested: "{amount} in the shop",
  kind: "Card",
  credit: "Credit",
  debit: "Debit",
  instalments: "Instalments",
  instalment: "{count} × {amount}",
  document: "Identity document",
  phone_number: "Telephone number",
  zipcode: "Postal code",
  address: "Street",
  street_number: "Number",
  city: "City",
  state: "State",
  responsible: "Legal representative of the company",
  field_required: "Fill in this field.",
  field_invalid: "Check this field.",
  pay: "Pay {amount}",
  paying: "Your payment is being made. Stay on this page.",
  waiting:
    "The outcome of your payment is not known yet. Do not pay again: this page shows it as soon as it is known.",
  paid: "You have paid.",
  declined: "The payment was declined.",
  declined_try: "The card was declined. Try another card.",
  refused: "This card cannot be used here. Try another card.",
  closed: "This page takes no payment any more.",
  back: "Back to {shop}",
  other_tab: "This payment changed in another window.",
  no_answer: "The server did not answer. This page asks for the outcome.",
  test_cards: "Test cards of this sandbox",
  no_money: "This is a sandbox: no money moves.",
};

/** @typedef {typeof texts} CheckoutTexts */
