/** The texts of the pages of a challenge. Words in braces are replaced. */
export interface ChallengeTexts {
  readonly title: string;
  readonly leave: string;
  readonly waiting: string;
  readonly ended: string;
  readonly bankTitle: string;
  readonly bank: string;
  readonly confirm: string;
  readonly payment: string;
  readonly simulated: string;
  readonly code: string;
  readonly submit: string;
  readonly cancel: string;
  readonly wrong: string;
  readonly unknown: string;
}

export const en: ChallengeTexts = {
  title: "Confirmation by your bank",
  leave: "Back to the shop",
  waiting: "Waiting for the bank.",
  ended: "The bank has answered.",
  bankTitle: "Your bank",
  bank: "Test bank",
  confirm: "Confirm the payment",
  payment: "{amount} with card {card}",
  simulated: "A simulated bank: the code is {code}.",
  code: "Code",
  submit: "Confirm",
  cancel: "Cancel",
  wrong: "Wrong code. Tries left: {tries}.",
  unknown: "This confirmation does not exist or has ended.",
};
