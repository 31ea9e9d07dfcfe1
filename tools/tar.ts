/** A file, folder or symbolic link of a tar archive. */
export interface TarEntry {
  /** Without a slash at the beginning or the end; at most 100 bytes. */
  readonly path: string;
  /** Permissions, such as 0o755. */
  readonly mode: number;
  /** User and group; default 0. */
  readonly owner?: number;
  /** undefined for a folder. */
  readonly content?: Uint8Array;
  /** Target of a symbolic link; at most 100 bytes. */
  readonly link?: string;
}

const block = 512;

/** Packs in ustar format, in the given order. `time`: of every entry, in seconds since 1970. */
export function tar(entries: readonly TarEntry[], time: number): Buffer {
  const pieces = entries.flatMap((entry) => {
    const content = entry.content ?? new Uint8Array();
    return [
      header(entry, content.length, time),
      content,
      Buffer.alloc(-content.length & (block - 1)),
    ];
  });
  return Buffer.concat([...pieces, Buffer.alloc(2 * block)]);
}

function header(
  { path, mode, owner = 0, content, link }: TarEntry,
  size: number,
  time: number,
): Buffer {
  const [type, name] =
    link !== undefined ? ["2", path] : content !== undefined ? ["0", path] : ["5", `${path}/`];
  const bytes = Buffer.alloc(block);
  const text = (at: number, length: number, value: string): void => {
    if (Buffer.byteLength(value) > length)
      throw new Error(`${value} is longer than ${length} bytes`);
    bytes.write(value, at);
  };
  const octal = (at: number, length: number, value: number): void =>
    text(at, length, value.toString(8).padStart(length - 1, "0"));
  text(0, 100, name);
  octal(100, 8, mode);
  octal(108, 8, owner);
  octal(116, 8, owner);
  octal(124, 12, size);
  octal(136, 12, time);
  text(148, 8, " ".repeat(8));
  text(156, 1, type);
  text(157, 100, link ?? "");
  text(257, 8, "ustar\u000000");
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  text(148, 8, `${sum.toString(8).padStart(6, "0")}\u0000 `);
  return bytes;
}
