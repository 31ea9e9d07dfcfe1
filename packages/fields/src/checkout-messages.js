// The texts of the hosted page; replaced like those of the card fields (messages.js).
export { texts } from "./checkout-messages-en.js";
