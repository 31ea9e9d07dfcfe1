/** A place in the template where a value is written. */
export interface Slot {
  readonly offset: number;
  readonly width: number;
}

/**
 * A request as bytes, built once. The parts that change have a fixed width and are patched in
 * place, so that the generator spends its time on sockets and not on strings.
 */
export class RequestTemplate {
  readonly #bytes: Buffer;
  readonly #slots: ReadonlyMap<string, Slot>;

  private constructor(bytes: Buffer, slots: ReadonlyMap<string, Slot>) {
    this.#bytes = bytes;
    this.#slots = slots;
  }

  /**
   * A POST of `request_body=<JSON>`, form-encoded, as the public PHP, Ruby and Node clients send it
   * (interface 1.1, E1). Each of `markers` is a text of letters and digits that occurs once in the
   * JSON and becomes the slot of that name.
   */
  static post(
    path: string,
    json: unknown,
    markers: Readonly<Record<string, string>>,
  ): RequestTemplate {
    const body = `request_body=${encodeURIComponent(JSON.stringify(json))}`;
    const head =
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
      `Content-Length: ${String(body.length)}\r\n\r\n`;
    const bytes = Buffer.from(head + body, "latin1");
    const slots = new Map<string, Slot>();
    for (const [name, marker] of Object.entries(markers)) {
      const offset = bytes.indexOf(marker);
      if (offset === -1 || bytes.indexOf(marker, offset + 1) !== -1)
        throw new Error(`the marker of ${name} must occur exactly once`);
      slots.set(name, { offset, width: marker.length });
    }
    return new RequestTemplate(bytes, slots);
  }

  slot(name: string): Slot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`the template has no slot ${name}`);
    return slot;
  }

  /** A separate copy for one connection, because a request in flight must not change. */
  copy(): Buffer {
    return Buffer.from(this.#bytes);
  }
}

/** Writes the number in decimal, with leading zeros, over the whole slot. */
export function patchNumber(bytes: Buffer, slot: Slot, value: number): void {
  let rest = value;
  for (let at = slot.offset + slot.width - 1; at >= slot.offset; at--) {
    bytes[at] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

export function patchText(bytes: Buffer, slot: Slot, text: string): void {
  if (text.length !== slot.width)
    throw new Error(
      `a value of ${String(text.length)} characters does not fit a slot of ${String(slot.width)}`,
    );
  bytes.write(text, slot.offset, slot.width, "latin1");
}

/**
 * Patches a 16-digit card number: keeps the first six digits, writes nine from `value`, and sets
 * the last so that the Luhn sum is right.
 */
export function patchCardNumber(bytes: Buffer, slot: Slot, value: number): void {
  patchNumber(bytes, { offset: slot.offset + 6, width: 9 }, value);
  let sum = 0;
  for (let digit = 0; digit < 15; digit++) {
    let weighted = (bytes[slot.offset + digit] ?? 0) - 0x30;
    if (digit % 2 === 0) weighted = weighted > 4 ? weighted * 2 - 9 : weighted * 2;
    sum += weighted;
  }
  bytes[slot.offset + 15] = 0x30 + ((10 - (sum % 10)) % 10);
}
