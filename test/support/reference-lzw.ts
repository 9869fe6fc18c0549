/** What a stream of 9 to 12-bit codes expands to, written for plainness instead of speed; undefined where decoders may differ. */
export function referenceLzwDecode(bytes: Uint8Array, maxBytes: number): Buffer | "damaged" | undefined {
  const codes = new Map<number, number[]>();
  const out: number[] = [];
  let at = 0;
  let width = 9;
  let high = 257;
  let last: number[] | undefined;
  const textOf = (code: number) => (code < 256 ? [code] : codes.get(code));
  for (;;) {
    if (at + width > bytes.length * 8) return "damaged";
    let code = 0;
    for (let bit = 0; bit < width; bit++, at++) code |= (((bytes[at >> 3] as number) >> (at & 7)) & 1) << bit;
    if (code === 257) return Buffer.from(out);
    if (code === 256) {
      codes.clear();
      width = 9;
      high = 257;
      last = undefined;
      continue;
    }
    if (code > high) return "damaged";
    const text: number[] | undefined = code === high && last ? [...last, last[0] as number] : textOf(code);
    // No code has a meaning yet but the literals.
    if (!text) return undefined;
    for (const byte of text) out.push(byte);
    if (out.length > maxBytes) return "damaged";
    if (last) codes.set(high, [...last, text[0] as number]);
    last = text;
    high++;
    if (high < 1 << width) continue;
    if (width < 12) width++;
    else {
      last = undefined;
      high--;
    }
  }
}
