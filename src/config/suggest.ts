/** `; did you mean X?` for the nearest of `names`, or nothing where none is near. */
export function suggest(name: string, names: readonly string[]): string {
  if (name.length > 100) return "";
  const last = name.slice(name.lastIndexOf(".") + 1);
  // A key in the wrong table is as common as a slip of the finger.
  const sameEnd = names.find((candidate) => candidate.slice(candidate.lastIndexOf(".") + 1) === last);
  let best = sameEnd;
  let bestDistance = sameEnd === undefined ? Math.min(3, Math.ceil(name.length / 4)) + 1 : 0;
  for (const candidate of names) {
    const distance = editDistance(name, candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best === undefined ? "" : `; did you mean ${best}?`;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      row.push(Math.min((row[j - 1] ?? 0) + 1, (previous[j] ?? 0) + 1, (previous[j - 1] ?? 0) + change));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
