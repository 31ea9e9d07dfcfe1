// Templates of the views that are made with Preact: text is never parsed as HTML.
import htm from "htm";
import { h, render } from "preact";
// Makes components render again when a signal that they read changes.
import "@preact/signals";

/** @import { VNode } from "preact" */

/** A template with one root element. */
export const html =
  /** @type {(strings: TemplateStringsArray, ...values: unknown[]) => VNode} */
  (htm.bind(h));

/**
 * Adds a part to a view and renders into it until the signal is aborted.
 * @param {Element} main
 * @param {VNode} node
 * @param {AbortSignal} signal
 */
export function mountIn(main, node, signal) {
  const place = document.createElement("div");
  main.append(place);
  mount(place, node, signal);
}

/**
 * Renders into a part of a view until the signal is aborted.
 * @param {Element} place
 * @param {VNode} node
 * @param {AbortSignal} signal
 */
export function mount(place, node, signal) {
  render(node, place);
  signal.addEventListener("abort", () => render(null, place), { once: true });
}
