// The texts of the hosted page in Portuguese.

/** @import { CheckoutTexts } from "./checkout-messages-en.js" */

/** @type {CheckoutTexts} */
export const texts = {
  title: "Pagamento",
  to: "Pagamento para {shop}",
  tax: "inclui {tax} de imposto",
  requested: "{amount} na loja",
  kind: "Cartão",
  credit: "Cartão de crédito",
  debit: "Cartão de débito",
  instalments: "Parcelas",
  instalment: "{count} parcelas de {amount}",
  document: "CPF ou CNPJ",
  phone_number: "Telefone",
  zipcode: "CEP",
  address: "Rua",
  street_number: "Número da casa",
  city: "Cidade",
  state: "Estado (UF)",
  responsible: "Representante legal da empresa",
  field_required: "Preencha este campo.",
  field_invalid: "Verifique este campo.",
  pay: "Pague {amount}",
  paying: "Seu pagamento está sendo feito. Fique nesta página.",
  waiting:
    "O resultado do seu pagamento ainda não é conhecido. Não pague de novo: esta página o mostra assim que for conhecido.",
  paid: "Você pagou.",
  declined: "O pagamento foi recusado.",
  declined_try: "O cartão foi recusado. Tente outro cartão.",
  refused: "Este cartão não pode ser usado aqui. Tente outro cartão.",
  later: "Tentativas demais. Tente mais tarde.",
  closed: "Esta página não recebe mais pagamentos.",
  back: "Voltar para {shop}",
  other_tab: "Este pagamento mudou em outra janela.",
  no_answer: "O servidor não respondeu. Esta página descobre o que aconteceu.",
  test_cards: "Cartões de teste deste sandbox",
  no_money: "Isto é um sandbox: nenhum dinheiro é movido.",
};
