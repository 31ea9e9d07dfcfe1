import type { ChallengeTexts } from "./challenge-texts.ts";

export const ptBr: ChallengeTexts = {
  title: "Confirmação do seu banco",
  leave: "Voltar à loja",
  waiting: "Aguardando o banco.",
  ended: "O banco respondeu.",
  bankTitle: "Seu banco",
  bank: "Banco de teste",
  confirm: "Confirme o pagamento",
  payment: "{amount} com o cartão {card}",
  simulated: "Um banco simulado: o código é {code}.",
  code: "Código",
  submit: "Confirmar",
  cancel: "Cancelar",
  wrong: "Código errado. Tentativas restantes: {tries}.",
  unknown: "Esta confirmação não existe ou terminou.",
};
