import type { ChallengeTexts } from "./challenge-texts.ts";

export const es: ChallengeTexts = {
  title: "Confirmación de su banco",
  leave: "Volver a la tienda",
  waiting: "Esperando al banco.",
  ended: "El banco ha respondido.",
  bankTitle: "Su banco",
  bank: "Banco de pruebas",
  confirm: "Confirme el pago",
  payment: "{amount} con la tarjeta {card}",
  simulated: "Un banco simulado: el código es {code}.",
  code: "Código",
  submit: "Confirmar",
  cancel: "Cancelar",
  wrong: "Código incorrecto. Intentos restantes: {tries}.",
  unknown: "Esta confirmación no existe o ha terminado.",
};
