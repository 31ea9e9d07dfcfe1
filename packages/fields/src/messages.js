// The texts of the card fields. The server puts those of the frame's language in place of this module,
// so that a browser loads one language.
export { texts } from "./messages-en.js";
