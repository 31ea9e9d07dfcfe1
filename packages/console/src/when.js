// Times of the server in the shown time zone, with UTC under the pointer.
import { h } from "./dom.js";
import { exactText, utcText } from "./format.js";

/** @param {string} at */
export function when(at) {
  const datetime = at.endsWith("Z") ? at : `${at.replace(" ", "T")}Z`;
  return h("time", { datetime, title: utcText(at) }, exactText(at));
}
